//! Where the cells stopped that are repeated until they are precise, as the page shows it.

use results::{Directory, Stop};
use serde::Serialize;

/// The rule of the plan (`[precision]`), and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Precision {
    /// The rule: `the 95 % interval of the mean of goodput is within 2 % of it`.
    rule: String,
    /// Unit of means and intervals; empty for ratios.
    unit: &'static str,
    /// Least number of repetitions.
    least: u32,
    /// Largest number of repetitions.
    most: u32,
    /// Empty if the campaign was interrupted.
    stops: Vec<StoppedCell>,
}

/// A cell that stopped.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct StoppedCell {
    /// Index of the cell.
    cell: usize,
    repetitions: u32,
    mean: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    /// Distance of the ends from the mean, as a share of the mean.
    half_width: Option<f64>,
    reached: bool,
    notes: Vec<String>,
}

/// Returns `None` for campaigns without such a rule.
pub(crate) fn of(directory: &Directory) -> Option<Precision> {
    let manifest = &directory.manifest;
    let control = manifest.precision.as_ref()?;
    let stopped = |stop: &Stop| {
        let cell = manifest.cells.iter().position(|cell| cell.number == stop.cell)?;
        Some(StoppedCell {
            cell,
            repetitions: stop.repetitions,
            mean: stop.mean,
            low: stop.low,
            high: stop.high,
            half_width: stop.half_width(),
            reached: stop.reached,
            notes: stop.notes.clone(),
        })
    };
    Some(Precision {
        rule: control.rule.in_words(),
        unit: if control.rule.against.is_some() { "" } else { control.rule.metric.unit() },
        least: *manifest.looks.first()?,
        most: *manifest.looks.last()?,
        stops: control.stops.iter().filter_map(stopped).collect(),
    })
}
