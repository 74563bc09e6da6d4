//! Plans: an experiment as a file, read and checked before anything runs.
//!
//! [`Plan::parse`] reads the file. [`Plan::experiment`] fills in the levels of one cell and returns
//! its scenario and workloads. [`Plan::check`] does so for all cells, so that errors are reported
//! before the first run.

mod build;
mod error;
mod expectations;
mod factorial;
pub mod file;
mod precision;
mod requirements;
mod series;
mod text;

pub use error::PlanError;

use crate::catalogue::Catalogue;
use crate::scenario::Scenario;
use crate::workload::{Traffic, Workload};
use error::{Source, unknown};
use file::PlanFile;
use link::units::Span;
use results::{
    Cell, Expectation, Factor, FactorialDesign, Level, Levels, PlanText, PlannedWorkload, Precision,
    Requirement, Selection, Series,
};
use std::collections::BTreeMap;
use std::path::Path;
use text::Text;

/// A plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Name, title, description, file and text.
    pub text: PlanText,
    /// The seed, if the plan sets one.
    pub seed: Option<u64>,
    /// Repetitions of each cell.
    pub repetitions: u32,
    /// The factors with all their levels.
    pub factors: Vec<Factor>,
    /// Largest number of repetitions with which a gate decides the requirements, and until which a
    /// run is repeated for its precision.
    pub max_repetitions: u32,
    /// Until when cells are repeated; `repetitions` times if `None`.
    pub precision: Option<Precision>,
    /// Expected figures from the literature.
    pub expectations: Vec<Expectation>,
    /// Factorial analyses of the results.
    pub factorial: Vec<FactorialDesign>,
    /// Requirements that a gate decides.
    pub requirements: Vec<Requirement>,
    /// How the runs follow each other.
    pub series: Option<Series>,
    /// Variables of each level of each factor.
    variables: BTreeMap<Level, BTreeMap<String, Text>>,
    /// The directory of the files that it names.
    catalogue: Catalogue,
    file: PlanFile,
}

/// Largest number of cells: each is built and checked before the first run, and more would run for
/// years.
const MOST_CELLS: usize = 10_000;

/// Default of `max-repetitions`, as a multiple of `repetitions`.
const GROWTH: u32 = 4;

/// The complete experiment of one cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Experiment {
    /// Nodes and links.
    pub scenario: Scenario,
    /// Traffic, in the order of the plan.
    pub workloads: Vec<Workload>,
    /// Name of the workload that the figures describe.
    pub measure: String,
    /// What is captured and logged.
    pub capture: Capture,
    /// Time after which a run has failed.
    pub limit: Span,
}

/// What is captured and logged, and of which runs it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// Runs whose captures are kept.
    pub keep: Keep,
    /// Runs whose event logs are kept.
    pub events: Keep,
    /// Runs in which the states of TCP senders are recorded and kept.
    pub senders: Keep,
    /// Runs in which loss events are found.
    pub losses: Keep,
    /// Runs in which flows are counted at each end of a link.
    pub points: Keep,
    /// Runs in which link-layer records are made and kept.
    pub link_layer: Keep,
    /// Runs in which the blocks of RLP are captured and kept.
    pub blocks: Keep,
    /// Indices of the links that are captured.
    pub links: Vec<usize>,
    /// Number of bytes captured of each packet.
    pub snap_length: u32,
}

/// Runs whose files are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The first repetition of each cell.
    First,
    /// All runs.
    All,
    /// Runs that failed.
    Failed,
    /// No runs.
    None,
}

impl Keep {
    /// Returns whether files have to be written at all in this repetition.
    #[must_use]
    pub fn writes(self, repetition: u32) -> bool {
        match self {
            Self::First => repetition == 0,
            Self::All | Self::Failed => true,
            Self::None => false,
        }
    }

    /// Returns whether files of a run with this outcome are kept.
    #[must_use]
    pub fn keeps(self, repetition: u32, failed: bool) -> bool {
        self.writes(repetition) && (self != Self::Failed || failed)
    }
}

impl Experiment {
    /// Returns an upper bound on the packets per second of all workloads over all links: a run's
    /// load on the machine.
    ///
    /// A program may use any link.
    #[must_use]
    pub fn packets_per_second(&self) -> f64 {
        let scenario = &self.scenario;
        let path = |workload: &Workload| match workload.kind {
            Traffic::Bulk { from, to, .. }
            | Traffic::Sessions { from, to, .. }
            | Traffic::Datagrams { from, to, .. }
            | Traffic::Ping { from, to, .. } => scenario.path(from, to),
            Traffic::Request { client, server, .. } => scenario.path(server, client),
            Traffic::Command { .. } => (0..scenario.links.len()).collect(),
        };
        self.workloads.iter().map(|workload| scenario.packets_per_second(&path(workload))).sum()
    }
}

impl Experiment {
    /// Returns whether runs with different seeds may differ.
    ///
    /// `false` is certain with the virtual clock. A program may do anything, so it counts as
    /// random.
    #[must_use]
    pub fn is_random(&self) -> bool {
        let links = self.scenario.links.iter().any(|link| {
            let profile = &link.profile;
            profile.arq.is_some() || profile.up.is_random() || profile.down.is_random()
        });
        let traffic = self.workloads.iter().any(|workload| match &workload.kind {
            Traffic::Command { .. } => true,
            Traffic::Sessions { sources, .. } => *sources > 0,
            Traffic::Datagrams { on_off, .. } => on_off.is_some(),
            Traffic::Bulk { .. } | Traffic::Request { .. } | Traffic::Ping { .. } => false,
        });
        links || traffic
    }
}

