//! `lasthop report RUN`: writes the report of a campaign, or of one run of `lasthop link`, as one
//! HTML file, or prints its figures as JSON.

use crate::commands::run::summary;
use crate::failure::Failure;
use crate::outputs;
use clap::Args;
use report::{Page, PageOptions, html};
use results::{Besides, Directory, Metric};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `lasthop report`.
#[derive(Debug, Args)]
#[command(after_help = "\
The report is one file that needs no network. It has figures, tables and tests, and shows published
results beside them. Each figure can be saved as SVG; `scripts/results/figures RUN DIR` in the
repository saves all of them.

Examples:
  lasthop report runs/umts/20261121T130000-7
  lasthop report runs/umts/20261121T130000-7 --json | jq '.cells[0].goodput.mean'
  lasthop report runs/umts/20261121T130000-7 --json --confidence 0.99
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
    /// Write no report: print the summary of `lasthop run --json`, and the metrics of each run, as
    /// one JSON object
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    /// With --json: workload to compute figures of [default: the campaign's]
    #[arg(long, value_name = "NAME", requires = "json")]
    pub workload: Option<String>,
    /// With --json: confidence of the intervals of means
    #[arg(long, value_name = "SHARE", requires = "json", default_value_t = 0.95, value_parser = confidence)]
    pub confidence: f64,
    /// With --json: include runs with a dropped call in the summary
    #[arg(long, requires = "json")]
    pub dropped_calls: bool,
}

/// Parses a confidence.
fn confidence(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| (0.5..=0.9999).contains(value));
    value.ok_or_else(|| "expected a number from 0.5 to 0.9999, such as 0.99".to_owned())
}

/// Writes the report and prints its path.
pub fn run(arguments: &ReportArguments) -> Result<i32, Failure> {
    let directory = report::open(&arguments.run)?;
    if arguments.json {
        anstream::println!("{}", figures(&directory, arguments)?);
        return Ok(0);
    }
    let output = arguments.output.clone().unwrap_or_else(|| beside(&arguments.run));
    outputs::check([Some(&output)])?;
    let options = PageOptions { overloaded: arguments.overloaded, ..PageOptions::default() };
    write(&Page::of(&directory, options), &output)?;
    Ok(0)
}

/// Returns the summary of a campaign, with the metrics of each run under `runs`, whatever its
/// verdict. A metric without a value in a run is null there.
fn figures(directory: &Directory, arguments: &ReportArguments) -> Result<Value, Failure> {
    let workload = match arguments.workload.as_deref() {
        None => directory.measured(),
        Some(name) => *directory.workloads().iter().find(|known| **known == name).ok_or_else(|| {
            let known = directory.workloads().join(", ");
            format!("--workload {name}: the campaign has no such workload; it has {known}")
        })?,
    };
    let besides = Besides { overloaded: arguments.overloaded, dropped_calls: arguments.dropped_calls };
    let mut object = summary::json(directory, workload, besides, arguments.confidence);
    let known = Metric::of_workload(directory, workload);
    let runs = directory.runs().map(|(run, connections)| {
        let metrics = known.iter().map(|metric| {
            (
                metric.name().to_owned(),
                metric.of_run(run, connections, workload).map_or(Value::Null, Value::from),
            )
        });
        json!({
            "cell": run.cell,
            "repetition": run.repetition,
            "verdict": run.verdict,
            "metrics": metrics.collect::<Map<_, _>>(),
        })
    });
    object["runs"] = runs.collect();
    object["units"] = known
        .iter()
        .map(|metric| (metric.name().to_owned(), metric.unit().into()))
        .collect::<Map<_, _>>()
        .into();
    Ok(object)
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
