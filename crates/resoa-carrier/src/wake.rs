//! Wake-ups of the event loop that drives a carrier: ready sockets, deadlines, and requests for
//! another pass.
//!
//! The loop waits for deadlines itself ([`Carrier::deadline`](crate::Carrier::deadline)). A timer
//! and an eventfd would cost two more system calls for each packet.

use resoa_protocol::lhp::Connection;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::io;
use std::time::{Duration, Instant};

/// Token of the listener. Connections are counted from 1.
pub(crate) const LISTENER: Connection = Connection(0);
/// Events per `epoll_wait`. Further events end the next wait.
const EDGES: usize = 64;

/// Time between two attempts to send while the kernel's send buffer is full. The kernel reports
/// room after each datagram that leaves, which would wake the loop for every packet.
const RETRY: Duration = Duration::from_millis(1);

/// Time at which a wait ends even if no socket becomes ready.
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

    /// Like [`set`](Self::set), for a socket of datagrams. If its send buffer `is_full`, the wait
    /// ends for the next attempt to send, whatever is `due`.
    pub(crate) fn set_or_retry(&mut self, due: Option<Instant>, is_full: bool) {
        self.set(if is_full { Some(Instant::now() + RETRY) } else { due });
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets that wait for room are sent soon, even if the next deadline is far away or there is
    /// none.
    #[test]
    fn a_full_socket_is_tried_again() {
        let far = Instant::now() + Duration::from_hours(1);
        for due in [None, Some(far)] {
            let mut alarm = Alarm::default();
            alarm.set_or_retry(due, true);
            assert!(alarm.deadline().is_some_and(|next| next < far));
            alarm.set_or_retry(due, false);
            assert_eq!(alarm.deadline(), due);
        }
    }
}