impl Plan {
    /// Reads a plan. `file` is its name in errors; relative file names in the plan start from its
    /// directory.
    ///
    /// # Errors
    /// If the plan is invalid: an error with the line, the field and what would be right.
    pub fn parse(file: &str, text: &str) -> Result<Self, PlanError> {
        let source = Source { file, text };
        let read: PlanFile = toml::from_str(text).map_err(|error| source.toml_error(&error))?;
        let (factors, variables) = build::factors(source, &read)?;
        let cells = factors.iter().try_fold(1, |cells: usize, factor| cells.checked_mul(factor.levels.len()));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            let sizes: Vec<_> = factors.iter().map(|factor| factor.levels.len().to_string()).collect();
            let product = sizes.join(" × ");
            return Err(source
                .error_somewhere(format!("{product} cells are too many: a plan has at most {MOST_CELLS}")));
        }
        let path = Path::new(file);
        let name = path.file_stem().map_or_else(|| "plan".into(), |stem| stem.to_string_lossy().into_owned());
        let repetitions = read.repetitions.unwrap_or(1);
        if repetitions == 0 {
            return Err(source.error_somewhere("`repetitions` is 0: use at least 1"));
        }
        let max_repetitions = read.max_repetitions.unwrap_or(repetitions.saturating_mul(GROWTH));
        if max_repetitions < repetitions {
            return Err(source.error_somewhere(format!(
                "`max-repetitions` is {max_repetitions}, less than `repetitions`, which is {repetitions}: use at least {repetitions}"
            )));
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
            factorial: factorial::read(source, &read.analysis.factorial, &factors)?,
            series: series::read(source, read.series.as_ref(), &factors)?,
            factors,
            max_repetitions,
            expectations: read.expect.clone(),
            requirements: requirements::read(source, &read.require)?,
            precision: precision::read(source, read.precision.as_ref())?,
            variables,
            catalogue: Catalogue::in_folder(path.parent().unwrap_or(Path::new(""))),
            file: read,
        };
        plan.check()?;
        Ok(plan)
    }

    /// Returns all combinations of levels, the last factor varying fastest; one cell if there are
    /// no factors.
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

    /// Returns the cells that `only` selects; each selection is
    /// `FACTOR=LEVEL,LEVEL…,FACTOR=LEVEL…`.
    ///
    /// # Errors
    /// If a factor or level does not exist, with the existing ones.
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
                    "`{selection}`: no cell has all these levels; to select several levels of a factor, write FACTOR=LEVEL,LEVEL…"
                ));
            }
        }
        Ok(cells)
    }

    /// Returns the levels that `text` selects, `FACTOR=LEVEL,LEVEL…,FACTOR=LEVEL…`, as a plan would
    /// write them.
    ///
    /// # Errors
    /// If a factor or level does not exist, with the existing ones.
    pub fn selection(&self, text: &str) -> Result<Selection, String> {
        let levels = |(factor, levels): (&str, Vec<&str>)| {
            (factor.to_owned(), Levels::Any(levels.into_iter().map(str::to_owned).collect()))
        };
        Ok(self.selected(text)?.into_iter().map(levels).collect())
    }

    /// Parses a selection into factors and levels.
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
                return Err("expected FACTOR=LEVEL,LEVEL…".to_owned());
            };
            let factor = self.factors.iter().find(|factor| factor.name == *name);
            let factor = factor.ok_or_else(|| {
                unknown("factor", name, self.factors.iter().map(|known| known.name.as_str()))
            })?;
            if !factor.levels.iter().any(|known| known == level) {
                let known = factor.levels.iter().map(String::as_str);
                return Err(unknown(&format!("`{name}` level"), level, known));
            }
            levels.push(level);
        }
        Ok(selected)
    }

    /// Returns the experiment of one cell; `repetition` and `seed` are the values of `{repetition}`
    /// and `{seed}`.
    ///
    /// # Errors
    /// If the plan is invalid: an error with the line, the field and what would be right.
    pub fn experiment(&self, cell: &Cell, repetition: u32, seed: u64) -> Result<Experiment, PlanError> {
        let source = Source { file: &self.text.file, text: &self.text.text };
        build::experiment(self, source, cell, repetition, seed)
    }

    /// Builds all cells, and checks the expectations, the analyses, the requirements and the
    /// precision.
    ///
    /// # Errors
    /// The first error found.
    pub fn check(&self) -> Result<(), PlanError> {
        let named = |cell: Cell| {
            let workloads = self.experiment(&cell, 0, 0)?.workloads;
            Ok((cell, workloads.into_iter().map(|workload| workload.name).collect()))
        };
        let workloads = self.cells().into_iter().map(named).collect::<Result<Vec<_>, PlanError>>()?;
        let source = Source { file: &self.text.file, text: &self.text.text };
        expectations::check(source, &self.file, &self.factors, &workloads)?;
        factorial::check(source, &self.file.analysis.factorial, &workloads)?;
        requirements::check(source, &self.file.require, self, &workloads)?;
        precision::check(source, self, &workloads)
    }

    /// Returns the measured workload of these cells, and all their workloads in the order of the
    /// plan.
    ///
    /// The measured workload is that of the first cell. A workload is in the background if it is so
    /// in all cells that have it.
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
