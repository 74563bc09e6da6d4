//! Verdicts from round-trip times.
//!
//! * Spurious: an acknowledgment that covers the bytes follows the retransmission sooner than the
//!   connection's smallest round-trip time, so it answers an earlier transmission.
//! * Necessary: SACK or duplicate acknowledgments had reported the hole of a fast retransmission,
//!   and the acknowledgment follows a round trip or more after it, so it answers the
//!   retransmission. Without SACK this holds only at the left edge of the window, because nothing
//!   shows when bytes above it arrived. It does not hold for a timeout: data held by a stalled link
//!   arrives at any time.

use super::SpuriousVerdict;
use super::duplicate_sack::SURE_SHARE;
use super::story::{Again, Story};
use crate::retransmission::Cause;

/// Returns the verdict of round-trip times on a retransmission.
#[must_use]
pub fn round_trip_bound(story: &Story<'_>, again: &Again) -> SpuriousVerdict {
    let Some(least) = story.least_round_trip else { return SpuriousVerdict::Unknown };
    if story.edge_before(again.acks) >= again.end {
        return SpuriousVerdict::Unknown;
    }
    let Some(ack) = story.covering(again.acks, again.first, again.end) else {
        return SpuriousVerdict::Unknown;
    };
    let waited = story.flow.acknowledgments[ack].time.saturating_sub(story.packet(again).time);
    if (waited as f64) < least as f64 * SURE_SHARE {
        SpuriousVerdict::Spurious
    } else if matches!(again.cause, Cause::Fast | Cause::Rack) && is_known(story, again, ack) {
        SpuriousVerdict::Necessary
    } else {
        SpuriousVerdict::Unknown
    }
}

/// Returns whether the bytes were missing until that acknowledgment: SACK would have reported them
/// before, or they were the expected ones.
fn is_known(story: &Story<'_>, again: &Again, ack: usize) -> bool {
    story.flow.sack || story.edge_before(ack) >= again.first
}
