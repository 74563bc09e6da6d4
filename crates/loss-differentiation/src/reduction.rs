//! The effect of a verdict on the congestion window (section 5.2.2): the only rule of NewReno that
//! NewZag changes (AMB-N1).

use crate::LossVerdict;

/// Minimum of the slow start threshold, in segments (RFC 5681 section 3.1).
pub const FEWEST: u32 = 2;

/// How much of the window remains after a wireless loss. After congestion, half remains in any
/// case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reduction {
    /// Percentage of the window. The default 80 is Veno's 4/5; the thesis says that anything above
    /// 50 is preferable to a half.
    pub wireless_percent: u32,
}

impl Default for Reduction {
    fn default() -> Self {
        Self { wireless_percent: 80 }
    }
}

/// Returns the slow start threshold after a loss with this verdict and a window of `base` segments:
/// rounded down, at least [`FEWEST`].
#[must_use]
pub fn reduced(base: u32, verdict: LossVerdict, reduction: Reduction) -> u32 {
    let percent = match verdict {
        LossVerdict::Wireless => reduction.wireless_percent,
        LossVerdict::Congestion => 50,
    };
    let left = u64::from(base) * u64::from(percent) / 100;
    u32::try_from(left).unwrap_or(u32::MAX).max(FEWEST)
}

/// Returns the window after an unnecessary reduction is undone, from the present window and the one
/// before the reduction.
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
                (left(LossVerdict::Wireless), left(LossVerdict::Congestion)),
                (wireless, congestion),
                "{base}"
            );
        }
        let most = Reduction { wireless_percent: 100 };
        assert_eq!(reduced(u32::MAX, LossVerdict::Wireless, most), u32::MAX);
        assert_eq!(reduced(105, LossVerdict::Congestion, most), 52);
        assert_eq!((undone(10, 30), undone(40, 30)), (30, 40));
    }

    proptest! {
        /// N10: never more than before (above the minimum), and never less than half after a
        /// wireless loss.
        #[test]
        fn a_wireless_loss_costs_less(base in 2_u32..u32::MAX, wireless_percent in 50_u32..=100) {
            let left = |verdict| reduced(base, verdict, Reduction { wireless_percent });
            let (wireless, congestion) = (left(LossVerdict::Wireless), left(LossVerdict::Congestion));
            prop_assert!(FEWEST <= congestion && congestion <= wireless && wireless <= base);
            prop_assert_eq!(congestion, (base / 2).max(2));
        }
    }
}
