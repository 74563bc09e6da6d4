//! `results.parquet`: a row per connection, for pandas, polars, DuckDB and R; also as CSV for
//! spreadsheets.
//!
//! The first columns are `cell`, a column `factor.NAME` with the level of each factor, `repetition`
//! and `verdict`. Then come the measurements of the connection. Columns `lite_…` have the counters
//! of TCP Lite in its run, empty if no node accepts damage. Columns `link_layer_…` have the
//! counters of its link layers with retransmissions, empty if no link has one. Columns
//! `figure.NAME` have the figures that programs reported, empty in rows of others. Runs of every
//! verdict are included; a run without connections has no row.
//!
//! The file's metadata has the meaning of each column, with its unit, under `lasthop.columns`. It
//! also has `lasthop.schema`, `lasthop.version`, `lasthop.seed`, `lasthop.started_unix_ns` and
//! `lasthop.plan`, the plan's name.

use crate::{
    Connection, Directory, FigureName, LinkLayerCounters, LiteTotals, Protocol, RoundTrips, RunRecord,
    RunVerdict, SessionCounts, campaign_table,
};
use capture::columnar::{Column, Table, Values};
use capture::table::TableError;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;

/// Name of the table in a run directory.
pub const FILE: &str = "results.parquet";

/// A connection with its run.
struct Row<'a> {
    run: &'a RunRecord,
    connection: &'a Connection,
}

/// A column that every campaign has.
struct Field {
    name: &'static str,
    /// Unit; empty if there is none.
    unit: &'static str,
    meaning: &'static str,
    get: Get,
}

