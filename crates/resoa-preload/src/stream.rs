//! What a stream of AF_UNIX says otherwise than TCP when a call fails (C109; 8.2 of the
//! specification). Nothing is asked while calls succeed.
//!
//! | state | AF_UNIX | TCP, and here |
//! |---|---|---|
//! | not connected | send ENOTCONN, recv EINVAL | EPIPE and SIGPIPE, ENOTCONN |
//! | refused, reset | recv ECONNRESET, and no error after one that has octets and waits for more | the error that it was |
//! | reset | send EPIPE and SIGPIPE, or ECONNRESET if it waits | the error once and no signal, then EPIPE and SIGPIPE |
//! | connected | an address to send to is EISCONN | it is ignored |
//! | connected | recv with MSG_PEEK and MSG_WAITALL does not wait | it waits |
//! | connected | recv with MSG_TRUNC copies, with MSG_ERRQUEUE reads | octets are discarded (with MSG_PEEK: counted), EAGAIN |

use crate::control::hangs_up;
use crate::options::{pending_error, told_error};
use crate::sockets::borrowed;
use crate::table::Hint;
use crate::{errno, real, sockets, table};
use libc::{MSG_DONTWAIT, MSG_NOSIGNAL, MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_WAITALL, c_int, size_t, ssize_t};
use resoa_calls::stream::{is_an_end, peeks_at_all};
use rustix::event::{PollFd, PollFlags, Timespec, epoll, poll};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::io::ioctl_fionread;
use rustix::net::sockopt::{Timeout, socket_timeout};
use std::time::Instant;

/// The return of a call that sends, made with MSG_NOSIGNAL whatever the program said; `flags` are
/// those that it said.
pub fn sent(number: c_int, flags: c_int, result: ssize_t) -> ssize_t {
    if result >= 0 {
        return result;
    }
    let error = errno::get();
    if !matches!(error, libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN) {
        return result;
    }
    let Some((socket, _)) = sockets::carried(number) else {
        // Somebody else's, after all: it keeps its error, and its signal.
        errno::set(error);
        return if error == libc::EPIPE { broken(flags) } else { -1 };
    };
    // A descriptor that was not connected has not failed.
    let pending = match error {
        libc::EPIPE => pending_error(number, socket, 0),
        // What a call hears that waits for room. That it is told once the agent has to know.
        libc::ECONNRESET => pending_error(number, socket, error),
        _ => 0,
    };
    // The connection's error may be EPIPE itself, when the reset came after the far host's end.
    if is_an_end(pending) {
        return broken(flags);
    }
    errno::set(pending);
    -1
}

/// EPIPE, with its signal.
pub fn broken(flags: c_int) -> ssize_t {
    if flags & MSG_NOSIGNAL == 0 {
        // SAFETY: a signal to this thread, as the kernel sends it.
        unsafe { libc::raise(libc::SIGPIPE) };
    }
    errno::set(libc::EPIPE);
    -1
}

/// The return of a call that receives; `wants_octets` says of one that has come to 0 whether there
/// was room for more.
pub fn received(
    number: c_int,
    flags: c_int,
    result: ssize_t,
    wants_octets: impl FnOnce() -> bool,
) -> ssize_t {
    match result {
        0 if flags & MSG_OOB == 0 && wants_octets() => ended(number),
        0.. => result,
        _ => failed(number, flags, result),
    }
}

/// An end, which may be a reset of which nobody was told: a read that has octets and waits for more
/// (MSG_WAITALL, SO_RCVLOWAT) returns them and takes the kernel's error, which a TCP keeps for the
/// next. An end in order does not hang up while this side may write.
fn ended(number: c_int) -> ssize_t {
    let before = errno::get();
    let error = if hangs_up(number) {
        sockets::carried(number).map_or(0, |(socket, _)| told_error(socket).unwrap_or(0))
    } else {
        0
    };
    errno::set(if is_an_end(error) { before } else { error });
    if is_an_end(error) { 0 } else { -1 }
}

fn failed(number: c_int, flags: c_int, result: ssize_t) -> ssize_t {
    let error = errno::get();
    let repaired = match error {
        libc::ECONNRESET => match sockets::carried(number) {
            // Somebody has been told already; what is left is the end.
            Some((socket, _)) => pending_error(number, socket, error),
            None => error,
        },
        libc::EINVAL if flags & MSG_OOB == 0 && sockets::carried(number).is_some() => libc::ENOTCONN,
        _ => error,
    };
    errno::set(if is_an_end(repaired) { 0 } else { repaired });
    if is_an_end(repaired) { 0 } else { result }
}

