//! Data of a stream where AF_UNIX and TCP differ (C109): the call has an address, octets are to be
//! thrown away or peeked at, or the connection has failed or was never made.
//!
//! Whatever else is sent and received the kernel goes on with ([`is_ordinary`]).

use crate::caller::{Caller, Patience};
use crate::message::window;
use resoa_calls::descriptor::{self, Kind};
use resoa_calls::interposer::streams::{
    broken, end, fast_open, listener_failure, receive_failure, send_failure,
};
use resoa_calls::interposer::{Detour, Given, Piece, Socket, total};
use resoa_calls::stream::{discards, peeks_at_all, wants_errors};
use rustix::event::{PollFlags, Timespec, epoll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, SendFlags};
use std::time::Instant;

/// Octets that are copied at a time.
const CHUNK: usize = 256 << 10;

/// Whether AF_UNIX says of a plain call what TCP would: there is a connection, and it has not
/// failed.
pub(crate) fn is_ordinary(socket: &Socket) -> bool {
    // A fresh descriptor hangs up, as one does whose other end is gone.
    let over = PollFlags::HUP | PollFlags::ERR;
    socket.kind == Kind::Stream
        && descriptor::polled(socket, PollFlags::empty()).is_ok_and(|found| !found.intersects(over))
}

/// Whether flags of receiving mean the same to both.
pub(crate) fn are_ordinary(flags: i32) -> bool {
    !discards(flags) && !wants_errors(flags) && !peeks_at_all(flags)
}

/// Whether a call that receives has to wait: then it does so here, since the kernel would tell it
/// of a reset, or swallow that behind octets that there are (MSG_WAITALL), and nobody else would
/// know which. With a low-water mark it is the kernel's nevertheless, which alone heeds that.
pub(crate) fn waits(socket: &Socket, data: &[Piece], flags: i32) -> bool {
    let wanted = if flags & libc::MSG_WAITALL != 0 { total(data) } else { total(data).min(1) };
    flags & (libc::MSG_DONTWAIT | libc::MSG_OOB) == 0
        && !socket.is_nonblocking()
        && rustix::io::ioctl_fionread(socket).is_ok_and(|there| (there as usize) < wanted)
        && descriptor::number(socket, libc::SO_RCVLOWAT).is_none_or(|low_water| low_water <= 1)
}

/// Sends all of it, as far as the descriptor lets it wait. The address, by its place and length,
/// means something with MSG_FASTOPEN alone.
pub(crate) fn send(caller: &Caller, socket: &Socket, data: &[Piece], to: Given, flags: i32) -> Detour<usize> {
    let flags = fast_open(caller, socket, to, flags)?;
    if socket.kind == Kind::Listener {
        return Err(broken(caller, flags));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !socket.is_nonblocking();
    let until = socket.until(Timeout::Send);
    let mut how = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    how.set(SendFlags::OOB, flags & libc::MSG_OOB != 0);
    let length = total(data);
    let mut sent = 0;
    // What is sent already is told before an error.
    let so_far = |sent: usize, failure| if sent > 0 { Ok(sent) } else { Err(failure) };
    loop {
        let octets = match caller.target.gather(&window(data, sent, CHUNK)) {
            Ok(octets) => octets,
            Err(error) => return so_far(sent, error.into()),
        };
        caller.confirm()?;
        match rustix::net::send(socket, &octets, how) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN) if patient => {
                if let Err(end) = caller.wait(socket.as_fd(), PollFlags::OUT, until, Patience::Interruptible)
                {
                    return so_far(sent, end.into());
                }
            }
            // The next call tells of it.
            Err(_) if sent > 0 => return Ok(sent),
            Err(error) => return Err(send_failure(caller, socket, flags, error.raw_os_error())),
        }
        if sent >= length {
            return Ok(sent);
        }
    }
}

/// Receives; with MSG_TRUNC what is received goes nowhere.
pub(crate) fn receive(caller: &Caller, socket: &Socket, data: &[Piece], flags: i32) -> Detour<usize> {
    if wants_errors(flags) || socket.kind == Kind::Listener {
        return Err(listener_failure(flags).into());
    }
    if flags & libc::MSG_OOB == 0 && socket.is_fresh() {
        return Err(libc::ENOTCONN.into());
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !socket.is_nonblocking();
    let until = socket.until(Timeout::Recv);
    let kept = flags & (libc::MSG_PEEK | libc::MSG_OOB);
    let how = RecvFlags::from_bits_retain(kept.cast_unsigned()) | RecvFlags::DONTWAIT;
    let all = flags & libc::MSG_WAITALL != 0 && kept == 0;
    let wanted = total(data);
    if peeks_at_all(flags) && kept == libc::MSG_PEEK && patient {
        wait_for(caller, socket, wanted.min(CHUNK), until)?;
    }
    let mut octets = vec![0; wanted.min(CHUNK)];
    let mut received = 0;
    while received < wanted {
        let room = octets.len().min(wanted - received);
        match rustix::net::recv(socket, &mut octets[..room], how) {
            // An end, or a reset whose error the call before took with the octets that it had.
            Ok((_, 0)) if received == 0 && kept & libc::MSG_OOB == 0 && descriptor::hangs_up(socket) => {
                return end(caller, socket);
            }
            Ok((_, 0)) => break,
            Ok((_, more)) => {
                if !discards(flags) {
                    caller.confirm()?;
                    caller.target.scatter(&window(data, received, more), &octets[..more])?;
                }
                received += more;
            }
            Err(Errno::AGAIN) if patient => {
                match caller.wait(socket.as_fd(), PollFlags::IN, until, Patience::Interruptible) {
                    Ok(()) => continue,
                    Err(_) if received > 0 => break,
                    Err(end) => return Err(end.into()),
                }
            }
            Err(_) if received > 0 => break,
            Err(error) => return receive_failure(caller, socket, flags, error.raw_os_error()),
        }
        if !all {
            break;
        }
    }
    Ok(received)
}

/// Waits until so many octets are there, or the end: `poll` tells of the first one only, and
/// AF_UNIX does not wait for what is peeked at.
fn wait_for(caller: &Caller, socket: &Socket, wanted: usize, until: Option<Instant>) -> Detour<()> {
    let arrivals = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
    let data = epoll::EventData::new_u64(0);
    epoll::add(&arrivals, socket, data, ends | epoll::EventFlags::IN | epoll::EventFlags::ET)?;
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data }];
    while (rustix::io::ioctl_fionread(socket)? as usize) < wanted {
        match caller.wait(arrivals.as_fd(), PollFlags::IN, until, Patience::Interruptible) {
            Ok(()) => {}
            // What is there is shown.
            Err(_) if rustix::io::ioctl_fionread(socket)? > 0 => return Ok(()),
            Err(ended) => return Err(ended.into()),
        }
        epoll::wait(&arrivals, &mut events, Some(&Timespec::default()))?;
        let [epoll::Event { flags, .. }] = events;
        if flags.intersects(ends) {
            return Ok(());
        }
    }
    Ok(())
}
