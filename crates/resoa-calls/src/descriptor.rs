//! Properties of a program's descriptor that the kernel can tell. An interposer checks them before
//! it asks the agent.
//!
//! Options are read and set without the C library's functions, which a preload library may have
//! replaced by its own. Nothing here allocates.
#![expect(unsafe_code, reason = "options by their number are in no safe library")]

use crate::option::OF_BOTH;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;

/// Length in bytes of the longest value of [`OF_BOTH`] (`struct timeval`).
const LONGEST: usize = 16;

/// Returns an option of SOL_SOCKET of the descriptor itself: a number, or the first of several.
/// `None` if the descriptor is not a socket.
#[must_use]
pub fn number(socket: impl AsFd, name: i32) -> Option<i32> {
    let (value, length) = option(socket, name)?;
    value.first_chunk().filter(|_| length >= 4).map(|octets| i32::from_ne_bytes(*octets))
}

/// Returns an option of SOL_SOCKET, truncated to 16 bytes, and its length.
fn option(socket: impl AsFd, name: i32) -> Option<([u8; LONGEST], usize)> {
    let mut value = [0; LONGEST];
    let mut length = LONGEST as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `value`, which has as many, and their
    // number to `length`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_getsockopt,
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            value.as_mut_ptr(),
            &raw mut length,
        )
    };
    (result == 0).then_some((value, length as usize))
}

/// Sets an option of SOL_SOCKET of the descriptor itself. Its value must not contain a pointer.
/// Failures are ignored: the agent has accepted the option, or every socket has it.
pub fn set_option(socket: impl AsFd, name: i32, value: &[u8]) {
    // SAFETY: the kernel reads as many bytes as there are.
    unsafe {
        libc::syscall(
            libc::SYS_setsockopt,
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            name,
            value.as_ptr(),
            value.len(),
        );
    }
}

/// Kinds of sockets, as the program's descriptor shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DescriptorType {
    /// A stream that does not listen.
    Stream,
    /// A listening stream.
    Listener,
    /// A datagram socket.
    Datagram,
}

/// Returns the kind of a descriptor that was recognised by its [name](crate::SocketName).
#[must_use]
pub fn kind(socket: impl AsFd) -> DescriptorType {
    if number(&socket, libc::SO_TYPE) == Some(libc::SOCK_SEQPACKET) {
        DescriptorType::Datagram
    } else if mark(socket) == crate::LISTENING {
        DescriptorType::Listener
    } else {
        DescriptorType::Stream
    }
}

/// Returns the mark of a descriptor ([listeners](crate::LISTENING), [datagram
/// sockets](crate::datagram)): SO_PRIORITY, which has no meaning on AF_UNIX and is shared by all
/// copies.
#[must_use]
pub fn mark(socket: impl AsFd) -> i32 {
    number(socket, libc::SO_PRIORITY).unwrap_or(0)
}

/// Marks a descriptor. A mark below 7 needs no privilege.
pub fn set_mark(socket: impl AsFd, mark: i32) {
    set_option(socket, libc::SO_PRIORITY, &mark.to_ne_bytes());
}

/// Copies the [options](OF_BOTH) of a listener's descriptor to an accepted connection, as the
/// kernel does for its own.
pub fn inherit(listener: impl AsFd, connection: impl AsFd) {
    for name in OF_BOTH {
        if let Some((value, length)) = option(&listener, name)
            && option(&connection, name) != Some((value, length))
        {
            set_option(&connection, name, &value[..length]);
        }
    }
}

/// Returns whether a descriptor polls HUP: it has no other end, or both directions are closed.
#[must_use]
pub fn hangs_up(socket: impl AsFd) -> bool {
    polled(socket, PollFlags::empty()).is_ok_and(|found| found.contains(PollFlags::HUP))
}

/// Returns whether no more data will arrive: the other end has shut down that direction, or is
/// closed.
#[must_use]
pub fn is_at_end(socket: impl AsFd) -> bool {
    let ends = PollFlags::RDHUP | PollFlags::HUP;
    polled(socket, PollFlags::RDHUP).is_ok_and(|found| found.intersects(ends))
}

/// Polls a descriptor without waiting. Returns those of `events` that hold, and HUP and ERR if they
/// hold.
///
/// # Errors
/// The kernel's; none that concern the descriptor.
pub fn polled(socket: impl AsFd, events: PollFlags) -> Result<PollFlags, Errno> {
    let mut asked = [PollFd::new(&socket, events)];
    poll(&mut asked, Some(&Timespec::default()))?;
    Ok(asked[0].revents())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::sockopt::{
        Timeout, set_socket_linger, set_socket_timeout, socket_linger, socket_timeout,
    };
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
    use std::time::Duration;

    fn pair() -> (rustix::fd::OwnedFd, rustix::fd::OwnedFd) {
        socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).expect("descriptors")
    }

    /// C39: an accepted connection gets the options of its listener that the kernel applies to the
    /// descriptor, whatever the connection had before.
    #[test]
    fn a_connection_has_what_its_listener_has() {
        let ((listener, _other), (connection, _its_other)) = (pair(), pair());
        let time = Some(Duration::from_millis(1500));
        set_socket_timeout(&listener, Timeout::Recv, time).expect("a socket");
        set_socket_linger(&listener, Some(Duration::from_secs(3))).expect("a socket");
        set_socket_timeout(&connection, Timeout::Send, time).expect("a socket");
        set_option(&listener, libc::SO_RCVLOWAT, &7_i32.to_ne_bytes());
        inherit(&listener, &connection);
        assert_eq!(socket_timeout(&connection, Timeout::Recv), Ok(time));
        assert_eq!(socket_timeout(&connection, Timeout::Send), Ok(None));
        assert_eq!(socket_linger(&connection), Ok(Some(Duration::from_secs(3))));
        assert_eq!(number(&connection, libc::SO_RCVLOWAT), Some(7));
    }

    /// Copies share a mark, and a file that is not a socket has none.
    #[test]
    fn marks() {
        let (one, _other) = pair();
        let copy = one.try_clone().expect("descriptors");
        assert_eq!(mark(&copy), 0);
        set_mark(&one, crate::LISTENING);
        assert_eq!(mark(&copy), crate::LISTENING);
        let file = std::fs::File::open("/dev/null").expect("it is there");
        assert_eq!((mark(&file), number(&file, libc::SO_TYPE)), (0, None));
    }

    /// A descriptor hangs up if its other end is closed, and not if one direction is shut down.
    #[test]
    fn hang_ups() {
        let (one, other) = pair();
        rustix::net::shutdown(&other, rustix::net::Shutdown::Write).expect("it is connected");
        assert!(!hangs_up(&one));
        drop(other);
        assert!(hangs_up(&one));
    }
}
