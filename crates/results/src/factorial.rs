//! Factorial analyses of a campaign: how much of the variation of a metric each factor and each
//! interaction of factors explains.
//!
//! `[[analysis.factorial]]` of a plan is a [`Request`]. With the plan's factors it becomes a
//! [`FactorialDesign`], which the manifest records. [`analyze`] computes the [`Analysis`] from the
//! runs by [`statistics::factorial`](crate::statistics::factorial()).
//!
//! The response may be the difference or the ratio between two levels of one factor, such as two
//! systems. It is then computed in pairs: repetitions of the same number have the same seed.

mod analysis;
mod error;
mod request;

pub use analysis::{Analysis, Combination, analyze};
pub use error::{DesignError, NotAnalyzed};
pub use request::Request;

use crate::{Level, Metric};
use serde::{Deserialize, Serialize};

/// Confidence of the intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Largest number of factors of a design: 2^12 cells have 4095 effects.
pub const MOST_FACTORS: usize = 12;

/// A factorial analysis of a plan, with its factors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FactorialDesign {
    /// What it is, in a line.
    pub title: String,
    /// The metric.
    pub metric: Metric,
    /// Its workload; by default the one that all figures are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The factors that are analysed, in the order of the plan.
    pub factors: Vec<TwoLevels>,
    /// The levels of other factors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fixed: Vec<Level>,
    /// The factor whose two levels the response compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<Compared>,
    /// Whether the response is the decimal logarithm of the metric, or of the ratio.
    #[serde(default)]
    pub log: bool,
}

/// A factor with the two of its levels that are analysed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TwoLevels {
    /// Its name.
    pub factor: String,
    /// The first level, with the sign −1, and the second, with +1.
    pub levels: [String; 2],
}

/// How a response compares two levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    /// The factor and both levels.
    #[serde(flatten)]
    pub levels: TwoLevels,
    /// How.
    pub by: Comparison,
}

/// Difference or ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comparison {
    /// The metric at the first level minus that at the second.
    Difference,
    /// The metric at the first level over that at the second.
    Ratio,
}

impl FactorialDesign {
    /// Returns the number of cells of the design: 2^k.
    #[must_use]
    pub fn cells(&self) -> usize {
        1 << self.factors.len()
    }

    /// Returns the unit of the response; empty for a ratio and a logarithm.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        if self.log { "" } else { self.unit_without_log() }
    }

    /// Returns the unit of what the response is the logarithm of, or of the response itself.
    #[must_use]
    pub fn unit_without_log(&self) -> &'static str {
        let ratio = self.compared.as_ref().is_some_and(|compared| compared.by == Comparison::Ratio);
        if ratio { "" } else { self.metric.unit() }
    }

    /// Returns the response in words, such as `log10 of goodput of download: cc=reno over cc=bbr`.
    #[must_use]
    pub fn response(&self, workload: &str) -> String {
        let log = if self.log { "log10 of " } else { "" };
        let compared = self.compared.as_ref().map_or_else(String::new, |Compared { levels, by }| {
            let TwoLevels { factor, levels: [first, second] } = levels;
            let by = match by {
                Comparison::Difference => "minus",
                Comparison::Ratio => "over",
            };
            format!(": {factor}={first} {by} {factor}={second}")
        });
        format!("{log}{} of {workload}{compared}", self.metric)
    }

    /// Returns the levels of the factors that are not analysed, in one line:
    /// `loss=lite-1, cc=reno`; empty if there are none.
    #[must_use]
    pub fn fixed_words(&self) -> String {
        let levels = self.fixed.iter().map(|level| format!("{}={}", level.factor, level.level));
        levels.collect::<Vec<_>>().join(", ")
    }

    /// Returns the names of the factors of a combination: bit i is set if factor i takes part.
    #[must_use]
    pub fn names(&self, combination: usize) -> Vec<&str> {
        let factors = self.factors.iter().enumerate();
        factors
            .filter(|(place, _)| combination >> place & 1 == 1)
            .map(|(_, factor)| factor.factor.as_str())
            .collect()
    }
}

#[cfg(test)]
mod tests;
