//! All runs of a plan: their selection, order and parallelism, and the run directory.
//!
//! Runs go repetition by repetition through all cells. So changes of the machine over time affect
//! all cells alike, and an interrupted campaign has about equally many runs of each cell.
//! Repetition n of every cell has the same seed: cells whose links are the same meet the same
//! errors at the same times.
//!
//! Each run is a process of its own ([`netlab::isolation`]), or with the virtual clock a kernel of
//! its own ([`virtual_time`]). Processes run in parallel as long as their links together carry
//! fewer packets than the machine can move without one run delaying another. Kernels have a
//! processor each, and nothing delays them.

mod capacity;
mod error;
mod ground;
mod group;
mod guest;
mod machine;
mod process;
mod repeat;

pub use capacity::Capacity;
pub use error::CampaignError;
pub use guest::Guests;
pub use machine::utc;
use process::Needs;

use crate::acceptance::Acceptance;
use crate::attached::{self, AttachedNode};
use crate::plan::{Plan, PlanError};
use crate::run::{Job, SCRATCH};
use crate::workload::ground::sleep_unless;
use results::journal::Journal;
use results::manifest::{RunVerdict, SCHEMA};
use results::{Cell, Clock, Factor, Manifest, Precision, RunControl, RunEnded, Shard, Stop, directory};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};
use virtual_time::Advance;

/// Hidden subcommand that executes a job.
pub const SUBCOMMAND: &str = "__run";

/// Where runs take place.
#[derive(Debug)]
pub enum RunEnvironment {
    /// On the host's kernel, with the real clock.
    Host,
    /// Each in a kernel of its own, with the virtual clock.
    Guests(Box<Guests>),
}

/// A campaign that is ready to run.
#[derive(Debug)]
pub struct Campaign {
    plan: Plan,
    manifest: Manifest,
    directory: PathBuf,
    journal: Journal,
    /// Runs that have already ended.
    done: Vec<RunEnded>,
    /// The cells that are left to run, and their repetitions; all cells with the manifest's
    /// repetitions if `None`.
    stage: Option<(BTreeSet<u32>, u32)>,
    preload: Option<PathBuf>,
}

/// Progress of a campaign.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A run has started.
    Began {
        /// Its cell.
        cell: &'a Cell,
        /// Its repetition.
        repetition: u32,
    },
    /// The clock of a virtual-time run has advanced.
    Advanced {
        /// Its cell.
        cell: u32,
        /// Its repetition.
        repetition: u32,
        /// How far its clock has advanced, boot included, and whether it is slow.
        advance: Advance,
    },
    /// Interfaces and namespaces of the host are attached to nodes of a run.
    Attached {
        /// The nodes.
        nodes: &'a [AttachedNode],
    },
    /// A run has ended.
    Ended {
        /// Its cell.
        cell: &'a Cell,
        /// The run and its results.
        run: &'a RunEnded,
    },
}

/// Options of a campaign in addition to the plan.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Selections of levels.
    pub only: Vec<String>,
    /// Number of repetitions instead of the plan's.
    pub repetitions: Option<u32>,
    /// The seed; by default the plan's, or a random one.
    pub seed: Option<u64>,
    /// The run directory, instead of `runs/NAME/TIME-SEED`.
    pub out: Option<PathBuf>,
    /// With the virtual clock: the kernel's release and description.
    pub guest: Option<(String, results::Guest)>,
    /// The part of the campaign to run; all of it if `None`.
    pub shard: Option<Shard>,
    /// The numbers of repetitions at which a gate, or run control by precision, looks at the
    /// results.
    pub looks: Vec<u32>,
    /// Until when cells are repeated.
    pub precision: Option<Precision>,
}

impl Campaign {
    /// Creates a new campaign: creates its directory and writes the manifest.
    ///
    /// # Errors
    /// If the plan, the selection or the directory cannot be used. A directory that is refused
    /// stays as it is.
    pub fn create(plan: Plan, asked: &Asked) -> Result<Self, CampaignError> {
        let cells = plan.cells_of(&asked.only).map_err(CampaignError::Only)?;
        Self::create_of(plan, cells, asked)
    }

