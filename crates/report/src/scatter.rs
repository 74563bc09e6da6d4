//! Goodput over retransmissions, and the lines through them (TL-22, tcp-lite figures 6.9 to 6.11).
//!
//! The reader chooses the factor whose levels the dots show. There is one line for each combination
//! of the other factors, through the dots of all levels of the chosen factor.

use crate::measure::Measure;
use crate::page::{has_overloaded, known_runs};
use crate::strata::{Stratum, strata};
use results::statistics::{Line, ols};
use results::{Directory, Metric, RunRecord, RunVerdict};
use serde::Serialize;

/// The scatter plot of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Scatter {
    /// Index of the measure on the horizontal axis, the retransmission rate.
    x: usize,
    /// Index of the measure on the vertical axis, goodput.
    y: usize,
    /// Lines over the good runs.
    good: Vec<Drawn>,
    /// Lines over good and overloaded runs; `None` if no run is overloaded.
    all: Option<Vec<Drawn>>,
}

/// A line with the runs that it goes through, or would go through.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Drawn {
    /// Index of the factor whose levels it combines; `None` in a campaign without factors.
    factor: Option<usize>,
    /// Indices of the cells whose runs it goes through.
    cells: Vec<usize>,
    /// Number of runs with both values.
    points: usize,
    /// `None` with fewer runs than [`LEAST_POINTS`](results::statistics::LEAST_POINTS), and if all
    /// have the same retransmission rate.
    line: Option<Line>,
}

pub(crate) fn all(directory: &Directory, measures: &[Measure]) -> Vec<Scatter> {
    let mut scatters = Vec::new();
    for (y, goodput) in measures.iter().enumerate().filter(|(_, measure)| measure.metric == Metric::Goodput) {
        let rate = |other: &Measure| {
            other.workload == goodput.workload && other.metric == Metric::RetransmissionRate
        };
        let Some(x) = measures.iter().position(rate) else { continue };
        let lines = |overloaded| lines(directory, &measures[x], goodput, overloaded);
        scatters.push(Scatter {
            x,
            y,
            good: lines(false),
            all: has_overloaded(directory).then(|| lines(true)),
        });
    }
    scatters
}

fn lines(directory: &Directory, x: &Measure, y: &Measure, overloaded: bool) -> Vec<Drawn> {
    let counts = |run: &RunRecord| {
        run.verdict == RunVerdict::Good || (overloaded && run.verdict == RunVerdict::Overloaded)
    };
    let points: Vec<(usize, f64, f64)> = known_runs(directory)
        .zip(x.values.iter().zip(&y.values))
        .filter(|((_, run, _), _)| counts(run))
        .filter_map(|((cell, _, _), (x, y))| Some((cell, (*x)?, (*y)?)))
        .collect();
    let mut drawn = Vec::new();
    for (factor, cells) in groups(directory) {
        let of = |(cell, x, y): &(usize, f64, f64)| cells.contains(cell).then_some((*x, *y));
        let (x, y): (Vec<_>, Vec<_>) = points.iter().filter_map(of).unzip();
        if !x.is_empty() {
            let line = ols(&x, &y, 0.95);
            drawn.push(Drawn { factor, cells, points: x.len(), line });
        }
    }
    drawn
}

/// Returns the sets of cells that a line goes through, with the factor in which they differ.
fn groups(directory: &Directory) -> Vec<(Option<usize>, Vec<usize>)> {
    if directory.manifest.factors.is_empty() {
        return vec![(None, (0..directory.manifest.cells.len()).collect())];
    }
    strata(directory).into_iter().map(|Stratum { factor, cells }| (Some(factor), cells)).collect()
}
