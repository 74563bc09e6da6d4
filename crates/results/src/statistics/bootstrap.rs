//! Intervals by resampling, which make no assumption about the distribution.
//!
//! The method is BCa: percentile, bias-corrected and accelerated (Efron and Tibshirani, An
//! Introduction to the Bootstrap, 1993, section 14.3). Samples of the same size are drawn from the
//! values with replacement, many times, and the estimator is applied to each. The ends of the
//! interval are quantiles of these estimates. Which quantiles follows from how far the original
//! estimate is from their middle (z0, equation 14.14), and from how their spread changes with the
//! value (a, equation 14.15, by leaving out one value at a time).
//!
//! Resampling takes time in proportion to the number of values, and from [`ANALYTIC_FROM`] values
//! on its result is known without it: formulas then give the same ends.

use super::{finite, mean, quantile};
use rand::{Rng, RngExt};
use serde::Serialize;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal};

/// Number of values from which ends come from formulas.
const ANALYTIC_FROM: usize = 1000;

/// A range that contains the true value with some confidence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Share of such ranges, between 0 and 1, that contain the true value.
    pub confidence: f64,
}

/// Estimated quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Estimator {
    /// The arithmetic mean.
    Mean,
    /// The median.
    Median,
}

/// Parameters of the resampling.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bootstrap {
    /// Confidence, between 0 and 1: 0.95 by default.
    pub confidence: f64,
    /// Number of resamples: 10 000 by default. Below 1000 the ends are inexact.
    pub resamples: usize,
}

impl Default for Bootstrap {
    fn default() -> Self {
        Self { confidence: 0.95, resamples: 10_000 }
    }
}

impl Estimator {
    /// Returns the minimum number of values for an interval.
    ///
    /// With fewer values its ends can only be the smallest and the largest value, so it would say
    /// no more than the range. At 95 % this is the case as long as more than 2.5 % of all resamples
    /// have the smallest value as their estimate. For the mean, all n values of the resample must
    /// be the smallest one, which is a share of n^-n (Hall, The Bootstrap and Edgeworth Expansion,
    /// 1992, appendix I): 3.7 % for n = 3, and 0.4 % for n = 4. For the median, most values of the
    /// resample must be the smallest one: 5.8 % for n = 5 and, since it takes 4 of 6, 0.9 % for n
    /// = 6. (The range of 5 values contains the median with only 93.8 %, for any distribution; that
    /// of 6 values with 96.9 %.)
    #[must_use]
    pub const fn least(self) -> usize {
        match self {
            Self::Mean => 4,
            Self::Median => 6,
        }
    }

    /// Computes the estimate of values, which must not be empty; their order changes.
    fn of(self, values: &mut [f64]) -> f64 {
        match self {
            Self::Mean => mean(values).unwrap_or(f64::NAN),
            Self::Median => {
                let count = values.len();
                let middle = count / 2;
                let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
                let lower = || below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if count.is_multiple_of(2) { f64::midpoint(lower(), upper) } else { upper }
            }
        }
    }
}

impl Bootstrap {
    /// Returns the interval for the quantity that `values` are a sample of.
    ///
    /// `None` with fewer values than [`Estimator::least`] requires, without resamples, and if the
    /// confidence is not between 0 and 1.
    #[must_use]
    pub fn interval(&self, values: &[f64], estimator: Estimator, stream: &mut impl Rng) -> Option<Interval> {
        if values.len() < estimator.least() {
            return None;
        }
        if values.len() >= ANALYTIC_FROM {
            return self.analytic(values, estimator);
        }
        self.bca(values, |sample| estimator.of(sample), stream)
    }

    /// Returns the interval for the ratio of two means, that of `of` divided by that of `against`.
    ///
    /// The ends are percentiles; both samples are drawn independently each time (Efron and
    /// Tibshirani 1993, sections 8.3 and 13.3). `None` under the conditions of
    /// [`Bootstrap::interval`], for either sample, and if a drawn mean of `against` is 0.
    #[must_use]
    pub fn ratio(&self, of: &[f64], against: &[f64], stream: &mut impl Rng) -> Option<Interval> {
        let (of, against) = (finite(of)?, finite(against)?);
        if of.len().min(against.len()) < Estimator::Mean.least() || !self.possible() {
            return None;
        }
        let mut drawn = |values: &[f64]| {
            let sum: f64 = (0..values.len()).map(|_| values[stream.random_range(0..values.len())]).sum();
            sum / values.len() as f64
        };
        let mut ratios: Vec<f64> = (0..self.resamples).map(|_| drawn(of) / drawn(against)).collect();
        finite(&ratios)?;
        ratios.sort_unstable_by(f64::total_cmp);
        let tail = (1.0 - self.confidence) / 2.0;
        Some(Interval {
            low: quantile(&ratios, tail)?,
            high: quantile(&ratios, 1.0 - tail)?,
            confidence: self.confidence,
        })
    }

