//! Exact end of each transmission of a limiter with a constant rate, for any number of packets in a
//! row.
//!
//! The exact end is usually within a nanosecond. The packet leaves at the next whole nanosecond, so
//! it is never early. The end of a packet that follows without a gap is computed from the exact
//! end. After any number of packets in a row, the last one leaves less than 1 ns after its exact
//! time.

use crate::units::{BitRate, Span, Time};

/// Work of sending a byte: bits times nanoseconds in a second. Divided by a rate in bits per
/// second, it gives nanoseconds.
const WORK_PER_BYTE: u64 = 8 * 1_000_000_000;

/// Returns the work of `bytes` bytes.
pub(super) fn work(bytes: u64) -> u64 {
    bytes.saturating_mul(WORK_PER_BYTE)
}

/// Returns the whole bytes that take `work`, rounded up.
pub(super) fn bytes(work: u64) -> u64 {
    work.div_ceil(WORK_PER_BYTE)
}

/// Schedule of a limiter.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    /// Bits per second.
    rate: u64,
    /// End of the last packet, rounded up.
    end: Time,
    /// Difference to its exact end, as work: less than `rate`, which is one nanosecond.
    early: u64,
    /// Total work of the last packet.
    work: u64,
}

impl Clock {
    pub fn new(rate: BitRate) -> Self {
        Self { rate: rate.as_bits_per_second(), end: Time::ZERO, early: 0, work: 0 }
    }

    /// Creates a clock whose rate is still to be set.
    pub fn without_rate() -> Self {
        Self { rate: 1, end: Time::ZERO, early: 0, work: 0 }
    }

    /// Sends `work` from `now` on and returns its end. If a waiting packet starts when the last one
    /// ends, it starts at the exact end.
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

    /// Returns the transmission time of a packet of `bytes` bytes.
    pub fn packet_time(&self, bytes: u64) -> Span {
        Span::from_nanos(work(bytes).div_ceil(self.rate))
    }

    /// Returns the end of `work` that follows the packet being sent at `now`, or starts at `now` if
    /// there is none.
    pub fn foresee(&self, work: u64, now: Time) -> Time {
        let mut copy = *self;
        let begin = self.end.max(now);
        copy.send(work, begin, true)
    }

    /// Sets the rate of later packets.
    pub fn set_rate(&mut self, rate: BitRate) {
        let rate = rate.as_bits_per_second();
        if rate != self.rate {
            // Rounded down, so that no packet is early.
            self.early = (u128::from(self.early) * u128::from(rate) / u128::from(self.rate)) as u64;
            self.rate = rate;
        }
    }

    /// Returns the remaining work of the packet being sent.
    pub fn left(&self, now: Time) -> u64 {
        let work = u128::from(self.end.since(now).as_nanos()) * u128::from(self.rate);
        u64::try_from(work.saturating_sub(u128::from(self.early))).unwrap_or(u64::MAX).min(self.work)
    }

    /// Returns the nanoseconds that `work` takes beyond `early`, rounded up, and the rounding error
    /// as work.
    fn nanos(&self, work: u64, early: u64) -> (u64, u64) {
        let Some(work) = work.checked_sub(early) else { return (0, early - work) };
        match work % self.rate {
            0 => (work / self.rate, 0),
            rest => (work / self.rate + 1, self.rate - rest),
        }
    }
}
