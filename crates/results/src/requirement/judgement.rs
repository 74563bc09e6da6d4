//! Judging a requirement over a campaign.

use super::statistic::AllEnds;
use super::values::{Outcome, outcomes, ratios};
use super::{Requirement, RequirementError, Statistic};
use crate::selection;
use crate::statistics::{Ends, Looks, MeanEnds};
use crate::{Besides, Cell, Directory};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The verdict on a requirement, or on one of its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds.
    Pass,
    /// Neither is certain enough with the repetitions that were made.
    NotDecided,
    /// It does not hold.
    Fail,
}

/// The verdict on one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The cell.
    pub cell: Cell,
    /// The cell that it is compared with.
    pub reference: Option<Cell>,
    /// The verdict.
    pub verdict: Verdict,
    /// The statistic of the values at the look that decided, or at the last one. `None` without
    /// values.
    pub figure: Option<f64>,
    /// The interval at that look: each end is beyond the true value at any look with a probability
    /// of at most 1 − confidence, or less where many cells can show a failure. `None` for a
    /// statistic that is not an estimate.
    pub ends: Option<Ends>,
    /// Number of repetitions at that look.
    pub repetitions: u32,
    /// Remarks for the reader: failed runs and runs without a value, and why there is no end.
    pub notes: Vec<String>,
}

/// Returns the judgements on all selected cells, in the order of the cells; cells that `against`
/// selects are not compared with themselves.
///
/// `exact` has the cells in which nothing is random: repetitions that agree there are all that
/// there will ever be. Overloaded runs and those with a dropped call count as `besides` says.
///
/// # Errors
/// If the campaign has no such workload, or a cell has no cell to compare with, or several.
pub fn judge(
    directory: &Directory,
    requirement: &Requirement,
    looks: &Looks,
    exact: &BTreeSet<u32>,
    besides: Besides,
) -> Result<Vec<Judgement>, RequirementError> {
    let workload = selection::workload(directory, requirement.workload.as_deref())?;
    let pairs = requirement.pairs(&directory.manifest.cells)?;
    let scales = Scales::new(requirement, looks, pairs.len());
    let values = |cell: &Cell| outcomes(directory, cell.number, requirement.metric, workload, besides);
    let judged = pairs.into_iter().map(|(cell, reference)| {
        let mut of_cell = values(cell);
        let mut is_exact = exact.contains(&cell.number);
        if let Some(reference) = reference {
            of_cell = ratios(of_cell, values(reference));
            is_exact &= exact.contains(&reference.number);
        }
        scales.judge(cell, reference, &of_cell, is_exact)
    });
    Ok(judged.collect())
}

/// Returns the numbers of the cells that need more repetitions.
#[must_use]
pub fn cells_undecided<'a>(judgements: impl IntoIterator<Item = &'a Judgement>) -> BTreeSet<u32> {
    let open = judgements.into_iter().filter(|judgement| judgement.verdict == Verdict::NotDecided);
    open.flat_map(|judgement| std::iter::once(&judgement.cell).chain(&judgement.reference))
        .map(|cell| cell.number)
        .collect()
}

impl Requirement {
    /// Returns the cells in which it must hold, each with the cell that it is compared with.
    ///
    /// A part of a plan may have none of them.
    ///
    /// # Errors
    /// If there is not exactly one cell to compare with.
    pub fn pairs<'a>(
        &self,
        cells: &'a [Cell],
    ) -> Result<Vec<(&'a Cell, Option<&'a Cell>)>, RequirementError> {
        Ok(selection::pairs(&self.of, self.against.as_ref(), cells)?)
    }
}

/// A requirement with what its values are measured against.
pub(super) struct Scales<'a> {
    requirement: &'a Requirement,
    looks: &'a Looks,
    /// Ends that can show that it holds.
    pass: AllEnds,
    /// Ends that can show that it does not hold.
    fail: AllEnds,
}

impl<'a> Scales<'a> {
    /// Prepares to judge this many cells.
    pub(super) fn new(requirement: &'a Requirement, looks: &'a Looks, cells: usize) -> Self {
        let alpha = 1.0 - requirement.confidence;
        let bounds = requirement.bounds().count();
        let ends = |alpha| AllEnds::new(requirement.statistic, alpha, looks);
        Self { requirement, looks, pass: ends(alpha), fail: ends(alpha / (cells * bounds).max(1) as f64) }
    }

