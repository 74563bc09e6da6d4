//! `lasthop run`: runs a campaign from a plan.

mod arguments;
pub mod campaign;
pub mod conclusion;
mod estimate;
mod progress;
mod slurm;
pub mod summary;

pub use arguments::RunArguments;

use crate::clock::{Clock, GuestKernel, guest_kernel, processors};
use crate::failure::Failure;
use conclusion::Shown;
use estimate::Estimate;
use experiment::campaign::{Asked, Campaign, Capacity, Guests, RunEnvironment};
use experiment::plan::{Plan, file::PlanFile};
use progress::Bar;
use results::{Besides, Directory};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Exit status after Ctrl-C, as in a shell.
const INTERRUPTED: i32 = 130;

/// Runs the plan.
pub fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    if arguments.schema {
        let schema = schemars::schema_for!(PlanFile);
        anstream::println!("{}", serde_json::to_string_pretty(&schema)?);
        return Ok(0);
    }
    if arguments.list {
        return list(arguments);
    }
    let of_guests = [
        ("--verify", arguments.verify),
        ("--guest-memory", arguments.guest_memory.is_some()),
        ("--patience", arguments.patience.is_some()),
    ];
    if arguments.slurm
        && let Some(directory) = &arguments.resume
    {
        return slurm::resume(directory, shown(arguments));
    }
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
    if arguments.slurm {
        return slurm::run(arguments, kernel);
    }
    if arguments.estimate {
        return estimate(arguments, kernel);
    }
    let mut campaign = campaign(arguments, kernel.as_ref())?;
    let left = campaign.left();
    let (place, capacity) = place(arguments, kernel);
    let directory = campaign.directory().to_owned();
    let manifest = campaign.manifest();
    if !arguments.quiet {
        let (cells, repetitions) = (manifest.cells.len(), manifest.repetitions);
        let part = manifest.shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
        anstream::eprintln!("lasthop: {}: {}", manifest.plan.name, manifest.plan.title);
        anstream::eprintln!(
            "lasthop: {cells} cells × {repetitions} repetitions{part}, {} runs to do, seed {}, in {}",
            left.len(),
            manifest.seed,
            directory.display()
        );
    }
    let interrupted = interrupted()?;
    let mut bar = Bar::new(left.len(), clock == Clock::Virtual, arguments.quiet);
    let complete = campaign.run(&place, capacity, &interrupted, &mut |progress| bar.tell(&progress))?;
    bar.finish();
    let directory = Directory::open(&directory)?;
    let shown = shown(arguments);
    conclusion::write(&directory, shown)?;
    conclusion::tell(&directory, shown)?;
    if !complete {
        anstream::eprintln!(
            "lasthop: interrupted: resume with `lasthop run --resume {}`",
            directory.path.display()
        );
        return Ok(INTERRUPTED);
    }
    Ok(if arguments.accept_failed { 0 } else { conclusion::status(&directory) })
}

/// Returns the flag that Ctrl-C and requests to end set.
fn interrupted() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}

/// Returns where runs take place, and how many at a time.
fn place(arguments: &RunArguments, kernel: Option<GuestKernel>) -> (RunEnvironment, Capacity) {
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
    (place, arguments.jobs.map_or(capacity, Capacity::runs))
}

/// Returns what is shown at the end of the campaign.
fn shown(arguments: &RunArguments) -> Shown {
    let besides = Besides { overloaded: arguments.overloaded, dropped_calls: arguments.dropped_calls };
    Shown { besides, json: arguments.json, quiet: arguments.quiet }
}

/// Settings with which a campaign began and which another process needs to resume it.
#[derive(Default)]
struct Begun {
    clock: Clock,
    guest_memory: Option<u32>,
    verify: bool,
}

/// Returns the settings of the campaign to resume, or defaults for a new campaign.
fn begun(arguments: &RunArguments) -> Result<Begun, Failure> {
    let Some(directory) = &arguments.resume else { return Ok(Begun::default()) };
    Ok(match Directory::open(directory)?.manifest.guest {
        None => Begun::default(),
        Some(guest) => {
            Begun { clock: Clock::Virtual, guest_memory: Some(guest.memory_mib), verify: guest.verified }
        }
    })
}

