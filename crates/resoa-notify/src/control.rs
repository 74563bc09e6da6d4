//! Calls that an agent answers: everything but data.

use crate::call::{Call, Room};
use crate::caller::{Answer, Caller, Ended, Failure, Patience};
use crate::datagrams;
use crate::held::{Held, Kind};
use crate::status::{BIND_SERVICE, has_privilege};
use resoa_calls::ioctl::{Answerer, answerer};
use resoa_calls::privilege::is_privileged;
use resoa_calls::{Request, Response, address, descriptor, option, sender};
use rustix::event::PollFlags;
use rustix::fd::AsFd;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, Shutdown, recv, shutdown};
use std::net::SocketAddr;
use std::time::Duration;

/// How much longer than SO_SNDTIMEO an answer to `connect` is waited for: the agent ends the call
/// by it as well, and it alone always knows whether the call is the first.
const GRACE: Duration = Duration::from_secs(1);

/// `None`: a call of data.
pub(crate) fn answer(caller: &Caller, held: &Held, call: &Call) -> Option<Result<Answer, Failure>> {
    Some(match *call {
        Call::Bind { address, length } => bind(caller, held, address, length),
        Call::Connect { address, length } => connect(caller, held, address, length),
        Call::Listen { backlog } => listen(caller, held, backlog),
        Call::Accept { peer, flags } => accept(caller, held, peer, flags),
        Call::LocalName(room) => name(caller, &Request::LocalName(held.socket), room),
        Call::PeerName(room) => name(caller, &Request::PeerName(held.socket), room),
        Call::GetOption { level, name, value } => get_option(caller, held, level, name, value),
        Call::SetOption { level, name, value, length } => {
            set_option(caller, held, (level, name), value, length)
        }
        Call::Shutdown { how } => shut(caller, held, how),
        Call::Ioctl { command, argument } => ioctl(caller, held, command, argument),
        _ => return None,
    })
}

/// `socket`
pub(crate) fn socket(caller: &Caller, family: i32, kind: i32, protocol: i32) -> Result<Answer, Failure> {
    let request = Request::Socket { family, kind, protocol, sees_data: false };
    match caller.ask_until(&request, None, None, Patience::Killable)?? {
        (Response::Descriptor(_), Some(descriptor)) => {
            set_nonblocking(&descriptor, kind)?;
            Ok(Answer::Descriptor(descriptor, kind & libc::SOCK_CLOEXEC != 0))
        }
        (response, _) => Err(Failure::Errno(response.other())),
    }
}

fn set_nonblocking(descriptor: impl AsFd, flags: i32) -> Result<(), Failure> {
    if flags & libc::SOCK_NONBLOCK != 0 {
        let present = fcntl_getfl(&descriptor)?;
        fcntl_setfl(descriptor, present | OFlags::NONBLOCK)?;
    }
    Ok(())
}

/// A length that a program gives.
fn within(length: i32, longest: usize) -> Result<usize, i32> {
    usize::try_from(length).ok().filter(|length| *length <= longest).ok_or(libc::EINVAL)
}

/// The octets of an address as a program gives it.
pub(crate) fn given_address(caller: &Caller, at: u64, length: i32) -> Result<Vec<u8>, Failure> {
    let octets = caller.target.read(at, within(length, address::LONGEST)?)?;
    caller.confirm()?;
    Ok(octets)
}

/// Writes a value that may be cut, and its length. Nowhere, if the program wants none.
pub(crate) fn write_address(caller: &Caller, room: Room, address: SocketAddr) -> Result<(), Failure> {
    if room.value == 0 {
        return Ok(());
    }
    let octets = address::written(address);
    let given = caller.target.number(room.length)?;
    let kept = usize::try_from(given).map_err(|_| libc::EINVAL)?.min(octets.len());
    caller.confirm()?;
    caller.target.write(room.value, &octets[..kept])?;
    caller.target.write(room.length, &(octets.len() as u32).to_ne_bytes())?;
    Ok(())
}

