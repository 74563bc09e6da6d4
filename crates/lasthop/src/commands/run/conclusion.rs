//! The end of a campaign: its tables, its report and its summary.

use super::estimate::human;
use super::summary;
use crate::failure::Failure;
use report::{Page, PageOptions, html};
use results::{Besides, Clock, Directory, RunVerdict};

/// Exit status if some runs failed.
const SOME_FAILED: i32 = 1;

/// What is shown at the end of a campaign.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// Runs that count in addition to good ones.
    pub besides: Besides,
    /// Whether the summary is JSON.
    pub json: bool,
    /// Whether nothing but the summary is printed.
    pub quiet: bool,
}

/// Name of the report in a run directory.
const REPORT: &str = "report.html";

/// Writes tables and report into the run directory. Runs of `besides` count in addition to good
/// ones.
pub fn write(directory: &Directory, besides: Besides) -> Result<(), Failure> {
    results::table::write(directory)?;
    results::loss_table::write(directory)?;
    results::points::write(directory)?;
    results::series::write(directory).map_err(|error| {
        format!("cannot write {}: {error}", directory.path.join(results::series::FILE).display())
    })?;
    let report = directory.path.join(REPORT);
    let options = PageOptions { overloaded: besides.overloaded, ..PageOptions::default() };
    html::write(&Page::of(directory, options), &report)
        .map_err(|error| format!("cannot write {}: {error}", report.display()))?;
    Ok(())
}

/// Prints the summary, and where the results are.
pub fn tell(directory: &Directory, shown: Shown) -> Result<(), Failure> {
    summary::print(directory, directory.measured(), shown.besides, shown.json)?;
    if !shown.quiet {
        if let Some(took) = took(directory) {
            anstream::eprintln!("lasthop: {took}");
        }
        say_files(directory);
    }
    Ok(())
}

/// Prints where the tables and the report are.
pub fn say_files(directory: &Directory) {
    anstream::eprintln!("lasthop: rows: {}", directory.path.join(results::table::FILE).display());
    anstream::eprintln!("lasthop: report: {}", directory.path.join(REPORT).display());
}

/// Returns the exit status of a complete campaign.
pub fn status(directory: &Directory) -> i32 {
    let failed = directory.manifest.runs.iter().any(|run| run.verdict == RunVerdict::Failed);
    if failed { SOME_FAILED } else { 0 }
}

/// Says how much virtual time passed in how much time of processors; `None` by the real clock.
///
/// The report of a campaign by the virtual clock does not have the host's times.
fn took(directory: &Directory) -> Option<String> {
    let runs = &directory.manifest.runs;
    if directory.manifest.clock != Some(Clock::Virtual) || runs.is_empty() {
        return None;
    }
    let sum = |of: fn(&results::RunRecord) -> f64| human(runs.iter().map(of).sum());
    let (passed, took) = (sum(|run| run.seconds), sum(|run| run.wall_seconds));
    Some(format!("{passed} of virtual time took {took} of one processor"))
}
