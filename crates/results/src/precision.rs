//! Run control by precision: cells are repeated until the interval of a mean is narrow enough.
//!
//! A [`Precision`] (`[precision]` of a plan) names a metric, or its ratio between two cells, and
//! how far the ends of the interval may be from the mean. [`stops`] tells for each cell at which
//! number of repetitions it stopped, with its interval. Repetitions of the same number have the
//! same seed, so both cells of a pair are repeated.
//!
//! # How often it looks
//! * [`LookAt::Few`] looks at the numbers of repetitions at which a gate does ([`Looks::new`]), and
//!   the looks share the allowed error. The interval contains the true mean with the confidence, at
//!   whichever look the cell stopped.
//! * [`LookAt::Every`] looks after every repetition at the ordinary interval, as simulation studies
//!   do. Such an interval is somewhat optimistic ([`StudentEnds`]).
//!
//! # Runs without a value
//! They are no part of the mean, and the stop says how many there are.

mod error;
mod stop;

pub use error::PrecisionError;
pub use stop::{Stop, cells_open, stops};

use crate::statistics::{Looks, MeanEnds, StudentEnds};
use crate::{Cell, Factor, Metric, Selection, selection};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::str::FromStr;

/// Default of [`Precision::confidence`].
pub const CONFIDENCE: f64 = 0.95;

/// How long cells are repeated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Precision {
    /// The metric.
    pub metric: Metric,
    /// Its workload; by default the one that all figures are about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// The cells that are repeated; all of them by default. Others have the least number of
    /// repetitions.
    #[serde(rename = "where", default, skip_serializing_if = "Selection::is_empty")]
    pub of: Selection,
    /// The cell to compare with, as for a [`Requirement`](crate::Requirement): the mean is then one
    /// of ratios, repetition by repetition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<Selection>,
    /// Largest distance of the ends of the interval from the mean, as a share of the mean.
    pub within: f64,
    /// Confidence of the interval.
    pub confidence: f64,
    /// How often it looks.
    pub looks: LookAt,
}

/// At which numbers of repetitions the intervals are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LookAt {
    /// At a few that grow by half, which share the allowed error.
    #[default]
    Few,
    /// At each from the least to the largest, by the interval of a single look.
    Every,
}

/// The rule of a campaign, and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunControl {
    /// The rule.
    pub rule: Precision,
    /// Where each cell, or pair of cells, stopped; empty until the campaign ends.
    #[serde(default)]
    pub stops: Vec<Stop>,
}

impl Precision {
    /// Creates the rule for a metric of each cell by itself, with the defaults of a plan.
    #[must_use]
    pub fn new(metric: Metric, within: f64) -> Self {
        let of = Selection::new();
        let (workload, against, looks) = (None, None, LookAt::default());
        Self { metric, workload, of, against, within, confidence: CONFIDENCE, looks }
    }

    /// Checks it, so that a plan's reader can report errors before the runs.
    ///
    /// The campaign has these `factors` and `cells`, and the selected cells have these `workloads`.
    pub fn check(
        &self,
        factors: &[Factor],
        workloads: &[String],
        cells: &[Cell],
    ) -> Result<(), PrecisionError> {
        let Self { of, against, workload, confidence, .. } = self;
        selection::check(of, against.as_ref(), workload.as_ref(), factors, workloads)?;
        if self.pairs(cells)?.is_empty() {
            return Err(selection::SelectionError::NoCell { without: against.is_some() }.into());
        }
        if !(0.5..=0.9999).contains(confidence) {
            return Err(PrecisionError::Confidence { confidence: confidence.to_string() });
        }
        Ok(())
    }

    /// Returns the looks from the least to the largest number of repetitions.
    ///
    /// # Errors
    /// If the least number is too small for the interval of a mean.
    pub fn looks(&self, least: u32, most: u32) -> Result<Looks, PrecisionError> {
        if least < MeanEnds::LEAST {
            return Err(PrecisionError::TooFew { least });
        }
        Ok(match self.looks {
            LookAt::Few => Looks::new(least, most),
            LookAt::Every => Looks::each(least, most),
        })
    }

    /// Returns the rule in words: `the 95 % interval of the mean of goodput is within 2 % of it`.
    #[must_use]
    pub fn in_words(&self) -> String {
        let mut words = format!("the {} % interval of the mean of {}", percent(self.confidence), self.metric);
        if let Some(workload) = &self.workload {
            let _ = write!(words, " of {workload}");
        }
        for (number, (factor, levels)) in self.against.iter().flatten().enumerate() {
            let levels: Vec<&str> = levels.iter().map(String::as_str).collect();
            let before = if number == 0 { " over " } else { ", " };
            let _ = write!(words, "{before}{factor}={}", levels.join(","));
        }
        let _ = write!(words, " is within {} % of it", percent(self.within));
        words
    }

    /// Returns the selected cells, each with the cell that it is compared with.
    fn pairs<'a>(&self, cells: &'a [Cell]) -> Result<Vec<(&'a Cell, Option<&'a Cell>)>, PrecisionError> {
        Ok(selection::pairs(&self.of, self.against.as_ref(), cells)?)
    }

    fn ends(&self, looks: &Looks) -> StudentEnds {
        match self.looks {
            LookAt::Few => StudentEnds::shared(self.confidence, looks),
            LookAt::Every => StudentEnds::separate(self.confidence, looks),
        }
    }
}

/// Returns a share in percent, without digits that only come from its being binary.
fn percent(share: f64) -> f64 {
    (share * 1e8).round() / 1e6
}

/// Reads a share of the mean, such as `2 %`.
///
/// # Errors
/// If it is no percentage above 0 and below 100.
pub fn within(text: &str) -> Result<f64, PrecisionError> {
    let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse().ok());
    let number = number.filter(|percent: &f64| *percent > 0.0 && *percent < 100.0);
    number.map(|percent| percent / 100.0).ok_or_else(|| PrecisionError::Within { text: text.to_owned() })
}

impl FromStr for LookAt {
    type Err = PrecisionError;

    fn from_str(word: &str) -> Result<Self, PrecisionError> {
        match word {
            "few" => Ok(Self::Few),
            "every" => Ok(Self::Every),
            _ => Err(PrecisionError::Looks { word: word.to_owned() }),
        }
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
