//! Summary of a campaign: a text table, or one JSON object.

mod factorial;
mod precision;

use crate::failure::Failure;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use link::units::BitRate;
use results::expectation;
use results::metric::{Metric, values_by_cell};
use results::statistics::{self, Bootstrap, Distribution, Estimator, Interval};
use results::{Besides, Cell, Directory, Protocol, RunVerdict};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

const VERDICTS: [RunVerdict; 4] =
    [RunVerdict::Good, RunVerdict::Overloaded, RunVerdict::DroppedCall, RunVerdict::Failed];

/// Shown instead of a figure for which there are too few runs.
const TOO_FEW: &str = "n too small";

/// The values of all runs by cell, from one pass for each metric: a campaign may have a million.
struct CellValues {
    /// In the order of the output.
    known: Vec<Metric>,
    metrics: HashMap<&'static str, HashMap<u32, Vec<f64>>>,
    /// Number of runs of a cell with a verdict.
    verdicts: HashMap<(u32, RunVerdict), usize>,
}

impl CellValues {
    /// Collects the values of the workload `measure`.
    fn of(directory: &Directory, measure: &str, besides: Besides) -> Self {
        let of = |metric: Metric| (metric.name(), values_by_cell(directory, metric, measure, besides));
        let mut verdicts = HashMap::new();
        for run in &directory.manifest.runs {
            *verdicts.entry((run.cell, run.verdict)).or_default() += 1;
        }
        let known = Metric::of_workload(directory, measure);
        Self { metrics: known.iter().copied().map(of).collect(), known, verdicts }
    }
}

/// The figures of one cell.
struct Figures<'a> {
    all: &'a CellValues,
    cell: &'a Cell,
    besides: Besides,
}

impl Figures<'_> {
    fn values(&self, metric: Metric) -> &[f64] {
        self.all.metrics[metric.name()].get(&self.cell.number).map_or(&[], Vec::as_slice)
    }

    /// Adds the number of runs to `figure`, if not all counted runs have a value. A run of a
    /// command has a goodput only with a capture.
    fn with_runs(&self, figure: String, values: usize) -> String {
        let counting: usize = VERDICTS
            .iter()
            .filter(|verdict| self.besides.counts(**verdict))
            .map(|&verdict| self.count(verdict))
            .sum();
        if values == 0 || values == counting {
            figure
        } else {
            format!("{figure} ({values} of {counting} runs)")
        }
    }

    fn count(&self, verdict: RunVerdict) -> usize {
        self.all.verdicts.get(&(self.cell.number, verdict)).copied().unwrap_or_default()
    }

    fn ended(&self) -> usize {
        VERDICTS.iter().map(|&verdict| self.count(verdict)).sum()
    }

    fn json(&self, confidence: f64) -> Value {
        let levels: Map<_, _> =
            self.cell.levels.iter().map(|level| (level.factor.clone(), level.level.clone().into())).collect();
        let mut object = json!({
            "cell": self.cell.number,
            "levels": levels,
            "repetitions": self.ended(),
            "failed": self.count(RunVerdict::Failed),
            "overloaded": self.count(RunVerdict::Overloaded),
            "dropped_calls": self.count(RunVerdict::DroppedCall),
        });
        for &metric in &self.all.known {
            object[metric.name()] = distribution(self.values(metric), confidence);
        }
        object
    }
}

/// Confidence of intervals that nobody chose.
const CONFIDENCE: f64 = 0.95;

/// Returns the confidence interval of the mean.
fn interval(values: &[f64], confidence: f64) -> Option<Interval> {
    // A separate random stream, so that the same values always give the same interval.
    let bootstrap = Bootstrap { confidence, ..Bootstrap::default() };
    bootstrap.interval(values, Estimator::Mean, &mut statistics::stream(0))
}

fn distribution(values: &[f64], confidence: f64) -> Value {
    let Some(all) = Distribution::of(values) else { return Value::Null };
    let Distribution { count, min, q1, median, q3, max, mean, .. } = all;
    let interval = interval(values, confidence).map(|interval| [interval.low, interval.high]);
    json!({
        "count": count, "median": median, "mean": mean, "q1": q1, "q3": q3, "min": min, "max": max,
        "interval": interval,
    })
}

