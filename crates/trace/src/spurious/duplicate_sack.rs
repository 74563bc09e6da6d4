//! Duplicate SACK (RFC 2883; its use to detect spurious retransmissions: RFC 3708): the receiver
//! tells what came twice.
//!
//! Of k + 1 transmissions of a segment and n reports, n + 1 arrived; whichever were lost, behind
//! the last n of them another one had arrived. So each report is about the latest retransmission
//! that is not yet reported and can have been answered, which is one sent at least a round trip
//! before. A receiver that sends duplicate SACKs and sent none, though what was sent later was
//! acknowledged, did not get it twice: if the retransmission was not lost itself, it was necessary.
//! That is the weakest sign of all.

use super::Verdict;
use super::ranges::Ranges;
use super::story::{Again, Story};

/// Of the least round-trip time seen, so much is taken for the least there can be.
pub(super) const SURE_SHARE: f64 = 0.9;

/// Retransmissions that one report is compared with, from the latest back.
const COMPARED: usize = 4096;

/// What duplicate SACKs say of each of these retransmissions.
#[must_use]
pub fn duplicate_sack(story: &Story<'_>, all: &[Again]) -> Vec<Verdict> {
    let mut verdicts = vec![Verdict::Unknown; all.len()];
    let acks = &story.flow.acknowledgments;
    for (at, ack) in acks.iter().enumerate() {
        let Some((left, right)) = ack.twice else { continue };
        let mut reported = Ranges::default();
        reported.add(left, right);
        let sent = all.partition_point(|again| again.acks <= at);
        for index in (sent.saturating_sub(COMPARED)..sent).rev() {
            let again = &all[index];
            let waited = ack.time.saturating_sub(story.packet(again).time);
            let can_be = can_report(waited, story.least_round_trip);
            if verdicts[index] == Verdict::Unknown && can_be && reported.touches(again.first, again.end) {
                verdicts[index] = Verdict::Spurious;
                reported.remove(again.first, again.end);
                if reported.is_empty() {
                    break;
                }
            }
        }
    }
    if acks.iter().any(|ack| ack.twice.is_some()) {
        let silent = verdicts.iter_mut().zip(all).filter(|(verdict, _)| **verdict == Verdict::Unknown);
        silent
            .filter(|(_, again)| is_answered(story, again))
            .for_each(|(verdict, _)| *verdict = Verdict::Necessary);
    }
    verdicts
}

/// Whether a report can be about a retransmission that was sent so much earlier; both in
/// nanoseconds.
#[must_use]
pub fn can_report(waited: u64, least_round_trip: Option<u64>) -> bool {
    waited >= least_round_trip.map_or(0, |trip| (trip as f64 * SURE_SHARE) as u64)
}

/// Whether something that was sent behind the retransmission for the first time was acknowledged,
/// so that a report would be there.
fn is_answered(story: &Story<'_>, again: &Again) -> bool {
    let new = story.flow.transmissions[again.at + 1..].iter().find(|sent| sent.again.is_none());
    new.is_some_and(|new| {
        let from = story.acks_behind(new.order);
        story.covering(from, new.first, new.end).is_some()
            && story.beyond(again.acks, again.end - 1).is_some()
    })
}
