//! What a time-sequence graph shows of one connection: when which bytes were sent, acknowledged,
//! told by SACK, and lost.
//!
//! The graph is tcptrace's (L34): sequence numbers over time, one graph a direction. All numbers
//! are relative (0 is the SYN, 1 the first byte of data) and do not wrap. Times count from the
//! first packet of the connection.
//!
//! A series has at most so many points of each sort as the reader is told, however long the
//! connection is; see [`thin`] for what is left out then.
//!
//! [`TimeSequence::mark_losses`] adds what no capture can tell: what the link did to each packet
//! that it lost, from the event log of the same run.

pub(crate) mod collect;
mod losses;
mod points;
pub mod thin;

pub use points::{AckPoint, Kind, LossPoint, Mark, MarkPoint, SackPoint, SegmentPoint};

use crate::TraceError;
use crate::analysis::{self, Options};
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
    /// When its first packet came, in nanoseconds since 1970.
    pub start_unix_ns: u64,
    /// From the first packet to the last, in nanoseconds.
    pub duration_ns: u64,
    /// How it ended.
    pub status: Status,
    /// The direction from the end that sent the first packet, and the one to it.
    pub series: [Series; 2],
    /// Most points of each sort.
    #[serde(skip)]
    limit: usize,
}

/// One direction: what one end sent, and what the other end said about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Segments with data, or with SYN or FIN.
    pub segments: Vec<SegmentPoint>,
    /// Acknowledgments that came for them, and the edge of the window.
    pub acks: Vec<AckPoint>,
    /// SACK blocks that came for them.
    pub sacks: Vec<SackPoint>,
    /// What else there is to mark.
    pub marks: Vec<MarkPoint>,
    /// Packets that the link lost or damaged; empty without an event log.
    pub losses: Vec<LossPoint>,
    /// Rates over time, of all of it whatever is left out above; `None` if it sent no data.
    pub throughput: Option<Throughput>,
    /// How many points there were of each sort before some were left out.
    pub totals: Totals,
    /// The sequence number that is 0 here, if one was seen.
    pub base: Option<u32>,
}

/// Points of each sort before thinning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[allow(missing_docs, reason = "the fields of `Series` document them")]
pub struct Totals {
    pub segments: u64,
    pub acks: u64,
    pub sacks: u64,
    pub marks: u64,
    pub losses: u64,
}

/// Reads connection `connection`, counted from 1 as `lasthop trace` does, of the capture at `path`,
/// with at most `limit` points of each sort and direction (16 at least). Without `interface` (a
/// name or a number) it is that of the first TCP segment.
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

/// Like [`read`], the first connection between two ends, whichever of them began it. `None` if
/// there is none.
pub fn read_between(
    path: &Path,
    interface: Option<&str>,
    ends: (SocketAddr, SocketAddr),
    limit: usize,
) -> Result<Option<TimeSequence>, TraceError> {
    let (found, _) = collect(path, interface, Wanted::Between(ends), limit)?;
    Ok(found.into_iter().next())
}

/// Like [`read`], all connections of an interface, in their order.
pub fn read_all(path: &Path, interface: Option<&str>, limit: usize) -> Result<Vec<TimeSequence>, TraceError> {
    collect(path, interface, Wanted::All, limit).map(|(found, _)| found)
}

/// The connections wanted, and how many there are on that interface.
fn collect(
    path: &Path,
    interface: Option<&str>,
    wanted: Wanted,
    limit: usize,
) -> Result<(Vec<TimeSequence>, usize), TraceError> {
    let mut collector = Collector::new(wanted, limit);
    let options = Options { interface: interface.map(ToOwned::to_owned), ..Options::default() };
    let trace = analysis::read(path, &options, &mut collector)?;
    let analysis = trace.interfaces.iter().find(|analysis| Some(analysis.number) == collector.interface());
    let Some(analysis) = analysis else { return Ok((Vec::new(), 0)) };
    Ok((collector.finish(analysis), analysis.connections.all().len()))
}
