//! Time-sequence graph of one connection: when each byte was sent, acknowledged, reported by SACK,
//! and lost.
//!
//! The graph is tcptrace's (L34): sequence numbers over time, one graph for each direction. All
//! numbers are relative (0 is the SYN, 1 the first byte of data) and do not wrap. Times count from
//! the first packet of the connection.
//!
//! The caller limits the number of points of each sort in a series; [`thin`] explains which points
//! are left out.
//!
//! [`TimeSequence::mark_losses`] adds what no capture shows: from the event log of the same run,
//! what the link did to each packet that it lost.

pub(crate) mod collect;
mod losses;
mod points;
pub mod thin;

pub use points::{AckPoint, LossPoint, Mark, MarkPoint, PointKind, SackPoint, SegmentPoint};

use crate::TraceError;
use crate::analysis::{self, AnalysisOptions};
use crate::connection::Status;
use crate::throughput::Throughput;
use collect::{Collector, Wanted};
use serde::Serialize;
use std::net::SocketAddr;
use std::path::Path;

/// Both directions of one connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeSequence {
    /// Number of the connection among those of its interface, from 1.
    pub connection: usize,
    /// Number and name of the interface.
    pub interface: String,
    /// Time of the connection's first packet, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// Time from the first packet to the last, in nanoseconds.
    pub duration_ns: u64,
    /// How it ended.
    pub status: Status,
    /// The direction from the end that sent the first packet, then the opposite one.
    pub series: [Series; 2],
    /// Maximum number of points of each sort.
    #[serde(skip)]
    limit: usize,
}

/// One direction: what one end sent, and the other end's acknowledgments of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Segments with data, or with SYN or FIN.
    pub segments: Vec<SegmentPoint>,
    /// Acknowledgments of them, with the edge of the window.
    pub acks: Vec<AckPoint>,
    /// SACK blocks that report them.
    pub sacks: Vec<SackPoint>,
    /// Other events to mark.
    pub marks: Vec<MarkPoint>,
    /// Packets that the link lost or damaged; empty without an event log.
    pub losses: Vec<LossPoint>,
    /// Rates over time, computed from all packets; `None` if no data was sent.
    pub throughput: Option<Throughput>,
    /// Numbers of points of each sort before some were left out.
    pub totals: Totals,
    /// Sequence number that is 0 in relative numbers, if one was seen.
    pub base: Option<u32>,
}

/// Numbers of points of each sort before thinning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs, reason = "the fields of `Series` document them")]
pub struct Totals {
    pub segments: u64,
    pub acks: u64,
    pub sacks: u64,
    pub marks: u64,
    pub losses: u64,
}

/// Reads connection `connection` of the capture at `path`.
///
/// Connections are counted from 1, as `lasthop analyze` does, on `interface` (a name or a number),
/// or on that of the first TCP segment. There are at most `limit` points (at least 16) of each sort
/// and direction.
pub fn read(
    path: &Path,
    interface: Option<&str>,
    connection: usize,
    limit: usize,
) -> Result<TimeSequence, TraceError> {
    let missing = |there| TraceError::NoConnection { path: path.to_owned(), wanted: connection, there };
    let Some(index) = connection.checked_sub(1) else { return Err(missing(0)) };
    let (mut found, there) = collect(path, interface, Wanted::Number(index), limit)?;
    found.pop().ok_or_else(|| missing(there))
}

/// Reads the first connection between two ends, whichever of them began it; see [`read`].
///
/// Returns `None` if there is none.
pub fn read_between(
    path: &Path,
    interface: Option<&str>,
    ends: (SocketAddr, SocketAddr),
    limit: usize,
) -> Result<Option<TimeSequence>, TraceError> {
    let (found, _) = collect(path, interface, Wanted::Between(ends), limit)?;
    Ok(found.into_iter().next())
}

/// Reads all connections of an interface, in their order; see [`read`].
pub fn read_all(path: &Path, interface: Option<&str>, limit: usize) -> Result<Vec<TimeSequence>, TraceError> {
    collect(path, interface, Wanted::All, limit).map(|(found, _)| found)
}

/// Returns the requested connections, and the number of connections on that interface.
fn collect(
    path: &Path,
    interface: Option<&str>,
    wanted: Wanted,
    limit: usize,
) -> Result<(Vec<TimeSequence>, usize), TraceError> {
    let mut collector = Collector::new(wanted, limit);
    let options =
        AnalysisOptions { interface: interface.map(ToOwned::to_owned), ..AnalysisOptions::default() };
    let trace = analysis::read(path, &options, &mut collector)?;
    let analysis = trace.interfaces.iter().find(|analysis| Some(analysis.number) == collector.interface());
    let Some(analysis) = analysis else { return Ok((Vec::new(), 0)) };
    Ok((collector.finish(analysis), analysis.connections.all().len()))
}
