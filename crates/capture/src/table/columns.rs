//! The columns: name, meaning, and how a fate gets into them and out of them again.

pub use crate::rows::Column;

use crate::event::{Channel, Direction, Ended, Fate, Flow, Header, LinkId, Reason};
use crate::rows::{Cell, Kind, columns};
use crate::time::{Span, Time};
use std::net::{IpAddr, Ipv4Addr};

/// All columns, in their order.
#[rustfmt::skip]
pub const COLUMNS: &[Column<Fate, Header>] = columns! {
    "link", Kind::Text, true, "name of the link",
        |fate, header| Cell::text(header.link(fate.link).map(|link| link.name.as_str())), |_, _| {};
    "link_id", Kind::Bits(16), false, "number of the link",
        |fate, _| Cell::number(fate.link.0), |fate, cell| fate.link = LinkId(cell.int());
    "direction", Kind::Text, false, "up: from the wireless host; down: towards it",
        |fate, _| Cell::text(Some(fate.direction.name())),
        |fate, cell| if let Some(direction) = Direction::from_name(cell.str()) { fate.direction = direction };
    "number", Kind::Rising, false, "number of the packet in its direction of its link, in order of arrival, from 0",
        |fate, _| Cell::Number(fate.number), |fate, cell| fate.number = cell.int();
    "copy", Kind::Bool, false, "whether this is a copy that the link made",
        |fate, _| Cell::Bool(fate.copy), |fate, cell| fate.copy = cell.bool();
    "length", Kind::Bits(32), false, "bytes, at the link's layer",
        |fate, _| Cell::number(fate.length), |fate, cell| fate.length = cell.int();
    "arrived_ns", Kind::Rising, false, "when it came to the link, in ns since the start of the run",
        |fate, _| Cell::time(fate.arrived), |fate, cell| fate.arrived = cell.instant();
    "sending_start_ns", Kind::Rising, false, "when the limiter sent its first bit; arrived_ns without a limiter",
        |fate, _| Cell::time(fate.sending.start), |fate, cell| fate.sending.start = cell.instant();
    "sending_end_ns", Kind::Rising, false, "when the limiter sent its last bit; arrived_ns without a limiter",
        |fate, _| Cell::time(fate.sending.end), |fate, cell| fate.sending.end = cell.instant();
    "left_ns", Kind::Rising, false, "when it was delivered or lost",
        |fate, _| Cell::time(fate.left), |fate, cell| fate.left = cell.instant();
    "outcome", Kind::Text, false, "delivered or lost",
        |fate, _| Cell::text(Some(if fate.lost.is_none() { "delivered" } else { "lost" })), |_, _| {};
    "reason", Kind::Text, true, "why it was lost: queue-full, queue-head, queue-age, codel, red, error, listed, outage, \
        expired, persistency, link-reset, disconnected, run-ended",
        |fate, _| Cell::text(fate.lost.as_ref().map(Reason::name)),
        |fate, cell| fate.lost = Some(Reason::from_name(cell.str()));
    "stage", Kind::Text, true, "name of the stage that lost it, or else of the one that damaged it",
        |fate, _| Cell::text(fate.stage.as_deref()), |fate, cell| fate.stage = Some(cell.str().to_owned());
    "channel", Kind::Text, true, "state of the channel when the last error process judged it: good or bad",
        |fate, _| Cell::text(fate.channel.map(Channel::name)),
        |fate, cell| fate.channel = Channel::from_name(cell.str());
    "bits_flipped", Kind::Bits(32), false, "bits that the link flipped",
        |fate, _| Cell::number(fate.bits_flipped), |fate, cell| fate.bits_flipped = cell.int();
    "checksum_spoiled", Kind::Bool, false, "whether the link made the TCP or UDP checksum wrong and nothing else",
        |fate, _| Cell::Bool(fate.checksum_spoiled), |fate, cell| fate.checksum_spoiled = cell.bool();
    "ce_marked", Kind::Bool, false, "whether the link set the ECN field to Congestion Experienced",
        |fate, _| Cell::Bool(fate.congestion_marked), |fate, cell| fate.congestion_marked = cell.bool();
    "held_ns", Kind::Bits(64), false, "how long hiccups held it back",
        |fate, _| Cell::Number(fate.held.as_nanos()), |fate, cell| fate.held = Span::from_nanos(cell.int());
    "overtaken", Kind::Bits(32), false, "packets that had come after it and left before it",
        |fate, _| Cell::number(fate.overtaken), |fate, cell| fate.overtaken = cell.int();
    "src", Kind::Text, true, "source address",
        |fate, _| Cell::address(fate.flow.map(|flow| flow.source)),
        |fate, cell| if let Some(address) = cell.parsed() { flow(fate).source = address };
    "dst", Kind::Text, true, "destination address",
        |fate, _| Cell::address(fate.flow.map(|flow| flow.destination)),
        |fate, cell| if let Some(address) = cell.parsed() { flow(fate).destination = address };
    "protocol", Kind::Bits(8), true, "IP protocol number: 6 TCP, 17 UDP",
        |fate, _| Cell::maybe(fate.flow.map(|flow| flow.protocol)),
        |fate, cell| flow(fate).protocol = cell.int();
    "sport", Kind::Bits(16), true, "source port of TCP or UDP",
        |fate, _| Cell::maybe(fate.flow.and_then(|flow| flow.ports).map(|ports| ports.0)),
        |fate, cell| flow(fate).ports.get_or_insert_default().0 = cell.int();
    "dport", Kind::Bits(16), true, "destination port of TCP or UDP",
        |fate, _| Cell::maybe(fate.flow.and_then(|flow| flow.ports).map(|ports| ports.1)),
        |fate, cell| flow(fate).ports.get_or_insert_default().1 = cell.int();
    "tcp_seq", Kind::Bits(32), true, "TCP sequence number of the first byte",
        |fate, _| Cell::maybe(fate.flow.and_then(|flow| flow.tcp_sequence)),
        |fate, cell| flow(fate).tcp_sequence = Some(cell.int());
    "payload", Kind::Bits(32), true, "bytes behind the transport header",
        |fate, _| Cell::maybe(fate.flow.and_then(|flow| flow.payload)),
        |fate, cell| flow(fate).payload = Some(cell.int());
};

/// What a row is before any column was read.
pub(super) fn blank() -> Fate {
    Ended::untouched(LinkId(0), Direction::Up, 0, 0, Time::ZERO, Time::ZERO).fate(None, None)
}

/// The flow of a fate of which one column was found: the others may follow.
fn flow(fate: &mut Fate) -> &mut Flow {
    const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    fate.flow.get_or_insert(Flow {
        source: NOWHERE,
        destination: NOWHERE,
        protocol: 0,
        ports: None,
        tcp_sequence: None,
        payload: None,
    })
}
