//! All runs of a plan: which, in which order, how many at a time, and the run directory.
//!
//! Runs go repetition by repetition through all cells, so that whatever changes about the machine meanwhile meets all cells
//! alike, and an interrupted campaign has as much of each. Repetition n of every cell has the same seed: cells that differ in
//! something else than the link see the same errors at the same times.
//!
//! Each run is a process of its own ([`netlab::isolation`]). Runs go side by side as long as all their links together carry
//! fewer packets than the machine can move without one run making another late.

mod capacity;
mod machine;

pub use capacity::Capacity;

use crate::plan::{Plan, PlanError};
use crate::run::{Job, SCRATCH};
use results::journal::Journal;
use results::manifest::SCHEMA;
use results::{Cell, Clock, Factor, Manifest, RunEnded, RunRecord, Verdict, directory};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Hidden subcommand that executes a job.
pub const SUBCOMMAND: &str = "__run";

/// How often a waiting thread looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// A campaign that can be started.
#[derive(Debug)]
pub struct Campaign {
    plan: Plan,
    manifest: Manifest,
    directory: PathBuf,
    journal: Journal,
    measure: String,
    /// Runs that ended before.
    done: Vec<RunEnded>,
}

/// What is told while a campaign goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A run began.
    Began {
        /// Its cell.
        cell: &'a Cell,
        /// Its repetition.
        repetition: u32,
    },
    /// A run ended.
    Ended {
        /// Its cell.
        cell: &'a Cell,
        /// All of it.
        run: &'a RunEnded,
    },
}

/// A campaign that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Something is wrong with the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The selection of cells makes no sense.
    #[error("--only {0}")]
    Only(String),
    /// There is a campaign in the directory already.
    #[error("{} holds a campaign already: `lasthop run --resume {}` goes on with it", .0.display(), .0.display())]
    Exists(PathBuf),
    /// A run directory that cannot be read.
    #[error(transparent)]
    Directory(#[from] results::DirectoryError),
    /// A file of the run directory.
    #[error("{doing} {}: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A process cannot be started.
    #[error(transparent)]
    Netlab(#[from] netlab::Error),
}

/// What is asked for on top of the plan.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Selections of levels.
    pub only: Vec<String>,
    /// Another number of repetitions.
    pub repetitions: Option<u32>,
    /// The seed; the plan's, or drawn.
    pub seed: Option<u64>,
    /// The run directory, instead of `runs/NAME/TIME-SEED`.
    pub out: Option<PathBuf>,
}

impl Campaign {
    /// A new campaign: makes its directory and writes the manifest.
    ///
    /// # Errors
    /// If the plan, the selection or the directory cannot be used; nothing is left then.
    pub fn create(plan: Plan, asked: &Asked) -> Result<Self, CampaignError> {
        let cells = plan.cells_of(&asked.only).map_err(CampaignError::Only)?;
        let seed = asked.seed.or(plan.seed).unwrap_or_else(|| u64::from(rand::random::<u32>()));
        let started = UNIX_EPOCH.elapsed().unwrap_or_default();
        let directory = asked.out.clone().unwrap_or_else(|| {
            let name = format!("{}-{seed}", machine::utc(started.as_secs()));
            Path::new("runs").join(&plan.text.name).join(name)
        });
        if directory.join(directory::MANIFEST).exists() {
            return Err(CampaignError::Exists(directory));
        }
        let manifest = Manifest {
            schema: SCHEMA,
            lasthop: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.text.clone(),
            started_unix_ns: started.as_nanos() as u64,
            ended_unix_ns: None,
            clock: Clock::Real,
            kernel: machine::kernel(),
            machine: machine::machine(),
            seed,
            factors: factors_of(&plan.factors, &cells),
            cells,
            repetitions: asked.repetitions.unwrap_or(plan.repetitions),
            runs: Vec::new(),
            expectations: plan.expectations.clone(),
            units: results::table::units(),
        };
        file("create", &directory, fs::create_dir_all(&directory))?;
        file("write the manifest in", &directory, directory::write_manifest(&directory, &manifest))?;
        let journal = file("write the journal in", &directory, Journal::open(&directory))?;
        let measure = measured(&plan)?;
        Ok(Self { plan, manifest, directory, journal, measure, done: Vec::new() })
    }

