//! Two campaigns cell by cell: how much a metric differs, and whether chance would do the same.

use crate::side_by_side::counterpart;
use results::statistics::{Distribution, Magnitude, effect, holm, mann_whitney};
use results::{Directory, Level, Metric, cell_values};
use serde::Serialize;

/// How one metric differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// Which metric.
    pub metric: Metric,
    /// Its unit.
    pub unit: &'static str,
    /// The cells that both campaigns have.
    pub cells: Vec<CellDifference>,
    /// Labels of cells that only one of them has, or that have no values in one of them.
    pub unmatched: Vec<String>,
}

/// How one metric differs in one cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellDifference {
    /// `loss=lite-1, cc=reno`.
    pub label: String,
    /// The same in parts.
    pub levels: Vec<Level>,
    /// Values in the first campaign.
    pub first: Distribution,
    /// Values in the second.
    pub second: Distribution,
    /// Change of the median from the first to the second, in percent of the first; `None` if that is 0.
    pub change_percent: Option<f64>,
    /// p of the test of Mann and Whitney.
    pub p: f64,
    /// The same corrected by Holm's method for the number of cells.
    pub corrected: f64,
    /// How likely a value of the second is greater than one of the first.
    pub a12: f64,
    /// How large that is, in a word.
    pub magnitude: Magnitude,
}

impl Difference {
    /// Of one workload (the first one of each, if none is named), over good runs, and overloaded ones if asked for.
    #[must_use]
    pub fn of(
        first: &Directory,
        second: &Directory,
        metric: Metric,
        workload: Option<&str>,
        overloaded: bool,
    ) -> Self {
        let mut cells = Vec::new();
        let mut unmatched = Vec::new();
        for cell in &first.manifest.cells {
            let difference = counterpart(cell, second).and_then(|other| {
                let one = cell_values(first, cell.number, metric, workload, overloaded);
                let two = cell_values(second, other.number, metric, workload, overloaded);
                CellDifference::of(cell, &one, &two)
            });
            match difference {
                Some(difference) => cells.push(difference),
                None => unmatched.push(cell.label()),
            }
        }
        let alone = second.manifest.cells.iter().filter(|cell| counterpart(cell, first).is_none());
        unmatched.extend(alone.map(results::Cell::label));
        let corrected = holm(&cells.iter().map(|cell| cell.p).collect::<Vec<_>>());
        for (cell, corrected) in cells.iter_mut().zip(corrected) {
            cell.corrected = corrected;
        }
        Self { metric, unit: metric.unit(), cells, unmatched }
    }
}

impl CellDifference {
    /// `None` if either has no values.
    fn of(cell: &results::Cell, first: &[f64], second: &[f64]) -> Option<Self> {
        let p = mann_whitney(second, first)?.p;
        let size = effect(second, first)?;
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
        })
    }

    /// The effect in words: `large: higher in 97 % of pairs`.
    #[must_use]
    pub fn words(&self) -> String {
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
