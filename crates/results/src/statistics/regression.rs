//! The straight line through points: ordinary least squares.

use super::{Interval, finite, mean};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// y = intercept + slope·x.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// Change of y for each unit of x.
    pub slope: Coefficient,
    /// y where x is 0.
    pub intercept: Coefficient,
    /// Share of y's variance that the line explains (R²); `None` if y never varies.
    pub r_squared: Option<f64>,
    /// How many points it is drawn through.
    pub points: usize,
}

/// An estimated coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coefficient {
    /// The estimate.
    pub value: f64,
    /// Where the true one lies, by Student's t with two degrees of freedom fewer than points; `None` with two points.
    pub interval: Option<Interval>,
}

impl Line {
    /// y of the line at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept.value + self.slope.value * x
    }
}

/// The line with the least squares of vertical distances, with intervals of this `confidence`, a share of 1 (Draper and
/// Smith, Applied Regression Analysis, 1998, sections 1.2 to 1.4). `None` if the lengths differ, of fewer than two points,
/// and if x never varies.
#[must_use]
pub fn ols(x: &[f64], y: &[f64], confidence: f64) -> Option<Line> {
    let points = finite(x)?.len();
    if points < 2 || finite(y)?.len() != points {
        return None;
    }
    let (x_mean, y_mean) = (mean(x)?, mean(y)?);
    let products = |one: &[f64], one_mean: f64, other: &[f64], other_mean: f64| {
        one.iter().zip(other).map(|(one, other)| (one - one_mean) * (other - other_mean)).sum::<f64>()
    };
    let (sxx, syy) = (products(x, x_mean, x, x_mean), products(y, y_mean, y, y_mean));
    if sxx <= 0.0 {
        return None;
    }
    let slope = products(x, x_mean, y, y_mean) / sxx;
    let intercept = y_mean - slope * x_mean;
    let residual: f64 = x.iter().zip(y).map(|(x, y)| (y - intercept - slope * x).powi(2)).sum();

    let freedom = (points - 2) as f64;
    let student = StudentsT::new(0.0, 1.0, freedom).ok().filter(|_| 0.0 < confidence && confidence < 1.0);
    let coefficient = |value: f64, variance: f64| {
        let reach =
            student.map(|student| student.inverse_cdf(f64::midpoint(1.0, confidence)) * variance.sqrt());
        let interval = |reach| Interval { low: value - reach, high: value + reach, confidence };
        Coefficient { value, interval: reach.map(interval) }
    };
    let variance = residual / freedom;
    Some(Line {
        slope: coefficient(slope, variance / sxx),
        intercept: coefficient(intercept, variance * (1.0 / points as f64 + x_mean.powi(2) / sxx)),
        r_squared: (syy > 0.0).then(|| 1.0 - residual / syy),
        points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Speed and stopping distance of cars (Ezekiel 1930); `cars` of R.
    const SPEED: [u8; 50] = [
        4, 4, 7, 7, 8, 9, 10, 10, 10, 11, 11, 12, 12, 12, 12, 13, 13, 13, 13, 14, 14, 14, 14, 15, 15, 15, 16,
        16, 17, 17, 17, 18, 18, 18, 18, 19, 19, 19, 20, 20, 20, 20, 20, 22, 23, 24, 24, 24, 24, 25,
    ];
    const DISTANCE: [u8; 50] = [
        2, 10, 4, 22, 16, 10, 18, 26, 34, 17, 28, 14, 20, 24, 28, 26, 34, 34, 46, 26, 36, 60, 80, 20, 26, 54,
        32, 40, 32, 40, 50, 42, 56, 76, 84, 36, 46, 68, 32, 48, 52, 56, 64, 66, 54, 70, 92, 93, 120, 85,
    ];

    /// R's `lm(dist ~ speed, cars)`: −17.5791 and 3.9324, R² 0.6511; `confint`: (Intercept) −31.167850 −3.990340, speed
    /// 3.096964 4.767853.
    #[test]
    fn the_line_of_r() {
        let line = ols(&SPEED.map(f64::from), &DISTANCE.map(f64::from), 0.95).unwrap();
        let near = |ours: f64, published: f64, by: f64| {
            assert!((ours - published).abs() <= by, "{ours} is not {published}");
        };
        near(line.intercept.value, -17.5791, 5e-5);
        near(line.slope.value, 3.9324, 5e-5);
        near(line.r_squared.unwrap(), 0.6511, 5e-5);
        let (intercept, slope) = (line.intercept.interval.unwrap(), line.slope.interval.unwrap());
        near(intercept.low, -31.167_850, 1e-6);
        near(intercept.high, -3.990_340, 1e-6);
        near(slope.low, 3.096_964, 1e-6);
        near(slope.high, 4.767_853, 1e-6);
        near(line.at(10.0), -17.5791 + 39.324, 6e-4);
    }

    #[test]
    fn two_points_make_a_line_without_an_interval() {
        let line = ols(&[0.0, 2.0], &[1.0, 5.0], 0.95).unwrap();
        assert_eq!((line.slope.value, line.intercept.value, line.r_squared), (2.0, 1.0, Some(1.0)));
        assert_eq!((line.slope.interval, line.intercept.interval), (None, None));
        assert_eq!(ols(&[0.0, 2.0, 4.0], &[3.0; 3], 0.95).unwrap().r_squared, None);
    }

    #[test]
    fn no_line_where_there_is_none() {
        assert_eq!(ols(&[1.0], &[1.0], 0.95), None);
        assert_eq!(ols(&[1.0, 1.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ols(&[1.0, 2.0], &[1.0], 0.95), None);
        assert_eq!(ols(&[1.0, 2.0], &[1.0, f64::NAN], 0.95), None);
        assert_eq!(ols(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0], 1.0).unwrap().slope.interval, None);
    }
}
