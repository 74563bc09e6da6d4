//! Time stamps (Eifel detection, RFC 3522): which transmission's time stamp does the acknowledgment
//! echo?
//!
//! A receiver echoes the time stamp of the segment at the left edge of its window (RFC 7323 section
//! 4.3). Consider a retransmission at this edge. The first acknowledgment that advances the edge
//! over it echoes the transmission that filled it. A time stamp older than the retransmission's is
//! that of an earlier transmission, which therefore arrived. The retransmission's own time stamp,
//! or a younger one, says that no earlier transmission arrived.
//!
//! RFC 3522 considers the first retransmission only, and gives no verdict where a duplicate SACK
//! came as well, since restoring the window would be wrong if every acknowledgment of a flight was
//! lost. Here the question is only whether the bytes had arrived, and that is true nevertheless.
//!
//! Beyond the edge, where one acknowledgment answers several segments, the echo is that of the
//! first of them. It reveals something about the others if that first segment was retransmitted,
//! too, between their transmissions: see [`behind_edge`].

use super::SpuriousVerdict;
use super::story::{Again, Story};

/// Returns the verdict of time stamps on a retransmission.
#[must_use]
pub fn timestamps(story: &Story<'_>, again: &Again) -> SpuriousVerdict {
    let Some(stamp) = story.packet(again).stamp else { return SpuriousVerdict::Unknown };
    let edge = story.edge_before(again.acks);
    if edge >= again.end {
        return SpuriousVerdict::Unknown;
    }
    let Some(ack) = story.beyond(again.acks, edge.max(again.first)) else { return SpuriousVerdict::Unknown };
    let Some(echo) = story.flow.acknowledgments[ack].echo else { return SpuriousVerdict::Unknown };
    let edge = story.edge_before(ack);
    if edge < again.first {
        return behind_edge(story, again, ack, edge, echo);
    }
    // A clock that did not tick between the two transmissions reveals nothing.
    if echo == stamp && carriers(story, edge, stamp, ack).any(|at| at < again.at) {
        return SpuriousVerdict::Unknown;
    }
    at_edge(echo, stamp)
}

/// Returns the verdict of the echo in the acknowledgment that advances the left edge over a
/// retransmission with the time stamp `stamp`, if the edge was in it.
#[must_use]
pub const fn at_edge(echo: u32, stamp: u32) -> SpuriousVerdict {
    if echo.wrapping_sub(stamp).cast_signed() < 0 {
        SpuriousVerdict::Spurious
    } else {
        SpuriousVerdict::Necessary
    }
}

/// Returns the verdict on a retransmission that the acknowledgment at `ack` covers together with
/// segments below it, the first of which is at `edge`.
///
/// Let c be the transmission of that first segment whose time stamp was echoed.
///
/// Suppose that c was sent before the retransmission's predecessor, and the first segment once more
/// between predecessor and retransmission. If the predecessor had been lost, this second
/// transmission would have reached the receiver before the retransmission and caused an
/// acknowledgment at once. None came, so the predecessor arrived after c, and the retransmission
/// was spurious.
///
/// Suppose that c was sent after the predecessor. If the predecessor had arrived, it would have
/// arrived before c, beyond a hole, and SACK would have reported it. It did not, so the
/// retransmission was necessary.
fn behind_edge(story: &Story<'_>, again: &Again, ack: usize, edge: u64, echo: u32) -> SpuriousVerdict {
    let mut carriers = carriers(story, edge, echo, ack);
    let (Some(carrier), None) = (carriers.next(), carriers.next()) else { return SpuriousVerdict::Unknown };
    let from = story.acks_behind(story.flow.transmissions[again.before].order);
    if story.is_told(from, ack, again.first, again.end) {
        return SpuriousVerdict::Unknown;
    }
    let sent = &story.flow.transmissions;
    let between = || {
        story.index.near(edge, edge + 1).any(|at| {
            sent[at].first <= edge && edge < sent[at].end && (again.before + 1..again.at).contains(&at)
        })
    };
    if carrier < again.before && between() {
        SpuriousVerdict::Spurious
    } else if story.flow.sack && (again.before + 1..again.at).contains(&carrier) {
        SpuriousVerdict::Necessary
    } else {
        SpuriousVerdict::Unknown
    }
}

/// Returns the transmissions of the byte at `edge` with this time stamp, before the acknowledgment
/// at `ack`.
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
