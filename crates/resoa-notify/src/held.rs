//! A copy of a program's descriptor, held while a call on it is answered, as the kernel holds the
//! file of a call.

pub(crate) use resoa_calls::descriptor::Kind;
use resoa_calls::{LISTENING, SocketId, SocketName, datagram, descriptor};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::sockopt::{Timeout, set_socket_broadcast, socket_broadcast, socket_linger, socket_timeout};
use std::time::Instant;

/// A program's remote socket, as it was when the call began.
#[derive(Debug)]
pub(crate) struct Held {
    descriptor: OwnedFd,
    pub(crate) socket: SocketId,
    pub(crate) kind: Kind,
    /// What the descriptor says of itself.
    pub(crate) mark: i32,
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

impl Held {
    /// If it is a socket of an agent's.
    pub(crate) fn of(descriptor: OwnedFd) -> Option<Self> {
        let socket = SocketName::of(&descriptor)?.socket;
        let mark = descriptor::mark(&descriptor);
        let kind = descriptor::kind(&descriptor);
        Some(Self { descriptor, socket, kind, mark })
    }

    /// It has O_NONBLOCK.
    pub(crate) fn is_nonblocking(&self) -> bool {
        fcntl_getfl(self).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK))
    }

    /// SO_RCVLOWAT.
    pub(crate) fn low_water(&self) -> i32 {
        descriptor::number(self, libc::SO_RCVLOWAT).unwrap_or(1)
    }

    /// When a call that begins now has waited for long enough.
    pub(crate) fn until(&self, timeout: Timeout) -> Option<Instant> {
        Some(Instant::now() + socket_timeout(self, timeout).ok()??)
    }

    /// SO_LINGER lets `close` wait; with a time of nothing it aborts and does not.
    pub(crate) fn lingers(&self) -> bool {
        matches!(socket_linger(self), Ok(Some(time)) if !time.is_zero())
    }

    /// Nothing is at its other end: neither `connect` nor `listen` was called.
    pub(crate) fn is_fresh(&self) -> bool {
        rustix::net::getpeername(self).is_err()
    }

    /// Nothing is at its other end any more, or both halves are over.
    pub(crate) fn hangs_up(&self) -> bool {
        descriptor::hangs_up(self)
    }

    /// `listen` has succeeded: says so to whoever holds it.
    pub(crate) fn set_listening(&self) {
        descriptor::set_mark(self, LISTENING);
    }

    /// A datagram socket with a destination of its own.
    pub(crate) fn is_connected_datagram(&self) -> bool {
        self.kind == Kind::Datagram && self.mark & datagram::CONNECTED != 0
    }

    /// Whether the agent knows that errors may come among the datagrams: by an option that means
    /// nothing to AF_UNIX, so that it stays with the descriptor.
    pub(crate) fn is_seen(&self) -> bool {
        socket_broadcast(self).unwrap_or(false)
    }

    /// Says so.
    pub(crate) fn set_seen(&self) {
        let _ = set_socket_broadcast(self, true);
    }

    /// Octets in front of each datagram that was received.
    pub(crate) fn in_front(&self) -> usize {
        datagram::in_front(self.mark)
    }
}
