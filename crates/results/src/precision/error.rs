//! Errors in a rule of precision, each with the field that is wrong.

use crate::instead;
use crate::metric::UnknownMetric;
use crate::selection::SelectionError;
use crate::statistics::MeanEnds;

/// Error in a rule of precision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PrecisionError {
    /// The selected cells or the workload do not exist.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// There is no such metric.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    /// The width is no percentage.
    #[error("`{text}` is not a percentage above 0 % and below 100 %, such as `2 %`")]
    Within {
        /// The width as it was written.
        text: String,
    },
    /// The confidence is not a probability above one half.
    #[error("`{confidence}` is out of range: expected a number from 0.5 to 0.9999, such as 0.95")]
    Confidence {
        /// The confidence as it was written.
        confidence: String,
    },
    /// There is no such way to look.
    #[error("there is no `{word}`{}", instead(.word, &["few", "every"]))]
    Looks {
        /// The word as it was written.
        word: String,
    },
    /// Too few repetitions for the interval of a mean.
    #[error(
        "the interval of a mean needs at least {} repetitions, not {least}: set `repetitions` to the least number and `max-repetitions` to the largest, such as 30 and 63",
        MeanEnds::LEAST
    )]
    TooFew {
        /// The least number of repetitions.
        least: u32,
    },
}

impl PrecisionError {
    /// Returns the field of `[precision]` that is wrong; empty for the number of repetitions.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Selection(error) => error.field(),
            Self::Metric(_) => "metric",
            Self::Within { .. } => "within",
            Self::Confidence { .. } => "confidence",
            Self::Looks { .. } => "looks",
            Self::TooFew { .. } => "",
        }
    }
}
