//! Statistics over repetitions: pure functions of numbers, each with its source.
//!
//! A value that is not a finite number is an error of the measurement: then there is no result
//! (`None`), never a panic and never a figure that hides it.
//!
//! With too few values there is no interval ([`Estimator::least`]) and no line ([`LEAST_POINTS`]).

mod bootstrap;
mod distribution;
mod factorial;
mod looks;
mod proportion;
mod rank;
mod regression;
mod sequential;
mod width;

pub use bootstrap::{Bootstrap, Estimator, Interval};
pub use distribution::{Distribution, quantile};
pub use factorial::{Factorial, FactorialEffect, factorial};
pub use looks::Looks;
pub use proportion::wilson;
pub use rank::{Effect, Magnitude, MannWhitney, Method, effect, holm, mann_whitney, too_few_to_differ};
pub use regression::{Coefficient, LEAST_POINTS, Line, change, ols};
pub use sequential::{Ends, MeanEnds, QuantileEnds};
pub use width::StudentEnds;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Random stream for resampling.
pub type Stream = ChaCha8Rng;

/// Returns the stream with which each interval of a campaign with this seed begins.
///
/// Every interval begins a new stream, so it is the same wherever it is shown, and whatever else is
/// shown.
#[must_use]
pub fn stream(seed: u64) -> Stream {
    ChaCha8Rng::seed_from_u64(seed)
}

/// Returns by how many percent each value of `of` is below the mean of `against`; negative if
/// above.
///
/// `None` if `against` is empty or its mean is 0.
#[must_use]
pub fn degradation(of: &[f64], against: &[f64]) -> Option<Vec<f64>> {
    let reference = mean(finite(against)?)?;
    let fall = |value: &f64| (reference - value) / reference * 100.0;
    (reference != 0.0).then(|| finite(of).map(|of| of.iter().map(fall).collect()))?
}

/// Returns the mean; `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the values if all of them are finite numbers.
fn finite(values: &[f64]) -> Option<&[f64]> {
    values.iter().all(|value| value.is_finite()).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn falls_are_in_percent_of_the_others_mean() {
        assert_eq!(degradation(&[90.0, 100.0, 120.0], &[80.0, 120.0]), Some(vec![10.0, 0.0, -20.0]));
        assert_eq!(degradation(&[], &[1.0]), Some(vec![]));
        assert_eq!(degradation(&[1.0], &[]), None);
        assert_eq!(degradation(&[1.0], &[1.0, -1.0]), None, "the mean is 0");
        assert_eq!(degradation(&[f64::NAN], &[1.0]), None);
        assert_eq!(degradation(&[1.0], &[f64::INFINITY]), None);
    }
}
