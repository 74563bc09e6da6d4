//! Comparison of two campaigns cell by cell: how much a metric differs, and whether chance can
//! explain it.

use crate::side_by_side::counterpart;
use results::statistics::{Distribution, Magnitude, effect, holm, mann_whitney, too_few_to_differ};
use results::{Cell, Directory, Level, Metric, RunVerdict, cell_values};
use serde::Serialize;

/// Difference of one metric between two campaigns.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The metric.
    pub metric: Metric,
    /// Its unit.
    pub unit: &'static str,
    /// Name of the workload that it is about.
    pub workload: String,
    /// Cells with values in both campaigns.
    pub cells: Vec<CellDifference>,
    /// All other cells of either campaign.
    pub unmatched: Vec<Unmatched>,
}

/// A cell that is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unmatched {
    /// Levels of the cell: `loss=lite-1, cc=reno`.
    pub label: String,
    /// What is missing, and in which campaign.
    pub why: String,
}

/// The two campaigns have no workload that can be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WorkloadError {
    /// A campaign does not have the named workload.
    #[error("`{campaign}` has no workload `{name}`: its workloads are {}", known.join(", "))]
    Missing {
        /// Name of the campaign.
        campaign: String,
        /// Name of the workload.
        name: String,
        /// Workloads of that campaign.
        known: Vec<String>,
    },
    /// No workload was named, and the figures of the campaigns are about different ones.
    #[error("the figures of {} show different workloads: choose one that both have with --workload", of.join(" and of "))]
    Different {
        /// Each campaign with its workload.
        of: Vec<String>,
    },
}

/// Two campaigns with their names.
#[derive(Debug, Clone, Copy)]
pub struct Pair<'a> {
    /// The first campaign.
    pub first: &'a Directory,
    /// The second campaign.
    pub second: &'a Directory,
    /// Their names.
    pub names: &'a [String; 2],
}

impl Pair<'_> {
    fn sides(&self) -> [(&Directory, &String); 2] {
        [(self.first, &self.names[0]), (self.second, &self.names[1])]
    }

    /// Returns the number of cells that both campaigns have.
    #[must_use]
    pub fn common_cells(&self) -> usize {
        let cells = self.first.manifest.cells.iter();
        cells.filter(|cell| counterpart(cell, self.second).is_some()).count()
    }

    /// Returns the workload to compare: the one that is `asked` for or, without, the one that the
    /// figures of both campaigns are about.
    ///
    /// # Errors
    /// If a campaign does not have the workload, or if none is asked for and the figures of the
    /// campaigns are about different ones.
    pub fn workload(&self, asked: Option<&str>) -> Result<String, WorkloadError> {
        let Some(name) = asked else {
            // A campaign without runs has no workloads if the lasthop that started it did not
            // record them.
            let known: Vec<_> =
                self.sides().into_iter().filter(|(side, _)| !side.workloads().is_empty()).collect();
            let first = known.first().map(|(side, _)| side.measured()).unwrap_or_default();
            if known.iter().all(|(side, _)| side.measured() == first) {
                return Ok(first.to_owned());
            }
            let of = known.iter().map(|(side, name)| format!("`{name}` (`{}`)", side.measured())).collect();
            return Err(WorkloadError::Different { of });
        };
        for (side, campaign) in self.sides() {
            if !side.workloads().contains(&name) {
                let (campaign, name) = (campaign.clone(), name.to_owned());
                let known = side.workloads().into_iter().map(str::to_owned).collect();
                return Err(WorkloadError::Missing { campaign, name, known });
            }
        }
        Ok(name.to_owned())
    }
}

/// Difference of one metric in one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellDifference {
    /// Levels of the cell: `loss=lite-1, cc=reno`.
    pub label: String,
    /// The levels separately.
    pub levels: Vec<Level>,
    /// Values in the first campaign.
    pub first: Distribution,
    /// Values in the second campaign.
    pub second: Distribution,
    /// Change of the median from the first to the second campaign, in percent of the first; `None`
    /// if that is 0.
    pub change_percent: Option<f64>,
    /// p of the test of Mann and Whitney.
    pub p: f64,
    /// p corrected by Holm's method for the number of cells.
    pub corrected: f64,
    /// Probability that a value of the second campaign is larger than one of the first.
    pub a12: f64,
    /// Size of the difference, in a word.
    pub magnitude: Magnitude,
    /// Whether there are too few values for any difference to be significant.
    pub too_few: bool,
}

