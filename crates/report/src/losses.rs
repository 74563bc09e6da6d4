//! What losses were taken for: the verdicts of senders' loss differentiation beside what links
//! really lost, and how well the senders counted the lost segments.
//!
//! Counted apart are connections of different congestion controls, since a share over two detectors
//! says nothing of either. What is summed over the cells of a level is the events, not the shares:
//! a cell counts by how many losses it had.

use crate::page::{has_overloaded, known_runs};
use results::confusion::{OfCause, Share};
use results::{Confusion, Directory, LossEvent, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

/// Differences in the count of lost segments that have a place of their own; beyond them is one
/// more at each end.
const EDGE: i64 = 5;

/// Loss events, counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Losses {
    /// Differences that the places of [`Counts::bins`] stand for; the first and the last one for
    /// all beyond as well.
    differences: Vec<i64>,
    /// Over the good runs.
    good: Counted,
    /// Over the overloaded ones as well; `None` if there are none.
    all: Option<Counted>,
}

/// Those of the runs that count, three times.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Counted {
    /// By cell.
    cells: Vec<Group>,
    /// For each factor by its levels.
    levels: Vec<Vec<Group>>,
    /// All of them.
    together: Vec<Group>,
}

/// Those of the connections with one congestion control, in a cell, in all cells of a level, or in
/// all cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Group {
    /// Place of the cell or of the level; `None` in all cells, and of cells without a level of the
    /// factor.
    at: Option<usize>,
    congestion_control: String,
    /// Connections that were looked at, with loss events or without.
    connections: u64,
    /// Causes that occur.
    causes: Vec<OfCause>,
    /// `None` where no sender counted.
    counts: Option<Counts>,
}

/// Lost segments as senders counted them when recovery began, less those that were really lost.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Counts {
    /// How often there was no difference.
    right: Share,
    mean: f64,
    least: i64,
    greatest: i64,
    /// How many events had each difference.
    bins: Vec<u64>,
    /// The same as shares.
    shares: Vec<f64>,
}

/// What a group is made of, while it is counted.
#[derive(Debug, Clone, Default)]
struct Tally {
    connections: u64,
    causes: Confusion,
    differences: BTreeMap<i64, u64>,
}

/// Those of a campaign; `None` where no run has a loss event.
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

/// The groups of the runs that count, by what `at` says of their cells, then in the order in which
/// their congestion controls were met.
fn groups(directory: &Directory, overloaded: bool, at: impl Fn(usize) -> Option<usize>) -> Vec<Group> {
    let mut names: Vec<&str> = Vec::new();
    let mut tallies: BTreeMap<(usize, usize), (Option<usize>, Tally)> = BTreeMap::new();
    for (cell, run, connections) in known_runs(directory) {
        if run.verdict != Verdict::Good && !(overloaded && run.verdict == Verdict::Overloaded) {
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
            // What has no place stands last.
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
    /// Takes in a connection's loss events.
    fn add(&mut self, events: &[LossEvent]) {
        self.connections += 1;
        self.causes.extend(events);
        for difference in events.iter().filter_map(LossEvent::difference) {
            *self.differences.entry(difference).or_default() += 1;
        }
    }
}

impl Counts {
    /// Of how many events had each difference; `None` of no events.
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
