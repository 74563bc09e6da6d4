//! Duplicate SACK (RFC 2883; its use to detect spurious retransmissions: RFC 3708): the receiver
//! reports data that arrived twice.
//!
//! If a segment was sent k + 1 times and reported n times, then n + 1 transmissions arrived.
//! Whichever were lost, one had arrived before each of the last n. So a report counts for the
//! latest retransmission that has no report yet and can have been answered, because it was sent at
//! least a round trip before.
//!
//! If a receiver that sends such reports sent none, although later data was acknowledged, it did
//! not get the segment twice. Then the retransmission was necessary, unless it was lost itself.
//! This is the weakest indication of all.

use super::SpuriousVerdict;
use super::ranges::Ranges;
use super::story::{Again, Story};

/// Share of the smallest observed round-trip time that is taken as the smallest possible one.
pub(super) const SURE_SHARE: f64 = 0.9;

/// Maximum number of retransmissions, from the latest back, that one report is compared with.
const COMPARED: usize = 4096;

/// Returns the verdict of duplicate SACKs on each of these retransmissions.
#[must_use]
pub fn duplicate_sack(story: &Story<'_>, all: &[Again]) -> Vec<SpuriousVerdict> {
    let mut verdicts = vec![SpuriousVerdict::Unknown; all.len()];
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
            if verdicts[index] == SpuriousVerdict::Unknown
                && can_be
                && reported.touches(again.first, again.end)
            {
                verdicts[index] = SpuriousVerdict::Spurious;
                reported.remove(again.first, again.end);
                if reported.is_empty() {
                    break;
                }
            }
        }
    }
    if acks.iter().any(|ack| ack.twice.is_some()) {
        let silent =
            verdicts.iter_mut().zip(all).filter(|(verdict, _)| **verdict == SpuriousVerdict::Unknown);
        silent
            .filter(|(_, again)| is_answered(story, again))
            .for_each(|(verdict, _)| *verdict = SpuriousVerdict::Necessary);
    }
    verdicts
}

/// Returns whether a report can be about a retransmission that was sent `waited` before it; both in
/// nanoseconds.
#[must_use]
pub fn can_report(waited: u64, least_round_trip: Option<u64>) -> bool {
    waited >= least_round_trip.map_or(0, |trip| (trip as f64 * SURE_SHARE) as u64)
}

/// Returns whether new data sent after the retransmission was acknowledged, so that a report would
/// have come.
fn is_answered(story: &Story<'_>, again: &Again) -> bool {
    let new = story.flow.transmissions[again.at + 1..].iter().find(|sent| sent.again.is_none());
    new.is_some_and(|new| {
        let from = story.acks_behind(new.order);
        story.covering(from, new.first, new.end).is_some()
            && story.beyond(again.acks, again.end - 1).is_some()
    })
}
