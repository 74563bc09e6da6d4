//! Thesis mode: trusts headers, and corrects only the checksum (T 4.3; TL-03).
//!
//! The thesis damages only the checksum field, so no repair is needed. Any segment for a socket
//! that accepts damage is treated as if its checksum had been right: data, FIN, an empty segment,
//! or the SYN for a listener.

use crate::detect::Arrival;
use crate::{Acceptance, Reason, SegmentVerdict, Sockets, Tuple};
use packet::{Field, TcpHeader};
use std::ops::Range;

/// Judges a segment with a wrong checksum. Also returns the range of the stream that may be
/// damaged, if the segment is accepted. Writes nothing.
#[must_use]
pub fn judge(
    named: &Tuple,
    header: &TcpHeader,
    len: usize,
    arrival: &Arrival,
    sockets: &impl Sockets,
) -> (SegmentVerdict, Option<Range<u64>>) {
    let view = sockets.view(named);
    let settings = match &view {
        Some(view) => Some(view.settings),
        None => sockets.listener(named.pair.local, named.local_port),
    };
    if !settings.is_some_and(|settings| settings.on) {
        return (SegmentVerdict::NotLite, None);
    }
    if !arrival.is_ip_right {
        return (SegmentVerdict::Discard(Reason::Ip), None);
    }
    let bytes = len.saturating_sub(header.header_len().max(TcpHeader::LEN)) as u32;
    let accepted = SegmentVerdict::Accept(Acceptance { bytes, ..Acceptance::default() });
    let Some(view) = view else { return (accepted, None) };
    let offset = view.offset(header.get(Field::Sequence));
    let is_inside = view
        .settings
        .window
        .is_none_or(|window| offset.is_some_and(|offset| window.covers(offset, u64::from(bytes))));
    if !is_inside {
        return (SegmentVerdict::Discard(Reason::Window), None);
    }
    let damaged = offset.filter(|_| bytes > 0).map(|from| from..from.saturating_add(u64::from(bytes)));
    (accepted, damaged)
}
