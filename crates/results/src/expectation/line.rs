//! Figures read from the straight line through runs (TL-22): its change from where a metric is 0 to
//! a value of that metric.

use super::{CellFigure, ExpectationError, Range, selects};
use crate::metric::{Metric, UnknownMetric};
use crate::statistics::{LEAST_POINTS, change};
use crate::{At, Cell, Directory, Expectation, Selection, unit};

/// Confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// Point at which a line is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LinePoint {
    metric: Metric,
    /// In the metric's unit.
    value: f64,
}

impl LinePoint {
    /// Parses `at`; fails if another field of the expectation contradicts it.
    pub(super) fn of(at: &At, expectation: &Expectation) -> Result<Self, ExpectationError> {
        let unknown = |UnknownMetric { name }| ExpectationError::AtMetric { name };
        let metric: Metric = at.metric.parse().map_err(unknown)?;
        let wrong = || ExpectationError::AtUnit { unit: at.unit.clone(), ours: metric.unit() };
        let scale = unit::factor(&at.unit, metric.unit()).ok_or_else(wrong)?;
        if !(at.value.is_finite() && at.value > 0.0) {
            return Err(ExpectationError::AtValue { value: at.value.to_string() });
        }
        if expectation.against.is_none() {
            return Err(ExpectationError::AtAlone);
        }
        match &expectation.statistic {
            Some(name) => Err(ExpectationError::AtStatistic { name: name.clone() }),
            None => Ok(Self { metric, value: at.value * scale }),
        }
    }
}

/// Data that lines are drawn through.
pub(super) struct Lines<'a> {
    pub(super) directory: &'a Directory,
    pub(super) workload: &'a str,
    /// Metric whose change is the figure.
    pub(super) metric: Metric,
    pub(super) against: &'a Selection,
    /// Factor, with its sign, from a rise in percent to the expectation's unit.
    pub(super) scale: f64,
}

impl Lines<'_> {
    /// Returns a figure for each line through selected cells and their references.
    ///
    /// All cells with the same levels of the factors that `against` does not name share a line,
    /// whose figure has the number of the first reference. `notes` gets remarks for the reader.
    pub(super) fn figures(
        &self,
        place: LinePoint,
        selected: &[&Cell],
        notes: &mut Vec<String>,
    ) -> Vec<CellFigure> {
        let mut figures = Vec::new();
        let mut done: Vec<&Cell> = Vec::new();
        for &cell in selected {
            if done.iter().any(|other| self.together(cell, other)) {
                continue;
            }
            done.push(cell);
            let all = self.directory.manifest.cells.iter();
            let references = all.filter(|other| selects(self.against, other) && self.together(cell, other));
            let references: Vec<&Cell> = references.collect();
            let Some(first) = references.first() else {
                notes.push(format!("no cells to compare with for {}", cell.label()));
                continue;
            };
            let of = selected.iter().filter(|other| self.together(cell, other));
            let (x, y) = self.points(place.metric, references.iter().chain(of));
            let Some(change) = change(&x, &y, place.value, CONFIDENCE) else {
                let why = if x.len() < LEAST_POINTS {
                    format!("n too small: a line needs {LEAST_POINTS} runs")
                } else {
                    format!("{} is the same in all runs, or the line starts at 0", place.metric)
                };
                notes.push(format!("no line through the {} runs with {}: {why}", x.len(), cell.label()));
                continue;
            };
            let most = x.iter().copied().fold(0.0, f64::max);
            if most < place.value {
                let unit = place.metric.unit();
                notes.push(format!("extrapolated: the runs have at most {} {unit}", super::rounded(most)));
            }
            if change.interval.is_none() {
                notes.push(format!("no interval for {}: the line may start at 0", cell.label()));
            }
            let ends = change.interval.map_or([change.value; 2], |interval| [interval.low, interval.high]);
            let [one, other] = ends.map(|percent| percent * self.scale);
            let range = Range { low: one.min(other), high: one.max(other) };
            figures.push(CellFigure { cell: first.number, range, runs: x.len() });
        }
        figures
    }

    fn together(&self, cell: &Cell, other: &Cell) -> bool {
        super::counterpart(cell, other, self.against)
    }

    /// Returns both metrics of all runs of these cells that count and have both.
    fn points<'c>(&self, x: Metric, cells: impl Iterator<Item = &'c &'c Cell>) -> (Vec<f64>, Vec<f64>) {
        let runs = cells.flat_map(|cell| self.directory.counting(cell.number, false));
        let of = |metric: Metric, run, connections| metric.of_run(run, connections, self.workload);
        let both = |(run, connections)| Some((of(x, run, connections)?, of(self.metric, run, connections)?));
        runs.filter_map(both).unzip()
    }
}
