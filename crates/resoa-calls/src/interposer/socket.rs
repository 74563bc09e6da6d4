//! The remote socket that a call is on.

use crate::descriptor::{self, Kind};
use crate::{SocketId, SocketName};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::sockopt::{Timeout, socket_timeout};
use std::time::Instant;

/// A remote socket, by a descriptor of it.
#[derive(Debug, Clone, Copy)]
pub struct Socket<'a> {
    /// The program's descriptor, or a copy of it.
    pub descriptor: BorrowedFd<'a>,
    /// The agent's number of the socket.
    pub id: SocketId,
    /// What the descriptor is.
    pub kind: Kind,
}

impl AsFd for Socket<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor
    }
}

impl<'a> Socket<'a> {
    /// The socket of a descriptor; `None` if that is none of an agent's.
    #[must_use]
    pub fn of(descriptor: BorrowedFd<'a>) -> Option<Self> {
        let id = SocketName::of(descriptor)?.socket;
        Some(Self { descriptor, id, kind: descriptor::kind(descriptor) })
    }

    /// Whether the descriptor has O_NONBLOCK.
    #[must_use]
    pub fn is_nonblocking(&self) -> bool {
        fcntl_getfl(self).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK))
    }

    /// When SO_RCVTIMEO or SO_SNDTIMEO ends a call that begins now; `None` is never.
    #[must_use]
    pub fn until(&self, timeout: Timeout) -> Option<Instant> {
        Instant::now().checked_add(socket_timeout(self, timeout).ok()??)
    }

    /// Whether the stream has no other end: neither `connect` nor `listen` was called.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        rustix::net::getpeername(self).is_err()
    }
}