/// `recv` with MSG_TRUNC: octets go nowhere.
pub fn discarded(number: c_int, count: size_t, flags: c_int) -> ssize_t {
    if flags & MSG_PEEK != 0 {
        let look = |flags| counted(number, count, flags);
        return if peeks_at_all(flags) {
            peeked(number, count, flags, look)
        } else {
            received(number, flags, look(flags), || count > 0)
        };
    }
    let mut nowhere = [0u8; 16 << 10];
    let mut flags = flags & !MSG_TRUNC;
    let mut done = 0;
    let before = errno::get();
    loop {
        let wanted = (count - done).min(nowhere.len());
        // SAFETY: there is as much room.
        let result = unsafe { real::recv(number, nowhere.as_mut_ptr().cast(), wanted, flags) };
        match usize::try_from(result) {
            // Its error is the next call's, by which an end is looked into.
            Err(_) | Ok(0) if done > 0 => {
                errno::set(before);
                return done.cast_signed();
            }
            Err(_) | Ok(0) => return received(number, flags, result, || wanted > 0),
            Ok(octets) => {
                done += octets;
                if octets < wanted || done == count {
                    return done.cast_signed();
                }
            }
        }
        // What is there is taken, and with MSG_WAITALL the rest is waited for.
        if flags & MSG_WAITALL == 0 {
            flags |= MSG_DONTWAIT;
        }
    }
}

/// How many octets are there of so many, as `recv` with MSG_PEEK and MSG_TRUNC says that shows
/// none.
fn counted(number: c_int, count: size_t, flags: c_int) -> ssize_t {
    let mut nowhere = 0u8;
    // SAFETY: there is room for one.
    let result = unsafe { real::recv(number, (&raw mut nowhere).cast(), count.min(1), flags & !MSG_TRUNC) };
    let all = borrowed(number).filter(|_| result > 0).and_then(|socket| ioctl_fionread(socket).ok());
    // One is there at least, whatever has been read meanwhile.
    all.map_or(result, |all| (all as usize).clamp(1, count).cast_signed())
}

/// `recv` with MSG_PEEK and MSG_WAITALL, by `look` with the flags that it is to have: waits until
/// as much is there, which AF_UNIX does not.
pub fn peeked(number: c_int, count: size_t, flags: c_int, look: impl Fn(c_int) -> ssize_t) -> ssize_t {
    let before = errno::get();
    let socket = borrowed(number);
    let arrivals = socket.and_then(arrivals);
    // SO_RCVTIMEO is for the call, and not for each octet.
    let until = socket.and_then(deadline);
    loop {
        let result = look(flags & !MSG_WAITALL);
        if result <= 0 {
            return received(number, flags, result, || count > 0);
        }
        let is_more_waited_for = result.cast_unsigned() < count && !socket.is_some_and(has_ended);
        let Some(arrivals) = arrivals.as_ref().filter(|_| is_more_waited_for) else { return result };
        if !arrived(arrivals, until) {
            errno::set(before);
            return result;
        }
    }
}

/// Tells of each arrival once, while `poll` would tell of what is there already.
fn arrivals(socket: BorrowedFd) -> Option<OwnedFd> {
    if fcntl_getfl(socket).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK)) {
        return None;
    }
    let arrivals = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
    let what = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    epoll::add(&arrivals, socket, epoll::EventData::new_u64(0), what).ok()?;
    Some(arrivals)
}

/// When a call that begins now has waited for as long as SO_RCVTIMEO says.
fn deadline(socket: BorrowedFd) -> Option<Instant> {
    Instant::now().checked_add(socket_timeout(socket, Timeout::Recv).ok()??)
}

/// Waits until then; whether something has come.
fn arrived(arrivals: &OwnedFd, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let limit = left.and_then(|left| Timespec::try_from(left).ok());
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
    epoll::wait(arrivals, &mut events, limit.as_ref()).is_ok_and(|count| count > 0)
}

/// Whether nothing more will come.
fn has_ended(socket: BorrowedFd) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && !asked[0].revents().is_empty()
}

/// A number that a stream was remembered under and that is none, by a call that only sockets have:
/// it is looked at again.
pub fn is_no_socket(number: c_int, result: ssize_t) -> bool {
    let is_none = result < 0 && errno::get() == libc::ENOTSOCK;
    if is_none && table::hint(number) != Hint::Foreign {
        table::forget(number, number);
    }
    is_none
}

/// Whether a stream, by its name, is the agent's: for flags that AF_UNIX takes otherwise.
pub fn is_carried(number: c_int) -> bool {
    let before = errno::get();
    let carried = sockets::carried(number).is_some();
    errno::set(before);
    carried
}
