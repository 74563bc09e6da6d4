//! `lasthop run`: runs a campaign from a plan.

mod arguments;
mod progress;
pub mod summary;

pub use arguments::RunArguments;

use crate::clock::{Clock, GuestKernel, guest_kernel, processors};
use crate::failure::Failure;
use experiment::campaign::{Asked, Campaign, Capacity, Guests, RunEnvironment};
use experiment::plan::{Plan, file::PlanFile};
use progress::Bar;
use report::{Page, PageOptions, html};
use results::{Besides, Directory, RunVerdict};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Exit status if some runs failed.
const SOME_FAILED: i32 = 1;
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
    let mut campaign = campaign(arguments, kernel.as_ref())?;
    let left = campaign.left();
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
    let directory = campaign.directory().to_owned();
    let manifest = campaign.manifest();
    if !arguments.quiet {
        let (cells, repetitions) = (manifest.cells.len(), manifest.repetitions);
        anstream::eprintln!("lasthop: {}: {}", manifest.plan.name, manifest.plan.title);
        anstream::eprintln!(
            "lasthop: {cells} cells × {repetitions} repetitions, {} runs to do, seed {}, in {}",
            left.len(),
            manifest.seed,
            directory.display()
        );
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let mut bar = Bar::new(left.len(), clock == Clock::Virtual, arguments.quiet);
    let complete = campaign.run(&place, capacity, &interrupted, &mut |progress| bar.tell(&progress))?;
    bar.finish();
    let directory = Directory::open(&directory)?;
    let table = results::table::write(&directory)?;
    results::loss_table::write(&directory)?;
    let report = directory.path.join("report.html");
    let page =
        Page::of(&directory, PageOptions { overloaded: arguments.overloaded, ..PageOptions::default() });
    html::write(&page, &report).map_err(|error| format!("cannot write {}: {error}", report.display()))?;
    let besides = Besides { overloaded: arguments.overloaded, dropped_calls: arguments.dropped_calls };
    summary::print(&directory, directory.measured(), besides, arguments.json)?;
    if !arguments.quiet {
        anstream::eprintln!("lasthop: rows: {}", table.display());
        anstream::eprintln!("lasthop: report: {}", report.display());
    }
    if !complete {
        anstream::eprintln!(
            "lasthop: interrupted: resume with `lasthop run --resume {}`",
            directory.path.display()
        );
        return Ok(INTERRUPTED);
    }
    let failed = directory.manifest.runs.iter().any(|run| run.verdict == RunVerdict::Failed);
    Ok(if failed { SOME_FAILED } else { 0 })
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
    let guest = kernel.map(|kernel| (kernel.release.clone(), kernel.about.clone()));
    if let Some(directory) = &arguments.resume {
        return Ok(Campaign::resume(directory, guest.as_ref())?);
    }
    let plan = read_plan(arguments)?;
    let asked = Asked {
        only: arguments.only.clone(),
        repetitions: arguments.repetitions,
        seed: arguments.seed,
        out: arguments.out.clone(),
        guest,
    };
    Ok(Campaign::create(plan, &asked)?)
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
    anstream::eprintln!(
        "{} cells, {} repetitions each",
        cells.len(),
        arguments.repetitions.unwrap_or(plan.repetitions)
    );
    Ok(0)
}
