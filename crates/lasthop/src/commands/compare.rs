//! `lasthop compare FIRST SECOND`: compares two campaigns cell by cell.

use crate::commands::report::write;
use crate::failure::Failure;
use crate::outputs;
use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use report::difference::{CellDifference, Difference, Pair, Unmatched};
use report::{Page, PageOptions, side_by_side};
use results::{Directory, Metric};
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `lasthop compare`.
#[derive(Debug, Args)]
#[command(after_help = "\
The Mann-Whitney test compares cells with equal levels; Holm's method corrects p for the number of
cells. The effect is A12 of Vargha and Delaney: the share of all pairs of runs in which the run of
SECOND has the higher value.

Exit status: 0 if at least one cell was compared, 1 if none was; without a comparison FILE is not
written.

Examples:
  lasthop compare runs/umts/20261121T130000-7 runs/umts/20261122T090000-8
  lasthop compare A B --metric timeouts --metric rtt --json
  lasthop compare A B -o both.html       (the report of both, side by side)")]
pub struct CompareArguments {
    /// Run directory of the first campaign
    pub first: PathBuf,
    /// Run directory of the second campaign
    pub second: PathBuf,
    /// Metric to compare (repeatable): goodput, completion, retransmission-rate, timeouts, rtt, …
    #[arg(short, long, value_name = "METRIC", default_value = "goodput")]
    pub metric: Vec<Metric>,
    /// Workload to compare [default: the workload that both campaigns' figures show]
    #[arg(short, long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Include overloaded runs
    #[arg(long)]
    pub overloaded: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Also write an HTML report of both campaigns
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Prints the comparison, and writes the report of both if asked to.
pub fn run(arguments: &CompareArguments) -> Result<i32, Failure> {
    outputs::check([arguments.output.as_ref()])?;
    let (first, second) = (report::open(&arguments.first)?, report::open(&arguments.second)?);
    let names = side_by_side::names(&arguments.first, &arguments.second);
    let pair = Pair { first: &first, second: &second, names: &names };
    let workload = pair.workload(arguments.workload.as_deref())?;
    let metrics = arguments.metric.iter();
    let differences: Vec<_> =
        metrics.map(|&metric| Difference::of(pair, metric, &workload, arguments.overloaded)).collect();
    if arguments.json {
        let object =
            json!({ "first": names[0], "second": names[1], "workload": workload, "metrics": differences });
        anstream::println!("{object}");
    } else {
        for difference in &differences {
            print(difference, &names);
        }
    }
    if differences.iter().all(|difference| difference.cells.is_empty()) {
        let [first, second] = &names;
        return Err(match pair.common_cells() {
            0 => format!("nothing was compared: `{first}` and `{second}` have no cell in common"),
            _ => format!(
                "nothing was compared: `{first}` and `{second}` have no cell in which both have values"
            ),
        }
        .into());
    }
    if let Some(output) = &arguments.output {
        let both: Directory = side_by_side::merge(&first, &second, &names);
        let options = PageOptions { overloaded: arguments.overloaded, ..PageOptions::default() };
        write(&Page::of(&both, options), output)?;
    }
    Ok(0)
}

fn print(difference: &Difference, names: &[String; 2]) {
    anstream::println!(
        "{} ({}) of workload `{}`, median; effect of {} against {}",
        difference.metric.title(),
        difference.unit,
        difference.workload,
        names[1],
        names[0]
    );
    if !difference.cells.is_empty() {
        anstream::println!("{}", table(&difference.cells, names));
    }
    for Unmatched { label, why } in &difference.unmatched {
        anstream::println!("not compared: {label}: {why}");
    }
}

fn table(cells: &[CellDifference], names: &[String; 2]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING);
    table.set_header(["cell", "n", &names[0], &names[1], "change", "p", "effect"]);
    for cell in cells {
        table.add_row([
            cell.label.clone(),
            format!("{}+{}", cell.first.count, cell.second.count),
            four_digits(cell.first.median),
            four_digits(cell.second.median),
            cell.change_percent.map_or_else(|| "–".into(), |change| format!("{change:+.1}%")),
            if cell.corrected < 0.001 { "<0.001".into() } else { format!("{:.3}", cell.corrected) },
            cell.words(),
        ]);
    }
    for column in 1..=5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Formats a value with four significant digits.
fn four_digits(value: f64) -> String {
    let digits = (3.0 - value.abs().max(1e-9).log10().floor()).clamp(0.0, 9.0) as usize;
    if value == 0.0 { "0".into() } else { format!("{value:.digits$}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (348_137.4, "348137"),
            (12.345_67, "12.35"),
            (0.012_345, "0.01235"),
            (-7.5, "-7.500"),
        ];
        for (value, text) in cases {
            assert_eq!(four_digits(value), text);
        }
    }
}
