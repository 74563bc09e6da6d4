//! What ends the wait of a user's loop: something has come by a socket, it is time, or there is something to be told that is neither's doing.

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, timerfd_create, timerfd_settime,
};
use std::io;
use std::time::Duration;

/// See the [module](self). What has ended a wait is not told: an end looks at everything that it has.
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
        wake.add(wake.bell.as_fd(), EventFlags::IN | EventFlags::ET)?;
        wake.add(wake.clock.as_fd(), EventFlags::IN | EventFlags::ET)?;
        Ok(wake)
    }

    fn add(&self, fd: BorrowedFd, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(0), flags)?)
    }

    /// Each time this socket has something, or room for something, ends a wait, until it is closed.
    pub(crate) fn watch(&self, socket: BorrowedFd) -> io::Result<()> {
        self.add(socket, EventFlags::IN | EventFlags::OUT | EventFlags::ET)
    }

    /// Ends the wait, or the next.
    pub(crate) fn ring(&self) {
        // If the counter is full it has rung.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Ends the wait after this time; at once is the shortest time there is. What was set before counts no more.
    pub(crate) fn set(&self, wait: Duration) {
        let wait = wait.max(Duration::from_nanos(1));
        let value = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        let time = Itimerspec { it_interval: never, it_value: value };
        // The time is valid, and the descriptor ours: there is nothing that could fail.
        let _ = timerfd_settime(&self.clock, TimerfdTimerFlags::empty(), &time);
    }

    /// Takes note of what has happened, so that the next wait is for something else; waits for it so long.
    pub(crate) fn take(&self, wait: Duration) {
        let mut edges = Vec::with_capacity(64);
        let wait = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: wait.subsec_nanos().into() };
        // An interrupted wait is one that has ended.
        let _ = epoll::wait(&self.epoll, spare_capacity(&mut edges), Some(&wait));
    }

    /// Readable when the wait has ended.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}