    fn possible(&self) -> bool {
        self.resamples > 0 && 0.0 < self.confidence && self.confidence < 1.0
    }

    /// Returns the ends that the resampling of many values tends to.
    ///
    /// For a mean, these are those of the ABC method (Efron and Tibshirani 1993, section 14.4),
    /// which is BCa by analysis: for a mean it needs the variance and the skewness only. For a
    /// median, they are the order statistics whose ranks are the quantiles of a binomial
    /// distribution, because the number of values of a resample that are below the median is
    /// binomial.
    fn analytic(&self, values: &[f64], estimator: Estimator) -> Option<Interval> {
        let values = finite(values)?;
        if !self.possible() {
            return None;
        }
        let tail = (1.0 - self.confidence) / 2.0;
        let (low, high) = match estimator {
            Estimator::Mean => {
                let centre = mean(values)?;
                let deviations: Vec<f64> = values.iter().map(|one| one - centre).collect();
                let spread: f64 = deviations.iter().map(|one| one.powi(2)).sum();
                let acceleration = acceleration_of(&deviations);
                let normal = Normal::standard();
                let end = |share: f64| {
                    // The bias of a mean is its acceleration.
                    let shifted = acceleration + normal.inverse_cdf(share);
                    let errors = shifted / (1.0 - acceleration * shifted).powi(2);
                    centre + errors * spread.sqrt() / values.len() as f64
                };
                (end(tail), end(1.0 - tail))
            }
            Estimator::Median => {
                let mut sorted = values.to_vec();
                sorted.sort_unstable_by(f64::total_cmp);
                let below = Binomial::new(0.5, values.len() as u64).ok()?.inverse_cdf(tail) as usize;
                (sorted[below.saturating_sub(1)], sorted[values.len() - below.max(1)])
            }
        };
        Some(Interval { low, high, confidence: self.confidence })
    }

    fn bca(
        &self,
        values: &[f64],
        estimate: impl Fn(&mut [f64]) -> f64,
        stream: &mut impl Rng,
    ) -> Option<Interval> {
        let count = finite(values)?.len();
        if count < 2 || !self.possible() {
            return None;
        }
        let mut sample = values.to_vec();
        let original = estimate(&mut sample);
        let mut estimates: Vec<f64> = Vec::with_capacity(self.resamples);
        for _ in 0..self.resamples {
            sample.fill_with(|| values[stream.random_range(0..count)]);
            estimates.push(estimate(&mut sample));
        }
        estimates.sort_unstable_by(f64::total_cmp);

        let normal = Normal::standard();
        let bias = normal.inverse_cdf(share_below(&estimates, original));
        let acceleration = acceleration(values, &estimate);
        let end = |tail: f64| {
            let shifted = bias + normal.inverse_cdf(tail);
            let scale = 1.0 - acceleration * shifted;
            // If the scale is not positive, the formula's limit is the outermost estimate.
            let share =
                if scale > 0.0 { normal.cdf(bias + shifted / scale) } else { f64::from(shifted > 0.0) };
            quantile(&estimates, share)
        };
        let tail = (1.0 - self.confidence) / 2.0;
        Some(Interval { low: end(tail)?, high: end(1.0 - tail)?, confidence: self.confidence })
    }
}

/// Returns the share of estimates below `value`.
///
/// Equal estimates count half, since a median has very many of them. The share is at least half an
/// estimate away from 0 and 1, where the normal quantile has no value.
fn share_below(sorted: &[f64], value: f64) -> f64 {
    let below = sorted.partition_point(|estimate| *estimate < value);
    let through = sorted.partition_point(|estimate| *estimate <= value);
    let count = sorted.len() as f64;
    ((below + through) as f64 / 2.0).clamp(0.5, count - 0.5) / count
}

/// Returns a of equation 14.15; 0 if leaving out a value changes nothing.
fn acceleration(values: &[f64], estimate: &impl Fn(&mut [f64]) -> f64) -> f64 {
    let without = |place: usize| {
        let mut rest = values.to_vec();
        rest.swap_remove(place);
        estimate(&mut rest)
    };
    let jackknife: Vec<f64> = (0..values.len()).map(without).collect();
    let centre = mean(&jackknife).unwrap_or(0.0);
    acceleration_of(&jackknife.iter().map(|one| centre - one).collect::<Vec<_>>())
}

/// Returns a of equation 14.15 from the influence of each value, in any unit: for a mean, how far
/// the value is from it.
fn acceleration_of(influences: &[f64]) -> f64 {
    let moment = |power: i32| influences.iter().map(|one| one.powi(power)).sum::<f64>();
    let spread = moment(2);
    if spread > 0.0 { moment(3) / (6.0 * spread.powf(1.5)) } else { 0.0 }
}

#[cfg(test)]
mod tests;
