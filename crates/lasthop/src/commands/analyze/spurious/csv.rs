//! CSV with a row for each retransmission.

use super::super::senders::io;
use super::Direction;
use super::json::Row;
use crate::failure::Failure;
use serde::Serialize;
use std::io::Write;
use std::net::SocketAddr;

/// Names of the columns.
const COLUMNS: [&str; 22] = [
    "from",
    "to",
    "time_ns",
    "number",
    "sequence",
    "bytes",
    "length",
    "repeated",
    "cause",
    "verdict",
    "evidence",
    "truth",
    "answered_ns",
    "arrivals",
    "acknowledged",
    "timestamps",
    "dsack",
    "round_trip",
    "gap",
    "f_rto",
    "alignment",
    "connection",
];

#[derive(Serialize)]
struct Line {
    from: SocketAddr,
    to: SocketAddr,
    row: Row,
    connection: usize,
}

/// Prints the retransmissions of all directions.
pub fn print(output: &mut impl Write, directions: &[Direction<'_>]) -> Result<(), Failure> {
    let mut output = csv::WriterBuilder::new().has_headers(false).from_writer(output);
    output.write_record(COLUMNS).map_err(io)?;
    for direction in directions {
        let (from, to) = (direction.examined.ends.from, direction.examined.ends.to);
        let connection = direction.examined.connection;
        for row in Row::all(direction) {
            output.serialize(Line { from, to, row, connection }).map_err(io)?;
        }
    }
    output.flush()?;
    Ok(())
}
