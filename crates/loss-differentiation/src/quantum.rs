//! The clock with which delays are measured (section 5.2.4).
//!
//! Linux 2.4 counted 100 ticks per second; NewZag raised that to 1000 (AMB-N10: milliseconds are
//! the thesis); today's kernels have microseconds. Reading the same delays with a coarse clock
//! shows what it costs a detector (N12).

/// The largest delay, in microseconds: 2^24 - 1, a little less than 17 seconds.
pub const MAX_US: f64 = 16_777_215.0;

/// The unit of a clock, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quantum {
    us: u32,
}

impl Quantum {
    /// Clock of Linux 2.4: 100 Hz.
    pub const TEN_MILLISECONDS: Self = Self { us: 10_000 };
    /// NewZag's clock: 1000 Hz.
    pub const MILLISECOND: Self = Self { us: 1000 };
    /// Clock of today's kernels.
    pub const MICROSECOND: Self = Self { us: 1 };

    /// Creates a clock with this unit; 0 means 1, the finest.
    #[must_use]
    pub const fn of_us(us: u32) -> Self {
        Self { us: if us == 0 { 1 } else { us } }
    }

    /// Returns the unit in microseconds.
    #[must_use]
    pub const fn as_us(self) -> u32 {
        self.us
    }

    /// Returns `delay_us` as the clock shows it: the nearest multiple of its unit, halves upward,
    /// and at most [`MAX_US`]. With 10 ms, 54 becomes 50 and 55 becomes 60 (section 5.2.4).
    #[must_use]
    pub fn read(self, delay_us: f64) -> f64 {
        let unit = f64::from(self.us);
        ((delay_us / unit + 0.5).floor() * unit).min(MAX_US)
    }
}

impl Default for Quantum {
    fn default() -> Self {
        Self::MICROSECOND
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "readings are whole numbers")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// N12, section 5.2.4: 50 to 54 ms are 5 ticks of 10 ms, 55 to 59 ms are 6.
    #[test]
    fn ticks_of_linux_2_4() {
        for ms in 50..60 {
            let expected = if ms < 55 { 50_000.0 } else { 60_000.0 };
            assert_eq!(Quantum::TEN_MILLISECONDS.read(f64::from(ms) * 1000.0), expected);
        }
        assert_eq!(Quantum::MILLISECOND.read(2_850.0), 3_000.0);
        assert_eq!(Quantum::MILLISECOND.read(2_499.0), 2_000.0);
        assert_eq!(Quantum::MICROSECOND.read(2_850.0), 2_850.0);
        assert_eq!(Quantum::of_us(0), Quantum::MICROSECOND);
        assert_eq!(Quantum::TEN_MILLISECONDS.read(1e9), MAX_US);
    }

    proptest! {
        #[test]
        fn a_reading_is_a_multiple_within_half_a_unit(delay in 0_u32..16_000_000, us in 1_u32..20_000) {
            let read = Quantum::of_us(us).read(f64::from(delay));
            prop_assert_eq!(read % f64::from(us), 0.0);
            let off = read - f64::from(delay);
            prop_assert!(-f64::from(us) / 2.0 < off && off <= f64::from(us) / 2.0, "{}", off);
            // The same in integers, as in a kernel.
            prop_assert_eq!(read, f64::from((2 * delay + us) / (2 * us) * us));
        }
    }
}