/// Function that computes a row's cell.
enum Get {
    Bool(fn(&Row<'_>) -> bool),
    Number(fn(&Row<'_>) -> Option<u64>),
    Real(fn(&Row<'_>) -> f64),
    Text(fn(&Row<'_>) -> Option<String>),
}

macro_rules! fields {
    ($($name:literal, $unit:literal, $meaning:literal, $kind:ident, $get:expr;)*) => {
        &[$(Field { name: $name, unit: $unit, meaning: $meaning, get: Get::$kind($get) }),*]
    };
}

/// Columns after the factors.
#[rustfmt::skip]
const BEHIND: &[Field] = fields! {
    "repetition", "", "number of the repetition, from 0", Number, |row| Some(row.run.repetition.into());
    "verdict", "", "good, overloaded (the emulator fell behind), dropped-call (a link layer disconnected) or failed", Text, |row| Some(verdict(row.run).into());
    "workload", "", "name of the workload in the plan", Text, |row| Some(row.connection.workload.clone());
    "number", "", "number of the connection in its workload, from 0", Number, |row| Some(row.connection.number.into());
    "protocol", "", "tcp, udp or icmp", Text, |row| Some(protocol(row.connection).into());
    "from", "", "node that the measured bytes came from", Text, |row| Some(row.connection.from.clone());
    "to", "", "node that the measured bytes went to", Text, |row| Some(row.connection.to.clone());
    "from_port", "", "port at `from`", Number, |row| Some(row.connection.from_port.into());
    "to_port", "", "port at `to`", Number, |row| Some(row.connection.to_port.into());
    "congestion_control", "", "congestion control of `from`, by the kernel's name; empty for datagrams",
        Text, |row| Some(row.connection.congestion_control.clone());
    "complete", "", "whether all bytes arrived", Bool, |row| row.connection.complete;
    "error", "", "error message, if the connection failed", Text, |row| row.connection.error.clone();
    "start_ns", "ns", "when the application called connect, or sent the first datagram, since the start of the run",
        Number, |row| Some(row.connection.start_ns);
    "established_ns", "ns", "when it was established, or the first datagram arrived, since the start of the run",
        Number, |row| row.connection.established_ns;
    "end_ns", "ns", "when the last byte was read, since the start of the run", Number, |row| Some(row.connection.end_ns);
    "bytes", "bytes", "application data that arrived; for a request that of request and response",
        Number, |row| Some(row.connection.bytes);
    "goodput_bps", "bit/s", "`bytes` over the time from start_ns to end_ns", Real, |row| row.connection.goodput_bps;
    "segments", "segments", "segments with data that were sent, retransmissions included; datagrams sent",
        Number, |row| Some(row.connection.segments);
    "retransmissions", "segments", "segments that were retransmitted", Number, |row| Some(row.connection.retransmissions);
    "timeouts", "timeouts", "retransmission timeouts", Number, |row| Some(row.connection.timeouts);
    "lost", "datagrams", "datagrams that did not arrive", Number, |row| Some(row.connection.lost);
    "rtt_samples", "samples", "round-trip times that TCP measured; for datagrams one-way delays, here and below",
        Number, |row| delay(row, |delays| delays.samples);
    "rtt_min_ns", "ns", "shortest round-trip time", Number, |row| delay(row, |delays| delays.min_ns);
    "rtt_mean_ns", "ns", "mean round-trip time", Number, |row| delay(row, |delays| delays.mean_ns);
    "rtt_median_ns", "ns", "median round-trip time", Number, |row| delay(row, |delays| delays.median_ns);
    "rtt_p95_ns", "ns", "95 % of the round-trip times were at most this", Number, |row| delay(row, |delays| delays.p95_ns);
    "rtt_p99_ns", "ns", "99 % of the round-trip times were at most this", Number, |row| delay(row, |delays| delays.p99_ns);
    "rtt_max_ns", "ns", "longest round-trip time", Number, |row| delay(row, |delays| delays.max_ns);
    "idle_max_ns", "ns", "longest time without a byte read at the receiver", Number, |row| Some(row.connection.idle_max_ns);
    "wrong_bytes", "bytes", "bytes that differ from those sent; empty if they were not compared",
        Number, |row| row.connection.wrong_bytes;
    "misplaced", "blocks", "blocks of 64 bytes in which at least half of the bytes are wrong: data from another position or connection",
        Number, |row| row.connection.misplaced;
    "sessions_arriving_ns", "ns", "time in which sessions of cross traffic arrived; empty for other workloads, here and below",
        Number, |row| sessions(row, |counts| counts.arriving_ns);
    "sessions_offered_bytes", "bytes", "sum of the lengths of the sessions that arrived; `bytes` has what was carried",
        Number, |row| sessions(row, |counts| counts.offered_bytes);
    "sessions_arrived", "sessions", "sessions that arrived", Number, |row| sessions(row, |counts| counts.arrived);
    "sessions_begun", "sessions", "sessions that began; the others waited for an earlier one of their source",
        Number, |row| sessions(row, |counts| counts.begun);
    "sessions_ended", "sessions", "sessions of which all was carried", Number, |row| sessions(row, |counts| counts.ended);
};

/// Counters of TCP Lite in the whole run, the same in each of its rows.
#[rustfmt::skip]
const LITE: &[Field] = fields! {
    "lite_damaged", "segments", "segments with a wrong checksum at the run's nodes that accept damage, here and below",
        Number, |row| lite(row, |totals| totals.damaged);
    "lite_accepted", "segments", "damaged segments that were handed to TCP", Number, |row| lite(row, |totals| totals.accepted);
    "lite_confirmed", "segments", "accepted, with an intact payload: the checksum is right after the header was repaired",
        Number, |row| lite(row, |totals| totals.confirmed);
    "lite_guessed", "segments", "accepted after guesses: ports, constant fields or the sequence number were replaced without confirmation",
        Number, |row| lite(row, |totals| totals.guessed);
    "lite_out_of_order", "segments", "accepted behind a hole in the stream", Number, |row| lite(row, |totals| totals.out_of_order);
    "lite_approximate", "segments", "accepted after the ports were repaired",
        Number, |row| lite(row, |totals| totals.approximate);
    "lite_bytes", "bytes", "accepted application data that may be wrong", Number, |row| lite(row, |totals| totals.bytes);
    "lite_unverifiable", "segments", "segments that could not be checked, because their checksum was left to a device",
        Number, |row| lite(row, |totals| totals.unverifiable);
    "lite_untracked", "connections", "connections that the table of connections had no room for",
        Number, |row| lite(row, |totals| totals.untracked);
    "lite_discarded_empty", "segments", "discarded: without data", Number, |row| discarded(row, "empty");
    "lite_discarded_position", "segments", "discarded: neither expected next nor a multiple of the segment size away",
        Number, |row| discarded(row, "position");
    "lite_discarded_policy", "segments", "discarded: the policy forbids it", Number, |row| discarded(row, "policy");
    "lite_discarded_window", "segments", "discarded: outside the window in which damage is accepted",
        Number, |row| discarded(row, "window");
    "lite_discarded_rate", "segments", "discarded: too many guesses", Number, |row| discarded(row, "rate");
    "lite_discarded_template", "segments", "discarded: no undamaged segment to repair from has arrived yet", Number, |row| discarded(row, "template");
    "lite_discarded_options", "segments", "discarded: the connection has options that cannot be repaired",
        Number, |row| discarded(row, "options");
    "lite_discarded_header_length", "segments", "discarded: the length of its header is unknown",
        Number, |row| discarded(row, "header-length");
    "lite_discarded_no_connection", "segments", "discarded: it matches no connection that accepts damage",
        Number, |row| discarded(row, "no-connection");
    "lite_discarded_ambiguous", "segments", "discarded: it matches several connections equally well",
        Number, |row| discarded(row, "ambiguous");
    "lite_discarded_short", "segments", "discarded: shorter than a header", Number, |row| discarded(row, "short");
    "lite_discarded_ip", "segments", "discarded: the IP header is damaged as well", Number, |row| discarded(row, "ip");
};

/// Counters of all link layers in the run, summed over both directions. The manifest has them by
/// link and direction.
#[rustfmt::skip]
const LINK_LAYER: &[Field] = fields! {
    "link_layer_frames", "frames", "numbered frames that the run's link layers sent for the first time, both directions, here and below",
        Number, |row| link_layer(row, |counted| counted.frames);
    "link_layer_again", "frames", "numbered frames that were retransmitted", Number, |row| link_layer(row, |counted| counted.again);
    "link_layer_erased", "blocks", "blocks or frames of any kind that could not be decoded",
        Number, |row| link_layer(row, |counted| counted.erased);
    "link_layer_rejects", "frames", "requests for retransmission", Number, |row| link_layer(row, |counted| counted.rejects);
    "link_layer_resets", "resets", "resets of links", Number, |row| link_layer(row, |counted| counted.resets);
    "link_layer_stalls", "blocks", "blocks without new data because the window was full (RLP)",
        Number, |row| link_layer(row, |counted| counted.stalls);
};

/// Builds the table of a campaign, finished or not.
#[must_use]
pub fn of(directory: &Directory) -> Table {
    let mut rows = Vec::new();
    for (run, connections) in directory.runs() {
        rows.extend(connections.iter().map(|connection| Row { run, connection }));
    }
    let behind = BEHIND.iter().chain(LITE).chain(LINK_LAYER).map(|field| field.column(&rows));
    let columns = behind.chain(figures(&rows));
    campaign_table::of(&directory.manifest, rows.iter().map(|row| row.run), columns)
}

/// Returns a column for each figure that a program reported.
fn figures(rows: &[Row<'_>]) -> Vec<Column> {
    let names: BTreeSet<_> = rows.iter().flat_map(|row| row.connection.figures.keys()).collect();
    let figures = names.into_iter().filter_map(|name| FigureName::new(name));
    let column = |figure: FigureName| {
        let unit = figure.unit();
        let unit = if unit.is_empty() { String::new() } else { format!(", in {unit}") };
        let values = rows.iter().map(|row| row.connection.figures.get(figure.name()).copied()).collect();
        Column {
            name: figure.metric().to_owned(),
            meaning: format!("figure `{}` that the program reported{unit}", figure.name()),
            values: Values::Real(values),
        }
    };
    figures.map(column).collect()
}

/// Writes the table of a campaign into its run directory, completely or not at all; returns its
/// path.
pub fn write(directory: &Directory) -> Result<PathBuf, TableError> {
    let path = directory.path.join(FILE);
    of(directory).write(&path)?;
    Ok(path)
}

/// Writes a table as CSV (RFC 4180, with a line of names). Numbers have a decimal point; empty
/// cells are empty.
pub fn write_csv(table: &Table, output: impl io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(output);
    writer.write_record(table.columns.iter().map(|column| &column.name))?;
    for row in 0..table.rows() {
        writer
            .write_record(table.columns.iter().map(|column| column.values.text(row).unwrap_or_default()))?;
    }
    writer.flush()
}

/// Returns name, unit and meaning of each column that every campaign has, in order. The unit is
/// empty if there is none.
pub fn columns() -> impl Iterator<Item = [&'static str; 3]> {
    let (name, meaning) = campaign_table::CELL;
    let fields = BEHIND.iter().chain(LITE).chain(LINK_LAYER);
    std::iter::once([name, "", meaning]).chain(fields.map(|field| [field.name, field.unit, field.meaning]))
}

/// Returns the units of the columns that have one, for [`Manifest::units`](crate::Manifest::units).
#[must_use]
pub fn units() -> BTreeMap<String, String> {
    let with_unit = BEHIND.iter().chain(LITE).chain(LINK_LAYER).filter(|field| !field.unit.is_empty());
    with_unit.map(|field| (field.name.to_owned(), field.unit.to_owned())).collect()
}

impl Field {
    fn column(&self, rows: &[Row<'_>]) -> Column {
        let values = match self.get {
            Get::Bool(get) => Values::Bool(rows.iter().map(|row| Some(get(row))).collect()),
            Get::Number(get) => Values::Number(rows.iter().map(get).collect()),
            Get::Real(get) => Values::Real(rows.iter().map(|row| Some(get(row))).collect()),
            Get::Text(get) => Values::Text(rows.iter().map(get).collect()),
        };
        let unit = if self.unit.is_empty() { String::new() } else { format!(", in {}", self.unit) };
        Column { name: self.name.to_owned(), meaning: format!("{}{unit}", self.meaning), values }
    }
}

fn delay(row: &Row<'_>, of: impl Fn(&RoundTrips) -> u64) -> Option<u64> {
    row.connection.round_trips.as_ref().map(of)
}

fn sessions(row: &Row<'_>, of: impl Fn(&SessionCounts) -> u64) -> Option<u64> {
    row.connection.sessions.as_ref().map(of)
}

fn link_layer(row: &Row<'_>, of: impl Fn(&LinkLayerCounters) -> u64) -> Option<u64> {
    let mut counted = row.run.links.iter().filter_map(|way| way.link_layer).peekable();
    counted.peek()?;
    Some(of(&counted.sum()))
}

fn lite(row: &Row<'_>, of: impl Fn(&LiteTotals) -> u64) -> Option<u64> {
    row.run.lite.as_ref().map(of)
}

fn discarded(row: &Row<'_>, reason: &str) -> Option<u64> {
    lite(row, |totals| totals.discarded.get(reason).copied().unwrap_or(0))
}

fn verdict(run: &RunRecord) -> &'static str {
    match run.verdict {
        RunVerdict::Good => "good",
        RunVerdict::Overloaded => "overloaded",
        RunVerdict::DroppedCall => "dropped-call",
        RunVerdict::Failed => "failed",
    }
}

fn protocol(connection: &Connection) -> &'static str {
    match connection.protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
        Protocol::Icmp => "icmp",
        Protocol::Program => "program",
    }
}

#[cfg(test)]
mod tests;
