//! Filled holes: what the acknowledgment then covers above the hole had arrived before (RFC 5681
//! section 4.2, RFC 6582).
//!
//! While a receiver holds data above a hole, it answers every segment at once. So an acknowledgment
//! that advances then answers only the segment at the hole; everything else that it covers was
//! there before. A path that keeps the order delivers that segment before everything sent after it.
//! So if a retransmission above the hole was sent after every transmission that can have filled the
//! hole, it had not arrived, and was spurious. Without SACK, senders retransmit much of what lies
//! above a hole.
//!
//! A duplicate acknowledgment shows that the receiver holds data. So does covered data that was
//! sent just once, before the segment at the hole.

use super::SpuriousVerdict;
use super::duplicate_sack::SURE_SHARE;
use super::story::{Again, Story};

/// Returns the verdict of an acknowledgment that covers a retransmission together with a hole below
/// it.
#[must_use]
pub fn gap(story: &Story<'_>, again: &Again) -> SpuriousVerdict {
    if story.flow.sack {
        return SpuriousVerdict::Unknown;
    }
    let Some(at) = story.beyond(again.acks, again.end - 1) else { return SpuriousVerdict::Unknown };
    let (edge, ack) = (story.edge_before(at), &story.flow.acknowledgments[at]);
    if edge >= again.first {
        return SpuriousVerdict::Unknown;
    }
    let sent = &story.flow.transmissions;
    let least = story.least_round_trip.map_or(0, |trip| (trip as f64 * SURE_SHARE) as u64);
    // Transmissions of the byte at the hole that can have been answered by then.
    let mut fillers = story.index.near(edge, edge + 1).filter(|&filler| {
        let packet = &sent[filler];
        let can_be = ack.time.saturating_sub(packet.time) >= least;
        packet.first <= edge && edge < packet.end && packet.order < ack.order && can_be
    });
    let Some(first) = fillers.next() else { return SpuriousVerdict::Unknown };
    if first.max(fillers.max().unwrap_or(0)) >= again.at {
        return SpuriousVerdict::Unknown;
    }
    let holds = story.is_duplicate_since(story.acks_behind(sent[again.before].order), at) || {
        let highest = ack.number - 1;
        highest >= again.end && story.is_sent_once(highest, ack.number, first, ack.order)
    };
    if holds { SpuriousVerdict::Spurious } else { SpuriousVerdict::Unknown }
}
