//! Connections as a Parquet file: two rows per connection, one for each direction. The file
//! contains the meaning of every column.

use crate::TraceError;
use crate::row::{ConnectionRow, DirectionRow};
use capture::columnar::{self, Table};
use std::path::Path;

type Row<'a> = (&'a ConnectionRow, &'a DirectionRow);

/// A column: its name, its meaning, and its cells.
struct Column {
    name: &'static str,
    meaning: &'static str,
    cells: Cells,
}

/// Function that computes a column's cells; `None` is an empty cell.
enum Cells {
    Count(fn(Row<'_>) -> Option<u64>),
    Real(fn(Row<'_>) -> Option<f64>),
    Truth(fn(Row<'_>) -> bool),
    Text(fn(Row<'_>) -> Option<String>),
}

macro_rules! columns {
    ($($kind:ident $name:literal $meaning:literal $get:expr;)*) => {
        &[$(Column { name: $name, meaning: $meaning, cells: Cells::$kind($get) }),*]
    };
}

#[rustfmt::skip]
const COLUMNS: &[Column] = columns! {
    Text "file" "the capture" |(connection, _)| Some(connection.file.clone());
    Count "interface" "number of the interface in the file, from 0" |(connection, _)| Some(connection.interface as u64);
    Text "interface_name" "name of the interface" |(connection, _)| connection.interface_name.clone();
    Count "connection" "number of the connection on that interface, from 1" |(connection, _)| Some(connection.connection as u64);
    Text "status" "complete, reset, unidirectional or open" |(connection, _)| Some(connection.status.name().to_owned());
    Truth "complete" "whether SYN and FIN of both ends were seen" |(connection, _)| connection.complete;
    Count "first_packet_unix_ns" "time of its first packet, since 1970" |(connection, _)| Some(connection.first_packet_unix_ns);
    Count "last_packet_unix_ns" "time of its last packet, since 1970" |(connection, _)| Some(connection.last_packet_unix_ns);
    Count "elapsed_us" "time between them" |(connection, _)| Some(connection.elapsed_us);
    Count "silences" "silences of both ends longer than the threshold" |(connection, _)| Some(connection.silences.count);
    Count "longest_silence_ns" "longest of these silences; 0 if there is none" |(connection, _)| Some(connection.silences.longest_ns);
    Text "src" "address of the sender" |(_, way)| Some(way.from.ip().to_string());
    Count "sport" "port of the sender" |(_, way)| Some(way.from.port().into());
    Text "dst" "address of the receiver" |(_, way)| Some(way.to.ip().to_string());
    Count "dport" "port of the receiver" |(_, way)| Some(way.to.port().into());
    Count "packets" "packets sent" |(_, way)| Some(way.counts.packets);
    Count "resets" "packets with RST" |(_, way)| Some(way.counts.resets);
    Count "acks" "packets with ACK" |(_, way)| Some(way.counts.acks);
    Count "pure_acks" "packets with ACK, without data, SYN, FIN and RST" |(_, way)| Some(way.counts.pure_acks);
    Count "sack_packets" "acknowledgments with SACK blocks, resets excepted" |(_, way)| Some(way.counts.sack_packets);
    Count "sacks" "packets with SACK blocks, resets and others without ACK included" |(_, way)| Some(way.counts.sacks);
    Count "dsack_packets" "packets with a duplicate SACK" |(_, way)| Some(way.counts.dsack_packets);
    Count "max_sack_blocks" "most SACK blocks in a packet" |(_, way)| Some(way.counts.max_sack_blocks);
    Count "sack_blocks" "SACK blocks sent" |(_, way)| Some(way.counts.sack_blocks);
    Count "unique_bytes" "bytes of data, each counted once" |(_, way)| Some(way.unique_bytes);
    Count "data_packets" "packets with data" |(_, way)| Some(way.counts.data_packets);
    Count "data_bytes" "bytes of data, as often as they were sent" |(_, way)| Some(way.counts.data_bytes);
    Count "retransmitted_packets" "packets with data that had been sent before, wholly or partly" |(_, way)| Some(way.counts.retransmitted_packets);
    Count "retransmitted_bytes" "sequence numbers that were retransmitted" |(_, way)| Some(way.counts.retransmitted_bytes);
    Count "probe_packets" "packets sent into a window of zero" |(_, way)| Some(way.counts.probe_packets);
    Count "probe_bytes" "bytes of data in these packets" |(_, way)| Some(way.counts.probe_bytes);
    Count "out_of_order_packets" "packets that fill a hole" |(_, way)| Some(way.counts.out_of_order_packets);
    Count "pushed_packets" "packets with data and PSH" |(_, way)| Some(way.counts.pushed_packets);
    Count "syns" "packets with SYN" |(_, way)| Some(way.counts.syns);
    Count "fins" "packets with FIN" |(_, way)| Some(way.counts.fins);
    Count "window_scale" "shift count that the SYN offered" |(_, way)| way.offer.window_scale.map(u64::from);
    Truth "timestamps" "whether time stamps were sent" |(_, way)| way.offer.timestamps;
    Truth "sack_permitted" "whether the SYN permits SACK" |(_, way)| way.offer.sack;
    Count "mss" "maximum segment size that the SYN asked for, in bytes; 0 without" |(_, way)| Some(way.offer.maximum_segment.into());
    Count "urgent_packets" "packets with urgent data" |(_, way)| Some(way.counts.urgent_packets);
    Count "urgent_bytes" "sum of their urgent pointers" |(_, way)| Some(way.counts.urgent_bytes);
    Count "max_segment" "most data in a packet, in bytes" |(_, way)| Some(way.counts.max_segment);
    Count "min_segment" "least data in a packet with data, in bytes" |(_, way)| Some(way.counts.min_segment);
    Count "mean_segment" "mean data of a packet with data, in bytes" |(_, way)| Some(way.mean_segment);
    Count "max_window" "greatest window advertised, in bytes" |(_, way)| Some(way.max_window);
    Count "min_window" "least window advertised but zero, in bytes" |(_, way)| Some(way.min_window);
    Count "mean_window" "mean window advertised, in bytes" |(_, way)| Some(way.mean_window);
    Count "zero_windows" "windows of zero advertised" |(_, way)| Some(way.zero_windows);
    Count "initial_window_bytes" "new data before the first acknowledgment of data, in bytes" |(_, way)| Some(way.counts.initial_window_bytes);
    Count "initial_window_packets" "packets with this data" |(_, way)| Some(way.counts.initial_window_packets);
    Count "stream_length" "bytes between SYN and FIN" |(_, way)| way.stream_length;
    Count "missed_bytes" "bytes of the stream that were not captured" |(_, way)| way.missed_bytes;
    Count "truncated_bytes" "bytes cut off packets with data" |(_, way)| Some(way.counts.truncated_bytes);
    Count "truncated_packets" "packets with data that were cut" |(_, way)| Some(way.counts.truncated_packets);
    Count "data_time_us" "from the first packet with data to the last" |(_, way)| Some(way.data_time_us);
    Count "idle_max_us" "longest time between two packets of this direction" |(_, way)| way.idle_max_us;
    Real "throughput" "unique bytes by elapsed time, in byte/s" |(_, way)| way.throughput;
    Count "duplicate_acks" "duplicate acknowledgments of what it sent (tshark's test)" |(_, way)| Some(way.counts.duplicate_acks);
    Count "triple_duplicate_acks" "how often there were three in a row" |(_, way)| Some(way.counts.triple_duplicate_acks);
    Count "ce_packets" "packets marked Congestion Experienced" |(_, way)| Some(way.counts.ce_packets);
    Count "ece_packets" "packets with ECN-echo, without SYN" |(_, way)| Some(way.counts.ece_packets);
    Count "cwr_packets" "packets with CWR, without SYN" |(_, way)| Some(way.counts.cwr_packets);
    Count "retransmitted_fast" "packets retransmitted after duplicate acknowledgments or SACK" |(_, way)| Some(way.retransmissions.fast);
    Count "retransmitted_rack" "packets retransmitted by RACK: after SACK of later data, and time" |(_, way)| Some(way.retransmissions.rack);
    Count "retransmitted_timeout" "packets retransmitted after the timer ran out" |(_, way)| Some(way.retransmissions.timeout);
    Count "retransmitted_tail_probe" "packets retransmitted as tail loss probes" |(_, way)| Some(way.retransmissions.tail_probe);
    Count "retransmitted_keep_alive" "packets retransmitted to keep the connection alive" |(_, way)| Some(way.retransmissions.keep_alive);
    Count "retransmitted_unknown" "packets retransmitted for another reason" |(_, way)| Some(way.retransmissions.unknown);
    Count "spurious_by_timestamps" "retransmitted packets at the left edge of the window that time stamps show to be spurious" |(_, way)| Some(way.retransmissions.spurious_by_timestamps);
    Count "spurious_by_dsack" "other retransmitted packets that a duplicate SACK shows to be spurious" |(_, way)| Some(way.retransmissions.spurious_by_dsack);
    Count "timeouts" "how often the timer ran out" |(_, way)| Some(way.retransmissions.timeouts);
    Count "rtt_samples" "round-trip times measured" |(_, way)| Some(way.round_trips.count);
    Count "rtt_min_ns" "shortest round-trip time" |(_, way)| sampled(way, way.round_trips.min_ns);
    Count "rtt_mean_ns" "mean of the round-trip times" |(_, way)| sampled(way, way.round_trips.mean_ns);
    Count "rtt_median_ns" "median of the round-trip times, within 1 %" |(_, way)| sampled(way, way.round_trips.median_ns);
    Count "rtt_p95_ns" "95 % of the round-trip times are less, within 1 %" |(_, way)| sampled(way, way.round_trips.p95_ns);
    Count "rtt_p99_ns" "99 % of the round-trip times are less, within 1 %" |(_, way)| sampled(way, way.round_trips.p99_ns);
    Count "rtt_max_ns" "longest round-trip time" |(_, way)| sampled(way, way.round_trips.max_ns);
    Count "rtt_stdev_ns" "standard deviation of the round-trip times" |(_, way)| sampled(way, way.round_trips.stdev_ns);
};

/// Writes `connections` as Parquet to `path`.
pub fn write(path: &Path, connections: &[ConnectionRow]) -> Result<(), TraceError> {
    table(connections).write(path).map_err(|source| TraceError::Table { path: path.to_owned(), source })
}

/// Builds the table in memory.
#[must_use]
pub fn table(connections: &[ConnectionRow]) -> Table {
    let rows = || connections.iter().flat_map(|row| row.directions.iter().map(move |way| (row, way)));
    let column = |column: &Column| columnar::Column {
        name: column.name.to_owned(),
        meaning: column.meaning.to_owned(),
        values: match column.cells {
            Cells::Count(get) => columnar::Values::Number(rows().map(get).collect()),
            Cells::Real(get) => columnar::Values::Real(rows().map(get).collect()),
            Cells::Truth(get) => columnar::Values::Bool(rows().map(|row| Some(get(row))).collect()),
            Cells::Text(get) => columnar::Values::Text(rows().map(get).collect()),
        },
    };
    Table { columns: COLUMNS.iter().map(column).collect(), ..Table::default() }
}

/// Returns `value`, or `None` if there are no samples.
fn sampled(way: &DirectionRow, value: u64) -> Option<u64> {
    (way.round_trips.count > 0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_name_of_its_own_and_a_meaning() {
        let names: std::collections::BTreeSet<_> = COLUMNS.iter().map(|column| column.name).collect();
        assert_eq!(names.len(), COLUMNS.len());
        assert!(COLUMNS.iter().all(|column| !column.meaning.is_empty()));
        assert_eq!(table(&[]).rows(), 0);
    }
}
