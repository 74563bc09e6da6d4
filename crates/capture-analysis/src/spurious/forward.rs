//! Forward RTO-recovery (F-RTO, RFC 5682) in retrospect: do the originals still arrive after a
//! timeout?
//!
//! A path that keeps the order delivers a retransmission after everything that was sent before it.
//! So the retransmission was spurious in two cases:
//!
//! * The acknowledgment that first covers it also covers data above it that was sent just once, and
//!   that the receiver had not reported before (section 2.1, step 2, at the first acknowledgment).
//! * After that acknowledgment, data arrives that was sent once and before the retransmission: the
//!   next expected byte, or a byte above all reported before. It arrived after what the first
//!   acknowledgment answered (step 3, and section 3 with SACK).
//!
//! It was necessary if data sent after its predecessor was known to have arrived while its bytes
//! were still expected, or if the originals after it could have shown themselves and did not. RFC
//! 5682 does not cover fast retransmissions: where a path changes the order, the argument does not
//! hold.

use super::SpuriousVerdict;
use super::flow::Acknowledgment;
use super::story::{Again, Story};
use crate::retransmission::Cause;

/// Returns F-RTO's verdict on a retransmission.
#[must_use]
pub fn forward(story: &Story<'_>, again: &Again) -> SpuriousVerdict {
    if again.cause != Cause::Timeout {
        return SpuriousVerdict::Unknown;
    }
    let edge = story.edge_before(again.acks);
    let Some(first) = story.beyond(again.acks, edge.max(again.end - 1)) else {
        return SpuriousVerdict::Unknown;
    };
    if edge >= again.end {
        return SpuriousVerdict::Unknown;
    }
    let acks = &story.flow.acknowledgments;
    let highest = story.sent_before(again.at);
    let (number, order) = (acks[first].number, acks[first].order);
    let told = story.told_before(first).max(again.end);
    let hole = has_hole(story, again, first);
    // At the first acknowledgment: data above it that the receiver had not reported.
    let (low, high) = (told, number.min(highest));
    if !hole && low < high && story.is_sent_once(low, high.min(low + 1), again.at, order) {
        return SpuriousVerdict::Spurious;
    }
    // After it, until everything that was outstanding is acknowledged.
    let mut could_show = false;
    for (at, ack) in acks.iter().enumerate().skip(first + 1) {
        let (edge, order) = (story.edge_before(at), ack.order);
        if edge >= highest {
            break;
        }
        let is_original = story.is_sent_once(edge, edge + 1, again.at, order);
        could_show |= is_original;
        if ack.number > edge && is_original && edge >= told {
            return SpuriousVerdict::Spurious;
        }
        let told = story.told_before(at);
        let block = ack.sacks.iter().find(|block| block.1 > told && block.0 < highest);
        if block.is_some_and(|block| {
            let byte = block.0.max(told);
            byte < highest && story.is_sent_once(byte, byte + 1, again.at, order)
        }) {
            return SpuriousVerdict::Spurious;
        }
    }
    // Bytes that were not the expected ones may have arrived long before, unless SACK would have
    // reported them.
    let awaited = story.flow.sack || story.edge_before(first) >= again.first;
    if awaited && (hole || could_show) { SpuriousVerdict::Necessary } else { SpuriousVerdict::Unknown }
}

/// Maximum number of segments sent after the retransmission's predecessor that are searched for in
/// the receiver's reports.
const LOOKED_FOR: usize = 64;

/// Returns whether the receiver reported the arrival of anything sent after the latest transmission
/// of these bytes, between that transmission and the acknowledgment at `first`.
fn has_hole(story: &Story<'_>, again: &Again, first: usize) -> bool {
    let sent = &story.flow.transmissions;
    let before = &sent[again.before];
    let from = story.acks_behind(before.order);
    let order = story.flow.acknowledgments[first].order;
    let behind = sent[again.before + 1..].iter().take_while(|packet| packet.order < order);
    let by_block =
        behind.filter(|packet| packet.first >= again.end && packet.again.is_none()).take(LOOKED_FOR);
    let trip = story.least_round_trip.unwrap_or(0);
    let by_duplicate = |ack: &Acknowledgment| {
        let waited = ack.time.saturating_sub(before.time) >= trip;
        ack.duplicate && ack.sacks.is_empty() && ack.twice.is_none() && ack.number <= again.first && waited
    };
    by_block.into_iter().any(|packet| story.is_told(from, first, packet.first, packet.end))
        || story.flow.acknowledgments[from..first].iter().any(by_duplicate)
}
