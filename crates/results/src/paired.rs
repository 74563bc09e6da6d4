//! Regressions between two campaigns with the same seeds, such as those of two versions of a
//! program.
//!
//! Repetition n of a cell met the same errors at the same times in both campaigns. So the values
//! are compared in pairs, and what the seed does to both cancels.
//!
//! # Verdicts
//! The change of a pair is that of the second value in percent of the first, signed so that worse
//! is positive. A metric *regressed* in a cell if the median change is above the tolerance, and did
//! not if it is at most the tolerance. Each is shown by a sign test, which is exact and assumes
//! nothing about the values. Holm's method corrects its p for the number of comparisons, separately
//! for each of the two questions. If neither is shown, the comparison is not decided. If all pairs
//! are equal, there is nothing to decide: by the virtual clock this is the rule for a program that
//! did not change.
//!
//! A run that failed in the second campaign alone is a regression of every metric of its cell.
//! Pairs with any other run that has no value could have changed in either direction.

mod pairing;

pub use pairing::{PairingError, check, check_runs, notes};

use crate::metric::Better;
use crate::requirement::Verdict;
use crate::requirement::values::{Outcome, outcomes};
use crate::statistics::{Looks, QuantileEnds, holm, quantile};
use crate::{Besides, Cell, Directory, Metric};
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};

/// Metrics that are compared if none are named: those that a user notices, and their usual causes.
pub const METRICS: [Metric; 6] = [
    Metric::Goodput,
    Metric::Completion,
    Metric::RetransmissionRate,
    Metric::Timeouts,
    Metric::RttP95,
    Metric::Loss,
];

/// What to compare, and how strictly.
#[derive(Debug, Clone)]
pub struct Comparison<'a> {
    /// The campaign to compare with.
    pub first: &'a Directory,
    /// The campaign that may have regressed.
    pub second: &'a Directory,
    /// The workload.
    pub workload: &'a str,
    /// Largest change for the worse that is tolerated, in percent.
    pub tolerance: f64,
    /// One minus the probability of any wrong verdict among all comparisons, for each question.
    pub confidence: f64,
    /// Runs that count besides good ones.
    pub besides: Besides,
}

/// The comparison of one metric in one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// The metric.
    pub metric: Metric,
    /// The cell.
    pub cell: Cell,
    /// Its workload.
    pub workload: String,
    /// The verdict: a regression fails.
    pub verdict: Verdict,
    /// Whether all pairs are equal.
    pub identical: bool,
    /// Number of pairs.
    pub pairs: usize,
    /// Median of the values in the first campaign, in the metric's unit.
    pub first: Option<f64>,
    /// Median of the values in the second campaign.
    pub second: Option<f64>,
    /// Median change of the pairs in percent of the first value; worse is positive.
    pub change: Option<f64>,
    /// Lower end of the interval of the median change, corrected for all comparisons.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Corrected p-value of "at most the tolerance": small if it regressed.
    pub p_regressed: f64,
    /// Corrected p-value of "above the tolerance": small if it did not regress.
    pub p_within: f64,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// Compares the metrics in all cells of the second campaign; those without a direction or without
/// any value in either campaign are left out.
#[must_use]
pub fn compare(comparison: &Comparison<'_>, metrics: &[Metric]) -> Vec<Change> {
    let directed = metrics.iter().filter_map(|metric| Some((*metric, metric.better()?)));
    let cells = &comparison.second.manifest.cells;
    let all: Vec<Pairs> = directed
        .flat_map(|(metric, better)| cells.iter().map(move |cell| (metric, better, cell)))
        .filter_map(|(metric, better, cell)| Pairs::of(comparison, metric, better, cell))
        .collect();
    let tests: Vec<&Pairs> = all.iter().filter(|pairs| pairs.is_tested()).collect();
    let corrected = |p: fn(&Pairs, f64) -> f64| {
        holm(&tests.iter().map(|pairs| p(pairs, comparison.tolerance)).collect::<Vec<_>>())
    };
    let mut tested = corrected(Pairs::p_regressed).into_iter().zip(corrected(Pairs::p_within));
    let alpha = 1.0 - comparison.confidence;
    let share = alpha / tests.len().max(1) as f64;
    let judge = |pairs: &Pairs| {
        let p = if pairs.is_tested() { tested.next() } else { None };
        pairs.judge(comparison, p, alpha, share)
    };
    all.iter().map(judge).collect()
}

/// The repetitions of a cell in both campaigns.
struct Pairs {
    metric: Metric,
    cell: Cell,
    first: Vec<Outcome>,
    second: Vec<Outcome>,
    /// Change of each pair for the worse, in percent of the first value; `None` if it is not known.
    changes: Vec<Option<f64>>,
}

