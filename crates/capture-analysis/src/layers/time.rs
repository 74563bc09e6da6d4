//! Time zero, and clocks that disagree (Ludwig 3.2.1, 3.2.4; LL-17).

/// Conversion from a clock's time to nanoseconds since time zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Axis {
    /// Time zero, in nanoseconds since 1970 by this clock.
    pub zero: u64,
    /// Nanoseconds added to each converted time.
    pub shift_ns: f64,
    /// Nanoseconds of the axis per nanosecond of the clock.
    pub rate: f64,
}

/// Mapping of the receiver's times to the sender's axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Alignment {
    /// Each end's zero is the SYN: when it was sent, and when it arrived. So the receiver's graphs
    /// are early by the SYN's one-way delay, and drift remains. L does the same; it requires no
    /// trust in clocks.
    #[default]
    Syn,
    /// Both ends have the same clock; zero is when the SYN was sent.
    Common,
    /// Offset and drift of the receiver's clock are estimated ([`super::clocks`]).
    Estimated,
}

impl Axis {
    /// Creates the axis of a correct clock, from `zero` on.
    #[must_use]
    pub const fn from_zero(zero: u64) -> Self {
        Self { zero, shift_ns: 0.0, rate: 1.0 }
    }

    /// Converts a time to nanoseconds since time zero.
    #[must_use]
    pub fn at(&self, time: u64) -> i64 {
        let since = time.wrapping_sub(self.zero).cast_signed();
        // Only the correction is computed as a float: it is small even where the time is long, and
        // 0 for a correct clock.
        since.saturating_add((since as f64 * (self.rate - 1.0) + self.shift_ns).round() as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_shifts_and_stretches() {
        let plain = Axis::from_zero(1_000);
        assert_eq!((plain.at(1_000), plain.at(1_500), plain.at(400)), (0, 500, -600));
        let year = 1_700_000_000_000_000_001;
        assert_eq!(Axis::from_zero(year).at(year + 3), 3, "to the nanosecond");
        let fast = Axis { zero: 1_000, shift_ns: 50.0, rate: 1.0 - 1e-4 };
        assert_eq!((fast.at(1_000), fast.at(1_001_000)), (50, 999_950));
        // A damaged time stamp.
        assert_eq!(Axis { zero: 0, shift_ns: 1e9, rate: 1.0 }.at(i64::MAX as u64), i64::MAX);
    }
}
