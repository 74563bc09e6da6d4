//! A descriptor that is readable when it is time.

use rustix::fd::OwnedFd;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::time::Duration;

/// One that is not set.
pub(crate) fn new() -> io::Result<OwnedFd> {
    Ok(timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?)
}

/// Sets it; at once is the shortest time there is.
pub(crate) fn set(timer: &OwnedFd, wait: Duration) {
    let wait = wait.max(Duration::from_nanos(1));
    let value = Timespec { tv_sec: wait.as_secs().cast_signed(), tv_nsec: i64::from(wait.subsec_nanos()) };
    let never = Timespec { tv_sec: 0, tv_nsec: 0 };
    // The time is valid, and the descriptor ours: there is nothing that could fail.
    let _ = timerfd_settime(
        timer,
        TimerfdTimerFlags::empty(),
        &Itimerspec { it_interval: never, it_value: value },
    );
}