/// Says by its length alone that there is no address, as the kernel does.
pub(crate) fn write_no_address(caller: &Caller, room: Room) -> Result<(), Failure> {
    if room.value == 0 {
        return Ok(());
    }
    if caller.target.number(room.length)? < 0 {
        return Err(Failure::Errno(libc::EINVAL));
    }
    caller.confirm()?;
    Ok(caller.target.write(room.length, &0_u32.to_ne_bytes())?)
}

fn bind(caller: &Caller, held: &Held, at: u64, length: i32) -> Result<Answer, Failure> {
    let octets = given_address(caller, at, length)?;
    let address = address::to_bind(&octets, || domain(caller, held))?;
    if is_privileged(address.port()) && !has_privilege(&caller.target.status(), BIND_SERVICE) {
        return Err(Failure::Errno(libc::EACCES));
    }
    caller.ask(&Request::Bind { socket: held.socket, address })?;
    if held.kind == Kind::Datagram {
        sender::bound(held, address);
    }
    Ok(Answer::Value(0))
}

fn connect(caller: &Caller, held: &Held, at: u64, length: i32) -> Result<Answer, Failure> {
    let octets = given_address(caller, at, length)?;
    let address =
        if held.kind == Kind::Datagram { sender::peer(held, &octets)? } else { address::read(&octets)? };
    connect_to(caller, held, address, held.is_nonblocking())
}

/// What MSG_FASTOPEN does of a stream before it sends: it connects, as of a host without a cookie
/// (`tcp_sendmsg_fastopen`).
pub(crate) fn fast_open(
    caller: &Caller,
    held: &Held,
    (at, length): (u64, i32),
    flags: i32,
) -> Result<(), Failure> {
    if at == 0 {
        let is_connected = caller.ask(&Request::PeerName(held.socket)).is_ok();
        return Err(Failure::Errno(if is_connected { libc::EISCONN } else { libc::EINVAL }));
    }
    let address = address::read(&given_address(caller, at, length)?)?;
    let nonblocking = held.is_nonblocking() || flags & libc::MSG_DONTWAIT != 0;
    connect_to(caller, held, Some(address.ok_or(libc::EOPNOTSUPP)?), nonblocking).map(drop)
}

fn connect_to(
    caller: &Caller,
    held: &Held,
    address: Option<SocketAddr>,
    nonblocking: bool,
) -> Result<Answer, Failure> {
    // A stream that is not fresh any more has been told to connect before.
    let is_first = held.kind == Kind::Datagram || held.is_fresh();
    let request = Request::Connect { socket: held.socket, address, nonblocking };
    let until = held.until(Timeout::Send);
    let asked = caller.ask_until(
        &request,
        Some(held.as_fd()),
        until.map(|until| until + GRACE),
        Patience::Interruptible,
    )?;
    match asked {
        Ok((Response::Done, _)) => Ok(Answer::Value(0)),
        // It began before, and was interrupted: a blocking call waits for the same connection.
        Ok((Response::Failed(libc::EALREADY), _)) if !nonblocking => {
            caller.wait(held.as_fd(), PollFlags::OUT, until, Patience::Interruptible).map_err(|ended| {
                if ended == Ended::Time { Failure::Errno(libc::EALREADY) } else { ended.into() }
            })?;
            match pending_error(caller, held)? {
                0 => Ok(Answer::Value(0)),
                error => Err(Failure::Errno(error)),
            }
        }
        Ok((response, _)) => Err(Failure::Errno(response.other())),
        Err(Ended::Gone) => Err(Failure::Gone),
        Err(ended) => {
            // The attempt goes on without the caller. Before the agent answers anything else, it
            // has heard so and connected the descriptor: the next `connect` is not the first.
            let _ = caller.ask(&Request::PeerName(held.socket));
            match ended {
                // SO_SNDTIMEO.
                Ended::Time if is_first => Err(Failure::Errno(libc::EINPROGRESS)),
                Ended::Time => Err(Failure::Errno(libc::EALREADY)),
                ended => Err(ended.into()),
            }
        }
    }
}

