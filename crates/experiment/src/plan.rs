//! Plans: an experiment as a file, read and checked before anything runs.
//!
//! [`Plan::parse`] reads the file; [`Plan::experiment`] fills in the levels of one cell and gives
//! its scenario and its workloads, complete. [`Plan::check`] does that for all cells, so that what
//! is wrong is said before the first run.

mod build;
mod error;
mod expectations;
pub mod file;
mod text;

pub use error::PlanError;

use crate::catalogue::Catalogue;
use crate::scenario::Scenario;
use crate::workload::{Kind, Workload};
use error::{Source, unknown};
use file::PlanFile;
use link::units::Span;
use results::{Cell, Expectation, Factor, Level, PlanText, PlannedWorkload};
use std::collections::BTreeMap;
use std::path::Path;
use text::Text;

/// A plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name, title, text.
    pub text: PlanText,
    /// Its own seed.
    pub seed: Option<u64>,
    /// Repetitions of each cell.
    pub repetitions: u32,
    /// What it varies, with all levels.
    pub factors: Vec<Factor>,
    /// Figures of the literature.
    pub expectations: Vec<Expectation>,
    /// Variables of each level of each factor.
    variables: BTreeMap<Level, BTreeMap<String, Text>>,
    /// Where files that it names are.
    catalogue: Catalogue,
    file: PlanFile,
}

/// Most cells of a plan: each is built and checked before the first run, and more would take years.
const MOST_CELLS: usize = 10_000;

/// One cell of a plan, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Nodes and links.
    pub scenario: Scenario,
    /// Traffic, in the order of the plan.
    pub workloads: Vec<Workload>,
    /// Name of the workload that figures are about.
    pub measure: String,
    /// What is captured.
    pub capture: Capture,
    /// When a run has failed.
    pub limit: Span,
}

/// What is captured, and what of it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Which runs' captures are kept.
    pub keep: Keep,
    /// Which runs' event logs are kept.
    pub events: Keep,
    /// Of which runs the states of TCP senders are recorded and kept.
    pub senders: Keep,
    /// In which runs loss events are found.
    pub losses: Keep,
    /// Of which runs the records of link layers are made and kept.
    pub link_layer: Keep,
    /// Of which runs the blocks of RLP are captured and kept.
    pub blocks: Keep,
    /// Places of the links.
    pub links: Vec<usize>,
    /// Bytes of each packet.
    pub snap_length: u32,
}

/// Which runs' files are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first repetition of each cell.
    First,
    /// All.
    All,
    /// Those that failed.
    Failed,
    /// None.
    None,
}

impl Keep {
    /// Whether files have to be written at all for this repetition.
    #[must_use]
    pub fn writes(self, repetition: u32) -> bool {
        match self {
            Self::First => repetition == 0,
            Self::All | Self::Failed => true,
            Self::None => false,
        }
    }

    /// Whether files of a run that ended so stay.
    #[must_use]
    pub fn keeps(self, repetition: u32, failed: bool) -> bool {
        self.writes(repetition) && (self != Self::Failed || failed)
    }
}

impl Experiment {
    /// Packets a second that all workloads together send over all links at most: what a run costs
    /// the machine. A program may use any link.
    #[must_use]
    pub fn packets_per_second(&self) -> f64 {
        let scenario = &self.scenario;
        let path = |workload: &Workload| match workload.kind {
            Kind::Bulk { from, to, .. } | Kind::Datagrams { from, to, .. } | Kind::Ping { from, to, .. } => {
                scenario.path(from, to)
            }
            Kind::Request { client, server, .. } => scenario.path(server, client),
            Kind::Command { .. } => (0..scenario.links.len()).collect(),
        };
        self.workloads.iter().map(|workload| scenario.packets_per_second(&path(workload))).sum()
    }
}

