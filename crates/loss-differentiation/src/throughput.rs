//! Throughput that theory expects of a detector (spec 3.10.12): a cross-check of measured gains,
//! not a model to fit.
//!
//! Additive increase with decreases by a mean fraction d gives a throughput proportional to
//! sqrt((2-d) / 2d). A detector that classifies a share f of the losses as wireless has d = 1/2 -
//! 0.3 f, because those cost a fifth instead of a half.

/// Share of the window that a congestion verdict costs.
const CONGESTION: f64 = 0.5;
/// Share of the window that a wireless verdict saves: 1/2 - 1/5.
const SAVED: f64 = 0.3;

/// Returns by which share the throughput exceeds NewReno's if a share `wireless` (0 to 1) of all
/// losses is classified as wireless: 0.087 means 8.7 %. Simulations with one reduction per window
/// and delayed ACKs give slightly less.
#[must_use]
pub fn gain(wireless: f64) -> f64 {
    let proportion = |decrease: f64| ((2.0 - decrease) / (2.0 * decrease)).sqrt();
    proportion(CONGESTION - SAVED * wireless) / proportion(CONGESTION) - 1.0
}

/// Returns NewReno's throughput in bytes per second: sqrt(0.75 / p) MSS / RTT, for segments of
/// `mss` bytes, a round trip of `rtt_s` seconds, a loss rate of `loss` (0 to 1), and receivers that
/// acknowledge every second segment. It is an upper bound that ignores the rate of the link.
#[must_use]
pub fn newreno(mss: f64, rtt_s: f64, loss: f64) -> f64 {
    (0.75 / loss).sqrt() * mss / rtt_s
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The gains printed in spec 3.10.12, to the last digit printed.
    #[test]
    fn the_printed_gains() {
        for (share, percent) in [(0.20, 8.7), (0.24, 10.6), (0.42, 20.4), (0.55, 28.7)] {
            assert!((gain(share) * 100.0 - percent).abs() <= 0.05, "{share}: {}", gain(share));
        }
        assert!((gain(1.0) * 100.0 - 73.0).abs() <= 0.5, "{}", gain(1.0));
        assert!(gain(0.0).abs() < 1e-12);
    }

    /// Its absolute figures: 237 KB/s at 1 % (measured: 234.08), and 750 KB/s at 0.1 % (measured:
    /// 593.37, because the link is slower).
    #[test]
    fn the_printed_throughput_of_newreno() {
        assert!((newreno(1448.0, 0.052_85, 0.01) / 1000.0 - 237.0).abs() < 0.5);
        assert!((newreno(1448.0, 0.052_85, 0.001) / 1000.0 - 750.0).abs() < 1.0);
    }

    /// "v2 reaches less than a third of the available gain": 20.8 of 73 %.
    #[test]
    fn version_2_reaches_less_than_a_third() {
        assert!((282.67 / 234.08 - 1.0) / gain(1.0) < 1.0 / 3.0);
    }

    proptest! {
        #[test]
        fn more_wireless_verdicts_gain_more(share in 0.0..0.99_f64) {
            prop_assert!(gain(share) < gain(share + 0.01));
        }
    }
}