/// SO_ERROR, which is cleared: at the agent, and what the kernel has to say of the descriptor,
/// which is the same error.
pub(crate) fn pending_error(caller: &Caller, held: &Held) -> Result<i32, Failure> {
    let _ = rustix::net::sockopt::socket_error(held);
    number(caller, held, libc::SO_ERROR)
}

/// An option of SOL_SOCKET that is a number.
pub(crate) fn number(caller: &Caller, held: &Held, name: i32) -> Result<i32, Failure> {
    let request = Request::GetOption { socket: held.socket, level: libc::SOL_SOCKET, name, length: 4 };
    let value = caller.ask(&request)?.value()?;
    Ok(value.first_chunk().map_or(0, |octets| i32::from_ne_bytes(*octets)))
}

/// SO_DOMAIN: AF_INET, AF_INET6.
pub(crate) fn domain(caller: &Caller, held: &Held) -> Result<i32, Failure> {
    number(caller, held, libc::SO_DOMAIN)
}

/// The name of the other end.
pub(crate) fn peer(caller: &Caller, held: &Held) -> Result<SocketAddr, Failure> {
    Ok(caller.ask(&Request::PeerName(held.socket))?.address()?)
}

fn listen(caller: &Caller, held: &Held, backlog: i32) -> Result<Answer, Failure> {
    let request = Request::Listen { socket: held.socket, backlog };
    match caller.ask_until(&request, Some(held.as_fd()), None, Patience::Killable)?? {
        (Response::Done, _) => {
            held.set_listening();
            Ok(Answer::Value(0))
        }
        (response, _) => Err(Failure::Errno(response.other())),
    }
}

