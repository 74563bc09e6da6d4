//! `lasthop run`: runs a campaign from a plan.

mod arguments;
pub mod campaign;
mod progress;
mod summary;

pub use arguments::{CampaignArguments, RunArguments};

use crate::failure::Failure;
use campaign::{INTERRUPTED, Prepared, conclude, read_plan};
use experiment::plan::file::PlanFile;
use results::RunVerdict;

/// Exit status if some runs failed.
const SOME_FAILED: i32 = 1;

/// Runs the plan.
pub fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    if arguments.schema {
        let schema = schemars::schema_for!(PlanFile);
        anstream::println!("{}", serde_json::to_string_pretty(&schema)?);
        return Ok(0);
    }
    let asked = &arguments.campaign;
    if arguments.list {
        return list(asked);
    }
    if asked.plan.is_none() && asked.resume.is_none() {
        return Err("no plan given: use `lasthop run PLAN.toml`".into());
    }
    let mut prepared = Prepared::new(asked, &|_, _| Ok(Vec::new()))?;
    prepared.announce();
    let complete = prepared.run()?;
    let besides = asked.besides();
    let directory = conclude(prepared.campaign.directory(), besides)?;
    summary::print(&directory, directory.measured(), besides, arguments.json)?;
    if !asked.quiet {
        campaign::say_files(&directory);
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

/// Prints what a plan would run.
fn list(arguments: &CampaignArguments) -> Result<i32, Failure> {
    let plan = read_plan(arguments.plan.as_ref())?;
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
