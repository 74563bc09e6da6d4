//! Connections of programs, found in the capture of the run.
//!
//! The sockets of programs cannot be queried, so the capture is the source. A connection belongs to
//! the command that ran on the node that opened it, at the time when it was opened. If several ran
//! there, the plan decides, not the speed of their processes: the command with the latest `start`,
//! and of several with the same `start` the last in the plan.
//!
//! A connection that a device of the host opened, which is attached to a node, belongs to the
//! command on the node that it was opened to: the server.
//!
//! If a connection was captured at several places, the place nearest to the sender counts: nothing
//! is lost yet there, and the round-trip times are complete.

use crate::plan::Experiment;
use crate::workload::Traffic;
use crate::workload::ground::SERVERS;
use capture_analysis::analysis::{self, AnalysisOptions, Unwatched};
use results::{Connection, Protocol, RoundTrips};
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

/// Adds a row for each TCP connection of programs to the rows of the programs themselves.
///
/// `started` is the start of the run in nanoseconds since 1970.
///
/// # Errors
/// If the capture cannot be read.
pub fn add(
    rows: &mut Vec<Connection>,
    experiment: &Experiment,
    capture: &Path,
    started: u64,
) -> Result<(), String> {
    let trace = analysis::read(capture, &AnalysisOptions::default(), &mut Unwatched)
        .map_err(|error| error.to_string())?;
    let mut best: Vec<&capture_analysis::Connection> = Vec::new();
    for seen in trace.interfaces.iter().flat_map(|interface| interface.connections.all()) {
        match best.iter_mut().find(|known| is_same(known, seen)) {
            Some(known) if nearness(seen) > nearness(known) => *known = seen,
            Some(_) => {}
            None => best.push(seen),
        }
    }
    best.sort_by_key(|connection| connection.first_time);
    let programs = rows.clone();
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    for seen in best {
        if of_ours(experiment, seen) {
            continue;
        }
        let Some(program) = program(&programs, experiment, seen, started) else { continue };
        let number = numbers.entry(program.workload.clone()).or_insert(0);
        *number += 1;
        rows.push(row(experiment, seen, &program.workload, *number, started));
    }
    Ok(())
}

/// Returns whether two places saw the same connection: between the same ends, at the same time.
///
/// Later connections may reuse the ports.
fn is_same(one: &capture_analysis::Connection, other: &capture_analysis::Connection) -> bool {
    (one.end(0), one.end(1)) == (other.end(0), other.end(1))
        && one.first_time <= other.last_time
        && other.first_time <= one.last_time
}

/// Returns a measure of how near to the sender a connection was captured.
///
/// It is the number of data segments, and if these are equal, the mean round-trip time.
fn nearness(connection: &capture_analysis::Connection) -> (u64, u64) {
    let sender = sender(connection);
    (sender.counts.data_packets, sender.round_trips().mean_ns)
}

/// Returns the direction that carried more bytes, which is the purpose of the connection.
fn sender(connection: &capture_analysis::Connection) -> &capture_analysis::half::Half {
    let [first, second] = &connection.halves;
    if second.unique_bytes() > first.unique_bytes() { second } else { first }
}

/// Returns whether our own senders and receivers have already reported this connection.
fn of_ours(experiment: &Experiment, connection: &capture_analysis::Connection) -> bool {
    (0..).zip(&experiment.workloads).any(|(place, workload)| {
        let server = match workload.kind {
            Traffic::Bulk { to, .. } | Traffic::Sessions { to, .. } => to,
            Traffic::Request { server, .. } => server,
            Traffic::Datagrams { .. } | Traffic::Ping { .. } | Traffic::Command { .. } => return false,
        };
        let address = IpAddr::V4(experiment.scenario.tcp_address(server));
        let end = connection.end(1);
        end.ip() == address && end.port() == SERVERS + place
    })
}

/// Returns the program that opened the connection: of those that ran on its node, the last by the
/// plan.
fn program<'a>(
    programs: &'a [Connection],
    experiment: &Experiment,
    connection: &capture_analysis::Connection,
    started: u64,
) -> Option<&'a Connection> {
    let scenario = &experiment.scenario;
    // With remote sockets, the connections of a node's programs come from another node.
    let node_of = |end: SocketAddr| scenario.node(scenario.node_at(end.ip())?);
    // A connection that a device opened belongs to the server.
    let at_node = node_of(connection.end(0)).or_else(|| node_of(connection.end(1)))?;
    let runs_here = |name: &str| scenario.node(name).is_some_and(|node| scenario.tcp_at(node) == at_node);
    let at = connection.first_time.saturating_sub(started);
    let running = programs.iter().filter(|program| {
        program.protocol == Protocol::Program
            && runs_here(&program.from)
            && (program.start_ns..=program.end_ns).contains(&at)
    });
    let place = |program: &Connection| {
        let mut workloads = experiment.workloads.iter().enumerate();
        let found = workloads.find(|(_, workload)| workload.name == program.workload);
        found.map(|(place, workload)| (workload.start, place))
    };
    running.max_by_key(|program| place(program))
}

fn row(
    experiment: &Experiment,
    seen: &capture_analysis::Connection,
    workload: &str,
    number: u32,
    started: u64,
) -> Connection {
    let sender = usize::from(seen.halves[1].unique_bytes() > seen.halves[0].unique_bytes());
    let half = &seen.halves[sender];
    let name = |end: SocketAddr| experiment.scenario.node_at(end.ip()).unwrap_or_default().to_owned();
    let trips = half.round_trips();
    let spurious = half.retransmissions();
    Connection {
        workload: workload.to_owned(),
        number,
        protocol: Protocol::Tcp,
        from: name(seen.end(sender)),
        to: name(seen.end(1 - sender)),
        from_port: seen.end(sender).port(),
        to_port: seen.end(1 - sender).port(),
        congestion_control: String::new(),
        complete: seen.is_complete(),
        error: None,
        start_ns: seen.first_time.saturating_sub(started),
        established_ns: None,
        end_ns: seen.last_time.saturating_sub(started),
        bytes: half.unique_bytes(),
        goodput_bps: seen.throughput(sender).unwrap_or(0.0) * 8.0,
        segments: half.counts.data_packets,
        retransmissions: half.counts.retransmitted_packets,
        timeouts: spurious.timeouts,
        lost: 0,
        round_trips: (trips.count > 0).then_some(RoundTrips {
            samples: trips.count,
            min_ns: trips.min_ns,
            mean_ns: trips.mean_ns,
            median_ns: trips.median_ns,
            p95_ns: trips.p95_ns,
            p99_ns: trips.p99_ns,
            max_ns: trips.max_ns,
        }),
        idle_max_ns: seen.idle_max_us(sender, seen.last_time).unwrap_or(0) * 1000,
        ..Connection::default()
    }
}
