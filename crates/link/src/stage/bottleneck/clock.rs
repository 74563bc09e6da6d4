//! When a limiter of constant rate is done with a packet: exact, however many follow each other.
//!
//! A packet ends in the middle of a nanosecond more often than not. It leaves at the next whole
//! one, so never early, and the packet that follows without a gap is reckoned from the exact end:
//! after any number of packets in a row the last one leaves less than 1 ns after the exact time.

use crate::units::{BitRate, Span, Time};

/// What sending a byte takes: bits times nanoseconds in a second. Divided by a rate in bits per
/// second it is nanoseconds.
const WORK_PER_BYTE: u64 = 8 * 1_000_000_000;

/// Work of `bytes` bytes.
pub(super) fn work(bytes: u64) -> u64 {
    bytes.saturating_mul(WORK_PER_BYTE)
}

/// Whole bytes that take `work`, rounded up.
pub(super) fn bytes(work: u64) -> u64 {
    work.div_ceil(WORK_PER_BYTE)
}

/// A limiter's time table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Bits per second.
    rate: u64,
    /// When the last packet ends, rounded up.
    end: Time,
    /// How much earlier it ends exactly, as work: less than `rate`, which is one nanosecond.
    early: u64,
    /// All of its work.
    work: u64,
}

impl Clock {
    pub fn new(rate: BitRate) -> Self {
        Self { rate: rate.as_bits_per_second(), end: Time::ZERO, early: 0, work: 0 }
    }

    /// A clock whose rate is still to be set.
    pub fn without_rate() -> Self {
        Self { rate: 1, end: Time::ZERO, early: 0, work: 0 }
    }

    /// Sends `work` from `now` on and says when it ends. A packet that had waited and begins when
    /// the last one ends begins exactly then.
    pub fn send(&mut self, work: u64, now: Time, waited: bool) -> Time {
        let early = if waited && self.end == now { self.early } else { 0 };
        let (nanos, early) = self.nanos(work, early);
        self.end = now + Span::from_nanos(nanos);
        self.early = early;
        self.work = work;
        self.end
    }

    /// Keeps `work` that is never sent unless the limiter changes.
    pub fn hold(&mut self, work: u64) -> Time {
        self.end = Time::NEVER;
        self.work = work;
        self.end
    }

    /// Time that a packet of `bytes` bytes takes.
    pub fn packet_time(&self, bytes: u64) -> Span {
        Span::from_nanos(work(bytes).div_ceil(self.rate))
    }

    /// When `work` would end that follows the packet being sent at `now`, or begins at `now` where
    /// none is.
    pub fn foresee(&self, work: u64, now: Time) -> Time {
        let mut copy = *self;
        let begin = self.end.max(now);
        copy.send(work, begin, true)
    }

    /// Other packets are sent at another rate.
    pub fn set_rate(&mut self, rate: BitRate) {
        let rate = rate.as_bits_per_second();
        if rate != self.rate {
            // Rounded down: never early.
            self.early = (u128::from(self.early) * u128::from(rate) / u128::from(self.rate)) as u64;
            self.rate = rate;
        }
    }

    /// Work that is left of the packet being sent.
    pub fn left(&self, now: Time) -> u64 {
        let work = u128::from(self.end.since(now).as_nanos()) * u128::from(self.rate);
        u64::try_from(work.saturating_sub(u128::from(self.early))).unwrap_or(u64::MAX).min(self.work)
    }

    /// Nanoseconds that `work` takes beyond `early`, rounded up, and what that is too much, as
    /// work.
    fn nanos(&self, work: u64, early: u64) -> (u64, u64) {
        let Some(work) = work.checked_sub(early) else { return (0, early - work) };
        match work % self.rate {
            0 => (work / self.rate, 0),
            rest => (work / self.rate + 1, self.rate - rest),
        }
    }
}
