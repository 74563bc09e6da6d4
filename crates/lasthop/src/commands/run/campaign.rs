//! Running a campaign step by step, as `lasthop gate` does.

use super::progress::Bar;
use crate::clock::{Clock, GuestKernel, guest_kernel, processors};
use crate::commands::gate::CampaignArguments;
use crate::failure::Failure;
use experiment::campaign::{Asked, Campaign, Capacity, Guests, RunEnvironment};
use experiment::plan::Plan;
use report::{Page, PageOptions, html};
use results::{Besides, Directory};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Exit status after Ctrl-C, as in a shell.
pub const INTERRUPTED: i32 = 130;

/// Name of the report in a run directory.
const REPORT: &str = "report.html";

/// A campaign, and where its runs take place.
pub struct Prepared {
    /// The campaign.
    pub campaign: Campaign,
    place: RunEnvironment,
    capacity: Capacity,
    quiet: bool,
    interrupted: Arc<AtomicBool>,
}

impl Prepared {
    /// Creates the campaign, or opens the one to resume, and catches the signals that interrupt it.
    ///
    /// `looks` returns the numbers of repetitions at which a gate looks at the results of a new
    /// campaign; none for other campaigns. It may refuse the plan before anything is created.
    pub fn new(
        arguments: &CampaignArguments,
        looks: &dyn Fn(&Plan, Clock) -> Result<Vec<u32>, Failure>,
    ) -> Result<Self, Failure> {
        let of_guests = [
            ("--verify", arguments.verify),
            ("--guest-memory", arguments.guest_memory.is_some()),
            ("--patience", arguments.patience.is_some()),
        ];
        let begun = begun(arguments)?;
        let clock = arguments.clock.unwrap_or(begun.clock);
        if let (Clock::Real, Some((option, _))) = (clock, of_guests.iter().find(|(_, given)| *given)) {
            return Err(format!("{option} needs --clock virtual").into());
        }
        let kernel = match clock {
            Clock::Real => None,
            Clock::Virtual => {
                let memory = arguments.guest_memory.or(begun.guest_memory);
                Some(guest_kernel(memory, arguments.verify || begun.verify)?)
            }
        };
        let campaign = campaign(arguments, kernel.as_ref(), &|plan| looks(plan, clock))?;
        let processors = processors();
        let (place, capacity) = match kernel {
            None => (RunEnvironment::Host, Capacity::of(processors.len())),
            Some(kernel) => {
                let capacity = Capacity::runs(processors.len());
                let mut guests = Guests::new(kernel.path, kernel.about, processors);
                if let Some(seconds) = arguments.patience {
                    guests.patience = Duration::from_secs(seconds);
                }
                (RunEnvironment::Guests(guests), capacity)
            }
        };
        let capacity = arguments.jobs.map_or(capacity, Capacity::runs);
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
        }
        Ok(Self { campaign, place, capacity, quiet: arguments.quiet, interrupted })
    }

    /// Says what is going to run.
    pub fn announce(&self) {
        if !self.quiet {
            let manifest = self.campaign.manifest();
            let (cells, repetitions) = (manifest.cells.len(), manifest.repetitions);
            anstream::eprintln!("lasthop: {}: {}", manifest.plan.name, manifest.plan.title);
            anstream::eprintln!(
                "lasthop: {cells} cells × {repetitions} repetitions, {} runs to do, seed {}, in {}",
                self.campaign.left().len(),
                manifest.seed,
                self.campaign.directory().display()
            );
        }
    }

    /// Runs what is left and shows the progress. Returns whether all runs have ended, rather than
    /// being interrupted.
    pub fn run(&mut self) -> Result<bool, Failure> {
        let is_virtual = matches!(self.place, RunEnvironment::Guests(_));
        let mut bar = Bar::new(self.campaign.left().len(), is_virtual, self.quiet);
        let tell = &mut |progress: experiment::campaign::Progress<'_>| bar.tell(&progress);
        let complete = self.campaign.run(&self.place, self.capacity, &self.interrupted, tell)?;
        bar.finish();
        Ok(complete)
    }
}

/// Writes what a campaign leaves besides its runs: the tables and the report.
///
/// Returns the run directory with all its runs.
pub fn conclude(directory: &Path, besides: Besides) -> Result<Directory, Failure> {
    let directory = Directory::open(directory)?;
    results::table::write(&directory)?;
    results::loss_table::write(&directory)?;
    let report = directory.path.join(REPORT);
    let options = PageOptions { overloaded: besides.overloaded, ..PageOptions::default() };
    html::write(&Page::of(&directory, options), &report)
        .map_err(|error| format!("cannot write {}: {error}", report.display()))?;
    Ok(directory)
}

/// Says where the tables and the report are.
pub fn say_files(directory: &Directory) {
    anstream::eprintln!("lasthop: rows: {}", directory.path.join(results::table::FILE).display());
    anstream::eprintln!("lasthop: report: {}", directory.path.join(REPORT).display());
}

/// Settings with which a campaign began and which another process needs to resume it.
#[derive(Default)]
struct Begun {
    clock: Clock,
    guest_memory: Option<u32>,
    verify: bool,
}

/// Returns the settings of the campaign to resume, or defaults for a new campaign.
fn begun(arguments: &CampaignArguments) -> Result<Begun, Failure> {
    let Some(directory) = &arguments.resume else { return Ok(Begun::default()) };
    Ok(match Directory::open(directory)?.manifest.guest {
        None => Begun::default(),
        Some(guest) => {
            Begun { clock: Clock::Virtual, guest_memory: Some(guest.memory_mib), verify: guest.verified }
        }
    })
}

/// Creates a new campaign, or opens the one to resume.
fn campaign(
    arguments: &CampaignArguments,
    kernel: Option<&GuestKernel>,
    looks: &dyn Fn(&Plan) -> Result<Vec<u32>, Failure>,
) -> Result<Campaign, Failure> {
    let guest = kernel.map(|kernel| (kernel.release.clone(), kernel.about.clone()));
    if let Some(directory) = &arguments.resume {
        return Ok(Campaign::resume(directory, guest.as_ref())?);
    }
    let plan = read_plan(arguments.plan.as_ref())?;
    let asked = Asked {
        only: arguments.only.clone(),
        repetitions: arguments.repetitions,
        seed: arguments.seed,
        out: arguments.out.clone(),
        guest,
        shard: None,
        looks: looks(&plan)?,
    };
    Ok(Campaign::create(plan, &asked)?)
}

/// Reads a plan.
pub fn read_plan(file: Option<&PathBuf>) -> Result<Plan, Failure> {
    let Some(file) = file else { return Err("no plan given: expected PLAN.toml".into()) };
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(Plan::parse(&file.to_string_lossy(), &text)?)
}
