//! Straight line through points, by ordinary least squares.

use super::{Interval, finite, mean};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Minimum number of points for a line. A line through two points always meets both: R² is 1
/// whatever was measured, and the error of the line is unknown.
pub const LEAST_POINTS: usize = 3;

/// y = intercept + slope·x.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Line {
    /// Change of y per unit of x.
    pub slope: Coefficient,
    /// y where x is 0.
    pub intercept: Coefficient,
    /// Share of y's variance that the line explains (R²); `None` if y never varies.
    pub r_squared: Option<f64>,
    /// Number of points.
    pub points: usize,
}

/// An estimated coefficient.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Coefficient {
    /// The estimate.
    pub value: f64,
    /// Interval for the true value, by Student's t with two degrees of freedom fewer than points;
    /// `None` if the confidence is not between 0 and 1.
    pub interval: Option<Interval>,
}

impl Line {
    /// Returns y of the line at `x`.
    #[must_use]
    pub fn at(&self, x: f64) -> f64 {
        self.intercept.value + self.slope.value * x
    }
}

/// Fits the line with the least squares of vertical distances (Draper and Smith, Applied Regression
/// Analysis, 1998, sections 1.2 to 1.4).
///
/// `confidence` is that of the intervals, a share of 1. `None` if the lengths differ, with fewer
/// than [`LEAST_POINTS`] points, and if x never varies.
#[must_use]
pub fn ols(x: &[f64], y: &[f64], confidence: f64) -> Option<Line> {
    let fit = Fit::of(x, y)?;
    let reach = fit.quantile(confidence);
    let coefficient = |value: f64, variance: f64| {
        let reach = reach.map(|quantile| quantile * variance.sqrt());
        let interval = |reach| Interval { low: value - reach, high: value + reach, confidence };
        Coefficient { value, interval: reach.map(interval) }
    };
    Some(Line {
        slope: coefficient(fit.slope, fit.slope_variance()),
        intercept: coefficient(fit.intercept, fit.intercept_variance()),
        r_squared: (fit.syy > 0.0).then(|| 1.0 - fit.residual / fit.syy),
        points: fit.points,
    })
}

/// Returns the change of the line of [`ols`] from 0 to `at`, in percent of its value at 0.
///
/// That is 100·`at`·slope/intercept, a ratio of two estimates that depend on each other. Its
/// interval is Fieller's (Some problems in interval estimation, 1954): all ratios r for which slope
/// − r·intercept is not significantly different from 0. There is no interval if the intercept
/// itself may be 0. `None` if there is no line, or if its value at 0 is 0.
#[must_use]
pub fn change(x: &[f64], y: &[f64], at: f64, confidence: f64) -> Option<Coefficient> {
    let fit = Fit::of(x, y).filter(|fit| fit.intercept != 0.0)?;
    let percent = |ratio: f64| 100.0 * at * ratio;
    let interval = fit.quantile(confidence).and_then(|quantile| fit.ratios(quantile)).map(|ratios| {
        let [one, other] = ratios.map(percent);
        Interval { low: one.min(other), high: one.max(other), confidence }
    });
    Some(Coefficient { value: percent(fit.slope / fit.intercept), interval })
}

/// A line, with the values from which its intervals are computed.
struct Fit {
    slope: f64,
    intercept: f64,
    points: usize,
    x_mean: f64,
    /// Sums of squared distances: of x and y from their means, and of y from the line.
    sxx: f64,
    syy: f64,
    residual: f64,
}

