//! Data of a stream whose call has an address, which TCP ignores and AF_UNIX does not, or is to be thrown away.

use crate::caller::{Caller, Failure, Patience};
use crate::control::pending_error;
use crate::held::Held;
use crate::message::{total, window};
use crate::target::Piece;
use rustix::event::PollFlags;
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::Signal;

/// Octets that are copied at a time.
const CHUNK: usize = 256 << 10;

/// Sends all of it, as far as the descriptor lets it wait.
pub(crate) fn send(caller: &Caller, held: &Held, data: &[Piece], flags: i32) -> Result<usize, Failure> {
    if flags & libc::MSG_FASTOPEN != 0 {
        return Err(Failure::Errno(libc::EOPNOTSUPP));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Send);
    let mut how = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    how.set(SendFlags::OOB, flags & libc::MSG_OOB != 0);
    let length = total(data);
    let mut sent = 0;
    // What is sent already is told before an error.
    let ended = |sent: usize, failure| if sent > 0 { Ok(sent) } else { Err(failure) };
    loop {
        let octets = match caller.target.gather(&window(data, sent, CHUNK)) {
            Ok(octets) => octets,
            Err(error) => return ended(sent, error.into()),
        };
        caller.confirm()?;
        match rustix::net::send(held, &octets, how) {
            Ok(more) => sent += more,
            Err(Errno::AGAIN) if patient => {
                if let Err(end) = caller.wait(held.as_fd(), PollFlags::OUT, until, Patience::Interruptible) {
                    return ended(sent, end.into());
                }
            }
            Err(Errno::PIPE | Errno::NOTCONN) => {
                if sent == 0 && flags & libc::MSG_NOSIGNAL == 0 {
                    caller.target.signal(Signal::PIPE);
                }
                return ended(sent, Failure::Errno(libc::EPIPE));
            }
            Err(error) => return ended(sent, error.into()),
        }
        if sent >= length {
            return Ok(sent);
        }
    }
}

/// Receives; with MSG_TRUNC what is received goes nowhere.
pub(crate) fn receive(caller: &Caller, held: &Held, data: &[Piece], flags: i32) -> Result<usize, Failure> {
    if flags & libc::MSG_ERRQUEUE != 0 {
        return Err(Failure::Errno(libc::EAGAIN));
    }
    if held.is_fresh() || held.is_listening() {
        return Err(Failure::Errno(libc::ENOTCONN));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !held.is_nonblocking();
    let until = held.until(Timeout::Recv);
    let kept = flags & (libc::MSG_PEEK | libc::MSG_OOB);
    let how = RecvFlags::from_bits_retain(kept.cast_unsigned()) | RecvFlags::DONTWAIT;
    let all = flags & libc::MSG_WAITALL != 0 && kept == 0;
    let wanted = total(data);
    let mut octets = vec![0; wanted.min(CHUNK)];
    let mut received = 0;
    while received < wanted {
        let room = octets.len().min(wanted - received);
        match rustix::net::recv(held, &mut octets[..room], how) {
            Ok((_, 0)) => break,
            Ok((_, more)) => {
                if flags & libc::MSG_TRUNC == 0 {
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
                let error = pending_error(caller, held)?;
                return Err(Failure::Errno(if error == 0 { libc::ECONNRESET } else { error }));
            }
            Err(error) => return Err(error.into()),
        }
        if !all {
            break;
        }
    }
    Ok(received)
}
