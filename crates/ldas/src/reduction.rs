//! What a verdict does to the congestion window (section 5.2.2): the one rule of NewReno that
//! NewZag changes (AMB-N1).

use crate::Verdict;

/// The slow start threshold never lies below this, in segments (RFC 5681 section 3.1).
pub const FEWEST: u32 = 2;

/// What is left of the window after a wireless loss. After congestion it is half, whatever this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// In percent of the window: 80, which is 4/5, as Veno has it; anything above 50 is said to be
    /// preferable to a half.
    pub wireless_percent: u32,
}

impl Default for Reduction {
    fn default() -> Self {
        Self { wireless_percent: 80 }
    }
}

/// The slow start threshold after a loss that `verdict` says this of, with a window of `base`
/// segments: rounded down, at least [`FEWEST`].
#[must_use]
pub fn reduced(base: u32, verdict: Verdict, reduction: Reduction) -> u32 {
    let percent = match verdict {
        Verdict::Wireless => reduction.wireless_percent,
        Verdict::Congestion => 50,
    };
    let left = u64::from(base) * u64::from(percent) / 100;
    u32::try_from(left).unwrap_or(u32::MAX).max(FEWEST)
}

/// The window after a reduction that turned out to be for nothing, from the one now and the one
/// before it.
#[must_use]
pub fn undone(cwnd: u32, prior_cwnd: u32) -> u32 {
    cwnd.max(prior_cwnd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// N10: the vectors of spec 3.9.1; 105 to 84 is the thesis's own (section 5.3.2).
    #[test]
    fn the_printed_vectors() {
        for (base, wireless, congestion) in [(105, 84, 52), (69, 55, 34), (3, 2, 2), (1, 2, 2), (0, 2, 2)] {
            let left = |verdict| reduced(base, verdict, Reduction::default());
            assert_eq!(
                (left(Verdict::Wireless), left(Verdict::Congestion)),
                (wireless, congestion),
                "{base}"
            );
        }
        let most = Reduction { wireless_percent: 100 };
        assert_eq!(reduced(u32::MAX, Verdict::Wireless, most), u32::MAX);
        assert_eq!(reduced(105, Verdict::Congestion, most), 52);
        assert_eq!((undone(10, 30), undone(40, 30)), (30, 40));
    }

    proptest! {
        /// N10: never more than there was (but for the floor), never less than half for a wireless
        /// loss.
        #[test]
        fn a_wireless_loss_costs_less(base in 2_u32..u32::MAX, wireless_percent in 50_u32..=100) {
            let left = |verdict| reduced(base, verdict, Reduction { wireless_percent });
            let (wireless, congestion) = (left(Verdict::Wireless), left(Verdict::Congestion));
            prop_assert!(FEWEST <= congestion && congestion <= wireless && wireless <= base);
            prop_assert_eq!(congestion, (base / 2).max(2));
        }
    }
}
