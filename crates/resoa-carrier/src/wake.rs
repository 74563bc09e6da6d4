//! Wakes a user's loop: when a socket becomes ready, at a deadline, or when the carrier has
//! something to report without either.
//!
//! Deadlines are the user's to wait for ([`Carrier::deadline`](crate::Carrier::deadline)): a timer
//! and a bell of the kernel's cost two more system calls for each packet.

use resoa_protocol::lhp::Connection;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::time::Instant;

/// Token of the socket that all connections share. Connections are counted from 1.
pub(crate) const WHOLE: Connection = Connection(0);
/// Events per `epoll_wait`. Further events end the next wait.
const EDGES: usize = 64;

/// An epoll instance, and when a wait for it ends anyway.
#[derive(Debug)]
pub(crate) struct Wake {
    epoll: OwnedFd,
    due: Option<Instant>,
    has_rung: bool,
    /// A wait ends when the socket of datagrams has room.
    awaits_room: bool,
}

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        Ok(Self { epoll, due: None, has_rung: false, awaits_room: false })
    }

    fn add(&self, fd: BorrowedFd, flags: EventFlags, whose: Connection) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(whose.0), flags | EventFlags::ET)?)
    }

    /// Watches a stream or a listener until it is closed. Each time that it becomes readable or
    /// writable, a wait ends and [`take`](Self::take) returns `whose`.
    pub(crate) fn watch(&self, socket: BorrowedFd, whose: Connection) -> io::Result<()> {
        self.add(socket, EventFlags::IN | EventFlags::OUT, whose)
    }

    /// Watches the socket of datagrams until it is closed. Each time that it becomes readable, a
    /// wait ends and [`take`](Self::take) returns `WHOLE`.
    pub(crate) fn watch_datagrams(&mut self, socket: BorrowedFd) -> io::Result<()> {
        self.awaits_room = false;
        self.add(socket, EventFlags::IN, WHOLE)
    }

    /// States whether a wait ends also when the watched socket of datagrams has room.
    ///
    /// Only a full socket should be waited for: the kernel reports room after each datagram that
    /// has left.
    pub(crate) fn await_room(&mut self, socket: BorrowedFd, is_full: bool) {
        if is_full == self.awaits_room {
            return;
        }
        self.awaits_room = is_full;
        let room = if is_full { EventFlags::OUT } else { EventFlags::empty() };
        let flags = EventFlags::IN | room | EventFlags::ET;
        // The socket is watched, so this cannot fail.
        let _ = epoll::modify(&self.epoll, socket, EventData::new_u64(WHOLE.0), flags);
    }

    /// Ends the current wait, or the next one.
    pub(crate) fn ring(&mut self) {
        self.has_rung = true;
    }

    /// Ends a wait at `due`, instead of the time that was set before.
    pub(crate) fn set(&mut self, due: Option<Instant>) {
        self.due = due;
    }

    /// Returns when the wait ends even if no socket becomes ready.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        if self.has_rung { Some(Instant::now()) } else { self.due }
    }

    /// Consumes the events and the bell. Returns the connections whose sockets are ready.
    pub(crate) fn take(&mut self) -> Vec<Connection> {
        self.has_rung = false;
        let mut edges: Vec<epoll::Event> = Vec::with_capacity(EDGES);
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        // An interrupted call has consumed nothing.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut edges), Some(&at_once));
        edges.into_iter().map(|edge| Connection(edge.data.u64())).collect()
    }

    /// Returns the file descriptor that is readable when a socket is ready.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
