//! Running a campaign: what `lasthop run` and `lasthop gate` have in common.

use super::arguments::CampaignArguments;
use super::progress::Bar;
use crate::clock::{Clock, GuestKernel, guest_kernel, processors};
use crate::failure::Failure;
use crate::library::PRELOAD;
use experiment::campaign::{Asked, Campaign, Capacity, Guests, RunEnvironment};
use experiment::plan::Plan;
use results::Directory;
use results::statistics::Looks;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Exit status after Ctrl-C, as in a shell.
pub const INTERRUPTED: i32 = 130;

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
    /// `add` adds to the options of a new campaign what only one of the commands has. It may refuse
    /// the plan before anything is created.
    pub fn new(
        arguments: &CampaignArguments,
        add: &dyn Fn(&Plan, Clock, &mut Asked) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let kernel = kernel(arguments)?;
        let campaign = campaign(arguments, kernel.as_ref(), add)?;
        let (place, capacity) = place(arguments, kernel);
        Ok(Self { campaign, place, capacity, quiet: arguments.quiet, interrupted: interrupted()? })
    }

    /// Says what is going to run.
    pub fn announce(&self) {
        if !self.quiet {
            let manifest = self.campaign.manifest();
            let cells = manifest.cells.len();
            let repetitions = match (&manifest.precision, &manifest.looks[..]) {
                (Some(_), [first, .., last]) => format!("{first} to {last}"),
                _ => manifest.repetitions.to_string(),
            };
            let part = manifest.shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
            anstream::eprintln!("lasthop: {}: {}", manifest.plan.name, manifest.plan.title);
            anstream::eprintln!(
                "lasthop: {cells} cells × {repetitions} repetitions{part}, {} runs to do, seed {}, in {}",
                self.campaign.left().len(),
                manifest.seed,
                self.campaign.directory().display()
            );
        }
    }

    /// Runs the campaign look by look: at each, the cells that are `open` are repeated up to its
    /// number of repetitions; all cells at the first one. It ends when none is open, or after the
    /// last look. Returns whether it was not interrupted.
    ///
    /// `open` is computed from the run directory. `what` says what open cells are not yet.
    pub fn run_looks(
        &mut self,
        looks: &Looks,
        what: &str,
        open: &dyn Fn(&Directory) -> Result<BTreeSet<u32>, Failure>,
    ) -> Result<bool, Failure> {
        let path = self.campaign.directory().to_owned();
        let mut cells: BTreeSet<u32> =
            self.campaign.manifest().cells.iter().map(|cell| cell.number).collect();
        for (number, repetitions) in looks.repetitions().iter().enumerate() {
            if number > 0 {
                cells = open(&Directory::open(&path)?)?;
            }
            if cells.is_empty() {
                break;
            }
            let count = cells.len();
            self.campaign.extend(cells.clone(), *repetitions)?;
            match number {
                0 => self.announce(),
                _ if !self.quiet && !self.campaign.left().is_empty() => anstream::eprintln!(
                    "lasthop: {count} cells are not {what}: {} more runs, up to {repetitions} repetitions",
                    self.campaign.left().len()
                ),
                _ => {}
            }
            if !self.run()? {
                return Ok(false);
            }
        }
        Ok(true)
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

/// Returns the flag that Ctrl-C and requests to end set.
pub fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Returns the kernel of the virtual clock; `None` if the runs have the real clock.
pub fn kernel(arguments: &CampaignArguments) -> Result<Option<GuestKernel>, Failure> {
    let of_guests = [
        ("--verify", arguments.verify),
        ("--guest-memory", arguments.guest_memory.is_some()),
        ("--patience", arguments.patience.is_some()),
    ];
    let begun = begun(arguments)?;
    match arguments.clock.unwrap_or(begun.clock) {
        Clock::Real => match of_guests.iter().find(|(_, given)| *given) {
            Some((option, _)) => Err(format!("{option} needs --clock virtual").into()),
            None => Ok(None),
        },
        Clock::Virtual => {
            let memory = arguments.guest_memory.or(begun.guest_memory);
            guest_kernel(memory, arguments.verify || begun.verify).map(Some)
        }
    }
}

/// Returns where runs take place, and how many at a time.
pub fn place(arguments: &CampaignArguments, kernel: Option<GuestKernel>) -> (RunEnvironment, Capacity) {
    let processors = processors();
    let (place, capacity) = match kernel {
        None => (RunEnvironment::Host, Capacity::of(processors.len())),
        Some(kernel) => {
            let capacity = Capacity::runs(processors.len());
            let mut guests = Guests::new(kernel.path, kernel.library, kernel.about, processors);
            if let Some(seconds) = arguments.patience {
                guests.patience = Duration::from_secs(seconds);
            }
            (RunEnvironment::Guests(Box::new(guests)), capacity)
        }
    };
    (place, arguments.jobs.map_or(capacity, Capacity::runs))
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
    add: &dyn Fn(&Plan, Clock, &mut Asked) -> Result<(), Failure>,
) -> Result<Campaign, Failure> {
    let mut asked = asked(arguments, kernel);
    // Without it, programs are intercepted by seccomp (static binary), or a run says what is
    // missing.
    let preload = PRELOAD.find().ok();
    if let Some(directory) = &arguments.resume {
        return Ok(Campaign::resume(directory, asked.guest.as_ref())?.with_preload(preload));
    }
    let plan = read_plan(arguments.plan.as_ref())?;
    add(&plan, if kernel.is_some() { Clock::Virtual } else { Clock::Real }, &mut asked)?;
    Ok(Campaign::create(plan, &asked)?.with_preload(preload))
}

/// Returns the options of a new campaign that all commands have.
pub fn asked(arguments: &CampaignArguments, kernel: Option<&GuestKernel>) -> Asked {
    Asked {
        only: arguments.only.clone(),
        repetitions: arguments.repetitions,
        seed: arguments.seed,
        out: arguments.out.clone(),
        guest: kernel.map(|kernel| (kernel.release.clone(), kernel.about.clone())),
        ..Asked::default()
    }
}

/// Reads a plan.
pub fn read_plan(file: Option<&PathBuf>) -> Result<Plan, Failure> {
    let Some(file) = file else { return Err("no plan given: expected PLAN.toml".into()) };
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(Plan::parse(&file.to_string_lossy(), &text)?)
}
