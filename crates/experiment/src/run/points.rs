//! Counters of each flow at each point of the network, from the capture of the run.

use crate::plan::Experiment;
use capture_analysis::points;
use results::points::Point;
use results::{Connection, Protocol};
use std::net::SocketAddr;
use std::path::Path;

/// Returns the flows at both ends of each captured link, in the order of the links: at the first
/// node of `between`, then at the second.
///
/// `rows` are the connections of the workloads, by whose ports those of the capture are known.
///
/// # Errors
/// If the capture cannot be read.
pub fn of(experiment: &Experiment, capture: &Path, rows: &[Connection]) -> Result<Vec<Point>, String> {
    let seen = points::read(capture).map_err(|error| error.to_string())?;
    Ok(seen.iter().map(|seen| point(experiment, seen, rows)).collect())
}

fn point(experiment: &Experiment, seen: &points::Point, rows: &[Connection]) -> Point {
    let scenario = &experiment.scenario;
    // `LINK host end`, that of the first node of `between`, or `LINK network end`.
    let (link, second) = match seen.name.strip_suffix(" network end") {
        Some(link) => (link, true),
        None => (seen.name.strip_suffix(" host end").unwrap_or(&seen.name), false),
    };
    let ends = scenario.links.iter().find(|known| known.name == link).map(|known| known.between);
    let node = ends.map(|ends| scenario.nodes[ends[usize::from(second)]].name.clone());
    let name = |end: SocketAddr| scenario.node_at(end.ip()).unwrap_or_default().to_owned();
    let (from_port, to_port) = (seen.from.port(), seen.to.port());
    let is_tcp = seen.protocol == points::Protocol::Tcp;
    let own = rows.iter().filter(|_| is_tcp).find(|row| {
        row.protocol == Protocol::Tcp
            && [(from_port, to_port), (to_port, from_port)].contains(&(row.from_port, row.to_port))
    });
    let counts = seen.counts;
    Point {
        link: link.to_owned(),
        node: node.unwrap_or_default(),
        workload: own.map(|row| row.workload.clone()),
        number: own.map(|row| row.number),
        protocol: seen.protocol.name().to_owned(),
        from: name(seen.from),
        to: name(seen.to),
        from_port,
        to_port,
        packets: counts.packets,
        bytes: counts.bytes,
        data_segments: counts.data_packets,
        data_bytes: counts.data_bytes,
        retransmissions: counts.retransmissions,
        retransmitted_bytes: counts.retransmitted_bytes,
        spurious: counts.spurious,
        undecided: counts.undecided,
    }
}
