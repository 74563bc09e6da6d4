//! Round-trip times, from a segment with data, SYN or FIN to the acknowledgment that covers it.
//!
//! An acknowledgment gives one sample, for the last segment that it covers, except in two cases:
//!
//! * A segment that it covers was sent more than once. It may answer any of these transmissions
//!   (Karn's rule), and segments behind a hole were not acknowledged when they arrived.
//! * A SACK block had already reported the last segment.
//!
//! Mean and deviation are exact. Quantiles come from a DDSketch (Masson, Rim and Lee, VLDB 2019):
//! each is within 1 % of a sample of that rank, with at most 2048 bins for any number of samples.

use serde::Serialize;
use sketches_ddsketch::{Config, DDSketch};
use std::fmt;

/// Maximum relative error of a quantile.
pub const ERROR: f64 = 0.01;
const BINS: u32 = 2048;

/// Collects the samples of one direction.
#[derive(Clone, Default)]
pub struct RoundTrips {
    count: u64,
    mean: f64,
    /// Sum of squared distances from the mean (Welford).
    squares: f64,
    min: u64,
    max: u64,
    /// Smoothed round-trip time and its variation as in RFC 6298, in nanoseconds.
    smoothed: f64,
    variation: f64,
    sketch: Option<Box<DDSketch>>,
}

/// Summary of the samples; times in nanoseconds. All are 0 without samples.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct RoundTripSummary {
    /// Number of samples.
    pub count: u64,
    /// The smallest.
    pub min_ns: u64,
    /// Their mean.
    pub mean_ns: u64,
    /// Half of them are less, within 1 %.
    pub median_ns: u64,
    /// 95 % of them are less, within 1 %.
    pub p95_ns: u64,
    /// 99 % of them are less, within 1 %.
    pub p99_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// Standard deviation of the samples (n - 1).
    pub stdev_ns: u64,
}

impl RoundTrips {
    /// Adds a sample, in nanoseconds.
    pub fn add(&mut self, nanos: u64) {
        let value = nanos as f64;
        if self.count == 0 {
            (self.min, self.smoothed, self.variation) = (nanos, value, value / 2.0);
        } else {
            // RFC 6298 section 2.
            self.variation = 0.75 * self.variation + 0.25 * (self.smoothed - value).abs();
            self.smoothed = 0.875 * self.smoothed + 0.125 * value;
        }
        self.count += 1;
        let distance = value - self.mean;
        self.mean += distance / self.count as f64;
        self.squares += distance * (value - self.mean);
        self.min = self.min.min(nanos);
        self.max = self.max.max(nanos);
        let sketch =
            self.sketch.get_or_insert_with(|| Box::new(DDSketch::new(Config::new(ERROR, BINS, 1.0))));
        sketch.add(value);
    }

    /// Returns the smallest round-trip time, in nanoseconds; `None` without a sample.
    #[must_use]
    pub fn least(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// Returns the smoothed round-trip time, in nanoseconds; `None` without a sample.
    #[must_use]
    pub fn smoothed(&self) -> Option<u64> {
        (self.count > 0).then_some(self.smoothed as u64)
    }

    /// Returns the retransmission timeout of a sender with these samples, in nanoseconds.
    ///
    /// It is that of RFC 6298 with Linux's minimum of 200 ms for the variation, and one second
    /// without a sample.
    #[must_use]
    pub fn timeout(&self) -> u64 {
        if self.count == 0 {
            return 1_000_000_000;
        }
        (self.smoothed + (4.0 * self.variation).max(200e6)) as u64
    }

    /// Returns the summary of the samples.
    #[must_use]
    pub fn summary(&self) -> RoundTripSummary {
        let Some(sketch) = &self.sketch else { return RoundTripSummary::default() };
        let quantile = |q| {
            let value = sketch.quantile(q).ok().flatten().unwrap_or(0.0);
            (value as u64).clamp(self.min, self.max)
        };
        RoundTripSummary {
            count: self.count,
            min_ns: self.min,
            mean_ns: self.mean as u64,
            median_ns: quantile(0.5),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            max_ns: self.max,
            stdev_ns: if self.count > 1 { (self.squares / (self.count - 1) as f64).sqrt() as u64 } else { 0 },
        }
    }
}

impl fmt::Debug for RoundTrips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.summary().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quantiles_are_within_one_percent(mut samples in prop::collection::vec(1_000_u64..10_000_000_000, 1..500)) {
            let mut round_trips = RoundTrips::default();
            for sample in &samples {
                round_trips.add(*sample);
            }
            let summary = round_trips.summary();
            samples.sort_unstable();
            for (quantile, found) in [(0.5, summary.median_ns), (0.95, summary.p95_ns), (0.99, summary.p99_ns)] {
                let rank = quantile * (samples.len() - 1) as f64;
                let (low, high) = (samples[rank.floor() as usize] as f64, samples[rank.ceil() as usize] as f64);
                prop_assert!(found as f64 >= low * (1.0 - ERROR) - 1.0 && found as f64 <= high * (1.0 + ERROR) + 1.0,
                    "{quantile}: {found} not near {low}..{high}");
            }
            prop_assert_eq!((summary.min_ns, summary.max_ns), (samples[0], samples[samples.len() - 1]));
            let mean = samples.iter().map(|sample| *sample as f64).sum::<f64>() / samples.len() as f64;
            prop_assert!((summary.mean_ns as f64 - mean).abs() <= 1.0 + mean * 1e-9);
        }
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(RoundTrips::default().summary(), RoundTripSummary::default());
        assert_eq!(RoundTrips::default().timeout(), 1_000_000_000);
    }
}
