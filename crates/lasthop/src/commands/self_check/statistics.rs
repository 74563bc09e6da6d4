//! Estimates with confidence intervals, as pure functions of counts.
//!
//! Each interval is two-sided. There are two confidences: [`SHOWN`] in the table, and [`JUDGED`]
//! for verdicts, because at 95 % one of twenty correct rows would be off by chance.

use statrs::distribution::{Binomial, ChiSquared, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// Confidence of the displayed intervals.
pub const SHOWN: f64 = 0.95;
/// Confidence of the intervals for verdicts: of a thousand correct rows, one is reported as off.
pub const JUDGED: f64 = 0.999;

/// A range that contains the true value with some confidence. An end about which nothing is known
/// is infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

/// An estimated value and its intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    /// Interval of confidence [`SHOWN`].
    pub shown: Interval,
    /// Interval of confidence [`JUDGED`].
    pub judged: Interval,
}

impl Interval {
    /// Returns whether `value` is in the interval, ends included.
    pub fn holds(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }

    /// Applies `map` to both ends; it may reverse their order.
    pub fn map(self, map: impl Fn(f64) -> f64) -> Self {
        let (one, other) = (map(self.low), map(self.high));
        Self { low: one.min(other), high: one.max(other) }
    }
}

impl Estimate {
    /// Creates an estimate with the intervals that `interval` gives for a confidence.
    pub fn new(value: f64, interval: impl Fn(f64) -> Interval) -> Self {
        Self { value, shown: interval(SHOWN), judged: interval(JUDGED) }
    }
}

/// Estimates the share of `hits` in independent `trials`. Wilson's score interval (1927) is valid
/// near 0 and 1 too.
pub fn share(hits: u64, trials: u64) -> Estimate {
    let value = hits as f64 / trials as f64;
    Estimate::new(value, |confidence| wilson(value, trials as f64, confidence))
}

/// Returns Wilson's interval for a share observed in `trials`. Dependent trials count as fewer; see
/// [`independent_looks`].
pub fn wilson(share: f64, trials: f64, confidence: f64) -> Interval {
    if trials <= 0.0 {
        return Interval { low: 0.0, high: 1.0 };
    }
    let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence));
    let scale = 1.0 + z * z / trials;
    let centre = (share + z * z / (2.0 * trials)) / scale;
    let half = z / scale * (share * (1.0 - share) / trials + z * z / (4.0 * trials * trials)).sqrt();
    Interval { low: (centre - half).max(0.0), high: (centre + half).min(1.0) }
}

/// Returns the number of independent observations that equal observing a two-state process for
/// `seconds`. The variance of the observed share of the bad state is `π_g π_b · 2 τ / T` with
/// `1 / τ = 1 / good + 1 / bad`; for n independent observations it is `π_g π_b / n`.
pub fn independent_looks(seconds: f64, good: f64, bad: f64) -> f64 {
    seconds / 2.0 * (1.0 / good + 1.0 / bad)
}

/// Estimates the mean of independent values that are normally distributed, as means of batches are,
/// with Student's interval.
pub fn mean(values: &[f64]) -> Estimate {
    let count = values.len() as f64;
    let value = values.iter().sum::<f64>() / count;
    let square = values.iter().map(|each| (each - value).powi(2)).sum::<f64>();
    Estimate::new(value, |confidence| {
        let Ok(student) = StudentsT::new(0.0, 1.0, count - 1.0) else {
            return Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };
        };
        let t = student.inverse_cdf(f64::midpoint(1.0, confidence));
        let half = t * (square / (count - 1.0) / count).sqrt();
        Interval { low: value - half, high: value + half }
    })
}

/// Returns the exact interval of a Poisson mean (Garwood 1936): the expected number of rare events,
/// of which `count` occurred.
pub fn poisson(count: u64, confidence: f64) -> Interval {
    let tail = (1.0 - confidence) / 2.0;
    let half_chi_square = |freedom: u64, at: f64| {
        ChiSquared::new(freedom as f64).map_or(0.0, |chi_square| chi_square.inverse_cdf(at) / 2.0)
    };
    let low = if count == 0 { 0.0 } else { half_chi_square(2 * count, tail) };
    Interval { low, high: half_chi_square(2 * count + 2, 1.0 - tail) }
}

/// Estimates the mean of an exponential time from `ended` ends in `total` seconds. The time that
/// was still running at the end counts, because leaving it out would favour short times (Epstein
/// and Sobel 1953).
pub fn exponential_mean(total: f64, ended: u64) -> Estimate {
    let value = if ended == 0 { f64::INFINITY } else { total / ended as f64 };
    Estimate::new(value, |confidence| poisson(ended, confidence).map(|count| total / count))
}

/// Estimates the quantile of `sorted` values below which `share` of them are. The interval is given
/// by ranks and assumes nothing about the distribution.
///
/// # Panics
/// If there are no values.
pub fn quantile(sorted: &[f64], share: f64) -> Estimate {
    let count = sorted.len();
    // Ranks start at 1.
    let at = |rank: u64| sorted[(rank.max(1) as usize).min(count) - 1];
    let value = at((count as f64 * share).ceil() as u64);
    Estimate::new(value, |confidence| {
        let Ok(binomial) = Binomial::new(share, count as u64) else {
            return Interval { low: value, high: value };
        };
        let tail = (1.0 - confidence) / 2.0;
        Interval { low: at(binomial.inverse_cdf(tail)), high: at(binomial.inverse_cdf(1.0 - tail) + 1) }
    })
}

#[cfg(test)]
mod tests;
