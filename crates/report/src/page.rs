//! All data that the page reads; `web/src/data.ts` declares the same in TypeScript.
//!
//! Cells, runs and factors are identified by their indices in the page's own lists. If a campaign
//! has overloaded runs, everything computed from the runs exists twice: without them, and with
//! them.

use crate::about::{self, About, Trouble};
use crate::factorial::{self, Factorial};
use crate::links::{self, Links};
use crate::literature::{self, Figure};
use crate::losses::{self, Losses};
use crate::measure::{self, Measure};
use crate::precision::{self, Precision};
use crate::scatter::{self, Scatter};
use crate::sequence::{self, Sequences};
use results::statistics::{Estimator, LEAST_POINTS};
use results::{Directory, RunVerdict};
use serde::Serialize;
use std::collections::HashMap;

/// Version of the data that the page reads; incremented with every change, so that a page never
/// draws data that it does not know.
pub const SCHEMA: u32 = 8;

/// PageOptions of a page.
#[derive(Debug, Clone, Copy)]
pub struct PageOptions {
    /// Whether figures show overloaded runs at first; the reader can switch.
    pub overloaded: bool,
    /// Maximum number of points of all time-sequence plots together.
    pub sequence_points: usize,
}

/// Everything that a page shows.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Page {
    schema: u32,
    least: Least,
    about: About,
    factors: Vec<Factor>,
    cells: Vec<Cell>,
    runs: Runs,
    troubles: Vec<Trouble>,
    measures: Vec<Measure>,
    scatters: Vec<Scatter>,
    factorial: Vec<Factorial>,
    precision: Option<Precision>,
    literature: Vec<Figure>,
    losses: Option<Losses>,
    sequences: Sequences,
    links: Links,
    overloaded: bool,
}

/// Minimum numbers of runs for figures that need several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
struct Least {
    /// An interval for the mean.
    mean: usize,
    /// An interval for the median.
    median: usize,
    /// A line.
    line: usize,
}

/// A factor of the experiment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Factor {
    name: String,
    title: String,
    levels: Vec<String>,
}

/// A combination of levels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Cell {
    number: u32,
    label: String,
    /// Index of the level of each factor; `None` if the factor does not have the level that the
    /// manifest names.
    levels: Vec<Option<usize>>,
}

/// The runs, as columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Runs {
    cell: Vec<usize>,
    repetition: Vec<u32>,
    verdict: Vec<RunVerdict>,
    seconds: Vec<f64>,
}

impl Default for PageOptions {
    /// Without overloaded runs, and with half a million points, so that a browser draws each plot's
    /// share at once.
    fn default() -> Self {
        Self { overloaded: false, sequence_points: 500_000 }
    }
}

impl Page {
    /// Creates the page of a campaign, finished or not.
    ///
    /// Captures that cannot be read are named in the page; they are not an error.
    #[must_use]
    pub fn of(directory: &Directory, options: PageOptions) -> Self {
        let measures = measure::all(directory);
        Self {
            schema: SCHEMA,
            least: Least {
                mean: Estimator::Mean.least(),
                median: Estimator::Median.least(),
                line: LEAST_POINTS,
            },
            about: about::of(&directory.manifest),
            factors: factors(directory),
            cells: cells(directory),
            runs: runs(directory),
            troubles: about::troubles(&directory.manifest),
            scatters: scatter::all(directory, &measures),
            measures,
            factorial: factorial::all(directory),
            precision: precision::of(directory),
            literature: literature::all(directory),
            losses: losses::all(directory),
            sequences: sequence::all(directory, options.sequence_points),
            links: links::all(directory),
            overloaded: options.overloaded,
        }
    }

    /// Returns the title of the campaign.
    #[must_use]
    pub(crate) fn title(&self) -> &str {
        self.about.title()
    }

    /// Returns the measurements, for each workload and metric that has any.
    #[must_use]
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }
}

/// Returns whether a campaign has overloaded runs, which count only on request.
pub(crate) fn has_overloaded(directory: &Directory) -> bool {
    directory.manifest.runs.iter().any(|run| run.verdict == RunVerdict::Overloaded)
}

fn factors(directory: &Directory) -> Vec<Factor> {
    let all = directory.manifest.factors.iter();
    all.map(|factor| Factor {
        name: factor.name.clone(),
        title: heading(if factor.title.is_empty() { &factor.name } else { &factor.title }),
        levels: factor.levels.clone(),
    })
    .collect()
}

/// Formats a heading of a column or an axis: with a capital.
fn heading(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn cells(directory: &Directory) -> Vec<Cell> {
    let factors = &directory.manifest.factors;
    let of = |cell: &results::Cell| Cell {
        number: cell.number,
        label: cell.label(),
        levels: factors
            .iter()
            .map(|factor| {
                let level = cell.level(&factor.name)?;
                factor.levels.iter().position(|known| known == level)
            })
            .collect(),
    };
    directory.manifest.cells.iter().map(of).collect()
}

/// Returns the runs with their connections and the indices of their cells.
///
/// Runs of cells that the manifest does not have are left out, here and in every other list of
/// runs.
pub(crate) fn known_runs(
    directory: &Directory,
) -> impl Iterator<Item = (usize, &results::RunRecord, &[results::Connection])> {
    let places: HashMap<u32, usize> =
        directory.manifest.cells.iter().enumerate().map(|(place, cell)| (cell.number, place)).collect();
    directory.runs().filter_map(move |(run, connections)| Some((*places.get(&run.cell)?, run, connections)))
}

fn runs(directory: &Directory) -> Runs {
    let mut runs = Runs::default();
    for (cell, run, _) in known_runs(directory) {
        runs.cell.push(cell);
        runs.repetition.push(run.repetition);
        runs.verdict.push(run.verdict);
        runs.seconds.push(run.seconds);
    }
    runs
}
