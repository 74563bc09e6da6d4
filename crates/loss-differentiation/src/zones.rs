//! ZigZag and NewZag: the more packets were lost, the higher the delay may be for a wireless
//! verdict.
//!
//! A queue that drops one packet is full, so delays are long. If a full queue dropped many, delays
//! would be even longer. So the limit rises with n. NewZag is ZigZag with round-trip times and
//! another gain. Version 2 has one limit for n = 1 to 3, because version 1 classified four of five
//! wireless losses as congestion (table 5.2).

use crate::{Algorithm, Gain, Judgement, Loss, Quantum, Reason, Statistics};

/// Returns the delay below which a loss of `n` packets is wireless, in microseconds. With
/// `adjusted` it is that of NewZag version 2 (section 5.3.3), otherwise that of eq. 5.2, which is
/// also NewZag version 1 (section 5.2.1). It can be below 0; then nothing is wireless.
#[must_use]
pub fn limit(statistics: &Statistics, n: u32, adjusted: bool) -> f64 {
    let Statistics { mean_us: mean, dev_us: dev, .. } = *statistics;
    match n {
        0..=3 if adjusted => mean,
        0 | 1 => mean - dev,
        2 => mean - dev / 2.0,
        3 => mean,
        _ => mean + dev / 2.0,
    }
}

/// The detector: statistics of delays, and the rule.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Zones {
    adjusted: bool,
    gain: Gain,
    quantum: Quantum,
    statistics: Option<Statistics>,
}

impl Zones {
    /// Creates a detector without samples.
    #[must_use]
    pub fn new(algorithm: Algorithm, gain: Gain, quantum: Quantum) -> Self {
        Self { adjusted: algorithm == Algorithm::NewZag, gain, quantum, statistics: None }
    }

    /// Replaces the statistics, for samples of which nothing else is known.
    #[must_use]
    pub const fn with(self, statistics: Statistics) -> Self {
        Self { statistics: Some(statistics), ..self }
    }

    /// Returns the statistics of the samples so far.
    #[must_use]
    pub const fn statistics(&self) -> Option<&Statistics> {
        self.statistics.as_ref()
    }

    /// Takes a delay, in microseconds.
    pub fn sample(&mut self, delay_us: f64) {
        Statistics::add(&mut self.statistics, self.quantum.read(delay_us), self.gain);
    }

