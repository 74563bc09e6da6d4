//! Names of sockets: an AF_UNIX name identifies a descriptor as a socket of this agent.

use resoa_calls::{SocketId, SocketName};
use rustix::fd::OwnedFd;
use std::io;

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Names {
    /// Random, so that programs of other users cannot guess names.
    agent: u64,
    /// Random at first, so that numbers of an earlier agent's sockets do not match sockets of this
    /// one. Far from the maximum, because the poller uses two bits.
    last: u64,
}

impl Names {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { agent: random()?, last: random()? >> 2 })
    }

    pub(super) fn next(&mut self) -> SocketId {
        self.last += 1;
        SocketId(self.last)
    }

    pub(super) fn of(&self, socket: SocketId) -> SocketName {
        SocketName { agent: self.agent, socket }
    }

    /// Returns whether a descriptor is this socket's.
    pub(super) fn is_of(&self, descriptor: &OwnedFd, socket: SocketId) -> bool {
        SocketName::of(descriptor) == Some(self.of(socket))
    }
}

fn random() -> io::Result<u64> {
    let mut number = [0; 8];
    rustix::rand::getrandom(&mut number[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(number))
}
