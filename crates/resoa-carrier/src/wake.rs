//! Wakes a user's loop: when a socket becomes ready, when a timer expires, or when the carrier has
//! something to report without either.

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

/// Token of the carrier as a whole: its timer, its bell, and the socket that all connections share.
/// Connections are counted from 1.
pub(crate) const WHOLE: Connection = Connection(0);
/// Events per `epoll_wait`. Further events end the next wait.
const EDGES: usize = 64;

/// An epoll instance with a bell (eventfd) and a timer (timerfd).
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

    /// Watches a socket until it is closed. Each time that it becomes readable or writable, a wait
    /// ends and [`take`](Self::take) returns `whose`.
    pub(crate) fn watch(&self, socket: BorrowedFd, whose: Connection) -> io::Result<()> {
        self.add(socket, EventFlags::IN | EventFlags::OUT, whose)
    }

    /// Ends the current wait, or the next one.
    pub(crate) fn ring(&self) {
        // If the counter is full, the bell has rung already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Sets the timer that ends the wait, in place of its previous setting. A wait of zero becomes
    /// 1 ns, because zero would disarm the timer.
    pub(crate) fn set(&self, wait: Duration) {
        let wait = wait.max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: never, it_value: value };
        // The time is valid and the file descriptor is ours, so this cannot fail.
        let _ = timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &time);
    }

    /// Waits at most this long for events, and consumes them. Returns the connections whose sockets
    /// are ready, and `WHOLE` for the bell and the timer.
    pub(crate) fn take(&self, wait: Duration) -> Vec<Connection> {
        let mut edges: Vec<epoll::Event> = Vec::with_capacity(EDGES);
        let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        // An interrupted wait counts as a wait that has ended.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut edges), Some(&wait));
        edges.into_iter().map(|edge| Connection(edge.data.u64())).collect()
    }

    /// Returns the file descriptor that is readable when the wait has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
