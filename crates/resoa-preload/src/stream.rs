//! Streams, which the kernel moves: what is done by [`streams`] when that fails or ends, and what
//! is done here where it does not do what TCP does (C109).

use crate::program::{Here, failed, settled_count};
use crate::sockets::borrowed;
use crate::table::Hint;
use crate::{errno, real, sockets, table};
use libc::{MSG_DONTWAIT, MSG_OOB, MSG_PEEK, MSG_TRUNC, MSG_WAITALL, c_int, size_t, ssize_t};
use resoa_calls::descriptor;
use resoa_calls::interposer::streams;
use resoa_calls::stream::peeks_at_all;
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
    let Some(socket) = sockets::carried(number) else {
        // Somebody else's, after all: it keeps its error, and its signal.
        return if error == libc::EPIPE { broken(flags) } else { failed(error) };
    };
    settled_count(|| Err(streams::send_failure(&Here, &socket, flags, error)))
}

/// EPIPE, with its signal.
pub fn broken(flags: c_int) -> ssize_t {
    settled_count(|| Err(streams::broken(&Here, flags)))
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
        0 if flags & MSG_OOB == 0 && wants_octets() => end(number),
        0.. => result,
        _ => receive_failure(number, flags),
    }
}

/// An end. An orderly one does not hang up while this side may write.
fn end(number: c_int) -> ssize_t {
    let hangs_up = borrowed(number).is_some_and(descriptor::hangs_up);
    match hangs_up.then(|| sockets::carried(number)).flatten() {
        Some(socket) => settled_count(|| streams::end(&Here, &socket)),
        None => 0,
    }
}

fn receive_failure(number: c_int, flags: c_int) -> ssize_t {
    let error = errno::get();
    match error {
        libc::ECONNRESET | libc::EINVAL => match sockets::carried(number) {
            Some(socket) => {
                // What is no error leaves none.
                errno::set(0);
                settled_count(|| streams::receive_failure(&Here, &socket, flags, error))
            }
            None => failed(error),
        },
        _ => -1,
    }
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
