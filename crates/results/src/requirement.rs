//! Requirements: what the figures of a campaign must reach, and the verdict on each.
//!
//! A [`Requirement`] (`[[require]]` in a plan) has a metric, a statistic over the repetitions of a
//! cell and a bound. It must hold in every selected cell. Each of these cells has a [`Judgement`]:
//! the requirement holds, does not hold, or is not decided with so many repetitions. A gate then
//! goes on to the next of its [`Looks`].
//!
//! # Errors of the verdict
//! The statistic of the repetitions differs from that of all runs that could be made. A requirement
//! therefore holds if the lower end of an interval reaches the bound, and does not hold if the
//! upper end stays below it (for `at-least`). The ends hold at all looks together
//! ([`QuantileEnds`](crate::statistics::QuantileEnds), [`MeanEnds`](crate::statistics::MeanEnds)).
//! So a verdict is final, and wrong with a probability of at most 1 − confidence:
//!
//! * A requirement that does not hold passes only if the ends are wrong in the one cell where it
//!   does not hold.
//! * A requirement that holds fails if the ends are wrong in any of its m cells. So the end that
//!   would show a failure has an error of (1 − confidence)/m, and half of this if there are two
//!   bounds.
//!
//! # Runs without a value
//! A failed run makes the requirement fail: the others are survivors. A run that is overloaded, has
//! a dropped call or has no value of the metric could have had any value. It counts as the lowest
//! one for the lower end and as the highest one for the upper end.

mod bound;
mod error;
mod judgement;
mod statistic;
pub(crate) mod values;

pub use bound::Bound;
pub use error::RequirementError;
pub use judgement::{Judgement, Verdict, cells_undecided, judge};
pub use statistic::Statistic;

use crate::selection::SelectionError;
use crate::statistics::Looks;
use crate::{Cell, Factor, Metric, Selection, selection};

/// Default of [`Requirement::confidence`].
pub const CONFIDENCE: f64 = 0.95;

/// A requirement of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// What it is, in a line.
    pub title: String,
    /// The line of the plan where it begins, from 1.
    pub line: usize,
    /// The metric.
    pub metric: Metric,
    /// Its workload; by default the one that all figures are about.
    pub workload: Option<String>,
    /// The cells in which it must hold; all of them by default.
    pub of: Selection,
    /// The cell to compare with. Each repetition then gives a ratio: the value of the cell over
    /// that of the cell which `against` selects and which has the same levels of all factors that
    /// `against` does not name. Repetitions of the same number have the same seed.
    pub against: Option<Selection>,
    /// Statistic over the repetitions, or over their ratios.
    pub statistic: Statistic,
    /// Smallest value of the statistic.
    pub at_least: Option<Bound>,
    /// Largest value of the statistic.
    pub at_most: Option<Bound>,
    /// One minus the largest probability of a wrong verdict.
    pub confidence: f64,
}

impl Requirement {
    /// Checks it, so that a plan's reader can report errors before the runs.
    ///
    /// The campaign has these `factors` and `cells`, and the selected cells have these `workloads`.
    pub fn check(
        &self,
        factors: &[Factor],
        workloads: &[String],
        cells: &[Cell],
    ) -> Result<(), RequirementError> {
        let Self { of, against, workload, at_least, at_most, confidence, .. } = self;
        selection::check(of, against.as_ref(), workload.as_ref(), factors, workloads)?;
        if self.pairs(cells)?.is_empty() {
            return Err(SelectionError::NoCell { without: against.is_some() }.into());
        }
        match (at_least, at_most) {
            (None, None) => return Err(RequirementError::Unbounded),
            (Some(least), Some(most)) if least.value > most.value => {
                let (least, most) = (least.to_string(), most.to_string());
                return Err(RequirementError::Empty { least, most });
            }
            _ => {}
        }
        if !(0.5..=0.9999).contains(confidence) {
            return Err(RequirementError::Confidence { confidence: confidence.to_string() });
        }
        Ok(())
    }

    /// Returns the unit in which its figures are shown: that of its first bound.
    #[must_use]
    pub fn unit(&self) -> &str {
        self.bounds().next().map_or("", |bound| bound.unit.as_str())
    }

    /// Formats a figure, which is in the metric's unit or a ratio, in the unit of the bounds.
    #[must_use]
    pub fn figure(&self, value: f64) -> String {
        let scale = self.bounds().next().map_or(1.0, |bound| bound.scale);
        bound::with_unit(value / scale, self.unit())
    }

    /// Returns its bounds in words: `at least 4 Mbit/s`.
    #[must_use]
    pub fn bounds_in_words(&self) -> String {
        let least = self.at_least.iter().map(|bound| format!("at least {bound}"));
        let most = self.at_most.iter().map(|bound| format!("at most {bound}"));
        least.chain(most).collect::<Vec<_>>().join(" and ")
    }

    /// Returns the smallest number of repetitions with which it could pass, if that is more than
    /// the last of `looks`.
    #[must_use]
    pub fn needs_more_than(&self, looks: &Looks) -> Option<u32> {
        let alpha = 1.0 - self.confidence;
        let enough = |looks: &Looks| {
            let (low, high) = self.statistic.ends_exist(alpha, looks);
            (low || self.at_least.is_none()) && (high || self.at_most.is_none())
        };
        if enough(looks) {
            return None;
        }
        let first = looks.repetitions()[0];
        (looks.last() + 1..=MOST_REPETITIONS).find(|last| enough(&Looks::new(first.min(*last), *last)))
    }

    fn bounds(&self) -> impl Iterator<Item = &Bound> {
        self.at_least.iter().chain(&self.at_most)
    }
}

/// Largest number of repetitions that is searched for a suggestion.
const MOST_REPETITIONS: u32 = 2_000;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
