//! Streams. The kernel moves their data; [`streams`] decides what a failure or an end means. This
//! module covers the cases in which AF_UNIX differs from TCP (C109).

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

/// Completes a call that sends, which was made with MSG_NOSIGNAL. `flags` are those that the
/// program gave.
pub fn sent(number: c_int, flags: c_int, result: ssize_t) -> ssize_t {
    if result >= 0 {
        return result;
    }
    let error = errno::get();
    if !matches!(error, libc::EPIPE | libc::ECONNRESET | libc::ENOTCONN) {
        return result;
    }
    let Some(socket) = sockets::carried(number) else {
        // The socket is not the agent's after all: it keeps its error and its signal.
        return if error == libc::EPIPE { broken(flags) } else { failed(error) };
    };
    settled_count(|| Err(streams::send_failure(&Here, &socket, flags, error)))
}

/// Fails with EPIPE and its signal.
pub fn broken(flags: c_int) -> ssize_t {
    settled_count(|| Err(streams::broken(&Here, flags)))
}

/// Completes a call that receives. If it returned 0, `wants_octets` says whether there was room for
/// data.
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

/// Completes a call that found the end of the stream. After an orderly end the descriptor does not
/// report POLLHUP while this side may still write.
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
                // If the outcome is not an error, `errno` is 0.
                errno::set(0);
                settled_count(|| streams::receive_failure(&Here, &socket, flags, error))
            }
            None => failed(error),
        },
        _ => -1,
    }
}

/// `recv` with MSG_TRUNC, which discards data.
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
        // SAFETY: there is room for as many bytes.
        let result = unsafe { real::recv(number, nowhere.as_mut_ptr().cast(), wanted, flags) };
        match usize::try_from(result) {
            // The next call reports the error or the end, and finds its cause.
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
        // Without MSG_WAITALL the call takes only data that is already there. With it, it waits for
        // the rest.
        if flags & MSG_WAITALL == 0 {
            flags |= MSG_DONTWAIT;
        }
    }
}

/// Returns the number of bytes available, at most `count`, as `recv` with MSG_PEEK and MSG_TRUNC
/// does without copying any.
fn counted(number: c_int, count: size_t, flags: c_int) -> ssize_t {
    let mut nowhere = 0u8;
    // SAFETY: there is room for one byte.
    let result = unsafe { real::recv(number, (&raw mut nowhere).cast(), count.min(1), flags & !MSG_TRUNC) };
    let all = borrowed(number).filter(|_| result > 0).and_then(|socket| ioctl_fionread(socket).ok());
    // At least one byte was there, even if another thread has read it since.
    all.map_or(result, |all| (all as usize).clamp(1, count).cast_signed())
}

/// `recv` with MSG_PEEK and MSG_WAITALL: waits until `count` bytes are there, which AF_UNIX does
/// not do. `look` receives with the flags that it is given.
pub fn peeked(number: c_int, count: size_t, flags: c_int, look: impl Fn(c_int) -> ssize_t) -> ssize_t {
    let before = errno::get();
    let socket = borrowed(number);
    let arrivals = socket.and_then(arrivals);
    // SO_RCVTIMEO limits the whole call, not each wait.
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

/// Watches a socket for new data, edge-triggered: `poll` would also report data that is already
/// there. `None` if the socket is non-blocking.
fn arrivals(socket: BorrowedFd) -> Option<OwnedFd> {
    if fcntl_getfl(socket).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK)) {
        return None;
    }
    let arrivals = epoll::create(epoll::CreateFlags::CLOEXEC).ok()?;
    let what = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
    epoll::add(&arrivals, socket, epoll::EventData::new_u64(0), what).ok()?;
    Some(arrivals)
}

/// Returns when a call that begins now exceeds SO_RCVTIMEO.
fn deadline(socket: BorrowedFd) -> Option<Instant> {
    Instant::now().checked_add(socket_timeout(socket, Timeout::Recv).ok()??)
}

/// Waits until `until` and returns whether data has arrived.
fn arrived(arrivals: &OwnedFd, until: Option<Instant>) -> bool {
    let left = until.map(|until| until.saturating_duration_since(Instant::now()));
    let limit = left.and_then(|left| Timespec::try_from(left).ok());
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) }];
    epoll::wait(arrivals, &mut events, limit.as_ref()).is_ok_and(|count| count > 0)
}

/// Returns whether the peer has finished sending.
fn has_ended(socket: BorrowedFd) -> bool {
    let mut asked = [PollFd::from_borrowed_fd(socket, PollFlags::RDHUP)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut asked, Some(&now)).is_ok() && !asked[0].revents().is_empty()
}

/// Returns whether a call failed because the number is no socket; these calls only work on sockets.
/// The hint for a stream is then wrong and is forgotten.
pub fn is_no_socket(number: c_int, result: ssize_t) -> bool {
    let is_none = result < 0 && errno::get() == libc::ENOTSOCK;
    if is_none && table::hint(number) != Hint::Foreign {
        table::forget(number, number);
    }
    is_none
}

/// Returns whether a stream is the agent's, by its name. Needed for flags that AF_UNIX treats
/// differently than TCP.
pub fn is_carried(number: c_int) -> bool {
    let before = errno::get();
    let carried = sockets::carried(number).is_some();
    errno::set(before);
    carried
}