    /// As [`Campaign::create`], with these cells of the plan instead of those that `asked` selects.
    pub fn create_of(plan: Plan, cells: Vec<Cell>, asked: &Asked) -> Result<Self, CampaignError> {
        let seed = asked.seed.or(plan.seed);
        match (asked.shard, seed) {
            (Some(shard), None) => return Err(CampaignError::ShardWithoutSeed(shard)),
            (Some(shard), _) if plan.series.is_some() => return Err(CampaignError::ShardOfSeries(shard)),
            _ => {}
        }
        let seed = seed.unwrap_or_else(|| u64::from(rand::random::<u32>()));
        let started = UNIX_EPOCH.elapsed().unwrap_or_default();
        let directory = asked
            .out
            .clone()
            .unwrap_or_else(|| default_directory(&plan.text.name, started.as_secs(), seed, asked.shard));
        ground::check_new(&directory)?;
        let mut attached = BTreeSet::new();
        for cell in &cells {
            let scenario = plan.experiment(cell, 0, seed)?.scenario;
            let checked = if asked.guest.is_some() { scenario.check_guest() } else { scenario.check_host() };
            checked.map_err(CampaignError::WrongClock)?;
            // Many cells attach the same.
            if attached.insert(scenario.attachments().map(str::to_owned).collect::<Vec<_>>()) {
                attached::check(&scenario).map_err(CampaignError::Attach)?;
            }
        }
        let (measure, workloads) = plan.workloads(&cells)?;
        let manifest = Manifest {
            schema: SCHEMA,
            lasthop: env!("CARGO_PKG_VERSION").to_owned(),
            plan: plan.text.clone(),
            started_unix_ns: started.as_nanos() as u64,
            ended_unix_ns: None,
            clock: Some(if asked.guest.is_some() { Clock::Virtual } else { Clock::Real }),
            kernel: match &asked.guest {
                Some((release, _)) => release.clone(),
                None => machine::kernel(),
            },
            guest: asked.guest.as_ref().map(|(_, guest)| guest.clone()),
            machine: machine::machine(),
            seed,
            measure,
            workloads,
            factors: factors_of(&plan.factors, &cells),
            cells,
            repetitions: asked.repetitions.unwrap_or(plan.repetitions),
            shard: asked.shard,
            merged: Vec::new(),
            looks: asked.looks.clone(),
            precision: asked.precision.clone().map(|rule| RunControl { rule, stops: Vec::new() }),
            series: plan.series.clone(),
            runs: Vec::new(),
            expectations: plan.expectations.clone(),
            factorial: plan.factorial.clone(),
            units: results::table::units(),
        };
        file("create", &directory, fs::create_dir_all(&directory))?;
        file("write the manifest in", &directory, directory::write_manifest(&directory, &manifest))?;
        let journal = file("write the journal in", &directory, Journal::open(&directory))?;
        Ok(Self { plan, manifest, directory, journal, done: Vec::new(), stage: None, preload: None })
    }

    /// Reopens a campaign that was interrupted.
    ///
    /// # Errors
    /// If the directory contains none, or one with another clock or kernel; `guest` is as in
    /// [`Asked`].
    pub fn resume(path: &Path, guest: Option<&(String, results::Guest)>) -> Result<Self, CampaignError> {
        ground::check_owner(path)?;
        let results::Directory { path: directory, mut manifest, connections } =
            results::Directory::open(path)?;
        if guest.is_some() != manifest.guest.is_some() {
            let began = if guest.is_some() { "real" } else { "virtual" };
            return Err(CampaignError::OtherClock { directory, began });
        }
        if let Some(((_, now), began)) = guest.zip(manifest.guest.as_ref())
            && let Some((what, began, now)) = began.difference(now)
        {
            return Err(CampaignError::OtherGuest { directory, what, began, now });
        }
        let plan = Plan::parse(&manifest.plan.file, &manifest.plan.text)?;
        let runs = std::mem::take(&mut manifest.runs);
        if runs.is_empty() {
            // It begins now, perhaps on another machine than the one that created it.
            manifest.started_unix_ns = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
            manifest.machine = machine::machine();
            if guest.is_none() {
                manifest.kernel = machine::kernel();
            }
            file("write the manifest in", &directory, directory::write_manifest(&directory, &manifest))?;
        }
        let done = runs.into_iter().zip(connections).map(|(run, connections)| RunEnded { run, connections });
        let journal = file("write the journal in", &directory, Journal::open(&directory))?;
        // An older lasthop that began the campaign may not have recorded them.
        (manifest.measure, manifest.workloads) = plan.workloads(&manifest.cells)?;
        Ok(Self { plan, manifest, journal, done: done.collect(), directory, stage: None, preload: None })
    }

