//! CSV with a row for each loss event.

use super::Run;
use crate::failure::Failure;
use experiment::run::losses::of;
use serde_json::Value;
use std::io::{self, Write};

/// Names of the columns; from the third on those of [`results::LossEvent`].
const COLUMNS: [&str; 14] = [
    "from", "to", "at_ns", "kind", "n", "lost", "cause", "verdict", "reason", "rtt_us", "mean_ns", "dev_ns",
    "cwnd", "ssthresh",
];

/// Prints the runs as they are read. With several runs, each row begins with the name of its run.
pub fn print(
    output: &mut impl Write,
    several: bool,
    runs: impl Iterator<Item = Result<Run, Failure>>,
) -> Result<(), Failure> {
    let mut output = csv::WriterBuilder::new().has_headers(false).from_writer(output);
    output
        .write_record(several.then_some("run").into_iter().chain(COLUMNS))
        .map_err(super::super::senders::io)?;
    for run in runs {
        let run = run?;
        for connection in &run.connections {
            for event in &connection.events {
                let (from, to) = (connection.ends.from.to_string(), connection.ends.to.to_string());
                let ends = several.then(|| run.name.clone()).into_iter().chain([from, to]);
                let event = serde_json::to_value(of(event)).map_err(io::Error::from)?;
                let fields = COLUMNS[2..].iter().map(|column| field(&event[column]));
                output.write_record(ends.chain(fields)).map_err(super::super::senders::io)?;
            }
        }
    }
    output.flush()?;
    Ok(())
}

/// Formats a cell: a word, a number, or nothing.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}
