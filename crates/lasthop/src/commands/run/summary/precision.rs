//! Where the cells of a campaign stopped that are repeated until they are precise, as text and as
//! JSON.

use super::trimmed;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use results::{Cell, Directory, RunControl, Stop};
use serde_json::{Value, json};
use std::fmt::Write;

/// Returns the rule, and each cell with its levels; null for other campaigns.
pub fn json(directory: &Directory) -> Value {
    let Some(control) = &directory.manifest.precision else { return Value::Null };
    let stop = |stop: &Stop| {
        let mut object = json!(stop);
        object["levels"] = levels(directory, stop).into_iter().collect::<serde_json::Map<_, _>>().into();
        object["half_width"] = stop.half_width().into();
        object
    };
    let stops: Vec<_> = control.stops.iter().map(stop).collect();
    json!({ "rule": control.rule, "looks": directory.manifest.looks, "stops": stops })
}

/// Returns the levels of the cell that stopped.
fn levels(directory: &Directory, stop: &Stop) -> Vec<(String, Value)> {
    let cell = directory.manifest.cells.iter().find(|cell| cell.number == stop.cell);
    let levels = cell.into_iter().flat_map(|cell: &Cell| &cell.levels);
    levels.map(|level| (level.factor.clone(), level.level.clone().into())).collect()
}

/// Returns the stops as text: the rule, how many cells reached it, and a row for each; `None` for
/// other campaigns.
pub fn text(directory: &Directory) -> Option<String> {
    let RunControl { rule, stops } = directory.manifest.precision.as_ref()?;
    let looks = &directory.manifest.looks;
    let (first, last) = (looks.first()?, looks.last()?);
    let mut text = format!("Repeated {first} to {last} times, until {}:", rule.in_words());
    if stops.is_empty() {
        let _ = write!(text, "\n interrupted: no cell has stopped yet");
        return Some(text);
    }
    let _ = write!(text, "\n{}", trimmed(&table(directory, stops)));
    let missed = stops.iter().filter(|stop| !stop.reached).count();
    if missed > 0 {
        let _ = write!(text, "\n {missed} of {} did not reach it with {last} repetitions", stops.len());
    }
    for stop in stops.iter().filter(|stop| !stop.notes.is_empty()) {
        let _ = write!(text, "\n cell {}: {}", stop.cell, stop.notes.join("; "));
    }
    Some(text)
}

fn table(directory: &Directory, stops: &[Stop]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    let factors = &directory.manifest.factors;
    // Ratios have no unit.
    let rule = directory.manifest.precision.as_ref().map(|control| &control.rule);
    let unit = rule.filter(|rule| rule.against.is_none()).map_or("", |rule| rule.metric.unit());
    let with_unit = |what: &str| if unit.is_empty() { what.to_owned() } else { format!("{what}, {unit}") };
    let columns = ["repetitions".to_owned(), with_unit("mean"), with_unit("interval")];
    let columns = columns.into_iter().chain(["± of the mean", "reached"].map(str::to_owned));
    table.set_header(factors.iter().map(|factor| factor.name.clone()).chain(columns));
    for stop in stops {
        let levels = levels(directory, stop).into_iter();
        let levels = levels.map(|(_, level)| level.as_str().unwrap_or_default().to_owned());
        let ends = stop.low.zip(stop.high);
        let figures = [
            stop.repetitions.to_string(),
            stop.mean.map_or_else(|| "-".to_owned(), number),
            ends.map_or_else(|| "-".to_owned(), |(low, high)| format!("{} … {}", number(low), number(high))),
            stop.half_width().map_or_else(|| "-".to_owned(), |half| format!("{:.2} %", half * 100.0)),
            if stop.reached { "yes" } else { "no" }.to_owned(),
        ];
        table.add_row(levels.chain(figures));
    }
    for column in table.column_iter_mut().skip(factors.len()) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Formats a value with four significant digits, or all before the point.
fn number(value: f64) -> String {
    let digits = 3.0 - value.abs().max(1e-9).log10().floor();
    let digits = digits.clamp(0.0, 9.0) as usize;
    format!("{value:.digits$}")
}
