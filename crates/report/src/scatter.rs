//! Goodput against retransmissions, and the lines through them (TL-22, tcp-lite figures 6.9 to 6.11).
//!
//! The reader chooses the factor whose levels the dots show. The dots of all its levels make one line for each combination
//! of the other factors, so that for every factor there are as many lines as such combinations.

use crate::measure::Measure;
use crate::page::{has_overloaded, known_runs};
use results::statistics::{Line, ols};
use results::{Directory, Metric, RunRecord, Verdict};
use serde::Serialize;

/// The scatter plot of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Scatter {
    /// Place of the measure on the horizontal axis, the retransmission rate.
    x: usize,
    /// Place of the measure on the vertical axis, goodput.
    y: usize,
    /// Over the good runs.
    good: Vec<Drawn>,
    /// Over the overloaded ones as well; `None` if there are none.
    all: Option<Vec<Drawn>>,
}

/// A line and what it was drawn through.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Drawn {
    /// Place of the factor that is not held; `None` in a campaign without factors.
    factor: Option<usize>,
    /// Places of the cells whose runs it was drawn through.
    cells: Vec<usize>,
    #[serde(flatten)]
    line: Line,
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
    let counts =
        |run: &RunRecord| run.verdict == Verdict::Good || (overloaded && run.verdict == Verdict::Overloaded);
    let points: Vec<(usize, f64, f64)> = known_runs(directory)
        .zip(x.values.iter().zip(&y.values))
        .filter(|((_, run, _), _)| counts(run))
        .filter_map(|((cell, _, _), (x, y))| Some((cell, (*x)?, (*y)?)))
        .collect();
    let mut drawn = Vec::new();
    for (factor, cells) in groups(directory) {
        let of = |(cell, x, y): &(usize, f64, f64)| cells.contains(cell).then_some((*x, *y));
        let (x, y): (Vec<_>, Vec<_>) = points.iter().filter_map(of).unzip();
        if let Some(line) = ols(&x, &y, 0.95) {
            drawn.push(Drawn { factor, cells, line });
        }
    }
    drawn
}

/// For each factor the sets of cells that differ in it alone.
fn groups(directory: &Directory) -> Vec<(Option<usize>, Vec<usize>)> {
    let cells = &directory.manifest.cells;
    if directory.manifest.factors.is_empty() {
        return vec![(None, (0..cells.len()).collect())];
    }
    let mut groups: Vec<(Option<usize>, Vec<usize>)> = Vec::new();
    for (place, factor) in directory.manifest.factors.iter().enumerate() {
        let mut kinds: Vec<(Vec<&results::Level>, Vec<usize>)> = Vec::new();
        for (cell, levels) in cells.iter().map(|cell| &cell.levels).enumerate() {
            let held: Vec<_> = levels.iter().filter(|level| level.factor != factor.name).collect();
            match kinds.iter_mut().find(|(known, _)| *known == held) {
                Some((_, members)) => members.push(cell),
                None => kinds.push((held, vec![cell])),
            }
        }
        groups.extend(kinds.into_iter().map(|(_, members)| (Some(place), members)));
    }
    groups
}
