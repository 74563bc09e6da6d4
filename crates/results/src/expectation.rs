//! Comparison with the literature: evaluates an [`Expectation`] of a plan over a campaign.
//!
//! Nothing is forced: a figure outside the published range is reported as such, and so is one that
//! cannot be computed.

use crate::manifest::selects;
use crate::metric::{Metric, UnknownMetric, cell_values};
use crate::selection::{self, counterpart};
use crate::statistics::{Bootstrap, Distribution, Estimator, Interval, degradation, stream};
use crate::{Cell, Directory, Expectation, Factor, RunVerdict, Selection, unit};
use line::{LinePoint, Lines};
use serde::Serialize;

mod error;
mod line;

pub use error::ExpectationError;

/// A range with both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Range {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Our figure compared with the published one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Our figure, in the expectation's unit: the statistic of one cell, or the range of those of
    /// several cells. `None` if there is nothing to compare; `note` says why.
    pub ours: Option<Range>,
    /// The published range.
    pub published: Range,
    /// Whether our range is completely within the published one; for `interval`, whether they
    /// overlap.
    pub within: bool,
    /// Unit of both ranges.
    pub unit: String,
    /// Name of the workload that our figure is about.
    pub workload: String,
    /// The selected cells that have values.
    pub cells: Vec<CellFigure>,
    /// Remarks for the reader: why there is nothing to compare, where our figure is if not within,
    /// what was left out.
    pub note: String,
}

/// Figure of one cell.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CellFigure {
    /// Number of the cell; for a line through several cells, that of the first reference.
    pub cell: u32,
    /// Its statistic, in the expectation's unit.
    pub range: Range,
    /// Number of runs that it is based on.
    pub runs: usize,
}

/// Valid values of `statistic`.
const STATISTICS: [&str; 7] = ["mean", "means", "median", "min", "max", "range", "interval"];

/// An expectation after its validation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Figure<'a> {
    metric: Metric,
    workload: &'a str,
    against: Option<&'a Selection>,
    /// Whether a fall counts as positive instead of a rise.
    falls: bool,
    statistic: Statistic,
    /// Point at which the line through the runs is read, if one is requested.
    at: Option<LinePoint>,
    /// Factor from the metric's unit, or percent, to the expectation's unit.
    scale: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Statistic {
    Mean,
    Median,
    Min,
    Max,
    Range,
    /// The 95 % interval of the mean.
    Interval,
}

/// Checks that an expectation can be evaluated, so that a plan's reader can report errors before
/// the runs.
///
/// The campaign has these `factors`, and its selected cells have these `workloads`.
pub fn check(
    expectation: &Expectation,
    factors: &[Factor],
    workloads: &[String],
) -> Result<(), ExpectationError> {
    let Expectation { of, against, workload, .. } = expectation;
    selection::check(of, against.as_ref(), workload.as_ref(), factors, workloads)?;
    Figure::of(expectation, "").map(|_| ())
}

/// Returns whether an expectation is about any cell of the campaign; a part of a plan has only some
/// cells.
#[must_use]
pub fn concerns(directory: &Directory, expectation: &Expectation) -> bool {
    directory.manifest.cells.iter().any(|cell| selects(&expectation.of, cell))
}

/// Evaluates an expectation over the good runs of a campaign, finished or not.
///
/// Each cell that `of` selects gives one figure over its repetitions: by default its mean (`means`
/// is another word for it), its median, min or max; with `range` its smallest to its largest value;
/// with `interval` the 95 % interval of its mean. Our figure is the range from the smallest to the
/// largest of these figures.
///
/// With `against`, each value is replaced by its change in percent of the mean of its reference.
/// The reference is the cell that `against` selects and that has the same levels of all factors
/// that `against` does not name. If `against` has several levels, the runs of all these cells are
/// the reference. Cells that `against` selects are not compared with themselves. An `interval` is
/// then that of the ratio of both means, neither of which is taken as known.
///
/// With `at`, the figure is the change of a straight line through all these runs and those of the
/// reference, by least squares: from where the metric of `at` is 0 to the given value, in percent
/// of the line at 0. Our figure is its 95 % interval
/// ([`statistics::change`](crate::statistics::change)). If there is no interval, it is the change
/// alone, and the note says so.
#[must_use]
pub fn compare(directory: &Directory, expectation: &Expectation) -> Comparison {
    let published = Range { low: expectation.low, high: expectation.high };
    let mut notes = Vec::new();
    let mut cells = Vec::new();
    let named = expectation.workload.as_deref();
    let workload = named.unwrap_or(directory.measured());
    let figure = Figure::of(expectation, workload);
    match selection::workload(directory, named).map_err(ExpectationError::from).and(figure) {
        Ok(figure) => cells = figure.cells(directory, expectation, &mut notes),
        Err(error) => notes.push(error.to_string()),
    }
    let ours = span(cells.iter().map(|cell| cell.range));
    // An interval gives the possible values of the mean, so it contradicts the published range only
    // if the two do not overlap.
    let meets = expectation.statistic.as_deref() == Some("interval");
    let within = ours.is_some_and(|ours| {
        let (low, high) = if meets { (ours.high, ours.low) } else { (ours.low, ours.high) };
        published.low <= low && high <= published.high
    });
    if let Some(ours) = ours.filter(|_| !within) {
        notes.insert(0, place(ours, published, &expectation.unit));
    }
    let (unit, workload) = (expectation.unit.clone(), workload.to_owned());
    Comparison { ours, published, within, unit, workload, cells, note: notes.join("; ") }
}

