//! Datagrams. Those that are sent have an address in front while the socket has no destination of
//! its own, and control messages if there are some; of those that are received this is mostly
//! beside them, so that `read` is right, too ([`resoa_calls::datagram`]).

use crate::caller::{Caller, Failure, Patience};
use crate::control::{number, peer, pending_error};
use crate::held::Held;
use crate::message::total;
use crate::target::Piece;
use resoa_calls::outgoing::{Outgoing, Way};
use resoa_calls::stream::wants_errors;
use resoa_calls::{Request, Response, datagram, sender};
use resoa_protocol::message::Ancillary;
use rustix::event::PollFlags;
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendFlags, recvmsg};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::net::SocketAddr;

/// Room for any that is received.
const ROOM: usize = 64 << 10;

/// Sends one; to the socket's own destination if there is none.
pub(crate) fn send(
    caller: &Caller,
    held: &Held,
    data: &[Piece],
    destination: Option<SocketAddr>,
    control: &[u8],
    flags: i32,
) -> Result<usize, Failure> {
    let length = total(data);
    let outgoing = Outgoing { length, to: destination, control, flags };
    let is_broadcast =
        destination.is_some_and(datagram::may_be_broadcast) && number(caller, held, libc::SO_BROADCAST)? == 0;
    let is_allowed = !is_broadcast && !sender::may_have_wrong_source(held, destination);
    let way = outgoing.way(held.mark, || Ok::<_, Failure>(sender::domain(held)), || peer(caller, held))?;
    see(caller, held)?;
    if !outgoing.goes_nowhere(held.mark) {
        told(caller, held)?;
    }
    let front = match way {
        Way::Descriptor(front) => front,
        Way::Agent(address, ancillary) => {
            let more = flags & libc::MSG_MORE != 0;
            let sent = send_apart(caller, held, data, address, &ancillary, more)?;
            return if is_allowed { Ok(sent) } else { allowed(caller, held).map(|()| sent) };
        }
    };
    let mut octets = front.map(|(to, ancillary)| datagram::said(to, &ancillary)).unwrap_or_default();
    octets.extend(caller.target.gather(data)?);
    caller.confirm()?;
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Send);
    loop {
        match rustix::net::send(held, &octets, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(_) if is_allowed => return Ok(length),
            Ok(_) => return allowed(caller, held).map(|()| length),
            Err(Errno::AGAIN) if patient => {
                caller.wait(held.as_fd(), PollFlags::OUT, until, Patience::Interruptible)?;
            }
            Err(Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN) => {
                let error = told_error(caller, held)?;
                return Err(Failure::Errno(if error == 0 { libc::EPIPE } else { error }));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A connected socket's datagram to elsewhere, or with control messages, has no place on the
/// descriptor, nor has a part of one; and one without a destination may be a part.
fn send_apart(
    caller: &Caller,
    held: &Held,
    data: &[Piece],
    address: Option<SocketAddr>,
    ancillary: &Ancillary,
    more: bool,
) -> Result<usize, Failure> {
    let octets = caller.target.gather(data)?;
    caller.confirm()?;
    let length = octets.len();
    let ancillary = ancillary.octets().to_vec();
    caller.ask(&Request::SendTo { socket: held.socket, address, ancillary, octets, more })?;
    Ok(length)
}

/// Asks the server whether a datagram was allowed that may have been a broadcast, or come from an
/// address that leaves no host.
fn allowed(caller: &Caller, held: &Held) -> Result<(), Failure> {
    number(caller, held, datagram::ASKED)?;
    // What tells of it among the datagrams is not to tell of it again.
    takes_error(held);
    told_now(caller, held)
}

/// What the end of the agent's half means: the socket's error, none if the program has shut it
/// down, and ENETDOWN if there is no agent any more.
fn told_error(caller: &Caller, held: &Held) -> Result<i32, Failure> {
    pending_error(caller, held).map_err(|failure| match failure {
        Failure::Errno(_) => Failure::Errno(libc::ENETDOWN),
        Failure::Gone => Failure::Gone,
    })
}

/// Errors of a socket come [among its datagrams](datagram) once this has said that calls on it are
/// seen. It does at the first call of a socket's that is: who only has `read` and `write`, which
/// are not stopped, would take an error for an empty datagram.
fn see(caller: &Caller, held: &Held) -> Result<(), Failure> {
    if held.is_seen() {
        return Ok(());
    }
    match caller.ask(&Request::SeesData(held.socket)) {
        Ok(_) => held.set_seen(),
        Err(Failure::Gone) => return Err(Failure::Gone),
        // Without an agent the call itself finds out.
        Err(Failure::Errno(_)) => {}
    }
    Ok(())
}

/// The next packet on a descriptor.
enum Next {
    /// It says that the socket has an error.
    Error,
    /// A datagram.
    Datagram {
        /// Octets that were stored.
        stored: usize,
        /// Octets that it has.
        whole: usize,
        /// What is told beside it.
        beside: Option<(SocketAddr, Ancillary)>,
    },
}

fn next(held: &Held, octets: &mut [u8], how: RecvFlags) -> Result<Next, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let room = octets.len();
    let pieces = &mut [IoSliceMut::new(octets)];
    let found = recvmsg(held, pieces, &mut beside, how | RecvFlags::TRUNC | RecvFlags::CMSG_CLOEXEC)?;
    let file = beside.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    let beside = match file.map(datagram::read_slip) {
        Some(None) => return Ok(Next::Error),
        beside => beside.flatten(),
    };
    Ok(Next::Datagram { stored: found.bytes.min(room), whole: found.bytes, beside })
}

/// Takes an error away that is the next thing on a descriptor; whether it is.
pub(crate) fn takes_error(held: &Held) -> bool {
    let is_next = |how| matches!(next(held, &mut [], how | RecvFlags::DONTWAIT), Ok(Next::Error));
    // If another call reads it between the two, that has the error, and a datagram behind it may be
    // lost, as any may.
    is_next(RecvFlags::PEEK) && is_next(RecvFlags::empty())
}

/// Takes an error that is the next thing on a descriptor, and fails with it if nothing has told it
/// yet.
fn told(caller: &Caller, held: &Held) -> Result<(), Failure> {
    caller.confirm()?;
    if takes_error(held) { told_now(caller, held) } else { Ok(()) }
}

fn told_now(caller: &Caller, held: &Held) -> Result<(), Failure> {
    match told_error(caller, held)? {
        0 => Ok(()),
        error => Err(Failure::Errno(error)),
    }
}

/// A datagram that was received.
#[derive(Debug)]
pub(crate) struct Received {
    /// Who sent it, where that stood in front.
    pub(crate) from: Option<SocketAddr>,
    /// What is told beside it.
    pub(crate) ancillary: Ancillary,
    kept: usize,
    whole: usize,
    is_end: bool,
}

impl Received {
    /// It is no datagram: none comes any more.
    pub(crate) fn is_end(&self) -> bool {
        self.is_end
    }

    /// It was longer than the program's room.
    pub(crate) fn is_cut(&self) -> bool {
        self.kept < self.whole
    }

    /// What the call returns.
    pub(crate) fn reported(&self, flags: i32) -> usize {
        if flags & libc::MSG_TRUNC != 0 { self.whole } else { self.kept }
    }
}

/// Takes one of the error queue (IP_RECVERR).
fn undelivered(caller: &Caller, held: &Held, data: &[Piece]) -> Result<Received, Failure> {
    see(caller, held)?;
    let (to, ancillary, octets) = match caller.ask(&Request::TakeUndelivered(held.socket))? {
        Response::Undelivered { to, ancillary, octets } => (to, ancillary, octets),
        response => return Err(Failure::Errno(response.other())),
    };
    // What says so among the datagrams is not to say so again: if another error waits, that is told
    // by the next call.
    takes_error(held);
    let payload = &octets[..octets.len().min(total(data))];
    caller.confirm()?;
    caller.target.scatter(data, payload)?;
    let ancillary = Ancillary::read(&ancillary).unwrap_or_default();
    let (kept, whole) = (payload.len(), octets.len());
    Ok(Received { from: Some(to), ancillary, kept, whole, is_end: false })
}

/// Receives one.
pub(crate) fn receive(caller: &Caller, held: &Held, data: &[Piece], flags: i32) -> Result<Received, Failure> {
    if wants_errors(flags) {
        return undelivered(caller, held, data);
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Recv);
    let mut how = RecvFlags::DONTWAIT;
    how.set(RecvFlags::PEEK, flags & libc::MSG_PEEK != 0);
    let front = held.in_front();
    let mut octets = vec![0; front + total(data).min(ROOM)];
    see(caller, held)?;
    let (stored, whole, beside) = loop {
        match next(held, &mut octets, how) {
            Ok(Next::Datagram { stored, whole, beside }) => break (stored, whole, beside),
            // The error is told by this, and not by the next call as well.
            Ok(Next::Error) if how.contains(RecvFlags::PEEK) => told(caller, held)?,
            Ok(Next::Error) => told_now(caller, held)?,
            Err(Errno::AGAIN) if patient => {
                caller.wait(held.as_fd(), PollFlags::IN, until, Patience::Interruptible)?;
            }
            Err(error) => return Err(error.into()),
        }
    };
    if whole == 0 && beside.is_none() && resoa_calls::descriptor::is_at_end(held) {
        // `shutdown`, or the agent has gone. Who does not wait is not told of an end
        // (`__skb_recv_udp`).
        return match told_error(caller, held)? {
            0 if !patient => Err(Failure::Errno(libc::EAGAIN)),
            0 => Ok(Received { from: None, ancillary: Ancillary::none(), kept: 0, whole: 0, is_end: true }),
            error => Err(Failure::Errno(error)),
        };
    }
    let (in_front, payload) = octets[..stored].split_at_checked(front).ok_or(libc::EPROTO)?;
    let told = beside.map(|(from, ancillary)| (Some(from), ancillary));
    let (from, ancillary) = told.or_else(|| datagram::received(held.mark, in_front)).ok_or(libc::EPROTO)?;
    caller.confirm()?;
    caller.target.scatter(data, payload)?;
    let is_end = false;
    Ok(Received { from, ancillary, kept: payload.len(), whole: whole - front, is_end })
}