impl Plan {
    /// Reads a plan. `file` is its name in errors, and where the names of files in it start from.
    ///
    /// # Errors
    /// With the line, the field and what would be right.
    pub fn parse(file: &str, text: &str) -> Result<Self, PlanError> {
        let source = Source { file, text };
        let read: PlanFile = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
        let (factors, variables) = build::factors(source, &read)?;
        let cells = factors.iter().try_fold(1, |cells: usize, factor| cells.checked_mul(factor.levels.len()));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            let sizes: Vec<_> = factors.iter().map(|factor| factor.levels.len().to_string()).collect();
            let product = sizes.join(" × ");
            return Err(source.error_somewhere(format!("{product} cells: a plan has {MOST_CELLS} at most")));
        }
        let path = Path::new(file);
        let name = path.file_stem().map_or_else(|| "plan".into(), |stem| stem.to_string_lossy().into_owned());
        let repetitions = read.repetitions.unwrap_or(1);
        if repetitions == 0 {
            return Err(source.error_somewhere("`repetitions` is 0: nothing would run"));
        }
        let plan = Self {
            text: PlanText {
                title: if read.title.is_empty() { name.clone() } else { read.title.clone() },
                name,
                description: read.description.trim().to_owned(),
                file: file.to_owned(),
                text: text.to_owned(),
            },
            seed: read.seed,
            repetitions,
            factors,
            expectations: read.expect.clone(),
            variables,
            catalogue: Catalogue::in_folder(path.parent().unwrap_or(Path::new(""))),
            file: read,
        };
        plan.check()?;
        Ok(plan)
    }

    /// All combinations of levels, the last factor varying fastest; one cell if there are no
    /// factors.
    #[must_use]
    pub fn cells(&self) -> Vec<Cell> {
        let mut combinations: Vec<Vec<Level>> = vec![Vec::new()];
        for factor in &self.factors {
            let with = |levels: &Vec<Level>, level: &String| {
                let next = Level { factor: factor.name.clone(), level: level.clone() };
                levels.iter().cloned().chain([next]).collect()
            };
            combinations = combinations
                .iter()
                .flat_map(|levels| factor.levels.iter().map(move |level| with(levels, level)))
                .collect();
        }
        let numbered = (0..).zip(combinations);
        numbered.map(|(number, levels)| Cell { number, levels }).collect()
    }

    /// The cells that `only` leaves: each of them `FACTOR=LEVEL,LEVEL…,FACTOR=LEVEL…`.
    ///
    /// # Errors
    /// If there is no such factor or level, with those that there are.
    pub fn cells_of(&self, only: &[String]) -> Result<Vec<Cell>, String> {
        let mut cells = self.cells();
        for selection in only {
            for (factor, levels) in
                self.selected(selection).map_err(|error| format!("`{selection}`: {error}"))?
            {
                cells.retain(|cell| cell.level(factor).is_some_and(|level| levels.contains(&level)));
            }
            if cells.is_empty() {
                return Err(format!(
                    "`{selection}`: no cell has all these levels; write FACTOR=LEVEL,LEVEL… for any of several"
                ));
            }
        }
        Ok(cells)
    }

    /// Factors and levels that a selection names.
    fn selected<'a>(&self, selection: &'a str) -> Result<Vec<(&'a str, Vec<&'a str>)>, String> {
        let mut selected: Vec<(&str, Vec<&str>)> = Vec::new();
        for word in selection.split(',').map(str::trim) {
            let level = match word.split_once('=') {
                Some((factor, level)) => {
                    selected.push((factor.trim(), Vec::new()));
                    level.trim()
                }
                None => word,
            };
            let Some((name, levels)) = selected.last_mut() else {
                return Err("write it as FACTOR=LEVEL,LEVEL…".to_owned());
            };
            let factor = self.factors.iter().find(|factor| factor.name == *name);
            let factor = factor.ok_or_else(|| {
                unknown("factor", name, self.factors.iter().map(|known| known.name.as_str()))
            })?;
            if !factor.levels.iter().any(|known| known == level) {
                let known = factor.levels.iter().map(String::as_str);
                return Err(unknown(&format!("level of {name}"), level, known));
            }
            levels.push(level);
        }
        Ok(selected)
    }

    /// The experiment of one cell. `repetition` and `seed` are what `{repetition}` and `{seed}`
    /// stand for.
    ///
    /// # Errors
    /// With the line, the field and what would be right.
    pub fn experiment(&self, cell: &Cell, repetition: u32, seed: u64) -> Result<Experiment, PlanError> {
        let source = Source { file: &self.text.file, text: &self.text.text };
        build::experiment(self, source, cell, repetition, seed)
    }

    /// Builds all cells, and checks what is expected of them.
    ///
    /// # Errors
    /// The first that is found.
    pub fn check(&self) -> Result<(), PlanError> {
        let named = |cell: Cell| {
            let workloads = self.experiment(&cell, 0, 0)?.workloads;
            Ok((cell, workloads.into_iter().map(|workload| workload.name).collect()))
        };
        let workloads = self.cells().into_iter().map(named).collect::<Result<Vec<_>, PlanError>>()?;
        let source = Source { file: &self.text.file, text: &self.text.text };
        expectations::check(source, &self.file, &self.factors, &workloads)
    }

    /// Name of the workload that figures of these cells are about, that of the first one, and all
    /// their workloads in the order of the plan. One is in the background if it is in all cells
    /// that have it.
    ///
    /// # Errors
    /// As [`Plan::experiment`].
    pub fn workloads(&self, cells: &[Cell]) -> Result<(String, Vec<PlannedWorkload>), PlanError> {
        let mut measure = None;
        let mut all: Vec<PlannedWorkload> = Vec::new();
        for cell in cells {
            let experiment = self.experiment(cell, 0, 0)?;
            for Workload { name, background, .. } in experiment.workloads {
                match all.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.background &= background,
                    None => all.push(PlannedWorkload { name, background }),
                }
            }
            measure.get_or_insert(experiment.measure);
        }
        Ok((measure.unwrap_or_default(), all))
    }
}

#[cfg(test)]
mod tests;
