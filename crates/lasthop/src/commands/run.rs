//! `lasthop run`: runs a campaign from a plan.

mod arguments;
pub mod campaign;
pub mod conclusion;
mod estimate;
mod precision;
mod progress;
mod slurm;
pub mod summary;

pub use arguments::{CampaignArguments, RunArguments};

use crate::clock::{GuestKernel, processors};
use crate::failure::Failure;
use campaign::{INTERRUPTED, Prepared, interrupted, kernel, place};
use conclusion::Shown;
use estimate::Estimate;
use experiment::campaign::Asked;
use experiment::plan::{Plan, file::PlanFile};
use precision::Rule;
use results::{Cell, Directory};

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
    if arguments.slurm {
        if let Some(directory) = &arguments.campaign.resume {
            return slurm::resume(directory, shown(arguments));
        }
        let plan = read_plan(arguments)?;
        Rule::of(arguments, &plan, &selected(arguments, &plan)?)?;
        return slurm::run(arguments, kernel(&arguments.campaign)?);
    }
    if arguments.estimate {
        return estimate(arguments, kernel(&arguments.campaign)?);
    }
    if arguments.campaign.plan.is_none() && arguments.campaign.resume.is_none() {
        return Err(NO_PLAN.into());
    }
    let mut prepared = Prepared::new(&arguments.campaign, &|plan, _, asked| {
        asked.shard = arguments.shard;
        if let Some(rule) = Rule::of(arguments, plan, &selected(arguments, plan)?)? {
            rule.ask(asked);
        }
        Ok(())
    })?;
    let complete = precision::run(&mut prepared, arguments.campaign.besides())?;
    let directory = Directory::open(prepared.campaign.directory())?;
    let shown = shown(arguments);
    conclusion::write(&directory, shown.besides)?;
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

const NO_PLAN: &str = "no plan given: use `lasthop run PLAN.toml`";

/// Returns what is shown at the end of the campaign.
fn shown(arguments: &RunArguments) -> Shown {
    let RunArguments { campaign, json, .. } = arguments;
    Shown { besides: campaign.besides(), json: *json, quiet: campaign.quiet }
}

/// Returns the options of a new campaign.
fn asked(arguments: &RunArguments, kernel: Option<&GuestKernel>) -> Asked {
    Asked { shard: arguments.shard, ..campaign::asked(&arguments.campaign, kernel) }
}

fn read_plan(arguments: &RunArguments) -> Result<Plan, Failure> {
    match &arguments.campaign.plan {
        Some(_) => campaign::read_plan(arguments.campaign.plan.as_ref()),
        None => Err(NO_PLAN.into()),
    }
}

/// Prints what a plan would run.
fn list(arguments: &RunArguments) -> Result<i32, Failure> {
    let plan = read_plan(arguments)?;
    let cells = selected(arguments, &plan)?;
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
    anstream::eprintln!("{}", numbers(&plan, &estimate, arguments)?);
    anstream::eprintln!("{}", estimate.words());
    Ok(0)
}

/// Returns the cells that are to be run.
fn selected(arguments: &RunArguments, plan: &Plan) -> Result<Vec<Cell>, Failure> {
    Ok(plan.cells_of(&arguments.campaign.only).map_err(|error| format!("--only {error}"))?)
}

/// Computes what the plan alone says about the selected runs.
fn bounds(arguments: &RunArguments, plan: &Plan) -> Result<Estimate, Failure> {
    let repetitions = arguments.campaign.repetitions.unwrap_or(plan.repetitions);
    Estimate::of(plan, selected(arguments, plan)?, repetitions, arguments.shard)
}

/// Describes the number of cells, repetitions and runs.
fn numbers(plan: &Plan, estimate: &Estimate, arguments: &RunArguments) -> Result<String, Failure> {
    let repetitions = arguments.campaign.repetitions.unwrap_or(plan.repetitions);
    let part = arguments.shard.map_or_else(String::new, |shard| format!(", shard {shard}"));
    let (cells, runs) = (estimate.cells(), estimate.runs());
    Ok(match Rule::of(arguments, plan, &selected(arguments, plan)?)? {
        None => format!("{cells} cells × {repetitions} repetitions{part}: {runs} runs"),
        Some(Rule { precision, looks }) => format!(
            "{cells} cells × {repetitions} to {} repetitions, until {}: at least {runs} runs, for which the times are",
            looks.last(),
            precision.in_words()
        ),
    })
}

/// Prints what the campaign would take: what the plan says, and by the virtual clock what a pilot
/// measures.
fn estimate(arguments: &RunArguments, kernel: Option<GuestKernel>) -> Result<i32, Failure> {
    let plan = read_plan(arguments)?;
    let estimate = bounds(arguments, &plan)?;
    anstream::println!("{}", numbers(&plan, &estimate, arguments)?);
    anstream::println!("{}", estimate.words());
    if kernel.is_none() {
        anstream::println!(
            "time of processors: by the real clock a run takes as long as its links; as many run at a time as do not disturb each other"
        );
        return Ok(0);
    }
    let asked = asked(arguments, kernel.as_ref());
    let interrupted = interrupted()?;
    let place = place(&arguments.campaign, kernel);
    match estimate.measure(&plan, &asked, (&place.0, place.1), &interrupted)? {
        Some(pilot) => anstream::println!("{}", estimate.measured_words(&pilot, processors().len())),
        None => return Ok(INTERRUPTED),
    }
    Ok(0)
}
