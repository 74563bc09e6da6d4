//! The event log of packet fates: its schema, with the columns of its table.

use crate::column::{Cell, Column, ColumnType, column};
use crate::event::{EndedPacket, Fate, Flow, Header, SCHEMA};
use crate::log;
use crate::schema::{Contents, Schema};
use crate::table;
use crate::units::Time;
use vocabulary::{Direction, LinkId, Loss};

/// Reader of the table.
pub type Reader<R> = table::Reader<Fate, R>;
/// Writer of the table.
pub type Writer<W> = table::Writer<Fate, W>;
/// Reader of the log.
pub type LogReader<R> = log::Reader<Fate, R>;
/// Writer of the log.
pub type LogWriter<W> = log::Writer<Fate, W>;
/// A record of the log after its header.
pub type Record = log::Record<Fate>;

impl Schema for Fate {
    type Header = Header;
    const CONTENTS: Contents = Contents::Fates;
    const VERSION: u16 = SCHEMA;
    const ASIDE: &'static [&'static str] = &[table::NOTES];

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column!("link", ColumnType::Text, true, "name of the link",
            |fate, header| Cell::text(header.link(fate.link).map(|link| link.name.as_str())), |_, _| {}),
        column!("link_id", link, "number of the link"),
        column!("direction", direction, "up: from the wireless host; down: towards it"),
        column!("number", ColumnType::Rising, false, "number of the packet in its direction of its link, in order of arrival, from 0",
            |fate, _| Cell::Number(fate.number), |fate, cell| fate.number = cell.int()),
        column!("copy", copy, "whether this is a copy that the link made"),
        column!("length", length, "bytes, at the link's layer"),
        column!("arrived_ns", arrived, "when it arrived at the link, in ns since the start of the run"),
        column!("sending_start_ns", sending.start, "when the limiter sent its first bit; arrived_ns without a limiter"),
        column!("sending_end_ns", sending.end, "when the limiter sent its last bit; arrived_ns without a limiter"),
        column!("left_ns", left, "when it was delivered or lost"),
        column!("outcome", ColumnType::Text, false, "delivered or lost",
            |fate, _| Cell::text(Some(if fate.lost.is_none() { "delivered" } else { "lost" })), |_, _| {}),
        column!("reason", lost, Loss::MEANING),
        column!("stage", stage, "name of the stage that lost it, or else of the one that damaged it"),
        column!("channel", channel, "state of the channel when the last error process judged it: good or bad"),
        column!("bits_flipped", bits_flipped, "bits that the link flipped"),
        column!("checksum_spoiled", checksum_spoiled, "whether the link made the TCP or UDP checksum wrong and nothing else"),
        column!("ce_marked", congestion_marked, "whether the link set the ECN field to Congestion Experienced"),
        column!("held_ns", held, "time for which hiccups held it"),
        column!("overtaken", overtaken, "packets that arrived after it and left before it"),
        column!("src", flow(Flow::UNKNOWN).source, "source address"),
        column!("dst", flow(Flow::UNKNOWN).destination, "destination address"),
        column!("protocol", flow(Flow::UNKNOWN).protocol, "IP protocol number: 6 TCP, 17 UDP"),
        column!("sport", ColumnType::Bits(16), true, "source port of TCP or UDP",
            |fate, _| fate.flow.and_then(|flow| flow.ports).map_or(Cell::Null, |ports| Cell::number(ports.0)),
            |fate, cell| fate.flow.get_or_insert(Flow::UNKNOWN).ports.get_or_insert_default().0 = cell.int()),
        column!("dport", ColumnType::Bits(16), true, "destination port of TCP or UDP",
            |fate, _| fate.flow.and_then(|flow| flow.ports).map_or(Cell::Null, |ports| Cell::number(ports.1)),
            |fate, cell| fate.flow.get_or_insert(Flow::UNKNOWN).ports.get_or_insert_default().1 = cell.int()),
        column!("tcp_seq", flow(Flow::UNKNOWN).tcp_sequence, "TCP sequence number of the first byte"),
        column!("payload", flow(Flow::UNKNOWN).payload, "bytes after the transport header"),
    ];

    fn blank() -> Self {
        EndedPacket::untouched(LinkId(0), Direction::Up, 0, 0, Time::ZERO, Time::ZERO).fate(None, None)
    }
}
