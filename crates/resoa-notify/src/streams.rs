//! Data of a stream where AF_UNIX and TCP differ (C109): the call has an address, octets are to be
//! thrown away or peeked at, or the connection has failed or was never made.
//!
//! Whatever else is sent and received the kernel goes on with ([`is_ordinary`]).

use crate::caller::{Caller, Failure, Patience};
use crate::control::{fast_open, pending_error};
use crate::held::{Held, Kind};
use crate::message::{total, window};
use crate::target::Piece;
use resoa_calls::descriptor;
use resoa_calls::stream::{discards, is_an_end, peeks_at_all, wants_errors};
use rustix::event::{PollFlags, Timespec, epoll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Signal;
use std::time::Instant;

/// Octets that are copied at a time.
const CHUNK: usize = 256 << 10;

/// Whether AF_UNIX says of a plain call what TCP would: there is a connection, and it has not
/// failed.
pub(crate) fn is_ordinary(held: &Held) -> bool {
    // A fresh descriptor hangs up, as one does whose other end is gone.
    let over = PollFlags::HUP | PollFlags::ERR;
    held.kind == Kind::Stream
        && descriptor::polled(held, PollFlags::empty()).is_ok_and(|found| !found.intersects(over))
}

/// Whether flags of receiving mean the same to both.
pub(crate) fn are_ordinary(flags: i32) -> bool {
    !discards(flags) && !wants_errors(flags) && !peeks_at_all(flags)
}

/// Whether a call that receives has to wait: then it does so here, since the kernel would tell it
/// of a reset, or swallow that behind octets that there are (MSG_WAITALL), and nobody else would
/// know which. With a low-water mark it is the kernel's nevertheless, which alone heeds that.
pub(crate) fn waits(held: &Held, data: &[Piece], flags: i32) -> bool {
    let wanted = if flags & libc::MSG_WAITALL != 0 { total(data) } else { total(data).min(1) };
    flags & (libc::MSG_DONTWAIT | libc::MSG_OOB) == 0
        && !held.is_nonblocking()
        && rustix::io::ioctl_fionread(held).is_ok_and(|there| (there as usize) < wanted)
        && held.low_water() <= 1
}

/// Sends all of it, as far as the descriptor lets it wait. The address, by its place and length,
/// means something with MSG_FASTOPEN alone.
pub(crate) fn send(
    caller: &Caller,
    held: &Held,
    data: &[Piece],
    to: (u64, i32),
    flags: i32,
) -> Result<usize, Failure> {
    if flags & libc::MSG_FASTOPEN != 0 {
        fast_open(caller, held, to, flags)?;
    }
    if held.kind == Kind::Listener {
        return Err(broken(caller, flags));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Send);
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
        match rustix::net::send(held, &octets, how) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN) if patient => {
                if let Err(end) = caller.wait(held.as_fd(), PollFlags::OUT, until, Patience::Interruptible) {
                    return so_far(sent, end.into());
                }
            }
            // The next call tells of it.
            Err(_) if sent > 0 => return Ok(sent),
            // What the connection died of is told once, and without a signal.
            Err(error @ (Errno::PIPE | Errno::CONNRESET)) => {
                let _ = rustix::net::sockopt::socket_error(held);
                let pending = lost(caller, held, error)?;
                return Err(if is_an_end(pending) { broken(caller, flags) } else { Failure::Errno(pending) });
            }
            // A descriptor that was not connected has not failed.
            Err(Errno::NOTCONN) => return Err(broken(caller, flags)),
            Err(error) => return Err(error.into()),
        }
        if sent >= length {
            return Ok(sent);
        }
    }
}

/// EPIPE, with its signal.
fn broken(caller: &Caller, flags: i32) -> Failure {
    if flags & libc::MSG_NOSIGNAL == 0 {
        caller.target.signal(Signal::PIPE);
    }
    Failure::Errno(libc::EPIPE)
}

/// Receives; with MSG_TRUNC what is received goes nowhere.
pub(crate) fn receive(caller: &Caller, held: &Held, data: &[Piece], flags: i32) -> Result<usize, Failure> {
    if wants_errors(flags) {
        return Err(Failure::Errno(libc::EAGAIN));
    }
    if held.kind == Kind::Listener || held.is_fresh() {
        return Err(Failure::Errno(libc::ENOTCONN));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Recv);
    let kept = flags & (libc::MSG_PEEK | libc::MSG_OOB);
    let how = RecvFlags::from_bits_retain(kept.cast_unsigned()) | RecvFlags::DONTWAIT;
    let all = flags & libc::MSG_WAITALL != 0 && kept == 0;
    let wanted = total(data);
    if peeks_at_all(flags) && kept == libc::MSG_PEEK && patient {
        wait_for(caller, held, wanted.min(CHUNK), until)?;
    }
    let mut octets = vec![0; wanted.min(CHUNK)];
    let mut received = 0;
    while received < wanted {
        let room = octets.len().min(wanted - received);
        match rustix::net::recv(held, &mut octets[..room], how) {
            // An end, or a reset whose error the call before took with the octets that it had.
            Ok((_, 0)) if received == 0 && kept & libc::MSG_OOB == 0 && held.hangs_up() => {
                return ended(lost(caller, held, Errno::PIPE)?);
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
                match caller.wait(held.as_fd(), PollFlags::IN, until, Patience::Interruptible) {
                    Ok(()) => continue,
                    Err(_) if received > 0 => break,
                    Err(end) => return Err(end.into()),
                }
            }
            Err(_) if received > 0 => break,
            Err(Errno::CONNRESET) => {
                // If somebody has been told already, what is left is the end.
                return ended(lost(caller, held, Errno::CONNRESET)?);
            }
            Err(error) => return Err(error.into()),
        }
        if !all {
            break;
        }
    }
    Ok(received)
}

/// The error of a connection that is lost, which is told by this, and 0 if it was told already;
/// what the kernel says if there is no agent any more.
fn lost(caller: &Caller, held: &Held, seen: Errno) -> Result<i32, Failure> {
    match pending_error(caller, held) {
        Err(Failure::Errno(_)) => Ok(seen.raw_os_error()),
        told => told,
    }
}

/// What that is to who reads.
fn ended(error: i32) -> Result<usize, Failure> {
    if is_an_end(error) { Ok(0) } else { Err(Failure::Errno(error)) }
}

/// Waits until so many octets are there, or the end: `poll` tells of the first one only, and
/// AF_UNIX does not wait for what is peeked at.
fn wait_for(caller: &Caller, held: &Held, wanted: usize, until: Option<Instant>) -> Result<(), Failure> {
    let arrivals = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
    let data = epoll::EventData::new_u64(0);
    epoll::add(&arrivals, held, data, ends | epoll::EventFlags::IN | epoll::EventFlags::ET)?;
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data }];
    while (rustix::io::ioctl_fionread(held)? as usize) < wanted {
        match caller.wait(arrivals.as_fd(), PollFlags::IN, until, Patience::Interruptible) {
            Ok(()) => {}
            // What is there is shown.
            Err(_) if rustix::io::ioctl_fionread(held)? > 0 => return Ok(()),
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
