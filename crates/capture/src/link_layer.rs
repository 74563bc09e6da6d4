//! Records of both ends of a link layer with retransmissions, as a log and as a table: rlpdump
//! (Ludwig 3.1.1, LL-07).
//!
//! A row is one event at one end: a numbered frame for the first time or again, a frame that is
//! requested again, flow control, a reset, a block that could be decoded or not. Rows of one end
//! are in the order of their times. An idle link logs its rows late, when it is used again, so rows
//! of several links need not be in the order of time.
//!
//! During a run rows are appended to a [log], and [`table::convert`] makes the Parquet file of it.
//! The meaning of schema version 1 is fixed for ever; columns may be added to it.
//!
//! [`blocks`] has another format: the blocks themselves with all their octets, as a capture.

pub mod blocks;

pub use vocabulary::link_layer::{Event, Record, Way};

use crate::column::{Cell, Column, ColumnType, column};
use crate::event::Header;
use crate::schema::{Contents, Schema};
use crate::units::Time;
use crate::{log, table};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::path::{Path, PathBuf};
use vocabulary::{Direction, LinkId};

/// Reader of the table. Rows of one end are in the order of their times. Within a row group, so are
/// the rows of all ends; those of one instant come link by link, the wireless host first, and
/// received before sent.
pub type Reader<R> = table::Reader<Row, R>;
/// Writer of the table.
pub type Writer<W> = table::Writer<Row, W>;
/// Reader of the log.
pub type LogReader<R> = log::Reader<Row, R>;
/// Writer of the log.
pub type LogWriter<W> = log::Writer<Row, W>;

/// Version of the schema that this crate writes.
pub const SCHEMA: u16 = 1;

/// A record of one end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Row {
    /// The link.
    pub link: LinkId,
    /// The end, named by the direction in which it sends: up is the wireless host, down the
    /// network.
    pub end: Direction,
    /// The record.
    pub record: Record,
}

/// A row as stored in the log, where the time is signed.
type Stored = (i64, LinkId, Direction, Way, Event, u16, u16, u32);

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { link, end, record: Record { at, way, event, ns, nr, aux } } = *self;
        let time = i64::try_from(at.as_nanos()).unwrap_or(i64::MAX);
        let stored: Stored = (time, link, end, way, event, ns, nr, aux);
        stored.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (time, link, end, way, event, ns, nr, aux) = Stored::deserialize(deserializer)?;
        let at = Time::from_nanos(time.max(0).cast_unsigned());
        Ok(Self { link, end, record: Record { at, way, event, ns, nr, aux } })
    }
}

impl Schema for Row {
    type Header = Header;
    const CONTENTS: Contents = Contents::LinkLayer;
    const VERSION: u16 = SCHEMA;
    const ASIDE: &'static [&'static str] = &[];
    const SMALL: bool = true;

    #[rustfmt::skip]
    const COLUMNS: &'static [Column<Self>] = &[
        column!("time_ns", record.at, "when, in ns since the start of the run; rows are not in the order of time in the file"),
        column!("link", ColumnType::Text, true, "name of the link",
            |row, header| Cell::text(header.link(row.link).map(|link| link.name.as_str())), |_, _| {}),
        column!("link_id", link, "number of the link"),
        column!("end", end, "the end that recorded it, by the direction in which it sends: up is the wireless host, down the network"),
        column!("way", record.way, "S: this end sent or did it; R: this end received it"),
        column!("event", record.event, "DATA: a numbered frame for the first time; XMIT: again; SREJ: one frame is requested again; REJ: all from \
            a number on; XON, XOFF: flow control; RST: reset; ERAS: a block that could not be decoded; OK: one that could"),
        column!("ns", record.ns, "N(S), or the requested number; 0 if there is none"),
        column!("nr", record.nr, "N(R), or the number that this end expects next"),
        column!("aux", record.aux, "DATA: octets of packets in the frame; XMIT: how often it was sent before; OK, ERAS: octets of the block"),
    ];

    fn blank() -> Self {
        let record = Record { at: Time::ZERO, way: Way::Sent, event: Event::Right, ns: 0, nr: 0, aux: 0 };
        Self { link: LinkId(0), end: Direction::Up, record }
    }

    /// Sorts by end, and received before sent. One end does much the same every 20 ms, and similar
    /// rows next to each other compress eight times better. Other programs that read the file have
    /// to sort by `time_ns`.
    fn pack(rows: &mut [Self]) {
        rows.sort_by_key(end_by_end);
    }

    /// Sorts by time. Rows of one instant come link by link, the wireless host first, and received
    /// before sent.
    fn unpack(rows: &mut [Self]) {
        rows.sort_by_key(|row| (row.record.at, end_by_end(row)));
    }
}

fn end_by_end(row: &Row) -> (LinkId, Direction, bool) {
    (row.link, row.end, row.record.way == Way::Sent)
}

/// Returns the path of the table that belongs to an event log: `x-link-layer.parquet` beside
/// `x.parquet`.
#[must_use]
pub fn beside(events: &Path) -> PathBuf {
    let stem = events.file_stem().unwrap_or_default().to_string_lossy();
    events.with_file_name(format!("{stem}-link-layer.parquet"))
}

#[cfg(test)]
mod tests;