impl<'a> Figure<'a> {
    fn of(expectation: &'a Expectation, workload: &'a str) -> Result<Self, ExpectationError> {
        let falls = expectation.metric == "degradation";
        let metric = if falls {
            Metric::Goodput
        } else {
            expectation.metric.parse().map_err(|UnknownMetric { name }| ExpectationError::Metric { name })?
        };
        let against = expectation.against.as_ref();
        if falls && against.is_none() {
            return Err(ExpectationError::Against);
        }
        let statistic = match expectation.statistic.as_deref() {
            None | Some("mean" | "means") => Statistic::Mean,
            Some("median") => Statistic::Median,
            Some("min") => Statistic::Min,
            Some("max") => Statistic::Max,
            Some("range") => Statistic::Range,
            Some("interval") => Statistic::Interval,
            Some(other) => return Err(ExpectationError::Statistic { name: other.to_owned() }),
        };
        let at = expectation.at.as_ref().map(|at| LinePoint::of(at, expectation)).transpose()?;
        let ours = if against.is_some() { "%" } else { metric.unit() };
        let (low, high) = (expectation.low, expectation.high);
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(ExpectationError::Range { low: low.to_string(), high: high.to_string() });
        }
        let unit = &expectation.unit;
        let scale =
            unit::factor(ours, unit).ok_or_else(|| ExpectationError::Unit { unit: unit.clone(), ours })?;
        Ok(Self { metric, workload, against, falls, statistic, at, scale })
    }

    /// Returns the figure of each selected cell that has one; `notes` explains the others.
    fn cells(
        &self,
        directory: &Directory,
        expectation: &Expectation,
        notes: &mut Vec<String>,
    ) -> Vec<CellFigure> {
        let all = &directory.manifest.cells;
        let selected = all.iter().filter(|cell| selects(&expectation.of, cell) && !self.is_reference(cell));
        let selected: Vec<&Cell> = selected.collect();
        if selected.is_empty() {
            notes.push("no cell of this campaign is selected".into());
        }
        if let (Some(place), Some(against)) = (self.at, self.against) {
            let scale = if self.falls { -self.scale } else { self.scale };
            let lines = Lines { directory, workload: self.workload, metric: self.metric, against, scale };
            let figures = lines.figures(place, &selected, notes);
            notes.extend(left_out(directory, &selected));
            return figures;
        }
        let mut figures = Vec::new();
        let (mut empty, mut alone, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for cell in &selected {
            let Some(values) = self.values(directory, cell) else {
                alone.push(cell.label());
                continue;
            };
            let Some(all) = Distribution::of(&values) else {
                empty.push(cell.label());
                continue;
            };
            let (low, high) = match self.statistic {
                Statistic::Mean => (all.mean, all.mean),
                Statistic::Median => (all.median, all.median),
                Statistic::Min => (all.min, all.min),
                Statistic::Max => (all.max, all.max),
                Statistic::Range => (all.min, all.max),
                Statistic::Interval => {
                    let Some(range) = self.interval(directory, cell, &values) else {
                        few.push(cell.label());
                        continue;
                    };
                    (range.low, range.high)
                }
            };
            figures.push(CellFigure { cell: cell.number, range: Range { low, high }, runs: all.count });
        }
        if !alone.is_empty() {
            notes.push(format!("no cells to compare with, or their mean is 0, for {}", alone.join("; ")));
        }
        if !empty.is_empty() {
            notes.push(format!("no values for {}", empty.join("; ")));
        }
        if !few.is_empty() {
            let needed = Estimator::Mean.least();
            notes.push(format!(
                "n too small: an interval needs {needed} runs of each cell: {}",
                few.join("; ")
            ));
        }
        notes.extend(left_out(directory, &selected));
        figures
    }

    /// Returns the requested value of each run of a cell, in the expectation's unit; `None` if
    /// there is nothing to compare it with.
    fn values(&self, directory: &Directory, cell: &Cell) -> Option<Vec<f64>> {
        let mut asked = self.own_values(directory, cell);
        if let Some(theirs) = self.reference_values(directory, cell) {
            let sign = |fall: f64| if self.falls { fall } else { 0.0 - fall };
            asked = degradation(&asked, &theirs)?.into_iter().map(sign).collect();
        }
        Some(asked.into_iter().map(|value| value * self.scale).collect())
    }

    /// Returns the metric of each run of a cell, in the metric's unit.
    fn own_values(&self, directory: &Directory, cell: &Cell) -> Vec<f64> {
        cell_values(directory, cell.number, self.metric, self.workload, false)
    }

    /// Returns the metric of each run that a cell is compared with; `None` without `against`.
    fn reference_values(&self, directory: &Directory, cell: &Cell) -> Option<Vec<f64>> {
        let against = self.against?;
        let all = directory.manifest.cells.iter();
        let theirs = all.filter(|other| self.is_reference(other) && counterpart(cell, other, against));
        Some(theirs.flat_map(|other| self.own_values(directory, other)).collect())
    }

    /// Returns the 95 % interval of the mean of `values` or, with a reference, of the change from
    /// the reference's mean. `None` if there are too few values.
    fn interval(&self, directory: &Directory, cell: &Cell, values: &[f64]) -> Option<Range> {
        let (bootstrap, mut stream) = (Bootstrap::default(), stream(0));
        let Some(theirs) = self.reference_values(directory, cell) else {
            let Interval { low, high, .. } = bootstrap.interval(values, Estimator::Mean, &mut stream)?;
            return Some(Range { low, high });
        };
        let ours = self.own_values(directory, cell);
        let ratio = bootstrap.ratio(&ours, &theirs, &mut stream)?;
        let change = |ratio: f64| (ratio - 1.0) * 100.0 * self.scale;
        let (low, high) = (change(ratio.low), change(ratio.high));
        Some(if self.falls { Range { low: 0.0 - high, high: 0.0 - low } } else { Range { low, high } })
    }

    /// Returns whether other cells are compared with this one.
    fn is_reference(&self, cell: &Cell) -> bool {
        self.against.is_some_and(|against| selects(against, cell))
    }
}