    /// Judges a cell at the first look that decides, or at the last one that its repetitions reach.
    pub(super) fn judge(
        &self,
        cell: &Cell,
        reference: Option<&Cell>,
        all: &[Outcome],
        is_exact: bool,
    ) -> Judgement {
        let first = self.looks.repetitions()[0];
        let mut judgement = Judgement {
            cell: cell.clone(),
            reference: reference.cloned(),
            verdict: Verdict::NotDecided,
            figure: None,
            ends: None,
            repetitions: all.len() as u32,
            notes: vec![format!("{} of {first} repetitions have ended", all.len())],
        };
        for (look, repetitions) in (0..).zip(self.looks.repetitions()) {
            let Some(so_far) = all.get(..*repetitions as usize) else { break };
            judgement.repetitions = *repetitions;
            self.look(look, so_far, is_exact, &mut judgement);
            if judgement.verdict != Verdict::NotDecided {
                break;
            }
        }
        judgement
    }

    /// Judges a cell at the look with this number.
    fn look(&self, look: usize, outcomes: &[Outcome], is_exact: bool, judgement: &mut Judgement) {
        let Requirement { statistic, at_least, at_most, .. } = self.requirement;
        let with = |unknown: f64| {
            let value = |outcome: &Outcome| match outcome {
                Outcome::Value(value) => *value,
                Outcome::Unknown(_) | Outcome::Failed(_) => unknown,
            };
            let mut values: Vec<f64> = outcomes.iter().map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let (lowest, highest) = (with(f64::NEG_INFINITY), with(f64::INFINITY));
        let known: Vec<f64> = lowest.iter().copied().filter(|value| value.is_finite()).collect();
        let is_settled = known.len() == outcomes.len() && known.first() == known.last();
        let (pass, fail) = if !statistic.estimates() || (is_exact && is_settled) {
            let end = |values: &[f64]| statistic.of(values).unwrap_or(f64::NAN);
            let ends = Ends { low: end(&lowest), high: end(&highest) };
            (ends, ends)
        } else {
            let both =
                |ends: &AllEnds| Ends { low: ends.at(look, &lowest).low, high: ends.at(look, &highest).high };
            (both(&self.pass), both(&self.fail))
        };
        let holds = at_least.iter().all(|bound| pass.low >= bound.value)
            && at_most.iter().all(|bound| pass.high <= bound.value);
        let breaks = at_least.iter().any(|bound| fail.high < bound.value)
            || at_most.iter().any(|bound| fail.low > bound.value);
        judgement.figure = statistic.of(&known);
        judgement.ends = statistic.estimates().then_some(match (at_least, at_most) {
            (Some(_), None) => Ends { low: pass.low, high: fail.high },
            (None, Some(_)) => Ends { low: fail.low, high: pass.high },
            _ => pass,
        });
        judgement.notes = notes(outcomes);
        let failed = outcomes.iter().any(|outcome| matches!(outcome, Outcome::Failed(_)));
        judgement.verdict = match (failed, holds, breaks) {
            (true, ..) | (false, false, true) => Verdict::Fail,
            (false, true, false) => Verdict::Pass,
            // Both can only be so if the bounds or the ends contradict each other.
            (false, ..) => Verdict::NotDecided,
        };
        if judgement.verdict == Verdict::NotDecided && known.len() == outcomes.len() {
            judgement.notes.extend(self.why_open(outcomes.len(), is_settled));
        }
    }

    /// Explains why a statistic has no interval with so many values, all of them known.
    fn why_open(&self, count: usize, are_equal: bool) -> Option<String> {
        match self.requirement.statistic {
            Statistic::Mean if count < MeanEnds::LEAST as usize => {
                Some(format!("a mean is not judged with fewer than {} repetitions", MeanEnds::LEAST))
            }
            Statistic::Mean if are_equal => Some(
                "all values are equal, but rare other ones would change the mean: use `median` or a percentile"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// Describes the runs that failed or have no value: how many, with the reason.
fn notes(outcomes: &[Outcome]) -> Vec<String> {
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in outcomes {
        let reason = match outcome {
            Outcome::Value(_) => continue,
            Outcome::Unknown(why) => format!("without a value: {why}"),
            Outcome::Failed(why) => format!("failed: {why}"),
        };
        *reasons.entry(reason).or_default() += 1;
    }
    let all = outcomes.len();
    reasons.into_iter().map(|(reason, count)| format!("{count} of {all} runs {reason}")).collect()
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::NotDecided => "not decided",
            Self::Fail => "fail",
        })
    }
}
