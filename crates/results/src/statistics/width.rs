//! Student's intervals of a mean for a sampling that goes on until the interval is narrow.
//!
//! Whoever looks again and again at an interval, and stops as soon as it is narrow, stops more
//! often where the values happen to spread too little. The last interval therefore contains the
//! true mean less often than its confidence says. The effect is small, since the width says nothing
//! about where the mean is, and it vanishes with the number of values (Chow and Robbins, On the
//! asymptotic theory of fixed-width sequential confidence intervals for the mean, Annals of
//! Mathematical Statistics 36(2), 1965). The tests of `precision` measure it.
//!
//! [`StudentEnds::shared`] avoids it: the looks share the allowed error
//! ([`Looks::spent`](super::Looks::spent)), so that all their intervals together contain the true
//! mean with at least the confidence, for values that are normally distributed.

use super::{Interval, Looks, finite, mean};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Intervals of a mean at each look.
#[derive(Debug, Clone, PartialEq)]
pub struct StudentEnds {
    confidence: f64,
    /// For each look, the error of both ends of its interval together.
    levels: Vec<f64>,
}

impl StudentEnds {
    /// Prepares intervals that all together contain the mean with this confidence, at least.
    #[must_use]
    pub fn shared(confidence: f64, looks: &Looks) -> Self {
        let mut before = 0.0;
        let levels = looks.spent(1.0 - confidence).into_iter().map(|spent| {
            let level = spent - before;
            before = spent;
            level
        });
        Self { confidence, levels: levels.collect() }
    }

    /// Prepares intervals each of which contains the mean with this confidence if there are no
    /// other looks.
    #[must_use]
    pub fn separate(confidence: f64, looks: &Looks) -> Self {
        Self { confidence, levels: vec![1.0 - confidence; looks.repetitions().len()] }
    }

    /// Returns the interval at the look with this number, from 0.
    ///
    /// `None` with fewer than two values, if one is not finite, or without such a look.
    #[must_use]
    pub fn at(&self, look: usize, values: &[f64]) -> Option<Interval> {
        let level = self.levels.get(look)?;
        let count = values.len() as f64;
        let middle = mean(finite(values)?)?;
        let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
        let error = (squares / (count - 1.0) / count).sqrt();
        let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?.inverse_cdf(1.0 - level / 2.0);
        let half = student * error;
        Some(Interval { low: middle - half, high: middle + half, confidence: self.confidence })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten values with the mean 5.5 and the variance 55/6: t of nine degrees of freedom is 2.262.
    #[test]
    fn a_single_look_has_the_interval_of_student() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let half = 2.262_157 * (55.0_f64 / 6.0 / 10.0).sqrt();
        for ends in [StudentEnds::shared, StudentEnds::separate] {
            let interval = ends(0.95, &Looks::new(10, 10)).at(0, &values).expect("an interval");
            assert!((interval.low - (5.5 - half)).abs() < 1e-5, "{interval:?}");
            assert!((interval.high - (5.5 + half)).abs() < 1e-5, "{interval:?}");
        }
    }

    #[test]
    fn looks_that_share_the_error_have_wider_intervals() {
        let values: Vec<f64> = (0..63).map(|number| f64::from(number % 7)).collect();
        let looks = Looks::new(30, 63);
        let (shared, separate) = (StudentEnds::shared(0.95, &looks), StudentEnds::separate(0.95, &looks));
        let width = |ends: &StudentEnds, look: usize, count: usize| {
            let interval = ends.at(look, &values[..count]).expect("an interval");
            interval.high - interval.low
        };
        for (look, count) in looks.repetitions().iter().enumerate() {
            let (wide, narrow) =
                (width(&shared, look, *count as usize), width(&separate, look, *count as usize));
            assert!(wide > 1.05 * narrow && wide < 1.5 * narrow, "{look}: {wide} and {narrow}");
        }
    }

    #[test]
    fn there_is_no_interval_without_values_that_vary() {
        let ends = StudentEnds::separate(0.95, &Looks::new(1, 1));
        assert_eq!(ends.at(0, &[]), None);
        assert_eq!(ends.at(0, &[1.0]), None);
        assert_eq!(ends.at(0, &[1.0, f64::INFINITY]), None);
        assert_eq!(ends.at(1, &[1.0, 2.0]), None);
        let equal = ends.at(0, &[2.0, 2.0]).expect("an interval");
        assert_eq!((equal.low, equal.high), (2.0, 2.0));
    }
}
