//! Mean and deviation of delays, exponentially weighted (section 5.2.1, eq. 5.3 and 5.4).
//!
//! They are independent of the statistics of the retransmission timer, which has other gains
//! (RFC 6298).

/// The weight a of a new sample: 2^-exponent. In the deviation, its weight is 2a.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Gain {
    exponent: u8,
}

impl Gain {
    /// NewZag's gain: a = 1/16 (section 5.2.1).
    pub const NEWZAG: Self = Self { exponent: 4 };
    /// ZigZag's gain: a = 1/32 (eq. 5.2).
    pub const ZIGZAG: Self = Self { exponent: 5 };
    /// The exponents that the thesis allows (-Y there): 2 to 8.
    pub const EXPONENTS: std::ops::RangeInclusive<u8> = 2..=8;

    /// Creates the gain 2^-exponent; `None` outside [`Self::EXPONENTS`].
    #[must_use]
    pub fn new(exponent: u8) -> Option<Self> {
        Self::EXPONENTS.contains(&exponent).then_some(Self { exponent })
    }

    /// Returns the exponent, which is -Y in the thesis.
    #[must_use]
    pub const fn exponent(self) -> u8 {
        self.exponent
    }

    /// Returns the weight a.
    #[must_use]
    pub fn weight(self) -> f64 {
        (-f64::from(self.exponent)).exp2()
    }
}

/// Statistics of a delay over the samples so far, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Statistics {
    /// RTT_mean (eq. 5.3).
    pub mean_us: f64,
    /// RTT_dev: the mean deviation (eq. 5.4).
    pub dev_us: f64,
    /// RTT_i: the latest sample.
    pub latest_us: f64,
}

impl Statistics {
    /// Returns the statistics after the first sample R (spec 3.3.5, as in RFC 6298): mean R,
    /// deviation R / 2.
    #[must_use]
    pub fn first(sample_us: f64) -> Self {
        Self { mean_us: sample_us, dev_us: sample_us / 2.0, latest_us: sample_us }
    }

    /// Returns the statistics after one more sample. The deviation is from the mean *before* it
    /// (AMB-N4).
    #[must_use]
    pub fn next(self, sample_us: f64, gain: Gain) -> Self {
        let a = gain.weight();
        let error = (sample_us - self.mean_us).abs();
        Self {
            mean_us: (1.0 - a) * self.mean_us + a * sample_us,
            dev_us: (1.0 - 2.0 * a) * self.dev_us + 2.0 * a * error,
            latest_us: sample_us,
        }
    }

    /// Adds a sample, which may be the first.
    pub fn add(of: &mut Option<Self>, sample_us: f64, gain: Gain) {
        *of = Some(of.map_or_else(|| Self::first(sample_us), |before| before.next(sample_us, gain)));
    }
}

#[cfg(test)]
#[allow(clippy::float_cmp, reason = "the latest sample is the one that was given")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[f64], gain: Gain) -> Option<Statistics> {
        let mut statistics = None;
        for sample in samples {
            Statistics::add(&mut statistics, *sample, gain);
        }
        statistics
    }

    /// N6: the vectors of spec 3.9.1, in milliseconds.
    #[test]
    fn the_printed_vectors() {
        let samples = [53.0, 55.0, 54.0, 60.0, 80.0, 52.0];
        let means = [53.0, 53.125, 53.179_688, 53.605_957, 55.255_585, 55.052_111];
        let devs = [26.5, 23.4375, 20.617_188, 18.892_578, 19.830_261, 17.758_427];
        for count in 1..=samples.len() {
            let statistics = of(&samples[..count], Gain::NEWZAG).expect("samples");
            let (mean, dev) = (means[count - 1], devs[count - 1]);
            assert!((statistics.mean_us - mean).abs() < 5e-7, "{count}: {statistics:?}");
            assert!((statistics.dev_us - dev).abs() < 5e-7, "{count}: {statistics:?}");
            assert_eq!(statistics.latest_us, samples[count - 1]);
        }
        assert_eq!(of(&[], Gain::NEWZAG), None);
    }

    #[test]
    fn gains_of_the_thesis() {
        assert_eq!(Gain::new(4), Some(Gain::NEWZAG));
        assert_eq!((Gain::NEWZAG.weight(), Gain::ZIGZAG.weight()), (1.0 / 16.0, 1.0 / 32.0));
        assert_eq!(
            [1, 2, 8, 9].map(|y| Gain::new(y).map(Gain::weight)),
            [None, Some(0.25), Some(1.0 / 256.0), None]
        );
    }

    proptest! {
           /// N6: a weighted mean lies between the smallest and the largest sample, and the
           /// deviation is bounded.
           #[test]
           fn the_mean_lies_among_the_samples(
               samples in prop::collection::vec(1_u32..16_000_000, 1..200),
               exponent in Gain::EXPONENTS,
           ) {
               let gain = Gain::new(exponent).expect("allowed");
               let samples: Vec<f64> = samples.into_iter().map(f64::from).collect();
               let (least, most) = samples.iter().fold((f64::MAX, 0.0_f64), |(a, b), s| (a.min(*s), b.max(*s)));
               let statistics = of(&samples, gain).expect("samples");
               let slack = 1e-6;
               prop_assert!(least - slack <= statistics.mean_us && statistics.mean_us <= most + slack);
               // The first deviation is half the first sample, and every error is at most the
               // range.
               let widest = (samples[0] / 2.0).max(most - least);
               prop_assert!(0.0 <= statistics.dev_us && statistics.dev_us <= widest + slack);
           }

           /// Eq. 5.3 and 5.4 written as weighted sums over all samples: another way to the same
           /// numbers.
           #[test]
           fn the_recursion_is_the_weighted_sum(samples in prop::collection::vec(1_u32..1_000_000, 1..60), exponent in 2_u8..=8) {
               let gain = Gain::new(exponent).expect("allowed");
               let a = 0.5_f64.powi(i32::from(exponent));
               let samples: Vec<f64> = samples.into_iter().map(f64::from).collect();
               let last = samples.len() - 1;
    let power = |base: f64, exponent: usize| base.powf(exponent as f64);
               let mean_after = |i: usize| {
                   let first = power(1.0 - a, i) * samples[0];
                   first + (1..=i).map(|k| a * power(1.0 - a, i - k) * samples[k]).sum::<f64>()
               };
               let dev = power(1.0 - 2.0 * a, last) * samples[0] / 2.0
                   + (1..samples.len())
                       .map(|k| 2.0 * a * power(1.0 - 2.0 * a, last - k) * (samples[k] - mean_after(k - 1)).abs())
                       .sum::<f64>();
               let statistics = of(&samples, gain).expect("samples");
               prop_assert!((statistics.mean_us - mean_after(samples.len() - 1)).abs() < 1e-4);
               prop_assert!((statistics.dev_us - dev).abs() < 1e-4, "{} {}", statistics.dev_us, dev);
           }
       }
}
