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
            Err(error @ (Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN)) => {
                // A descriptor that was not connected has not failed.
                let pending = if error == Errno::NOTCONN { 0 } else { lost(caller, held, error)? };
                if !matches!(pending, 0 | libc::EPIPE) {
                    return Err(Failure::Errno(pending));
                }
                if flags & libc::MSG_NOSIGNAL == 0 {
                    caller.target.signal(Signal::PIPE);
                }
                return Err(Failure::Errno(libc::EPIPE));
            }
            Err(error) => return Err(error.into()),
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
            // An end, or a reset whose error the call before took with the octets that it had.
            Ok((_, 0)) if received == 0 && kept & libc::MSG_OOB == 0 && held.hangs_up() => {
                return ended(lost(caller, held, Errno::PIPE)?);
            }
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
                let error = lost(caller, held, Errno::CONNRESET)?;
                return ended(if error == 0 { libc::ECONNRESET } else { error });
            }
            Err(error) => return Err(error.into()),
        }
        if !all {
            break;
        }
    }
    Ok(received)
}

/// The error of a connection that is lost, which is told by this, and 0 if it was told already; what the kernel says if there is no agent any more.
fn lost(caller: &Caller, held: &Held, seen: Errno) -> Result<i32, Failure> {
    match pending_error(caller, held) {
        Err(Failure::Errno(_)) => Ok(seen.raw_os_error()),
        told => told,
    }
}

/// What that is to who reads. EPIPE is the error of a reset behind the far host's FIN, and who reads has the FIN (`tcp_recvmsg`).
fn ended(error: i32) -> Result<usize, Failure> {
    if matches!(error, 0 | libc::EPIPE) { Ok(0) } else { Err(Failure::Errno(error)) }
}
