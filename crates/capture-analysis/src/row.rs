//! Results for a connection as one object for JSON and tables. Field names end with the unit of
//! times.

use crate::analysis::Analysis;
use crate::connection::{Connection, Status};
use crate::half::{Counts, Offer};
use crate::idle::Gaps;
use crate::retransmission::Retransmissions;
use crate::round_trip::RoundTripSummary;
use serde::Serialize;
use std::net::SocketAddr;

/// One connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ConnectionRow {
    /// The capture.
    pub file: String,
    /// Number of the interface.
    pub interface: usize,
    /// Name of the interface, if it has one.
    pub interface_name: Option<String>,
    /// Number of the connection on that interface, from 1.
    pub connection: usize,
    /// How it ended.
    pub status: Status,
    /// Whether SYN and FIN of both ends were seen; there may be a reset, too.
    pub complete: bool,
    /// Number of ends that sent a SYN.
    pub syns: usize,
    /// Number of ends that sent a FIN.
    pub fins: usize,
    /// Time of the first packet, in nanoseconds since 1970.
    pub first_packet_unix_ns: u64,
    /// Time of the last packet, in nanoseconds since 1970.
    pub last_packet_unix_ns: u64,
    /// Time from the first packet to the last, in microseconds.
    pub elapsed_us: u64,
    /// The direction from the end that sent the first packet, then the opposite one.
    pub directions: [DirectionRow; 2],
    /// Long silences (TL-25).
    pub silences: Gaps,
}

/// One direction of a connection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DirectionRow {
    /// The sender.
    pub from: SocketAddr,
    /// The receiver.
    pub to: SocketAddr,
    /// Counters.
    #[serde(flatten)]
    pub counts: Counts,
    /// *unique bytes sent*.
    pub unique_bytes: u64,
    /// *avg segm size* in bytes.
    pub mean_segment: u64,
    /// Options that the sender offered.
    pub offer: Offer,
    /// *max win adv* in bytes.
    pub max_window: u64,
    /// *min win adv* in bytes.
    pub min_window: u64,
    /// *avg win adv* in bytes.
    pub mean_window: u64,
    /// *zero win adv*.
    pub zero_windows: u64,
    /// *ttl stream length* in bytes.
    pub stream_length: Option<u64>,
    /// *missed data* in bytes.
    pub missed_bytes: Option<u64>,
    /// *data xmit time* in microseconds.
    pub data_time_us: u64,
    /// *idletime max* in microseconds.
    pub idle_max_us: Option<u64>,
    /// *throughput* in byte/s.
    pub throughput: Option<f64>,
    /// Round-trip times of its data.
    pub round_trips: RoundTripSummary,
    /// Retransmissions by cause.
    pub retransmissions: Retransmissions,
}

impl ConnectionRow {
    /// Builds the row of the connection at `index` of `analysis`, from the capture `file`.
    #[must_use]
    pub fn new(file: &str, analysis: &Analysis, index: usize) -> Self {
        let connection = &analysis.connections.all()[index];
        Self {
            file: file.to_owned(),
            interface: analysis.number,
            interface_name: (!analysis.name.is_empty()).then(|| analysis.name.clone()),
            connection: index + 1,
            status: connection.status(),
            complete: connection.is_complete(),
            syns: connection.syns(),
            fins: connection.fins(),
            first_packet_unix_ns: connection.first_time,
            last_packet_unix_ns: connection.last_time,
            elapsed_us: connection.elapsed_us(),
            directions: [0, 1].map(|half| DirectionRow::new(connection, half, analysis.end())),
            silences: connection.gaps.clone(),
        }
    }
}

impl DirectionRow {
    fn new(connection: &Connection, half: usize, end: u64) -> Self {
        let me = &connection.halves[half];
        Self {
            from: connection.end(half),
            to: connection.end(1 - half),
            counts: me.counts,
            unique_bytes: me.unique_bytes(),
            mean_segment: me.mean_segment(),
            offer: me.offer,
            max_window: me.windows.max,
            min_window: me.windows.min,
            mean_window: connection.mean_window(half),
            zero_windows: me.windows.zero,
            stream_length: me.stream_length(),
            missed_bytes: me.missed_bytes(),
            data_time_us: me.data_time_us(),
            idle_max_us: connection.idle_max_us(half, end),
            throughput: connection.throughput(half),
            round_trips: me.round_trips(),
            retransmissions: me.retransmissions(),
        }
    }
}
