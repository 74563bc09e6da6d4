//! A hole that is filled: what the acknowledgment then covers behind it had come before (RFC 5681
//! section 4.2, RFC 6582).
//!
//! As long as a receiver holds data beyond a hole it answers every segment at once. So an
//! acknowledgment that moves on then answers one segment alone, that at the hole; whatever else it
//! covers was there before. A path that keeps the order delivers that segment before what was sent
//! behind it: a retransmission behind the hole that was sent behind every transmission which can
//! have filled it had not arrived, and was spurious. Without SACK, senders repeat much of what lies
//! beyond a hole. That the receiver holds data is known by a duplicate acknowledgment, or by what
//! is covered and was sent just once, before the segment at the hole.

use super::Verdict;
use super::duplicate_sack::SURE_SHARE;
use super::story::{Again, Story};

/// What the acknowledgment that covers a retransmission together with a hole before it says.
#[must_use]
pub fn gap(story: &Story<'_>, again: &Again) -> Verdict {
    if story.flow.sack {
        return Verdict::Unknown;
    }
    let Some(at) = story.beyond(again.acks, again.end - 1) else { return Verdict::Unknown };
    let (edge, ack) = (story.edge_before(at), &story.flow.acknowledgments[at]);
    if edge >= again.first {
        return Verdict::Unknown;
    }
    let sent = &story.flow.transmissions;
    let least = story.least_round_trip.map_or(0, |trip| (trip as f64 * SURE_SHARE) as u64);
    // Transmissions of the byte at the hole that had the time to be answered.
    let mut fillers = story.index.near(edge, edge + 1).filter(|&filler| {
        let packet = &sent[filler];
        let can_be = ack.time.saturating_sub(packet.time) >= least;
        packet.first <= edge && edge < packet.end && packet.order < ack.order && can_be
    });
    let Some(first) = fillers.next() else { return Verdict::Unknown };
    if first.max(fillers.max().unwrap_or(0)) >= again.at {
        return Verdict::Unknown;
    }
    let holds = story.is_duplicate_since(story.acks_behind(sent[again.before].order), at) || {
        let highest = ack.number - 1;
        highest >= again.end && story.is_sent_once(highest, ack.number, first, ack.order)
    };
    if holds { Verdict::Spurious } else { Verdict::Unknown }
}