    /// Goes on with a campaign that was interrupted.
    ///
    /// # Errors
    /// If the directory holds none.
    pub fn resume(path: &Path) -> Result<Self, CampaignError> {
        let results::Directory { path: directory, mut manifest, connections } =
            results::Directory::open(path)?;
        let plan = Plan::parse(&manifest.plan.file, &manifest.plan.text)?;
        let runs = std::mem::take(&mut manifest.runs);
        let done = runs.into_iter().zip(connections).map(|(run, connections)| RunEnded { run, connections });
        let journal = file("write the journal in", &directory, Journal::open(&directory))?;
        let measure = measured(&plan)?;
        Ok(Self { plan, manifest, journal, measure, done: done.collect(), directory })
    }

    /// The run directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Name of the workload that figures are about.
    #[must_use]
    pub fn measure(&self) -> &str {
        &self.measure
    }

    /// What is known of it.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Runs that are left: cell and repetition.
    #[must_use]
    pub fn left(&self) -> Vec<(Cell, u32)> {
        let done: BTreeSet<_> =
            self.done.iter().map(|ended| (ended.run.cell, ended.run.repetition)).collect();
        (0..self.manifest.repetitions)
            .flat_map(|repetition| self.manifest.cells.iter().map(move |cell| (cell.clone(), repetition)))
            .filter(|(cell, repetition)| !done.contains(&(cell.number, *repetition)))
            .collect()
    }

