//! Errors in requirements, each with the field that is wrong.

use super::Statistic;
use crate::instead;
use crate::metric::UnknownMetric;
use crate::selection::SelectionError;

/// Error in a requirement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequirementError {
    /// The selected cells or the workload do not exist.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// There is no such metric.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    /// There is no such statistic.
    #[error(
        "there is no statistic `{name}`{}; `pN` is the N-th percentile",
        instead(.name, &Statistic::WORDS)
    )]
    Statistic {
        /// The name in the requirement.
        name: String,
    },
    /// A bound is not a number.
    #[error("`{text}` is not a number with a unit, such as `4 Mbit/s`")]
    Number {
        /// `at-least` or `at-most`.
        field: &'static str,
        /// The bound as it was written.
        text: String,
    },
    /// The unit of a bound does not belong to the metric's quantity.
    #[error("the unit of `{text}` does not fit: expected {expected}")]
    Unit {
        /// `at-least` or `at-most`.
        field: &'static str,
        /// The bound as it was written.
        text: String,
        /// What would be right.
        expected: String,
    },
    /// There is no bound.
    #[error("a requirement needs `at-least`, `at-most` or both")]
    Unbounded,
    /// The lower bound is above the upper one.
    #[error("`at-least` = {least} is above `at-most` = {most}: no value is between them")]
    Empty {
        /// The lower bound.
        least: String,
        /// The upper bound.
        most: String,
    },
    /// The confidence is not a probability above one half.
    #[error(
        "`confidence` = {confidence} is out of range: expected a number from 0.5 to 0.9999, such as 0.95"
    )]
    Confidence {
        /// The confidence as it was written.
        confidence: String,
    },
    /// A confidence of a statistic that is not an estimate.
    #[error(
        "`confidence` has no meaning for `{statistic}`, which is about the runs that were made: leave it out, or use a percentile such as `p95`"
    )]
    ConfidenceOfExtreme {
        /// `min` or `max`.
        statistic: String,
    },
}

impl RequirementError {
    /// Returns the field of `[[require]]` that is wrong.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Selection(error) => error.field(),
            Self::Metric(_) => "metric",
            Self::Statistic { .. } => "statistic",
            Self::Number { field, .. } | Self::Unit { field, .. } => field,
            Self::Unbounded | Self::Empty { .. } => "at-least",
            Self::Confidence { .. } | Self::ConfidenceOfExtreme { .. } => "confidence",
        }
    }
}