impl Pairs {
    fn of(comparison: &Comparison<'_>, metric: Metric, better: Better, cell: &Cell) -> Option<Self> {
        let Comparison { first, second, workload, besides, .. } = *comparison;
        let number = first.manifest.cells.iter().find(|other| other.levels == cell.levels)?.number;
        let mut first = outcomes(first, number, metric, workload, besides);
        let mut second = outcomes(second, cell.number, metric, workload, besides);
        let pairs = first.len().min(second.len());
        first.truncate(pairs);
        second.truncate(pairs);
        let has_values = |outcomes: &[Outcome]| outcomes.iter().any(|one| matches!(one, Outcome::Value(_)));
        if !has_values(&first) && !has_values(&second) {
            return None;
        }
        let change = |(one, other): (&Outcome, &Outcome)| match (one, other) {
            (Outcome::Value(first), Outcome::Value(second)) => Some(worse_by(*first, *second, better)),
            _ => None,
        };
        let changes = first.iter().zip(&second).map(change).collect();
        Some(Self { metric, cell: cell.clone(), first, second, changes })
    }

    fn identical(&self) -> bool {
        !self.changes.is_empty() && self.changes.iter().all(|change| *change == Some(0.0))
    }

    /// Returns the repetitions that failed in the second campaign alone.
    fn newly_failed(&self) -> Vec<(usize, &str)> {
        let both = self.first.iter().zip(&self.second).enumerate();
        both.filter_map(|(repetition, (first, second))| match second {
            Outcome::Failed(why) if !matches!(first, Outcome::Failed(_)) => Some((repetition, why.as_str())),
            _ => None,
        })
        .collect()
    }

    fn is_tested(&self) -> bool {
        !self.identical() && self.newly_failed().is_empty()
    }

    /// Returns the p-value of the hypothesis that the median change is at most the tolerance.
    fn p_regressed(&self, tolerance: f64) -> f64 {
        self.at_least_as_many(|change| change > tolerance)
    }

    /// Returns the p-value of the hypothesis that the median change is above the tolerance.
    fn p_within(&self, tolerance: f64) -> f64 {
        self.at_least_as_many(|change| change <= tolerance)
    }

    /// Returns the probability that a fair coin shows heads at least as often as changes satisfy
    /// the condition.
    fn at_least_as_many(&self, condition: impl Fn(f64) -> bool) -> f64 {
        let count = self.changes.iter().flatten().filter(|change| condition(**change)).count() as u64;
        let Ok(coin) = Binomial::new(0.5, self.changes.len() as u64) else { return 1.0 };
        count.checked_sub(1).map_or(1.0, |fewer| coin.sf(fewer))
    }

    fn judge(&self, comparison: &Comparison<'_>, p: Option<(f64, f64)>, alpha: f64, share: f64) -> Change {
        let median = |outcomes: &[Outcome]| {
            let value = |outcome: &Outcome| match outcome {
                Outcome::Value(value) => Some(*value),
                Outcome::Unknown(_) | Outcome::Failed(_) => None,
            };
            let mut values: Vec<f64> = outcomes.iter().filter_map(value).collect();
            values.sort_unstable_by(f64::total_cmp);
            quantile(&values, 0.5)
        };
        let sorted = |unknown: f64| {
            let mut all: Vec<f64> = self.changes.iter().map(|change| change.unwrap_or(unknown)).collect();
            all.sort_unstable_by(f64::total_cmp);
            all
        };
        let (pairs, identical) = (self.changes.len(), self.identical());
        let mut known: Vec<f64> = self.changes.iter().flatten().copied().collect();
        known.sort_unstable_by(f64::total_cmp);
        let (low, high) = if identical {
            (0.0, 0.0)
        } else {
            let looks = Looks::new(pairs as u32, pairs as u32);
            let ends = QuantileEnds::new(0.5, share, &looks);
            let (low, high) = (sorted(f64::NEG_INFINITY), sorted(f64::INFINITY));
            (ends.at(0, &low).low, ends.at(0, &high).high)
        };
        let failed = self.newly_failed();
        let (p_regressed, p_within) = p.unwrap_or(if identical { (1.0, 0.0) } else { (0.0, 1.0) });
        let verdict = match (failed.is_empty(), p_regressed < alpha, p_within < alpha) {
            (false, ..) | (true, true, false) => Verdict::Fail,
            (true, false, true) => Verdict::Pass,
            (true, ..) => Verdict::NotDecided,
        };
        let mut notes: Vec<String> = Vec::new();
        if let Some((repetition, why)) = failed.first() {
            let count = failed.len();
            notes.push(format!(
                "{count} of {pairs} runs failed that did not fail before, first repetition {repetition}: {why}"
            ));
        }
        if known.len() < pairs {
            notes.push(format!("{} of {pairs} pairs without a value", pairs - known.len()));
        }
        Change {
            metric: self.metric,
            cell: self.cell.clone(),
            workload: comparison.workload.to_owned(),
            verdict,
            identical,
            pairs,
            first: median(&self.first),
            second: median(&self.second),
            // The middle of an infinite and a finite change is no number.
            change: quantile(&known, 0.5).filter(|change| !change.is_nan()),
            low,
            high,
            p_regressed,
            p_within,
            notes,
        }
    }
}

/// Returns by how many percent of the first value the second one is worse; 0 if both are equal, and
/// infinite if only the first one is 0.
fn worse_by(first: f64, second: f64, better: Better) -> f64 {
    if first.total_cmp(&second).is_eq() {
        return 0.0;
    }
    let change = (second - first) / first.abs() * 100.0;
    match better {
        Better::Lower => change,
        Better::Higher => -change,
    }
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