    /// Runs what is left, at most `capacity` at a time, and tells `progress`. When `interrupted` becomes true, runs that go on
    /// are ended and forgotten. Returns whether all were run.
    ///
    /// # Errors
    /// If a file of the run directory cannot be written, or a process not started.
    pub fn run(
        &mut self,
        capacity: Capacity,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<bool, CampaignError> {
        let scratch = self.directory.join(SCRATCH);
        file("create", &scratch, fs::create_dir_all(&scratch))?;
        let mut waiting: VecDeque<_> = self
            .left()
            .into_iter()
            .map(|(cell, repetition)| {
                let load = self.plan.experiment(&cell, repetition, self.manifest.seed)?.packets_per_second();
                Ok((cell, repetition, load))
            })
            .collect::<Result<_, PlanError>>()?;
        let (ended, endings) = channel();
        let outcome = thread::scope(|scope| {
            let mut running: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            loop {
                while let Some((cell, repetition, load)) = waiting.front().cloned() {
                    if interrupted.load(Ordering::Acquire) || !capacity.admits(running.values(), load) {
                        break;
                    }
                    waiting.pop_front();
                    running.insert((cell.number, repetition), load);
                    progress(Progress::Began { cell: &cell, repetition });
                    let job = self.job(cell, repetition);
                    let ended = ended.clone();
                    scope.spawn(move || supervise(&job, interrupted, &ended));
                }
                if running.is_empty() {
                    return Ok(waiting.is_empty());
                }
                // We hold a sender ourselves, so that there is always one to come.
                let Ok((cell, repetition, result)) = endings.recv() else { return Ok(false) };
                running.remove(&(cell.number, repetition));
                match result {
                    // Interrupted: as if it had not begun.
                    Ok(None) => {}
                    Ok(Some(run)) => {
                        file("write the journal in", &self.directory, self.journal.append(&run))?;
                        progress(Progress::Ended { cell: &cell, run: &run });
                        self.done.push(run);
                    }
                    Err(error) => {
                        // Others shall not go on for nothing.
                        interrupted.store(true, Ordering::Release);
                        return Err(error);
                    }
                }
            }
        });
        let all = outcome?;
        self.close(all)?;
        Ok(all)
    }

    fn job(&self, cell: Cell, repetition: u32) -> Job {
        Job {
            plan_file: self.plan.text.file.clone(),
            plan_text: self.plan.text.text.clone(),
            cell,
            repetition,
            seed: self.manifest.seed,
            directory: self.directory.clone(),
        }
    }

    /// Writes the manifest with all runs, and removes what only runs needed.
    fn close(&mut self, complete: bool) -> Result<(), CampaignError> {
        self.done.sort_by_key(|ended| (ended.run.cell, ended.run.repetition));
        self.manifest.runs = self.done.iter().map(|ended| ended.run.clone()).collect();
        if complete {
            self.manifest.ended_unix_ns = Some(UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64);
        }
        file(
            "write the manifest in",
            &self.directory,
            directory::write_manifest(&self.directory, &self.manifest),
        )?;
        let scratch = self.directory.join(SCRATCH);
        file("remove", &scratch, fs::remove_dir_all(&scratch))
    }
}

/// A run that ended; `None` if it was interrupted.
type Ending = (Cell, u32, Result<Option<RunEnded>, CampaignError>);

/// Starts the process of a run, waits for it, and tells how it ended.
fn supervise(job: &Job, interrupted: &AtomicBool, ended: &Sender<Ending>) {
    let result = watch(job, interrupted);
    // Nobody listens any more if another run has failed to start.
    let _ = ended.send((job.cell.clone(), job.repetition, result));
}

fn watch(job: &Job, interrupted: &AtomicBool) -> Result<Option<RunEnded>, CampaignError> {
    let started = Instant::now();
    let started_unix_ns = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
    let folder = job.directory.join(SCRATCH);
    let order = folder.join(format!("{}.job", job.stem()));
    let text = serde_json::to_vec(job).map_err(io::Error::from);
    file("write", &order, text.and_then(|text| fs::write(&order, text)))?;
    let mut command =
        netlab::isolation::command([OsString::from(SUBCOMMAND), order.clone().into_os_string()])?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = file("start", Path::new(SUBCOMMAND), command.spawn())?;
    // Read all along, so that it never blocks on a full pipe.
    let errors = child.stderr.take();
    let said = thread::spawn(move || {
        let mut said = String::new();
        errors.map(|mut errors| errors.read_to_string(&mut said));
        said
    });
    let Some(status) = wait(&mut child, interrupted) else { return Ok(None) };
    let said = said.join().unwrap_or_default();
    if let Ok(text) = fs::read(job.result())
        && let Ok(ended) = serde_json::from_slice(&text)
    {
        return Ok(Some(ended));
    }
    let reason = format!("the run's process ended without a result ({status}): {}", last_words(&said));
    let run = RunRecord {
        cell: job.cell.number,
        repetition: job.repetition,
        verdict: Verdict::Failed,
        reasons: vec![reason],
        started_unix_ns,
        seconds: 0.0,
        wall_seconds: started.elapsed().as_secs_f64(),
        links: Vec::new(),
        captures: Vec::new(),
        events: Vec::new(),
        senders: Vec::new(),
        logs: Vec::new(),
    };
    Ok(Some(RunEnded { run, connections: Vec::new() }))
}

/// What a process said at last: of a panic its place and its message, else the last line.
fn last_words(said: &str) -> String {
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.iter().position(|line| line.contains("panicked at")) {
        Some(panic) => lines[panic..].iter().take(2).copied().collect::<Vec<_>>().join(" "),
        None => lines.last().copied().unwrap_or("it said nothing").to_owned(),
    }
}

/// Waits for the end of a run's process; kills it and returns `None` when interrupted.
fn wait(child: &mut Child, interrupted: &AtomicBool) -> Option<std::process::ExitStatus> {
    loop {
        if interrupted.load(Ordering::Acquire) {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => thread::sleep(LOOK),
            Err(_) => return None,
        }
    }
}

/// Executes the job in a file: what [`SUBCOMMAND`] does.
///
/// # Errors
/// If the job cannot be read, or its result not be written.
pub fn execute(order: &Path) -> Result<(), CampaignError> {
    let text = file("read", order, fs::read(order))?;
    let job: Job = file("read", order, serde_json::from_slice(&text).map_err(io::Error::from))?;
    file("write the result of", order, crate::run::execute(&job))
}

/// The workload that figures of a plan are about: that of its first cell.
fn measured(plan: &Plan) -> Result<String, PlanError> {
    match plan.cells().first() {
        Some(cell) => plan.experiment(cell, 0, 0).map(|experiment| experiment.measure),
        None => Ok(String::new()),
    }
}

/// The factors with those levels only that cells have.
fn factors_of(factors: &[Factor], cells: &[Cell]) -> Vec<Factor> {
    let used =
        |factor: &Factor, level: &str| cells.iter().any(|cell| cell.level(&factor.name) == Some(level));
    let with_levels_used = |factor: &Factor| Factor {
        levels: factor.levels.iter().filter(|level| used(factor, level)).cloned().collect(),
        ..factor.clone()
    };
    factors.iter().map(with_levels_used).collect()
}

/// An error about a file as ours.
fn file<T>(doing: &'static str, path: &Path, result: io::Result<T>) -> Result<T, CampaignError> {
    result.map_err(|source| CampaignError::File { doing, path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_of_a_process() {
        let panic = "warming up\n\nthread 'main' panicked at src/run.rs:7:9:\nno such thing\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(last_words(panic), "thread 'main' panicked at src/run.rs:7:9: no such thing");
        assert_eq!(last_words("one\ntwo\n\n"), "two");
        assert_eq!(last_words(" \n"), "it said nothing");
    }
}
