//! What ends the wait of a user's loop: sockets that become ready, a deadline, or something that
//! the carrier has to report without either.
//!
//! Deadlines are the user's to wait for ([`Carrier::deadline`](crate::Carrier::deadline)). A timer
//! and a bell of the kernel's would cost two more system calls for each packet.

use resoa_protocol::lhp::Connection;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::time::Instant;

/// Token of the listener. Connections are counted from 1.
pub(crate) const LISTENER: Connection = Connection(0);
/// Events per `epoll_wait`. Further events end the next wait.
const EDGES: usize = 64;

/// When a wait ends even if no socket becomes ready.
#[derive(Debug, Default)]
pub(crate) struct Alarm {
    due: Option<Instant>,
    has_rung: bool,
}

impl Alarm {
    /// Ends the current wait, or the next one.
    pub(crate) fn ring(&mut self) {
        self.has_rung = true;
    }

    /// Begins a pass of the loop, which does what it was rung for.
    pub(crate) fn silence(&mut self) {
        self.has_rung = false;
    }

    /// Ends a wait at `due`, instead of the time that was set before.
    pub(crate) fn set(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// Returns when the wait ends.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.has_rung { Some(Instant::now()) } else { self.due }
    }
}

/// Sockets of many connections behind one file descriptor (epoll).
#[derive(Debug)]
pub(crate) struct Edges(OwnedFd);

impl Edges {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Watches a stream or a listener until it is closed. Each time that it becomes readable or
    /// writable, a wait ends and [`take`](Self::take) returns `whose`.
    pub(crate) fn watch(&self, socket: BorrowedFd, whose: Connection) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        Ok(epoll::add(&self.0, socket, EventData::new_u64(whose.0), flags)?)
    }

    /// Consumes the events, and returns the connections whose sockets are ready.
    pub(crate) fn take(&self) -> Vec<Connection> {
        let mut edges: Vec<epoll::Event> = Vec::with_capacity(EDGES);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An interrupted call has consumed nothing.
        let _ = epoll::wait(&self.0, spare_capacity(&mut edges), Some(&at_once));
        edges.into_iter().map(|edge| Connection(edge.data.u64())).collect()
    }
}

impl AsFd for Edges {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
