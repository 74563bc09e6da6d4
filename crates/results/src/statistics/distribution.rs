//! Distribution of values, as a box plot shows it.

use super::{finite, mean};
use serde::Serialize;

/// Five numbers and two moments.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distribution {
    /// Number of values.
    pub count: usize,
    /// The smallest.
    pub min: f64,
    /// Lower quartile, see [`quantile`].
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Upper quartile.
    pub q3: f64,
    /// The largest.
    pub max: f64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (divisor n − 1); `None` for a single value.
    pub standard_deviation: Option<f64>,
}

impl Distribution {
    /// Computes the distribution of values in any order; `None` without values.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(finite(values)?)?;
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let count = values.len();
        Some(Self {
            count,
            min: sorted[0],
            q1: quantile(&sorted, 0.25)?,
            median: quantile(&sorted, 0.5)?,
            q3: quantile(&sorted, 0.75)?,
            max: sorted[count - 1],
            mean,
            standard_deviation: (count > 1).then(|| (squares / (count - 1) as f64).sqrt()),
        })
    }
}

/// Returns the quantile below which `share` of the values lie; `sorted` must be in ascending order.
///
/// It is definition 7 of Hyndman and Fan (Sample Quantiles in Statistical Packages, The American
/// Statistician 50(4), 1996), the default of R, NumPy and spreadsheets: linear interpolation
/// between the neighbours of place (n − 1)·`share`, counted from 0. `None` without values. A
/// `share` outside 0 to 1 counts as the nearer end.
#[must_use]
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = last as f64 * share.clamp(0.0, 1.0);
    let below = sorted[(place.floor() as usize).min(last)];
    let above = sorted[(place.ceil() as usize).min(last)];
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Miles per gallon of 32 cars: Henderson and Velleman, Biometrics 37 (1981); `mtcars$mpg` of
    /// R.
    const MPG: [f64; 32] = [
        21.0, 21.0, 22.8, 21.4, 18.7, 18.1, 14.3, 24.4, 22.8, 19.2, 17.8, 16.4, 17.3, 15.2, 10.4, 10.4, 14.7,
        32.4, 30.4, 33.9, 21.5, 15.5, 15.2, 13.3, 19.2, 27.3, 26.0, 30.4, 15.8, 19.7, 15.0, 21.4,
    ];

    /// `quantile(mtcars$mpg)` of R prints 10.400 15.425 19.200 22.800 33.900; `mean` 20.09062, `sd`
    /// 6.026948.
    #[test]
    fn quartiles_are_those_of_r() {
        let mpg = Distribution::of(&MPG).unwrap();
        assert_eq!((mpg.count, mpg.min, mpg.max), (32, 10.4, 33.9));
        for (ours, published) in [(mpg.q1, 15.425), (mpg.median, 19.2), (mpg.q3, 22.8)] {
            assert!((ours - published).abs() < 1e-9, "{ours} is not {published}");
        }
        assert!((mpg.mean - 20.09062).abs() < 5e-6, "{}", mpg.mean);
        assert!((mpg.standard_deviation.unwrap() - 6.026_948).abs() < 5e-7);
    }

    #[test]
    fn one_value_is_all_of_its_quantiles() {
        let one = Distribution::of(&[3.0]).unwrap();
        assert_eq!((one.min, one.q1, one.median, one.q3, one.max), (3.0, 3.0, 3.0, 3.0, 3.0));
        assert_eq!((one.mean, one.standard_deviation), (3.0, None));
    }

    #[test]
    fn without_numbers_there_is_none() {
        assert_eq!(Distribution::of(&[]), None);
        assert_eq!(Distribution::of(&[1.0, f64::NAN]), None);
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, 2.0], 7.0), Some(2.0));
    }
}
