//! Loss events of a run's connections: how each sender classified a loss, beside what the links had
//! lost.

use capture::senders::INFINITE_SSTHRESH;
use capture_analysis::loss_events::{self, LossDetection};
use results::{Connection, LossEvent, LossKind, Protocol};
use std::net::IpAddr;
use std::path::Path;

/// Adds the loss events to the rows of their connections.
///
/// `senders` and `events` are the tables of the run; `node` returns the node with an address. A
/// connection whose sender shows no loss gets an empty list.
///
/// # Errors
/// If a table cannot be read.
pub fn add<'a>(
    rows: &mut [Connection],
    senders: &Path,
    events: &Path,
    node: impl Fn(IpAddr) -> Option<&'a str>,
) -> Result<(), String> {
    let connections = loss_events::read(senders, events).map_err(|error| error.to_string())?;
    for row in rows.iter_mut().filter(|row| row.protocol == Protocol::Tcp) {
        row.losses = Some(Vec::new());
    }
    for connection in connections {
        let (from, to) = (connection.ends.from, connection.ends.to);
        let is_it = |row: &&mut Connection| {
            row.protocol == Protocol::Tcp
                && (row.from_port, row.to_port) == (from.port(), to.port())
                && node(from.ip()) == Some(row.from.as_str())
                && node(to.ip()) == Some(row.to.as_str())
        };
        // Connections without a row of their own are those of the opposite direction, with few
        // bytes.
        if let Some(row) = rows.iter_mut().find(is_it) {
            row.losses = Some(connection.events.iter().map(of).collect());
        }
    }
    Ok(())
}

/// Converts a loss event for the results.
#[must_use]
pub fn of(event: &loss_events::LossEvent) -> LossEvent {
    let (change, judged) = (event.change, event.judged());
    let sampled = judged.filter(|judged| judged.rtt_us > 0);
    LossEvent {
        at_ns: change.at.as_nanos(),
        kind: match change.kind {
            LossDetection::Recovery => LossKind::Recovery,
            LossDetection::Timeout => LossKind::Timeout,
            LossDetection::Cwr => LossKind::Reduction,
        },
        n: judged.filter(|_| change.kind == LossDetection::Recovery).map(|judged| judged.n as u16),
        lost: event.truth.segments,
        cause: event.truth.cause,
        verdict: judged.and_then(|judged| judged.verdict),
        reason: judged.and_then(|judged| judged.reason),
        rtt_us: sampled.map(|judged| judged.rtt_us),
        mean_ns: sampled.map(|judged| judged.mean_ns),
        dev_ns: sampled.map(|judged| judged.dev_ns),
        cwnd: change.cwnd[0],
        ssthresh: change.ssthresh[1].filter(|&segments| segments < INFINITE_SSTHRESH),
    }
}