/// Creates a new campaign, or opens the one to resume.
fn campaign(arguments: &RunArguments, kernel: Option<&GuestKernel>) -> Result<Campaign, Failure> {
    if let Some(directory) = &arguments.resume {
        let guest = kernel.map(|kernel| (kernel.release.clone(), kernel.about.clone()));
        return Ok(Campaign::resume(directory, guest.as_ref())?);
    }
    Ok(Campaign::create(read_plan(arguments)?, &asked(arguments, kernel))?)
}

/// Returns the options of a new campaign.
fn asked(arguments: &RunArguments, kernel: Option<&GuestKernel>) -> Asked {
    Asked {
        only: arguments.only.clone(),
        repetitions: arguments.repetitions,
        seed: arguments.seed,
        out: arguments.out.clone(),
        guest: kernel.map(|kernel| (kernel.release.clone(), kernel.about.clone())),
        shard: arguments.shard,
        looks: Vec::new(),
    }
}

fn read_plan(arguments: &RunArguments) -> Result<Plan, Failure> {
    let Some(file) = &arguments.plan else { return Err("no plan given: use `lasthop run PLAN.toml`".into()) };
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?;
    Ok(Plan::parse(&file.to_string_lossy(), &text)?)
}

/// Prints what a plan would run.
fn list(arguments: &RunArguments) -> Result<i32, Failure> {
    let plan = read_plan(arguments)?;
    let cells = plan.cells_of(&arguments.only).map_err(|error| format!("--only {error}"))?;
    for cell in &cells {
        let experiment = plan.experiment(cell, 0, 0)?;
        anstream::println!("{}", cell.label());
        for link in &experiment.scenario.links {
            let [first, second] = link.between.map(|node| experiment.scenario.nodes[node].name.as_str());
            anstream::println!("  {} {first} → {second}: {}", link.name, link.profile.up);
            anstream::println!("  {} {second} → {first}: {}", link.name, link.profile.down);
        }
    }
    let estimate = bounds(arguments, &plan)?;
    anstream::eprintln!("{}", numbers(&plan, &estimate, arguments));
    anstream::eprintln!("{}", estimate.words());
    Ok(0)
}

/// Computes what the plan alone says about the selected runs.
fn bounds(arguments: &RunArguments, plan: &Plan) -> Result<Estimate, Failure> {
    let cells = plan.cells_of(&arguments.only).map_err(|error| format!("--only {error}"))?;
    let repetitions = arguments.repetitions.unwrap_or(plan.repetitions);
    Estimate::of(plan, cells, repetitions, arguments.shard)
}

/// Describes the number of cells, repetitions and runs.
fn numbers(plan: &Plan, estimate: &Estimate, arguments: &RunArguments) -> String {
    let repetitions = arguments.repetitions.unwrap_or(plan.repetitions);
    let part = arguments.shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
    let (cells, runs) = (estimate.cells(), estimate.runs());
    format!("{cells} cells × {repetitions} repetitions{part}: {runs} runs")
}

/// Prints what the campaign would take: what the plan says, and by the virtual clock what a pilot
/// measures.
fn estimate(arguments: &RunArguments, kernel: Option<GuestKernel>) -> Result<i32, Failure> {
    let plan = read_plan(arguments)?;
    let estimate = bounds(arguments, &plan)?;
    anstream::println!("{}", numbers(&plan, &estimate, arguments));
    anstream::println!("{}", estimate.words());
    if kernel.is_none() {
        anstream::println!(
            "time of processors: by the real clock a run takes as long as its links; as many run at a time as do not disturb each other"
        );
        return Ok(0);
    }
    let asked = asked(arguments, kernel.as_ref());
    let interrupted = interrupted()?;
    let place = place(arguments, kernel);
    match estimate.measure(&plan, &asked, (&place.0, place.1), &interrupted)? {
        Some(pilot) => anstream::println!("{}", estimate.measured_words(&pilot, processors().len())),
        None => return Ok(INTERRUPTED),
    }
    Ok(0)
}