    /// Returns wireless if the latest delay is strictly below the limit; equal is congestion.
    #[must_use]
    pub fn judge(&self, loss: Loss) -> Judgement {
        let Some(statistics) = &self.statistics else { return Judgement::congestion(Reason::NoSample) };
        let limit = limit(statistics, loss.packets(), self.adjusted);
        Judgement::ruled(statistics.latest_us < limit, statistics.latest_us, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LossVerdict::{self, Congestion, Wireless};
    use proptest::prelude::*;

    fn verdict(algorithm: Algorithm, mean_us: f64, dev_us: f64, n: u32, latest_us: f64) -> LossVerdict {
        let zones = Zones::new(algorithm, Gain::NEWZAG, Quantum::MICROSECOND);
        zones.with(Statistics { mean_us, dev_us, latest_us }).judge(Loss { n, cwnd: 1 }).verdict
    }

    /// N7, N8: the table of spec 3.9.1, mean 55 ms, deviation 8 ms.
    #[test]
    fn the_printed_vectors() {
        let cases = [
            (1, 46.9, Wireless, Wireless),
            (1, 47.0, Congestion, Wireless),
            (1, 54.9, Congestion, Wireless),
            (1, 55.0, Congestion, Congestion),
            (2, 50.9, Wireless, Wireless),
            (2, 51.0, Congestion, Wireless),
            (3, 54.9, Wireless, Wireless),
            (3, 55.0, Congestion, Congestion),
            (4, 58.9, Wireless, Wireless),
            (4, 59.0, Congestion, Congestion),
        ];
        for (n, rtt, v1, v2) in cases {
            assert_eq!(verdict(Algorithm::NewZagV1, 55.0, 8.0, n, rtt), v1, "v1, n = {n}, RTT {rtt}");
            assert_eq!(verdict(Algorithm::ZigZag, 55.0, 8.0, n, rtt), v1, "ZigZag, n = {n}, RTT {rtt}");
            assert_eq!(verdict(Algorithm::NewZag, 55.0, 8.0, n, rtt), v2, "v2, n = {n}, RTT {rtt}");
        }
    }

    #[test]
    fn without_a_sample_it_is_congestion() {
        let zones = Zones::new(Algorithm::NewZag, Gain::NEWZAG, Quantum::MICROSECOND);
        assert_eq!(zones.judge(Loss { n: 9, cwnd: 10 }), Judgement::congestion(Reason::NoSample));
    }

    /// After the first sample, the mean equals the sample, and equal is congestion.
    #[test]
    fn one_sample_is_below_nothing_but_the_highest_limit() {
        let mut zones = Zones::new(Algorithm::NewZag, Gain::NEWZAG, Quantum::MICROSECOND);
        zones.sample(100.0);
        assert_eq!(zones.judge(Loss { n: 3, cwnd: 1 }).verdict, Congestion);
        let judged = zones.judge(Loss { n: 4, cwnd: 1 });
        assert_eq!((judged.verdict, judged.measured, judged.limit), (Wireless, Some(100.0), Some(125.0)));
    }

    /// A deviation above the mean makes version 1's limits negative: then nothing is wireless.
    #[test]
    fn a_negative_limit_is_congestion() {
        assert_eq!(verdict(Algorithm::NewZagV1, 10.0, 15.0, 1, 0.0), Congestion);
        assert_eq!(verdict(Algorithm::NewZagV1, 10.0, 15.0, 2, 0.0), Wireless);
    }

    proptest! {
            /// N4, N7, N8: eq. 5.2 and section 5.3.3 as printed, compared with the detector.
            #[test]
            fn the_detector_is_the_formula(samples in prop::collection::vec(1_u32..200_000, 1..100), n in 0_u32..12, exponent in 2_u8..=8) {
                let gain = Gain::new(exponent).expect("allowed");
                for algorithm in [Algorithm::ZigZag, Algorithm::NewZagV1, Algorithm::NewZag] {
                    let mut zones = Zones::new(algorithm, gain, Quantum::MICROSECOND);
                    for sample in &samples {
     zones.sample(f64::from(*sample));
    }
                    let Statistics { mean_us: m, dev_us: d, latest_us: r } = *zones.statistics().expect("samples");
                    let lost = n.max(1);
                    let random = if algorithm == Algorithm::NewZag {
                        ((1..=3).contains(&lost) && r < m) || (lost > 3 && r < m + d / 2.0)
                    } else {
                        (lost == 1 && r < m - d)
                            || (lost == 2 && r < m - d / 2.0)
                            || (lost == 3 && r < m)
                            || (lost > 3 && r < m + d / 2.0)
                    };
                    let judged = zones.judge(Loss { n, cwnd: 7 });
                    prop_assert_eq!(judged.verdict == Wireless, random);
                    prop_assert_eq!(judged.measured, Some(f64::from(samples[samples.len() - 1])));
                }
            }

            /// Section 5.3.3: whatever version 1 calls random, version 2 does too; with three
            /// packets or more they agree.
            #[test]
            fn version_2_only_adds_random(mean in 0.0..1e6_f64, dev in 0.0..1e6_f64, rtt in 0.0..1e6_f64, n in 1_u32..9) {
                let old = verdict(Algorithm::NewZagV1, mean, dev, n, rtt);
                let new = verdict(Algorithm::NewZag, mean, dev, n, rtt);
                prop_assert!(old == new || (n < 3 && (old, new) == (Congestion, Wireless)), "{:?} {:?}", old, new);
            }

            /// The inequalities are strict: congestion at the limit, wireless just below. The limit
            /// rises with n.
            #[test]
            fn equal_is_congestion(mean in 1.0..1e6_f64, share in 0.0..0.9_f64, n in 1_u32..9) {
                let statistics = Statistics { mean_us: mean, dev_us: mean * share, latest_us: 0.0 };
                for algorithm in [Algorithm::NewZagV1, Algorithm::NewZag] {
                    let adjusted = algorithm == Algorithm::NewZag;
                    let at = limit(&statistics, n, adjusted);
                    prop_assert_eq!(verdict(algorithm, mean, mean * share, n, at), Congestion);
                    prop_assert_eq!(verdict(algorithm, mean, mean * share, n, at.next_down()), Wireless);
                    prop_assert!(at <= limit(&statistics, n + 1, adjusted));
                }
            }
        }
}