impl Difference {
    /// Compares one workload over good runs and, with `overloaded`, over overloaded ones.
    #[must_use]
    pub fn of(pair: Pair<'_>, metric: Metric, workload: &str, overloaded: bool) -> Self {
        let Pair { first, second, names } = pair;
        let mut cells = Vec::new();
        let mut unmatched = Vec::new();
        let only = |cell: &Cell, name: &str| Unmatched {
            label: cell.label(),
            why: format!("only `{name}` has this cell"),
        };
        for cell in &first.manifest.cells {
            let Some(other) = counterpart(cell, second) else {
                unmatched.push(only(cell, &names[0]));
                continue;
            };
            let sides = [Side::of(first, &names[0], cell), Side::of(second, &names[1], other)];
            let [one, two] = sides.map(|side| side.values(metric, workload, overloaded));
            if let Some(difference) = CellDifference::of(cell, &one, &two) {
                cells.push(difference);
            } else {
                let why = sides.map(|side| side.missing(metric, workload, overloaded));
                let why = why.into_iter().flatten().collect::<Vec<_>>().join("; ");
                unmatched.push(Unmatched { label: cell.label(), why });
            }
        }
        let alone = second.manifest.cells.iter().filter(|cell| counterpart(cell, first).is_none());
        unmatched.extend(alone.map(|cell| only(cell, &names[1])));
        let corrected = holm(&cells.iter().map(|cell| cell.p).collect::<Vec<_>>());
        for (cell, corrected) in cells.iter_mut().zip(corrected) {
            cell.corrected = corrected;
        }
        Self { metric, unit: metric.unit(), workload: workload.to_owned(), cells, unmatched }
    }
}

/// A cell in one of the campaigns.
#[derive(Clone, Copy)]
struct Side<'a> {
    directory: &'a Directory,
    name: &'a str,
    cell: u32,
}

impl<'a> Side<'a> {
    fn of(directory: &'a Directory, name: &'a str, cell: &Cell) -> Self {
        Self { directory, name, cell: cell.number }
    }

    fn values(&self, metric: Metric, workload: &str, overloaded: bool) -> Vec<f64> {
        cell_values(self.directory, self.cell, metric, workload, overloaded)
    }

    /// Returns why this side has nothing to compare; `None` if it has values.
    fn missing(&self, metric: Metric, workload: &str, overloaded: bool) -> Option<String> {
        let name = self.name;
        let values = self.values(metric, workload, overloaded);
        if !values.is_empty() {
            let odd = values.iter().find(|value| !value.is_finite())?;
            return Some(format!("a run of `{name}` has {odd} as its {metric}"));
        }
        let verdicts: Vec<RunVerdict> = self
            .directory
            .manifest
            .runs
            .iter()
            .filter(|run| run.cell == self.cell)
            .map(|run| run.verdict)
            .collect();
        if verdicts.is_empty() {
            return Some(format!("`{name}` has no run of this cell"));
        }
        let counting: Vec<_> = self.directory.counting(self.cell, overloaded).collect();
        if counting.is_empty() {
            let count = |verdict| verdicts.iter().filter(|one| **one == verdict).count();
            let kinds = [
                (RunVerdict::Failed, "failed"),
                (RunVerdict::Overloaded, "overloaded (--overloaded includes them)"),
                (RunVerdict::DroppedCall, "with a dropped call"),
            ];
            let kinds = kinds.map(|(verdict, words)| (count(verdict), words)).into_iter();
            let kinds: Vec<_> = kinds
                .filter(|(count, _)| *count > 0)
                .map(|(count, words)| format!("{count} {words}"))
                .collect();
            return Some(format!("no run of `{name}` counts: {}", kinds.join(", ")));
        }
        let seen = counting.iter().any(|(_, rows)| rows.iter().any(|row| row.workload == workload));
        let what =
            if seen { format!("a value of {metric}") } else { format!("a row of workload `{workload}`") };
        let runs = counting.len();
        Some(format!("none of the {runs} counted runs of `{name}` has {what}"))
    }
}

impl CellDifference {
    /// Compares the values of one cell; `None` if one side has none.
    fn of(cell: &Cell, first: &[f64], second: &[f64]) -> Option<Self> {
        let p = mann_whitney(second, first)?.p;
        let size = effect(second, first)?;
        let too_few = too_few_to_differ(first.len(), second.len());
        let (first, second) = (Distribution::of(first)?, Distribution::of(second)?);
        let change = (second.median - first.median) / first.median * 100.0;
        Some(Self {
            label: cell.label(),
            levels: cell.levels.clone(),
            first,
            second,
            change_percent: change.is_finite().then_some(change),
            p,
            corrected: p,
            a12: size.a12,
            magnitude: size.magnitude,
            too_few,
        })
    }

    /// Describes the effect: `large: higher in 97 % of pairs`, or that there are too few values.
    #[must_use]
    pub fn words(&self) -> String {
        if self.too_few {
            return "n too small to tell".to_owned();
        }
        let size = match self.magnitude {
            Magnitude::Negligible => "negligible",
            Magnitude::Small => "small",
            Magnitude::Medium => "medium",
            Magnitude::Large => "large",
        };
        let share = |a12: f64| format!("{:.0} % of pairs", a12 * 100.0);
        match self.a12 {
            even if (even - 0.5).abs() < 0.005 => format!("{size}: neither is higher"),
            higher if higher > 0.5 => format!("{size}: higher in {}", share(higher)),
            lower => format!("{size}: lower in {}", share(1.0 - lower)),
        }
    }
}

#[cfg(test)]
mod tests;
