//! What ends the wait of a user's loop: something has come by a socket, it is time, or there is
//! something to be told that is neither's doing.

use resoa_protocol::lhp::Connection;
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::time::Duration;

/// What concerns an end and none of its connections, which are counted from 1: its clock, its bell,
/// and the socket by which all come.
pub(crate) const WHOLE: Connection = Connection(0);
/// Events that are taken at a time; what is left ends the next wait.
const EDGES: usize = 64;

/// See the [module](self).
#[derive(Debug)]
pub(crate) struct Wake {
    epoll: OwnedFd,
    bell: OwnedFd,
    clock: OwnedFd,
}

impl Wake {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let clock =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
        let wake = Self { epoll, bell, clock };
        wake.add(wake.bell.as_fd(), EventFlags::IN, WHOLE)?;
        wake.add(wake.clock.as_fd(), EventFlags::IN, WHOLE)?;
        Ok(wake)
    }

    fn add(&self, fd: BorrowedFd, flags: EventFlags, whose: Connection) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(whose.0), flags | EventFlags::ET)?)
    }

    /// Each time this socket has something, or room for something, ends a wait and says
    /// [`whose`](Self::take) it is, until it is closed.
    pub(crate) fn watch(&self, socket: BorrowedFd, whose: Connection) -> io::Result<()> {
        self.add(socket, EventFlags::IN | EventFlags::OUT, whose)
    }

    /// Ends the wait, or the next.
    pub(crate) fn ring(&self) {
        // If the counter is full it has rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Ends the wait after this time; at once is the shortest time there is. What was set before
    /// counts no more.
    pub(crate) fn set(&self, wait: Duration) {
        let wait = wait.max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: never, it_value: value };
        // The time is valid, and the descriptor ours: there is nothing that could fail.
        let _ = timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &time);
    }

    /// Takes note of what has happened, so that the next wait is for something else; waits for it
    /// so long. Whose sockets have something; the bell and the clock are nobody's.
    pub(crate) fn take(&self, wait: Duration) -> Vec<Connection> {
        let mut edges: Vec<epoll::Event> = Vec::with_capacity(EDGES);
        let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        // An interrupted wait is one that has ended.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut edges), Some(&wait));
        edges.into_iter().map(|edge| Connection(edge.data.u64())).collect()
    }

    /// Readable when the wait has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
