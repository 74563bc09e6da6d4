//! Series of measurements: the order of the runs of a campaign, and random gaps between them.
//!
//! A [`Series`] (`[series]` of a plan) makes the runs one after the other: repetition by repetition
//! through all cells, where cells that differ only in the factors of [`Series::together`] follow
//! each other directly. Before each other group is a random gap, so that no measurement keeps step
//! with anything periodic (RFC 2330 section 11.1). So repetition *i* of a comparison of T and R
//! over sizes *r* is the series *T(r₁) R(r₁) E₁ T(r₂) R(r₂) E₂ …* (M. Schläger, The Remote Socket
//! Architecture, 2004, Eq. 9.2).
//!
//! [`steps`] is a pure function of the campaign: the gaps depend on its seed alone. `series.csv` in
//! a run directory has them, and when each run started and ended.

use crate::statistics::stream;
use crate::{Cell, Directory};
use capture::output;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt::Write;
use std::io;
use std::path::PathBuf;

/// Name of the log in a run directory.
pub const FILE: &str = "series.csv";

/// How the runs of a campaign follow each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Series {
    /// Shortest and longest gap before a group of cells, in nanoseconds; uniformly distributed.
    pub gap_ns: [u64; 2],
    /// Factors whose levels follow each other without a gap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub together: Vec<String>,
}

/// A run in a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The repetition.
    pub repetition: u32,
    /// Number of the cell.
    pub cell: u32,
    /// Gap before it in nanoseconds; 0 within a group, and before the first run.
    pub gap_ns: u64,
}

impl Series {
    /// Returns the cells in groups, both in the order of the plan.
    fn groups(&self, cells: &[Cell]) -> Vec<Vec<u32>> {
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut places: HashMap<Vec<&str>, usize> = HashMap::new();
        for cell in cells {
            let apart = cell.levels.iter().filter(|level| !self.together.contains(&level.factor));
            let apart: Vec<&str> = apart.map(|level| level.level.as_str()).collect();
            let place = *places.entry(apart).or_insert(groups.len());
            groups.resize(groups.len().max(place + 1), Vec::new());
            groups[place].push(cell.number);
        }
        groups
    }
}

/// Returns all runs of a campaign with these cells in their order.
///
/// More repetitions only add steps at the end.
#[must_use]
pub fn steps(series: &Series, cells: &[Cell], repetitions: u32, seed: u64) -> Vec<Step> {
    let mut random = stream(seed);
    let groups = series.groups(cells);
    let [shortest, longest] = series.gap_ns;
    let mut steps = Vec::with_capacity(cells.len() * repetitions as usize);
    for repetition in 0..repetitions {
        for group in &groups {
            // Drawn for the first one as well, so that all groups are alike.
            let gap = random.random_range(shortest..=longest.max(shortest));
            for (place, &cell) in group.iter().enumerate() {
                let gap_ns = if place == 0 && !steps.is_empty() { gap } else { 0 };
                steps.push(Step { repetition, cell, gap_ns });
            }
        }
    }
    steps
}

/// Returns the log of a campaign: a line for each of its runs in the order of the series; `None` if
/// it is no series.
///
/// Times are by the host's clock. With the virtual clock nobody waits for the gaps.
#[must_use]
pub fn log(directory: &Directory) -> Option<String> {
    let manifest = &directory.manifest;
    let series = manifest.series.as_ref()?;
    let mut text = String::from("position,repetition,cell,levels,gap_s,started_unix_ns,wall_s,verdict\n");
    let steps = steps(series, &manifest.cells, manifest.repetitions, manifest.seed);
    let runs: HashMap<_, _> = manifest.runs.iter().map(|run| ((run.cell, run.repetition), run)).collect();
    let labels: HashMap<_, _> = manifest.cells.iter().map(|cell| (cell.number, cell.label())).collect();
    for (position, step) in steps.iter().enumerate() {
        let Step { repetition, cell, gap_ns } = *step;
        let Some(run) = runs.get(&(cell, repetition)) else { continue };
        let levels = labels.get(&cell).map_or("", String::as_str).replace('"', "\"\"");
        let verdict = serde_json::to_value(run.verdict).unwrap_or_default();
        let _ = writeln!(
            text,
            "{position},{repetition},{cell},\"{levels}\",{:.9},{},{:.6},{}",
            gap_ns as f64 / 1e9,
            run.started_unix_ns,
            run.wall_seconds,
            verdict.as_str().unwrap_or_default()
        );
    }
    Some(text)
}

/// Writes the log into the run directory of a series, completely or not at all.
///
/// Returns its path; `None` if the campaign is no series.
///
/// # Errors
/// If the file cannot be written.
pub fn write(directory: &Directory) -> io::Result<Option<PathBuf>> {
    let Some(text) = log(directory) else { return Ok(None) };
    let path = directory.path.join(FILE);
    output::write(&path, text)?;
    Ok(Some(path))
}

#[cfg(test)]
mod tests;