fn accept(caller: &Caller, held: &Held, room: Room, flags: i32) -> Result<Answer, Failure> {
    if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
        return Err(Failure::Errno(libc::EINVAL));
    }
    // As in the kernel this is looked at first: the connection waits on, for when there is a
    // number.
    if !caller.target.has_number_left() {
        return Err(Failure::Errno(libc::EMFILE));
    }
    match held.kind {
        Kind::Listener => {}
        Kind::Datagram => return Err(Failure::Errno(libc::EOPNOTSUPP)),
        Kind::Stream => return Err(Failure::Errno(libc::EINVAL)),
    }
    let until = held.until(Timeout::Recv);
    loop {
        match recv(held, &mut [0; 1], RecvFlags::DONTWAIT) {
            // The end: `shutdown`, or the agent has lost its server.
            Ok((_, 0)) | Err(Errno::CONNRESET) => return Err(Failure::Errno(libc::EINVAL)),
            Ok(_) => {}
            Err(Errno::AGAIN) if !held.is_nonblocking() => {
                caller.wait(held.as_fd(), PollFlags::IN, until, Patience::Interruptible)?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        // The octet stands for this connection: it has to be taken now, and is closed again if the
        // caller has gone.
        let request = Request::Accept { socket: held.socket, flags };
        match caller.ask_until(&request, None, None, Patience::Endless)?? {
            (Response::Accepted { peer, .. }, Some(descriptor)) => {
                write_address(caller, room, peer)?;
                set_nonblocking(&descriptor, flags)?;
                descriptor::inherit(held, &descriptor);
                return Ok(Answer::Descriptor(descriptor, flags & libc::SOCK_CLOEXEC != 0));
            }
            // It has gone again: the next one.
            (Response::Failed(libc::EAGAIN), _) => {}
            (response, _) => return Err(Failure::Errno(response.other())),
        }
    }
}

fn name(caller: &Caller, request: &Request, room: Room) -> Result<Answer, Failure> {
    let address = caller.ask(request)?.address()?;
    if room.value == 0 {
        return Err(Failure::Errno(libc::EFAULT));
    }
    write_address(caller, room, address)?;
    Ok(Answer::Value(0))
}

fn get_option(caller: &Caller, held: &Held, level: i32, name: i32, room: Room) -> Result<Answer, Failure> {
    if option::is_of_the_descriptor(level, name) {
        return Ok(Answer::Continue);
    }
    let length = u32::try_from(caller.target.number(room.length)?).map_err(|_| libc::EINVAL)?;
    caller.confirm()?;
    let is_error = (level, name) == (libc::SOL_SOCKET, libc::SO_ERROR);
    if is_error && held.kind == Kind::Datagram {
        // What says so among the datagrams is not to say so again.
        datagrams::takes_error(held);
    }
    let value = caller.ask(&Request::GetOption { socket: held.socket, level, name, length })?.value()?;
    if is_error {
        // As in `pending_error`.
        let _ = rustix::net::sockopt::socket_error(held);
    }
    let kept = &value[..value.len().min(length as usize)];
    caller.confirm()?;
    caller.target.write(room.value, kept)?;
    caller.target.write(room.length, &(kept.len() as u32).to_ne_bytes())?;
    Ok(Answer::Value(0))
}

fn set_option(
    caller: &Caller,
    held: &Held,
    (level, name): (i32, i32),
    at: u64,
    length: i32,
) -> Result<Answer, Failure> {
    if option::is_of_the_descriptor(level, name) {
        return Ok(Answer::Continue);
    }
    let value = caller.target.read(at, within(length, option::LONGEST)?)?;
    caller.confirm()?;
    let request = Request::SetOption { socket: held.socket, level, name, value: value.clone() };
    if held.kind == Kind::Datagram && option::is_telling(level, name) {
        match caller.ask_until(&request, Some(held.as_fd()), None, Patience::Killable)?? {
            (Response::Done | Response::Value(_), _) => {}
            (response, _) => return Err(Failure::Errno(response.other())),
        }
    } else {
        caller.ask(&request)?;
    }
    if held.kind == Kind::Datagram {
        sender::option_is_set(held, level, name, &value);
    }
    if option::is_of_both(level, name) {
        descriptor::set_option(held, name, &value);
    }
    Ok(Answer::Value(0))
}

fn shut(caller: &Caller, held: &Held, how: i32) -> Result<Answer, Failure> {
    if !(libc::SHUT_RD..=libc::SHUT_RDWR).contains(&how) {
        return Err(Failure::Errno(libc::EINVAL));
    }
    let asked = Request::Shutdown { socket: held.socket, how };
    // A fresh one may have a `connect` that waits.
    if held.kind != Kind::Stream || held.is_fresh() {
        caller.ask(&asked)?;
        return Ok(Answer::Value(0));
    }
    // Nobody at the other end, or both halves over: a TCP without a connection says ENOTCONN, a
    // descriptor does not. While it connects, nothing can be written.
    if how == libc::SHUT_WR && descriptor::polled(held, PollFlags::OUT) != Ok(PollFlags::OUT) {
        caller.ask(&asked)?;
    }
    if how != libc::SHUT_WR {
        caller.ask(&Request::Shutdown { socket: held.socket, how: libc::SHUT_RD })?;
    }
    if how != libc::SHUT_RD {
        shutdown(held, Shutdown::Write)?;
    }
    Ok(Answer::Value(0))
}

fn ioctl(caller: &Caller, held: &Held, command: u32, at: u64) -> Result<Answer, Failure> {
    let octets = match answerer(command, held.kind) {
        Answerer::Kernel => return Ok(Answer::Continue),
        Answerer::Nobody(error) => return Err(Failure::Errno(error)),
        Answerer::Datagram => {
            let flags = RecvFlags::PEEK | RecvFlags::TRUNC | RecvFlags::DONTWAIT;
            let waiting = recv(held, &mut [0; 1], flags).map_or(0, |(_, length)| length);
            (waiting.saturating_sub(held.in_front()) as u32).to_ne_bytes().to_vec()
        }
        Answerer::Agent { given, taken } => {
            let argument = caller.target.read(at, given)?;
            caller.confirm()?;
            match caller.ask(&Request::Ioctl { socket: held.socket, command, argument })? {
                Response::Value(mut value) => {
                    value.truncate(taken);
                    value
                }
                Response::Done => Vec::new(),
                response => return Err(Failure::Errno(response.other())),
            }
        }
    };
    caller.confirm()?;
    caller.target.write(at, &octets)?;
    Ok(Answer::Value(0))
}
