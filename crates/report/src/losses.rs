//! Verdicts of senders' loss differentiation, compared with what links really lost, and the
//! senders' counts of lost segments, compared with the true numbers.
//!
//! Connections with different congestion controls are counted separately, since a share over two
//! detectors says nothing about either. Sums over the cells of a level are sums of events, not of
//! shares, so that each cell has the weight of its losses.

use crate::page::{has_overloaded, known_runs};
use results::confusion::{OfCause, Share};
use results::{Confusion, Directory, LossEvent, RunVerdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// Largest difference in the count of lost segments that has a bin of its own, in both directions.
/// The outermost bins also contain all larger differences.
const EDGE: i64 = 5;

/// Counts of loss events.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Losses {
    /// Differences that the bins of [`Counts::bins`] stand for; the first and the last one also
    /// stand for all beyond.
    differences: Vec<i64>,
    /// Counts over the good runs.
    good: Counted,
    /// Counts over good and overloaded runs; `None` if no run is overloaded.
    all: Option<Counted>,
}

/// Counts over the runs that count, grouped in three ways.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Counted {
    /// Groups by cell.
    cells: Vec<Group>,
    /// For each factor the groups by its levels.
    levels: Vec<Vec<Group>>,
    /// Groups over all cells.
    together: Vec<Group>,
}

/// Connections with one congestion control: in a cell, in all cells of a level, or in all cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Group {
    /// Index of the cell or of the level; `None` for all cells, and for cells without a level of
    /// the factor.
    at: Option<usize>,
    congestion_control: String,
    /// Connections whose losses were recorded, with or without loss events.
    connections: u64,
    /// The causes that occur.
    causes: Vec<OfCause>,
    /// `None` if no sender counted lost segments.
    counts: Option<Counts>,
}

/// Differences at the start of recovery between the sender's count of lost segments and the true
/// number.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Counts {
    /// Share of events without a difference.
    right: Share,
    mean: f64,
    least: i64,
    greatest: i64,
    /// Number of events with each difference.
    bins: Vec<u64>,
    /// The bins as shares.
    shares: Vec<f64>,
}

/// Sums of a group during counting.
#[derive(Debug, Clone, Default)]
struct Tally {
    connections: u64,
    causes: Confusion,
    differences: BTreeMap<i64, u64>,
}

/// Counts the loss events of a campaign; `None` if no run has one.
pub(crate) fn all(directory: &Directory) -> Option<Losses> {
    let any = known_runs(directory).any(|(_, _, connections)| {
        connections.iter().any(|row| row.losses.as_ref().is_some_and(|events| !events.is_empty()))
    });
    any.then(|| Losses {
        differences: (-EDGE..=EDGE).collect(),
        good: Counted::of(directory, false),
        all: has_overloaded(directory).then(|| Counted::of(directory, true)),
    })
}

impl Counted {
    fn of(directory: &Directory, overloaded: bool) -> Self {
        let manifest = &directory.manifest;
        let level = |cell: usize, factor: &results::Factor| {
            let level = manifest.cells[cell].level(&factor.name)?;
            factor.levels.iter().position(|known| known == level)
        };
        Self {
            cells: groups(directory, overloaded, Some),
            levels: manifest
                .factors
                .iter()
                .map(|factor| groups(directory, overloaded, |cell| level(cell, factor)))
                .collect(),
            together: groups(directory, overloaded, |_| None),
        }
    }
}

/// Returns the groups of the runs that count, in the order that `at` gives their cells, then in the
/// order of the first occurrence of their congestion controls.
fn groups(directory: &Directory, overloaded: bool, at: impl Fn(usize) -> Option<usize>) -> Vec<Group> {
    let mut names: Vec<&str> = Vec::new();
    let mut tallies: BTreeMap<(usize, usize), (Option<usize>, Tally)> = BTreeMap::new();
    for (cell, run, connections) in known_runs(directory) {
        if run.verdict != RunVerdict::Good && !(overloaded && run.verdict == RunVerdict::Overloaded) {
            continue;
        }
        for row in connections {
            let Some(events) = &row.losses else { continue };
            let name = row.congestion_control.as_str();
            let number = names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            let at = at(cell);
            // Groups without an index come last.
            let key = (at.unwrap_or(usize::MAX), number);
            tallies.entry(key).or_insert_with(|| (at, Tally::default())).1.add(events);
        }
    }
    let group = |((_, number), (at, tally)): ((usize, usize), (Option<usize>, Tally))| Group {
        at,
        congestion_control: names[number].to_owned(),
        connections: tally.connections,
        causes: tally.causes.rows(),
        counts: Counts::of(&tally.differences),
    };
    tallies.into_iter().map(group).collect()
}

impl Tally {
    /// Adds a connection's loss events.
    fn add(&mut self, events: &[LossEvent]) {
        self.connections += 1;
        self.causes.extend(events);
        for difference in events.iter().filter_map(LossEvent::difference) {
            *self.differences.entry(difference).or_default() += 1;
        }
    }
}

impl Counts {
    /// Summarises the numbers of events with each difference; `None` without events.
    fn of(differences: &BTreeMap<i64, u64>) -> Option<Self> {
        let (least, greatest) = (*differences.first_key_value()?.0, *differences.last_key_value()?.0);
        let all: u64 = differences.values().sum();
        let sum: f64 = differences.iter().map(|(difference, count)| *difference as f64 * *count as f64).sum();
        let mut bins = vec![0; 2 * EDGE as usize + 1];
        for (difference, count) in differences {
            bins[(difference.clamp(&-EDGE, &EDGE) + EDGE) as usize] += count;
        }
        Some(Self {
            right: Share::of(differences.get(&0).copied().unwrap_or(0), all),
            mean: sum / all as f64,
            least,
            greatest,
            shares: bins.iter().map(|count| *count as f64 / all as f64).collect(),
            bins,
        })
    }
}

#[cfg(test)]
mod tests;
