//! What a program's descriptor says of itself to whoever holds it, by the kernel's own calls: an
//! interposer looks at these before it asks anything of the agent.
//!
//! Options are read and set past the C library's functions, which a preload library may have
//! replaced by its own. Nothing here asks the allocator for memory.
#![expect(unsafe_code, reason = "options by their number are in no safe library")]

use crate::option::OF_BOTH;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;

/// Octets of the longest value of [`OF_BOTH`] (`struct timeval`).
const LONGEST: usize = 16;

/// An option of SOL_SOCKET of the descriptor itself: a number, or the first of several. `None` if
/// it is no socket.
#[must_use]
pub fn number(socket: impl AsFd, name: i32) -> Option<i32> {
    let (value, length) = option(socket, name)?;
    value.first_chunk().filter(|_| length >= 4).map(|octets| i32::from_ne_bytes(*octets))
}

/// An option of SOL_SOCKET, cut to 16 octets, and its length.
fn option(socket: impl AsFd, name: i32) -> Option<([u8; LONGEST], usize)> {
    let mut value = [0; LONGEST];
    let mut length = LONGEST as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `value`, which has as many, and how many
    // to `length`.
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

/// Sets an option of SOL_SOCKET of the descriptor itself, whose value holds no pointer. It is one
/// that the agent has found right, or one that every socket has: a failure is none of the
/// program's.
pub fn set_option(socket: impl AsFd, name: i32, value: &[u8]) {
    // SAFETY: the kernel reads as many octets as there are.
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

/// What a program's descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A stream that does not listen.
    Stream,
    /// A stream that does.
    Listener,
    /// A datagram socket.
    Datagram,
}

/// Of a descriptor that was recognised by its [name](crate::SocketName).
#[must_use]
pub fn kind(socket: impl AsFd) -> Kind {
    if number(&socket, libc::SO_TYPE) == Some(libc::SOCK_SEQPACKET) {
        Kind::Datagram
    } else if mark(socket) == crate::LISTENING {
        Kind::Listener
    } else {
        Kind::Stream
    }
}

/// What a descriptor is [marked](crate::LISTENING) with ([datagrams](crate::datagram)):
/// SO_PRIORITY, which has no meaning for AF_UNIX and is the same for everybody who holds it.
#[must_use]
pub fn mark(socket: impl AsFd) -> i32 {
    number(socket, libc::SO_PRIORITY).unwrap_or(0)
}

/// Marks a descriptor. A mark below 7 takes no privilege.
pub fn set_mark(socket: impl AsFd, mark: i32) {
    set_option(socket, libc::SO_PRIORITY, &mark.to_ne_bytes());
}

/// Lets a connection that was accepted have the [options](OF_BOTH) that its listener's descriptor
/// has, as the kernel's own connections have them.
pub fn inherit(listener: impl AsFd, connection: impl AsFd) {
    for name in OF_BOTH {
        if let Some((value, length)) = option(&listener, name)
            && option(&connection, name) != Some((value, length))
        {
            set_option(&connection, name, &value[..length]);
        }
    }
}

/// Whether a descriptor polls HUP: nothing is at its other end, or both halves are over.
#[must_use]
pub fn hangs_up(socket: impl AsFd) -> bool {
    polled(socket, PollFlags::empty()).is_ok_and(|found| found.contains(PollFlags::HUP))
}

/// Whether nothing comes to a descriptor any more but what is there: its other end has shut that
/// half, or is gone.
#[must_use]
pub fn is_at_end(socket: impl AsFd) -> bool {
    let ends = PollFlags::RDHUP | PollFlags::HUP;
    polled(socket, PollFlags::RDHUP).is_ok_and(|found| found.intersects(ends))
}

/// What a descriptor polls now, of what is asked for and what always is: HUP, ERR.
///
/// # Errors
/// The kernel's; none of the descriptor's.
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

    /// C39: what the kernel heeds by the descriptor a connection has from its listener, whether it
    /// is as made there or here.
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

    /// A mark is the descriptor's and not a copy's own; what is no socket has none.
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

    /// What has nobody at its other end hangs up, and what is half closed does not.
    #[test]
    fn hang_ups() {
        let (one, other) = pair();
        rustix::net::shutdown(&other, rustix::net::Shutdown::Write).expect("it is connected");
        assert!(!hangs_up(&one));
        drop(other);
        assert!(hangs_up(&one));
    }
}
