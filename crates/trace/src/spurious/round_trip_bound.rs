//! What round-trip times allow.
//!
//! * An acknowledgment of the bytes that comes sooner behind the retransmission than the least
//!   round-trip time of the connection answers an earlier transmission: spurious.
//! * After a fast retransmission, whose hole SACK or duplicate acknowledgments had told of, an
//!   acknowledgment that comes a round trip or more behind it answers it: necessary. Without SACK
//!   that is said only of what lay at the left edge of the window, since behind it nothing shows
//!   when bytes came. Of a timeout nothing is said then: what a stalled link holds comes at any
//!   time.

use super::Verdict;
use super::duplicate_sack::SURE_SHARE;
use super::story::{Again, Story};
use crate::retransmission::Cause;

/// What round-trip times say of a retransmission.
#[must_use]
pub fn round_trip_bound(story: &Story<'_>, again: &Again) -> Verdict {
    let Some(least) = story.least_round_trip else { return Verdict::Unknown };
    if story.edge_before(again.acks) >= again.end {
        return Verdict::Unknown;
    }
    let Some(ack) = story.covering(again.acks, again.first, again.end) else { return Verdict::Unknown };
    let waited = story.flow.acknowledgments[ack].time.saturating_sub(story.packet(again).time);
    if (waited as f64) < least as f64 * SURE_SHARE {
        Verdict::Spurious
    } else if matches!(again.cause, Cause::Fast | Cause::Rack) && is_known(story, again, ack) {
        Verdict::Necessary
    } else {
        Verdict::Unknown
    }
}

/// Whether the bytes were missing until that acknowledgment: SACK would have told of them before,
/// or they were what was awaited.
fn is_known(story: &Story<'_>, again: &Again, ack: usize) -> bool {
    story.flow.sack || story.edge_before(ack) >= again.first
}