/// Returns the object of `--json`, with intervals of this confidence.
pub fn json(directory: &Directory, measure: &str, besides: Besides, confidence: f64) -> Value {
    let all = &CellValues::of(directory, measure, besides);
    let cells = directory.manifest.cells.iter();
    let cells: Vec<_> = cells.map(|cell| Figures { all, cell, besides }.json(confidence)).collect();
    let mut object = json!({
        "run_directory": directory.path,
        "workload": measure,
        "cells": cells,
        "expectations": expectations(directory),
        "factorial": factorial::json(directory, besides),
    });
    if directory.manifest.precision.is_some() {
        object["precision"] = precision::json(directory);
    }
    if let Some(guest) = &directory.manifest.guest {
        object["verified"] = verified(directory, guest).into();
    }
    object
}

/// Returns the plan's expectations from the literature about cells that were run, with our values.
fn expectations(directory: &Directory) -> Vec<Value> {
    let all = directory.manifest.expectations.iter();
    all.filter(|expectation| expectation::concerns(directory, expectation))
        .map(|expectation| {
            let compared = expectation::compare(directory, expectation);
            json!({
                "id": expectation.id,
                "title": expectation.title,
                "source": expectation.source,
                "published": compared.published,
                "ours": compared.ours,
                "unit": compared.unit,
                "within": compared.ours.map(|_| compared.within),
                "note": compared.note,
            })
        })
        .collect()
}

/// Returns the table, a row for each cell.
pub fn table(directory: &Directory, measure: &str, besides: Besides) -> Table {
    let factors = &directory.manifest.factors;
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    // The duration of a program is known for each run; the traffic of its connections is known only
    // for runs with a capture.
    let program = directory
        .connections
        .iter()
        .flatten()
        .any(|row| row.workload == measure && row.protocol == Protocol::Program);
    let traffic =
        ["goodput, median", "mean", "95 % interval", "retransmitted", "timeouts", "rtt, median", "not good"];
    let all = &CellValues::of(directory, measure, besides);
    let reported = || all.known.iter().copied().filter(|metric| matches!(metric, Metric::Figure(_)));
    let figures: Vec<_> = reported().map(|metric| format!("{}, median", metric.title())).collect();
    let columns = ["runs"].into_iter().chain(program.then_some("time, median"));
    let columns = columns.chain(figures.iter().map(String::as_str)).chain(traffic);
    table.set_header(factors.iter().map(|factor| factor.name.as_str()).chain(columns));
    for cell in &directory.manifest.cells {
        let figures = Figures { all, cell, besides };
        let goodput = figures.values(Metric::Goodput);
        let median = |metric: Metric, unit: &str, digits: usize| {
            Distribution::of(figures.values(metric)).map_or_else(
                || "-".to_owned(),
                |all| figures.with_runs(format!("{:.digits$}{unit}", all.median), all.count),
            )
        };
        let distribution = Distribution::of(goodput);
        let mut row: Vec<String> = cell.levels.iter().map(|level| level.level.clone()).collect();
        row.push(figures.ended().to_string());
        row.extend(program.then(|| median(Metric::Completion, " s", 3)));
        row.extend(
            reported().map(|metric| median(metric, &format!(" {}", metric.unit()), 3).trim_end().to_owned()),
        );
        row.extend([
            figures.with_runs(rate(distribution.map(|all| all.median)), goodput.len()),
            rate(distribution.map(|all| all.mean)),
            match interval(goodput, CONFIDENCE) {
                Some(interval) => format!("{} … {}", rate(Some(interval.low)), rate(Some(interval.high))),
                None if goodput.is_empty() => "-".to_owned(),
                None => TOO_FEW.to_owned(),
            },
            median(Metric::RetransmissionRate, " %", 2),
            median(Metric::Timeouts, "", 0),
            median(Metric::Rtt, " ms", 1),
            bad(&figures),
        ]);
        table.add_row(row);
    }
    for column in table.column_iter_mut().skip(factors.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn bad(figures: &Figures<'_>) -> String {
    let parts = [
        (RunVerdict::Failed, "failed"),
        (RunVerdict::DroppedCall, "dropped"),
        (RunVerdict::Overloaded, "overloaded"),
    ];
    let parts = parts.map(|(verdict, word)| (figures.count(verdict), word));
    let said: Vec<_> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}")).collect();
    if said.is_empty() { "-".to_owned() } else { said.join(", ") }
}

/// Formats a rate with three significant digits.
fn rate(bits: Option<f64>) -> String {
    let Some(bits) = bits.filter(|bits| bits.is_finite()) else { return "-".to_owned() };
    let bits = bits.round().max(0.0) as u64;
    let digits = 10_u64.pow(bits.max(1).ilog10().saturating_sub(2));
    BitRate::from_bits_per_second(bits / digits * digits).map_or("0bit".to_owned(), |rate| rate.to_string())
}

/// Compares the plan's expectations from the literature with our values, for the cells that were
/// run. Returns the table, and the number of expectations about other cells; `None` if no
/// expectation applies.
fn comparison(directory: &Directory) -> Option<(Table, usize)> {
    let (expectations, others): (Vec<_>, Vec<_>) = directory
        .manifest
        .expectations
        .iter()
        .partition(|expectation| expectation::concerns(directory, expectation));
    if expectations.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["id", "what", "published", "ours", "within"]);
    for expectation in expectations {
        let compared = expectation::compare(directory, expectation);
        let range = |low: f64, high: f64| match low.total_cmp(&high) {
            std::cmp::Ordering::Equal => format!("{} {}", digits(low), compared.unit),
            _ => format!("{} … {} {}", digits(low), digits(high), compared.unit),
        };
        let ours = match compared.ours {
            Some(ours) => range(ours.low, ours.high),
            None if compared.note.contains(TOO_FEW) => TOO_FEW.to_owned(),
            None => "-".to_owned(),
        };
        let within = compared.ours.map_or("-", |_| if compared.within { "yes" } else { "no" });
        table.add_row([
            expectation.id.clone(),
            expectation.title.clone(),
            range(expectation.low, expectation.high),
            ours,
            within.to_owned(),
        ]);
    }
    Some((table, others.len()))
}