    /// Returns the run directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the manifest.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Limits what is left to these cells, up to this number of repetitions, which may be more than
    /// the campaign was created with.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn extend(&mut self, cells: BTreeSet<u32>, repetitions: u32) -> Result<(), CampaignError> {
        self.stage = Some((cells, repetitions));
        if repetitions > self.manifest.repetitions {
            (self.manifest.repetitions, self.manifest.ended_unix_ns) = (repetitions, None);
            let (directory, manifest) = (&self.directory, &self.manifest);
            file("write the manifest in", directory, directory::write_manifest(directory, manifest))?;
        }
        Ok(())
    }

    /// Records where cells stopped, in a campaign whose cells are repeated until they are precise.
    ///
    /// # Errors
    /// If the manifest cannot be written.
    pub fn record_stops(&mut self, stops: Vec<Stop>) -> Result<(), CampaignError> {
        let Some(control) = &mut self.manifest.precision else { return Ok(()) };
        control.stops = stops;
        let (directory, manifest) = (&self.directory, &self.manifest);
        file("write the manifest in", directory, directory::write_manifest(directory, manifest))
    }

    /// Returns the runs that are left, as cell and repetition.
    #[must_use]
    pub fn left(&self) -> Vec<(Cell, u32)> {
        self.left_in_order().into_iter().map(|(cell, repetition, _)| (cell, repetition)).collect()
    }

    /// Returns the runs that are left in their order, each with the gap before it.
    fn left_in_order(&self) -> Vec<(Cell, u32, Duration)> {
        let done: BTreeSet<_> =
            self.done.iter().map(|ended| (ended.run.cell, ended.run.repetition)).collect();
        let (cells, repetitions) = match &self.stage {
            Some((cells, repetitions)) => (Some(cells), *repetitions),
            None => (None, self.manifest.repetitions),
        };
        self.manifest
            .in_order(repetitions)
            .into_iter()
            .filter(|(cell, repetition, _)| !done.contains(&(cell.number, *repetition)))
            .filter(|(cell, ..)| cells.is_none_or(|cells| cells.contains(&cell.number)))
            .filter(|(cell, repetition, _)| self.manifest.plans(cell, *repetition))
            .map(|(cell, repetition, gap)| (cell.clone(), repetition, gap))
            .collect()
    }

    /// Runs what is left in `place`, in parallel as far as `capacity` admits, and reports
    /// `progress`.
    ///
    /// When `interrupted` becomes true, it ends running runs and discards them. Returns whether all
    /// runs have ended.
    ///
    /// # Errors
    /// If a file of the run directory cannot be written, or a process cannot be started.
    pub fn run(
        &mut self,
        place: &RunEnvironment,
        capacity: Capacity,
        interrupted: &AtomicBool,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<bool, CampaignError> {
        let scratch = self.directory.join(SCRATCH);
        file("create", &scratch, fs::create_dir_all(&scratch))?;
        let is_real = matches!(place, RunEnvironment::Host);
        let mut waiting: VecDeque<_> = self
            .left_in_order()
            .into_iter()
            .map(|(cell, repetition, gap)| {
                let experiment = self.plan.experiment(&cell, repetition, self.manifest.seed)?;
                let load = experiment.packets_per_second();
                let group = experiment.scenario.acceptance() != Acceptance::Off;
                let needs = Needs { group, scenario: experiment.scenario };
                let gap = if is_real { gap } else { Duration::ZERO };
                Ok(Waiting { cell, repetition, load, needs, gap })
            })
            .collect::<Result<_, PlanError>>()?;
        // Runs of a series must not disturb each other at all. Kernels of their own do not. An
        // interface can be in one run at a time.
        let attaches = waiting.iter().any(|run| run.needs.scenario.attaches());
        let alone = self.manifest.series.is_some() && is_real || attaches;
        let capacity = if alone { Capacity::runs(1) } else { capacity };
        let (tell, words) = channel();
        let outcome = thread::scope(|scope| {
            let mut running: BTreeMap<(u32, u32), f64> = BTreeMap::new();
            loop {
                while let Some(Waiting { cell, repetition, load, needs, gap }) = waiting.front().cloned() {
                    let may_start = || !interrupted.load(Ordering::Acquire);
                    if !may_start() || !capacity.admits(running.values(), load) {
                        break;
                    }
                    sleep_unless(interrupted, Instant::now(), gap);
                    if !may_start() {
                        break;
                    }
                    waiting.pop_front();
                    running.insert((cell.number, repetition), load);
                    progress(Progress::Began { cell: &cell, repetition });
                    let job = self.job(cell, repetition);
                    let tell = tell.clone();
                    scope.spawn(move || supervise(place, job, &needs, interrupted, &tell));
                }
                if running.is_empty() {
                    return Ok(waiting.is_empty());
                }
                // This function holds a sender itself, so the channel never closes.
                let Ok(word) = words.recv() else { return Ok(false) };
                let (cell, repetition, result) = match word {
                    Word::Advanced(cell, repetition, advance) => {
                        progress(Progress::Advanced { cell, repetition, advance });
                        continue;
                    }
                    Word::Attached(nodes) => {
                        progress(Progress::Attached { nodes: &nodes });
                        continue;
                    }
                    Word::Ended(cell, repetition, result) => (cell, repetition, *result),
                };
                running.remove(&(cell.number, repetition));
                match result {
                    // Interrupted: as if it had not started.
                    Ok(None) => {}
                    Ok(Some(run)) => {
                        file("write the journal in", &self.directory, self.journal.append(&run))?;
                        progress(Progress::Ended { cell: &cell, run: &run });
                        self.done.push(run);
                    }
                    Err(error) => {
                        // The other runs must not continue in vain.
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

    /// Sets the library by which programs use remote sockets. A guest cannot find the host's.
    #[must_use]
    pub fn with_preload(mut self, library: Option<PathBuf>) -> Self {
        self.preload = library;
        self
    }

    fn job(&self, cell: Cell, repetition: u32) -> Job {
        Job {
            plan_file: self.plan.text.file.clone(),
            plan_text: self.plan.text.text.clone(),
            cell,
            repetition,
            seed: self.manifest.seed,
            directory: self.directory.clone(),
            control_group: None,
            attached: Vec::new(),
            preload: self.preload.clone(),
        }
    }

    /// Writes the manifest with all runs, and removes files that only the runs needed.
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

/// Returns the run directory of a campaign whose user names none: `runs/NAME/TIME-SEED`, and for a
/// shard `runs/NAME/TIME-SEED-MofN`. `started` is in seconds since 1970.
#[must_use]
pub fn default_directory(name: &str, started: u64, seed: u64, shard: Option<Shard>) -> PathBuf {
    let part = shard.map(|Shard { number, of }| format!("-{number}of{of}")).unwrap_or_default();
    Path::new("runs").join(name).join(format!("{}-{seed}{part}", utc(started)))
}

/// A run that has not started yet.
#[derive(Debug, Clone)]
struct Waiting {
    cell: Cell,
    repetition: u32,
    /// Upper bound on packets per second.
    load: f64,
    /// Control group and attachments that it needs on the host.
    needs: Needs,
    /// Time to wait before it.
    gap: Duration,
}

/// A message from the thread of a run.
enum Word {
    /// The clock of the run of this cell and repetition has advanced.
    Advanced(u32, u32, Advance),
    /// Interfaces and namespaces of the host are attached to nodes.
    Attached(Vec<AttachedNode>),
    /// The run has ended; `None` if it was interrupted.
    Ended(Cell, u32, Box<Result<Option<RunEnded>, CampaignError>>),
}

/// Executes a job and reports its end.
fn supervise(place: &RunEnvironment, job: Job, needs: &Needs, interrupted: &AtomicBool, tell: &Sender<Word>) {
    // The receiver is gone if another run has failed to start.
    let mut advanced = |advance| drop(tell.send(Word::Advanced(job.cell.number, job.repetition, advance)));
    let result = match place {
        RunEnvironment::Host => {
            process::run(&job, needs, interrupted, &mut |nodes| drop(tell.send(Word::Attached(nodes))))
        }
        RunEnvironment::Guests(guests) => guests.run(&job, interrupted, &mut advanced),
    };
    let result = result.map(|ended| ended.and_then(|ended| unless_interrupted(ended, interrupted)));
    let _ = tell.send(Word::Ended(job.cell, job.repetition, Box::new(result)));
}

/// Time by which the same signal may reach this process later than the processes of a run. Slurm
/// sends them one after the other; a failed run costs this time.
const SIGNAL_LAG: Duration = Duration::from_millis(200);

/// Returns the run; `None` if it failed and the campaign is interrupted a moment later. A batch
/// system that cancels a job signals all its processes, and those of the run may end first.
fn unless_interrupted(ended: RunEnded, interrupted: &AtomicBool) -> Option<RunEnded> {
    if ended.run.verdict == RunVerdict::Failed {
        sleep_unless(interrupted, Instant::now(), SIGNAL_LAG);
        return (!interrupted.load(Ordering::Acquire)).then_some(ended);
    }
    Some(ended)
}

/// Executes the job in a file; this is the work of [`SUBCOMMAND`].
///
/// # Errors
/// If the job cannot be read, or its result cannot be written.
pub fn execute(order: &Path) -> Result<(), CampaignError> {
    let text = file("read", order, fs::read(order))?;
    let job: Job = file("read", order, serde_json::from_slice(&text).map_err(io::Error::from))?;
    file("write the result of", order, crate::run::execute(&job))
}

/// Returns the factors with only those levels that occur in the cells.
fn factors_of(factors: &[Factor], cells: &[Cell]) -> Vec<Factor> {
    let used =
        |factor: &Factor, level: &str| cells.iter().any(|cell| cell.level(&factor.name) == Some(level));
    let with_levels_used = |factor: &Factor| Factor {
        levels: factor.levels.iter().filter(|level| used(factor, level)).cloned().collect(),
        ..factor.clone()
    };
    factors.iter().map(with_levels_used).collect()
}

/// Converts an error about a file into one of this module.
fn file<T>(doing: &'static str, path: &Path, result: io::Result<T>) -> Result<T, CampaignError> {
    result.map_err(|source| CampaignError::File { doing, path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
