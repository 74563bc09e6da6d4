//! Forward RTO-recovery (F-RTO, RFC 5682), as one looks at it afterwards: after a timeout, do the
//! originals still arrive?
//!
//! A path that keeps the order delivers what was sent before a retransmission before it. So the
//! retransmission was spurious if
//!
//! * the acknowledgment that first covers it also covers data behind it that was sent just once,
//!   and nothing had told that this data was already there (section 2.1, step 2, at the first
//!   acknowledgment), or
//! * behind that acknowledgment the next byte awaited, sent once and before the retransmission, or
//!   a byte higher than any told before, arrives: it came behind what the first acknowledgment
//!   answered (step 3, and section 3 with SACK).
//!
//! It was necessary if data sent behind its predecessor was known to be there while it was awaited,
//! or if the originals behind it could have shown and did not. RFC 5682 says nothing of fast
//! retransmissions: where a path changes the order the argument does not hold.

use super::Verdict;
use super::flow::Acknowledgment;
use super::story::{Again, Story};
use crate::retransmission::Cause;

/// What F-RTO's argument says of a retransmission.
#[must_use]
pub fn forward(story: &Story<'_>, again: &Again) -> Verdict {
    if again.cause != Cause::Timeout {
        return Verdict::Unknown;
    }
    let edge = story.edge_before(again.acks);
    let Some(first) = story.beyond(again.acks, edge.max(again.end - 1)) else { return Verdict::Unknown };
    if edge >= again.end {
        return Verdict::Unknown;
    }
    let acks = &story.flow.acknowledgments;
    let highest = story.sent_before(again.at);
    let (number, order) = (acks[first].number, acks[first].order);
    let told = story.told_before(first).max(again.end);
    let hole = has_hole(story, again, first);
    // At the first acknowledgment: data behind, that nothing had told of.
    let (low, high) = (told, number.min(highest));
    if !hole && low < high && story.is_sent_once(low, high.min(low + 1), again.at, order) {
        return Verdict::Spurious;
    }
    // Behind it, until all that was outstanding is acknowledged.
    let mut could_show = false;
    for (at, ack) in acks.iter().enumerate().skip(first + 1) {
        let (edge, order) = (story.edge_before(at), ack.order);
        if edge >= highest {
            break;
        }
        let is_original = story.is_sent_once(edge, edge + 1, again.at, order);
        could_show |= is_original;
        if ack.number > edge && is_original && edge >= told {
            return Verdict::Spurious;
        }
        let told = story.told_before(at);
        let block = ack.sacks.iter().find(|block| block.1 > told && block.0 < highest);
        if block.is_some_and(|block| {
            let byte = block.0.max(told);
            byte < highest && story.is_sent_once(byte, byte + 1, again.at, order)
        }) {
            return Verdict::Spurious;
        }
    }
    // What was not awaited when it came may have been there for long, unless SACK would have told.
    let awaited = story.flow.sack || story.edge_before(first) >= again.first;
    if awaited && (hole || could_show) { Verdict::Necessary } else { Verdict::Unknown }
}

/// Segments behind the retransmission's predecessor that are looked for among what the receiver
/// told.
const LOOKED_FOR: usize = 64;

/// Whether the receiver told, between the latest transmission of these bytes and the acknowledgment
/// at `first`, that something sent behind that transmission is there.
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