/// Formats a value with three significant digits.
fn digits(value: f64) -> String {
    let after = if value.abs() >= 100.0 {
        0
    } else if value.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.after$}")
}

/// Prints the summary as a table or as JSON.
pub fn print(directory: &Directory, measure: &str, besides: Besides, as_json: bool) -> Result<(), Failure> {
    if as_json {
        anstream::println!("{}", serde_json::to_string(&json(directory, measure, besides, CONFIDENCE))?);
        return Ok(());
    }
    anstream::println!("{}", title(directory, measure));
    anstream::println!("{}", trimmed(&table(directory, measure, besides)));
    if let Some(text) = precision::text(directory) {
        anstream::println!("\n{text}");
    }
    if let Some((table, others)) = comparison(directory) {
        anstream::println!("\nCompared with the literature:\n{}", trimmed(&table));
        if others > 0 {
            anstream::println!(" {others} more concern cells that were not run");
        }
    }
    let analyses = factorial::text(directory, besides);
    if !analyses.is_empty() {
        anstream::println!("\n{analyses}");
    }
    if let Some(guest) = directory.manifest.guest.as_ref().filter(|guest| guest.verified) {
        anstream::println!("{}", verification(directory, guest));
    }
    Ok(())
}

/// Returns the title: the workload of the table, and the other workloads.
fn title(directory: &Directory, measure: &str) -> String {
    let others = directory.workloads().into_iter().filter(|name| *name != measure);
    let others: Vec<_> = others
        .map(|name| format!("{name}{}", if directory.in_background(name) { " (background)" } else { "" }))
        .collect();
    let others = if others.is_empty() { String::new() } else { format!("; others: {}", others.join(", ")) };
    format!("figures of workload {measure}{others}")
}

/// Returns whether all runs were done twice with the same bytes.
fn verified(directory: &Directory, guest: &results::Guest) -> bool {
    let runs = &directory.manifest.runs;
    guest.verified && !runs.is_empty() && runs.iter().all(|run| run.verified == Some(true))
}

/// Describes the result of `--verify`.
fn verification(directory: &Directory, guest: &results::Guest) -> String {
    let runs = &directory.manifest.runs;
    if verified(directory, guest) {
        return format!("verified: each of the {} runs was done twice, and no byte differs", runs.len());
    }
    let count = |found: Option<bool>| runs.iter().filter(|run| run.verified == found).count();
    let (same, differ, unknown) = (count(Some(true)), count(Some(false)), count(None));
    format!(
        "not verified: {same} runs gave the same bytes twice, {differ} differed, {unknown} were not done twice"
    )
}

/// Returns the table without trailing blanks in its lines.
fn trimmed(table: &Table) -> String {
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n")
}
