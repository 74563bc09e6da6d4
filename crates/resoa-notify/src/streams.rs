//! Data of a stream where AF_UNIX and TCP differ (C109): the call has an address, it discards or
//! peeks, or the connection has failed or was never made.
//!
//! The kernel continues all other calls ([`is_ordinary`]).

use crate::caller::{Caller, Patience};
use crate::message::window;
use resoa_calls::descriptor::{self, DescriptorType};
use resoa_calls::interposer::streams::{
    Opened, broken, end, fast_open, listener_failure, receive_failure, send_failure,
};
use resoa_calls::interposer::{Detour, Given, Piece, Socket, total};
use resoa_calls::stream::{discards, peeks_at_all, wants_errors};
use rustix::event::{PollFlags, Timespec, epoll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::net::sockopt::Timeout;
use rustix::net::{RecvFlags, SendFlags};
use std::time::Instant;

/// Bytes that are copied at a time.
const CHUNK: usize = 256 << 10;

/// Returns whether AF_UNIX answers a plain call as TCP would: the connection exists and has not
/// failed.
pub(crate) fn is_ordinary(socket: &Socket) -> bool {
    // A fresh descriptor reports POLLHUP, as does one whose other end is gone.
    let over = PollFlags::HUP | PollFlags::ERR;
    socket.kind == DescriptorType::Stream
        && descriptor::polled(socket, PollFlags::empty()).is_ok_and(|found| !found.intersects(over))
}

/// Returns whether AF_UNIX and TCP agree on these flags of a receiving call.
pub(crate) fn are_ordinary(flags: i32) -> bool {
    !discards(flags) && !wants_errors(flags) && !peeks_at_all(flags)
}

/// Returns whether a receiving call has to wait. Then it waits here. In the kernel a reset would
/// end the wait, or MSG_WAITALL would swallow it behind the data that is there. In both cases
/// nobody would ask the agent for the connection's error. With a low-water mark the call stays in
/// the kernel, because only the kernel honours that mark.
pub(crate) fn waits(socket: &Socket, data: &[Piece], flags: i32) -> bool {
    let wanted = if flags & libc::MSG_WAITALL != 0 { total(data) } else { total(data).min(1) };
    flags & (libc::MSG_DONTWAIT | libc::MSG_OOB) == 0
        && !socket.is_nonblocking()
        && rustix::io::ioctl_fionread(socket).is_ok_and(|there| (there as usize) < wanted)
        && descriptor::number(socket, libc::SO_RCVLOWAT).is_none_or(|low_water| low_water <= 1)
}

/// Sends all data, or as much as the descriptor's timeout and mode allow. The address matters only
/// with MSG_FASTOPEN.
pub(crate) fn send(caller: &Caller, socket: &Socket, data: &[Piece], to: Given, flags: i32) -> Detour<usize> {
    let flags = match fast_open(caller, socket, to, data, flags)? {
        Opened::Connected(flags) => flags,
        Opened::Sent(count) => return Ok(count),
    };
    if socket.kind == DescriptorType::Listener {
        return Err(broken(caller, flags));
    }
    let patient = flags & libc::MSG_DONTWAIT == 0 && !socket.is_nonblocking();
    let until = socket.until(Timeout::Send);
    let mut how = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    how.set(SendFlags::OOB, flags & libc::MSG_OOB != 0);
    let length = total(data);
    let mut sent = 0;
    // Data sent so far is reported before an error.
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
            // The next call reports it.
            Err(_) if sent > 0 => return Ok(sent),
            Err(error) => return Err(send_failure(caller, socket, flags, error.raw_os_error())),
        }
        if sent >= length {
            return Ok(sent);
        }
    }
}

/// Receives data; with MSG_TRUNC it is discarded.
pub(crate) fn receive(caller: &Caller, socket: &Socket, data: &[Piece], flags: i32) -> Detour<usize> {
    if wants_errors(flags) || socket.kind == DescriptorType::Listener {
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
            // An end of stream, or a reset whose error the previous call consumed along with the
            // data that it returned.
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

/// Waits until `wanted` bytes or the end have arrived. `poll` only reports the first byte, and
/// AF_UNIX does not wait for bytes to be peeked at.
fn wait_for(caller: &Caller, socket: &Socket, wanted: usize, until: Option<Instant>) -> Detour<()> {
    let arrivals = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let ends = epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR;
    let data = epoll::EventData::new_u64(0);
    epoll::add(&arrivals, socket, data, ends | epoll::EventFlags::IN | epoll::EventFlags::ET)?;
    let mut events = [epoll::Event { flags: epoll::EventFlags::empty(), data }];
    while (rustix::io::ioctl_fionread(socket)? as usize) < wanted {
        match caller.wait(arrivals.as_fd(), PollFlags::IN, until, Patience::Interruptible) {
            Ok(()) => {}
            // The call returns the data that is there.
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
