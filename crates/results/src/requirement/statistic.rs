//! Statistics that a requirement can be about.

use super::RequirementError;
use crate::statistics::{Ends, Looks, MeanEnds, QuantileEnds, quantile};
use std::fmt;
use std::str::FromStr;

/// A statistic over the repetitions of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The quantile below which this share of the values lie: 0.5 for the median.
    Quantile(f64),
    /// The smallest value of the runs that were made.
    Min,
    /// The largest value of the runs that were made.
    Max,
}

impl Statistic {
    /// The median, which is the default.
    pub const MEDIAN: Self = Self::Quantile(0.5);

    /// Words for error messages.
    pub(super) const WORDS: [&str; 6] = ["median", "mean", "p5", "p95", "min", "max"];

    /// Returns whether it says something about runs that were not made, so that there is an
    /// interval for it.
    #[must_use]
    pub fn estimates(self) -> bool {
        matches!(self, Self::Mean | Self::Quantile(_))
    }

    /// Returns the statistic of values, which must be in ascending order; `None` without values.
    pub(super) fn of(self, sorted: &[f64]) -> Option<f64> {
        match self {
            Self::Mean => (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64),
            Self::Quantile(share) => quantile(sorted, share),
            Self::Min => sorted.first().copied(),
            Self::Max => sorted.last().copied(),
        }
    }

    /// Returns whether any look has a lower end, and an upper end, that is wrong with probability
    /// `alpha` at most.
    pub(super) fn ends_exist(self, alpha: f64, looks: &Looks) -> (bool, bool) {
        match self {
            Self::Quantile(share) => QuantileEnds::new(share, alpha, looks).exist(),
            Self::Mean => [looks.last() >= MeanEnds::LEAST; 2].into(),
            Self::Min | Self::Max => (true, true),
        }
    }
}

/// Ends of the interval of a statistic at all looks.
pub(super) enum AllEnds {
    Mean(MeanEnds),
    Quantile(QuantileEnds),
    /// Not an estimate.
    None,
}

impl AllEnds {
    /// Prepares the ends, each of which is wrong with probability `alpha` at most.
    pub(super) fn new(statistic: Statistic, alpha: f64, looks: &Looks) -> Self {
        match statistic {
            Statistic::Mean => Self::Mean(MeanEnds::new(alpha, looks)),
            Statistic::Quantile(share) => Self::Quantile(QuantileEnds::new(share, alpha, looks)),
            Statistic::Min | Statistic::Max => Self::None,
        }
    }

    /// Returns the ends at a look. `sorted` has the values, in ascending order.
    pub(super) fn at(&self, look: usize, sorted: &[f64]) -> Ends {
        match self {
            Self::Mean(ends) => ends.at(look, sorted),
            Self::Quantile(ends) => ends.at(look, sorted),
            Self::None => Ends::OPEN,
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Mean => f.write_str("mean"),
            Self::MEDIAN => f.write_str("median"),
            // A percentage such as 99.9 is not exact in binary; six digits are more than enough.
            Self::Quantile(share) => write!(f, "p{}", (share * 1e8).round() / 1e6),
            Self::Min => f.write_str("min"),
            Self::Max => f.write_str("max"),
        }
    }
}

impl FromStr for Statistic {
    type Err = RequirementError;

    fn from_str(word: &str) -> Result<Self, RequirementError> {
        let percent = || {
            let percent: f64 = word.strip_prefix('p')?.parse().ok()?;
            (0.0 < percent && percent < 100.0).then_some(Self::Quantile(percent / 100.0))
        };
        match word {
            "mean" => Ok(Self::Mean),
            "median" => Ok(Self::MEDIAN),
            "min" => Ok(Self::Min),
            "max" => Ok(Self::Max),
            _ => percent().ok_or_else(|| RequirementError::Statistic { name: word.to_owned() }),
        }
    }
}
