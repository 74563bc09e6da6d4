//! `lasthop report RUN`: writes the report of a campaign, or of one run of `lasthop link`, as one
//! HTML file.

use crate::failure::Failure;
use crate::outputs;
use clap::Args;
use report::{Page, PageOptions, html};
use std::path::{Path, PathBuf};

/// Arguments of `lasthop report`.
#[derive(Debug, Args)]
#[command(after_help = "\
The report is one file that needs no network. It has figures, tables and tests, and shows published
results beside them. Each figure can be saved as SVG; `scripts/results/figures RUN DIR` in the
repository saves all of them.

Examples:
  lasthop report runs/umts/20261121T130000-7
  lasthop report x.json -o x.html        (after lasthop link --json x.json --capture x.pcapng --events x.parquet)")]
pub struct ReportArguments {
    /// Run directory of a campaign, or summary of `lasthop link --json`, or directory with one
    pub run: PathBuf,
    /// File to write [default: report.html in the run directory, FILE.html for FILE.json]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show overloaded runs in figures by default; a switch in the report changes it
    #[arg(long)]
    pub overloaded: bool,
}

/// Writes the report and prints its path.
pub fn run(arguments: &ReportArguments) -> Result<i32, Failure> {
    let output = arguments.output.clone().unwrap_or_else(|| beside(&arguments.run));
    let directory = report::open(&arguments.run)?;
    outputs::check([Some(&output)])?;
    let options = PageOptions { overloaded: arguments.overloaded, ..PageOptions::default() };
    write(&Page::of(&directory, options), &output)?;
    Ok(0)
}

/// Writes a page and prints its path.
pub fn write(page: &Page, output: &Path) -> Result<(), Failure> {
    html::write(page, output).map_err(|error| format!("cannot write {}: {error}", output.display()))?;
    anstream::println!("{}", output.display());
    Ok(())
}

/// Returns the default path of the report of `run`.
fn beside(run: &Path) -> PathBuf {
    if run.is_dir() { run.join("report.html") } else { run.with_extension("html") }
}
