//! The columns: name, meaning, and how a row gets into them and out of them again.

pub use crate::rows::{Cell, Column};

use super::{Event, Row, Way};
use crate::event::{Direction, Header, LinkId};
use crate::rows::{Kind, columns};

/// All columns, in their order.
#[rustfmt::skip]
pub const COLUMNS: &[Column<Row, Header>] = columns! {
    "time_ns", Kind::Rising, false, "when, in ns since the start of the run; rows are not in the order of time in the file",
        |row, _| Cell::number(row.time_ns.max(0).cast_unsigned()),
        |row, cell| row.time_ns = i64::try_from(cell.int::<u64>()).unwrap_or(i64::MAX);
    "link", Kind::Text, true, "name of the link",
        |row, header| Cell::text(header.link(row.link).map(|link| link.name.as_str())), |_, _| {};
    "link_id", Kind::Bits(16), false, "number of the link",
        |row, _| Cell::number(row.link.0), |row, cell| row.link = LinkId(cell.int());
    "end", Kind::Text, false, "the end that noted it, by the direction in which it sends: up is the wireless host, down the network",
        |row, _| Cell::text(Some(row.end.name())),
        |row, cell| if let Some(end) = Direction::from_name(cell.str()) { row.end = end };
    "way", Kind::Text, false, "S: this end sent it, or did it; R: received",
        |row, _| Cell::text(Some(row.way.letter())),
        |row, cell| if let Some(way) = Way::from_letter(cell.str()) { row.way = way };
    "event", Kind::Text, false, "DATA: a numbered frame for the first time; XMIT: again; SREJ: one frame is asked for again; REJ: all from \
        a number on; XON, XOFF: flow control; RST: reset; ERAS: a block that could not be decoded; OK: one that could",
        |row, _| Cell::text(Some(row.event.word())),
        |row, cell| if let Some(event) = Event::from_word(cell.str()) { row.event = event };
    "ns", Kind::Bits(16), false, "N(S), or the number that is asked for; 0 where there is none",
        |row, _| Cell::number(row.ns), |row, cell| row.ns = cell.int();
    "nr", Kind::Bits(16), false, "N(R), or the number that this end expects next",
        |row, _| Cell::number(row.nr), |row, cell| row.nr = cell.int();
    "aux", Kind::Bits(32), false, "DATA: octets of packets in the frame; XMIT: how often it was sent before; OK, ERAS: octets of the block",
        |row, _| Cell::number(row.aux), |row, cell| row.aux = cell.int();
};

/// What a row is before its columns are read.
pub(super) const BLANK: Row = Row {
    time_ns: 0,
    link: LinkId(0),
    end: Direction::Up,
    way: Way::Sent,
    event: Event::Right,
    ns: 0,
    nr: 0,
    aux: 0,
};
