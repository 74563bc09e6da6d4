//! Time stamps (Eifel detection, RFC 3522): whose time stamp does the acknowledgment echo?
//!
//! A receiver echoes the time stamp of the segment that lay at the left edge of its window (RFC
//! 7323 section 4.3). So the first acknowledgment that moves the edge over a retransmission which
//! lies there echoes the transmission that filled it: an older time stamp than the retransmission's
//! is that of an earlier transmission, which therefore arrived; the retransmission's own, or a
//! younger one, says that none before had.
//!
//! RFC 3522 looks at the first retransmission alone and gives no verdict where a duplicate SACK
//! came along, since restoring the window would be wrong if every acknowledgment of a flight was
//! lost. That the bytes had arrived is true nevertheless, and that is asked here.
//!
//! Behind the edge, where one acknowledgment answers several segments, the echo is that of the
//! first of them. It tells of the others where that first segment was sent again, too, between
//! their transmissions: see [`behind_edge`].

use super::Verdict;
use super::story::{Again, Story};

/// What time stamps say of a retransmission.
#[must_use]
pub fn timestamps(story: &Story<'_>, again: &Again) -> Verdict {
    let Some(stamp) = story.packet(again).stamp else { return Verdict::Unknown };
    let edge = story.edge_before(again.acks);
    if edge >= again.end {
        return Verdict::Unknown;
    }
    let Some(ack) = story.beyond(again.acks, edge.max(again.first)) else { return Verdict::Unknown };
    let Some(echo) = story.flow.acknowledgments[ack].echo else { return Verdict::Unknown };
    let edge = story.edge_before(ack);
    if edge < again.first {
        return behind_edge(story, again, ack, edge, echo);
    }
    // A clock that did not tick between the two tells nothing.
    if echo == stamp && carriers(story, edge, stamp, ack).any(|at| at < again.at) {
        return Verdict::Unknown;
    }
    at_edge(echo, stamp)
}

/// What the echo in the acknowledgment that moves the left edge over a retransmission with this
/// time stamp says, if the edge was in it.
#[must_use]
pub const fn at_edge(echo: u32, stamp: u32) -> Verdict {
    if echo.wrapping_sub(stamp).cast_signed() < 0 { Verdict::Spurious } else { Verdict::Necessary }
}

/// Of a retransmission that the acknowledgment at `ack` covers together with segments before it,
/// the first of them at `edge`.
///
/// Let c be the transmission of that first segment which was echoed. If c was sent before the
/// retransmission's predecessor, and was sent once more between predecessor and retransmission, the
/// second one would have reached the receiver in between and called for an acknowledgment at once;
/// none came, so that what followed c was the predecessor. If c was sent behind the predecessor,
/// the predecessor would have come before c, beyond a hole, which SACK had told.
fn behind_edge(story: &Story<'_>, again: &Again, ack: usize, edge: u64, echo: u32) -> Verdict {
    let mut carriers = carriers(story, edge, echo, ack);
    let (Some(carrier), None) = (carriers.next(), carriers.next()) else { return Verdict::Unknown };
    let from = story.acks_behind(story.flow.transmissions[again.before].order);
    if story.is_told(from, ack, again.first, again.end) {
        return Verdict::Unknown;
    }
    let sent = &story.flow.transmissions;
    let between = || {
        story.index.near(edge, edge + 1).any(|at| {
            sent[at].first <= edge && edge < sent[at].end && (again.before + 1..again.at).contains(&at)
        })
    };
    if carrier < again.before && between() {
        Verdict::Spurious
    } else if story.flow.sack && (again.before + 1..again.at).contains(&carrier) {
        Verdict::Necessary
    } else {
        Verdict::Unknown
    }
}

/// Transmissions of the byte at `edge` with this time stamp, before the acknowledgment at `ack`.
fn carriers<'a>(
    story: &'a Story<'_>,
    edge: u64,
    stamp: u32,
    ack: usize,
) -> impl Iterator<Item = usize> + use<'a> {
    let (sent, order) = (&story.flow.transmissions, story.flow.acknowledgments[ack].order);
    story.index.near(edge, edge + 1).filter(move |&at| {
        let packet = &sent[at];
        packet.first <= edge && edge < packet.end && packet.stamp == Some(stamp) && packet.order < order
    })
}