/// Describes the runs of these cells that do not count; `None` without any.
fn left_out(directory: &Directory, cells: &[&Cell]) -> Option<String> {
    let runs = &directory.manifest.runs;
    let count = |verdict| {
        let of = |number| cells.iter().any(|cell| cell.number == number);
        runs.iter().filter(|run| run.verdict == verdict && of(run.cell)).count()
    };
    let kinds = [
        (RunVerdict::Overloaded, "overloaded"),
        (RunVerdict::DroppedCall, "with a dropped call"),
        (RunVerdict::Failed, "failed"),
    ];
    let kinds = kinds.map(|(verdict, words)| (count(verdict), words));
    let words: Vec<_> = kinds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    (!words.is_empty()).then(|| format!("runs left out: {}", words.join(" and ")))
}

/// Returns the range from the lowest end to the highest.
fn span(ranges: impl Iterator<Item = Range>) -> Option<Range> {
    ranges.reduce(|one, other| Range { low: one.low.min(other.low), high: one.high.max(other.high) })
}

/// Describes where our range is, if it is not within the published one.
fn place(ours: Range, published: Range, unit: &str) -> String {
    let off = |by: f64, side: &str| format!("ours is {} {unit} {side} the published one", rounded(by));
    if ours.low > published.high {
        off(ours.low - published.high, "above")
    } else if ours.high < published.low {
        off(published.low - ours.high, "below")
    } else if ours.low <= published.low && ours.high >= published.high {
        "ours is wider than the published one and contains it".into()
    } else {
        "ours and the published one overlap".into()
    }
}

/// Formats a distance with three digits.
fn rounded(distance: f64) -> String {
    let digits = (2.0 - distance.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{distance:.digits$}")
}

/// Returns the valid values of `metric`.
fn metrics() -> Vec<&'static str> {
    Metric::ALL.into_iter().map(Metric::name).chain(["degradation"]).collect()
}

#[cfg(test)]
mod tests;
