//! The remote socket of a call.

use crate::descriptor::{self, DescriptorType};
use crate::{SocketId, SocketName};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{OFlags, fcntl_getfl};
use rustix::net::sockopt::{Timeout, socket_timeout};
use std::time::Instant;

/// A remote socket with one of its descriptors.
#[derive(Debug, Clone, Copy)]
pub struct Socket<'a> {
    /// The program's descriptor, or a copy of it.
    pub descriptor: BorrowedFd<'a>,
    /// The agent's number of the socket.
    pub id: SocketId,
    /// The kind of the descriptor.
    pub kind: DescriptorType,
}

impl AsFd for Socket<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor
    }
}

impl<'a> Socket<'a> {
    /// Returns the socket of a descriptor; `None` if that is not an agent's.
    #[must_use]
    pub fn of(descriptor: BorrowedFd<'a>) -> Option<Self> {
        let id = SocketName::of(descriptor)?.socket;
        Some(Self { descriptor, id, kind: descriptor::kind(descriptor) })
    }

    /// Returns whether the descriptor has O_NONBLOCK.
    #[must_use]
    pub fn is_nonblocking(&self) -> bool {
        fcntl_getfl(self).is_ok_and(|flags| flags.contains(OFlags::NONBLOCK))
    }

    /// Returns the time at which SO_RCVTIMEO or SO_SNDTIMEO ends a call that begins now; `None`
    /// means never.
    #[must_use]
    pub fn until(&self, timeout: Timeout) -> Option<Instant> {
        Instant::now().checked_add(socket_timeout(self, timeout).ok()??)
    }

    /// Returns whether the stream has no other end: neither `connect` nor `listen` has taken
    /// effect.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        rustix::net::getpeername(self).is_err()
    }
}
