//! A row a loss event.

use super::Run;
use super::json::Event;
use crate::link_command::Failure;
use serde::Serialize;
use std::io::Write;
use std::net::SocketAddr;

/// Names of the columns.
const COLUMNS: [&str; 14] = [
    "from", "to", "at_ns", "kind", "n", "lost", "cause", "verdict", "reason", "rtt_us", "mean_ns", "dev_ns",
    "cwnd", "ssthresh",
];

#[derive(Serialize)]
struct Row<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<&'a str>,
    from: SocketAddr,
    to: SocketAddr,
    event: Event,
}

/// Prints the runs as they are read; of several runs each row begins with the name of its run.
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
                let (from, to) = (connection.ends.from, connection.ends.to);
                let row = Row { run: several.then_some(&run.name), from, to, event: event.into() };
                output.serialize(row).map_err(super::super::senders::io)?;
            }
        }
    }
    output.flush()?;
    Ok(())
}