impl Fit {
    fn of(x: &[f64], y: &[f64]) -> Option<Self> {
        let points = finite(x)?.len();
        if points < LEAST_POINTS || finite(y)?.len() != points {
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
        Some(Self { slope, intercept, points, x_mean, sxx, syy, residual })
    }

    fn freedom(&self) -> f64 {
        (self.points - 2) as f64
    }

    /// Returns the number of standard errors by which an interval extends to either side; `None` if
    /// the confidence is not between 0 and 1.
    fn quantile(&self, confidence: f64) -> Option<f64> {
        let student = StudentsT::new(0.0, 1.0, self.freedom()).ok();
        let student = student.filter(|_| 0.0 < confidence && confidence < 1.0)?;
        Some(student.inverse_cdf(f64::midpoint(1.0, confidence)))
    }

    /// Returns the variance of y around the line.
    fn variance(&self) -> f64 {
        self.residual / self.freedom()
    }

    fn slope_variance(&self) -> f64 {
        self.variance() / self.sxx
    }

    fn intercept_variance(&self) -> f64 {
        self.variance() * (1.0 / self.points as f64 + self.x_mean.powi(2) / self.sxx)
    }

    /// Returns the covariance of slope and intercept.
    fn covariance(&self) -> f64 {
        -self.x_mean * self.slope_variance()
    }

    /// Returns the ends of the range of ratios r of slope to intercept for which slope −
    /// r·intercept is less than `quantile` standard errors from 0; `None` if that range is
    /// unbounded.
    fn ratios(&self, quantile: f64) -> Option<[f64; 2]> {
        let reach = quantile * quantile;
        // The roots of square·r² − 2·linear·r + constant, which is not positive at the estimate.
        let square = self.intercept.powi(2) - reach * self.intercept_variance();
        let linear = self.slope * self.intercept - reach * self.covariance();
        let constant = self.slope.powi(2) - reach * self.slope_variance();
        let root = (linear * linear - square * constant).max(0.0).sqrt();
        (square > 0.0).then(|| [(linear - root) / square, (linear + root) / square])
    }
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

    /// R's `lm(dist ~ speed, cars)`: −17.5791 and 3.9324, R² 0.6511; `confint`: (Intercept)
    /// −31.167850 −3.990340, speed 3.096964 4.767853.
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
    fn two_points_make_no_line_and_three_make_one_with_an_interval() {
        assert_eq!(ols(&[0.0, 2.0], &[1.0, 5.0], 0.95), None, "R² would be 1 whatever was measured");
        assert_eq!(change(&[0.0, 2.0], &[1.0, 5.0], 1.0, 0.95), None);
        let line = ols(&[0.0, 2.0, 4.0], &[1.0, 5.0, 8.0], 0.95).unwrap();
        assert!(line.slope.interval.is_some() && line.intercept.interval.is_some(), "{line:?}");
        assert!(line.r_squared.is_some_and(|share| share < 1.0), "{line:?}");
        assert_eq!(ols(&[0.0, 2.0, 4.0], &[3.0; 3], 0.95).unwrap().r_squared, None);
    }

    /// x 0, 1, 2, 3 and y 10, 9, 7, 6: mean 1.5 and 8, sxx 5, sxy −7, so that the line is 10.1 −
    /// 1.4·x with residuals −0.1, 0.3, −0.3, 0.1. At 2 that is 2.8 of 10.1 less. s² = 0.2/2 = 0.1,
    /// Var(slope) = 0.02, Var(intercept) = 0.1·(0.25 + 0.45) = 0.07, Cov = −0.03, t(0.975; 2) =
    /// 4.302653 and t² = 18.512820. Fieller: a = 102.01 − 1.295897 = 100.714103, b = −14.14 +
    /// 0.555385 = −13.584615, c = 1.96 − 0.370256 = 1.589744; roots (−13.584615 ∓ √(184.541775 −
    /// 160.109594))/100.714103 = −0.183961 and −0.085804.
    #[test]
    fn a_change_has_the_interval_of_fieller() {
        let change = change(&[0.0, 1.0, 2.0, 3.0], &[10.0, 9.0, 7.0, 6.0], 2.0, 0.95).unwrap();
        let near =
            |ours: f64, expected: f64| assert!((ours - expected).abs() < 1e-3, "{ours} is not {expected}");
        near(change.value, -280.0 / 10.1);
        let interval = change.interval.unwrap();
        near(interval.low, -200.0 * 0.183_961);
        near(interval.high, -200.0 * 0.085_804);
    }

    #[test]
    fn a_change_without_an_interval() {
        // The intercept may be 0, so the base of the change is unknown.
        let loose = change(&[1.0, 2.0, 3.0], &[9.0, -9.0, 9.0], 1.0, 0.95).unwrap();
        assert_eq!(loose.interval, None);
        assert_eq!(change(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 1.0, 0.95), None, "0 at 0");
        assert_eq!(change(&[1.0], &[1.0], 1.0, 0.95), None);
    }

    #[test]
    fn no_line_where_there_is_none() {
        assert_eq!(ols(&[1.0], &[1.0], 0.95), None);
        assert_eq!(ols(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(ols(&[1.0, 2.0, 3.0], &[1.0, 2.0], 0.95), None);
        assert_eq!(ols(&[1.0, 2.0, 3.0], &[1.0, 2.0, f64::NAN], 0.95), None);
        assert_eq!(ols(&[1.0, 2.0, 3.0], &[1.0, 2.0, 4.0], 1.0).unwrap().slope.interval, None);
    }
}
