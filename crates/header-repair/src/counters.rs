//! Phase 5: counters of the segments that each phase handled, and of their outcomes (TL-27).
//!
//! Every damaged segment ends in exactly one outcome: [`Counters::damaged`] is
//! [`Counters::accepted`] plus the discards.

use crate::{Acceptance, Reason, SegmentVerdict};

/// Numbers of segments, by phase; `bytes` counts bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Detect: right checksum.
    pub right: u64,
    /// Detect: partial checksum.
    pub unverifiable: u64,
    /// Detect: wrong checksum, or too short to have one.
    pub damaged: u64,
    /// Salvage: accepted, confirmed or not.
    pub accepted: u64,
    /// Localize: accepted, found although the ports were damaged.
    pub approximate: u64,
    /// Risk analysis: accepted, confirmed by the received checksum.
    pub confirmed: u64,
    /// Risk analysis: accepted as guesses.
    pub guesses: u64,
    /// Risk analysis: accepted behind a hole.
    pub out_of_order: u64,
    /// Salvage: accepted bytes that may be damaged.
    pub bytes: u64,
    discards: [u64; Reason::ALL.len()],
}

impl Counters {
    /// Returns the number of segments discarded for `reason`.
    #[must_use]
    pub const fn discarded(&self, reason: Reason) -> u64 {
        self.discards[reason.number() as usize - 1]
    }

    /// Returns the number of segments discarded for any reason.
    #[must_use]
    pub fn all_discarded(&self) -> u64 {
        self.discards.iter().sum()
    }

    /// Counts the outcome of one packet.
    pub fn count(&mut self, verdict: SegmentVerdict) {
        match verdict {
            SegmentVerdict::NotOurs | SegmentVerdict::NotLite => {}
            SegmentVerdict::Pass => self.right += 1,
            SegmentVerdict::Unverifiable => self.unverifiable += 1,
            SegmentVerdict::Accept(acceptance) => {
                let Acceptance { confirmed, approximate, guess, out_of_order, bytes } = acceptance;
                self.damaged += 1;
                self.accepted += 1;
                self.confirmed += u64::from(confirmed);
                self.approximate += u64::from(approximate);
                self.guesses += u64::from(guess);
                self.out_of_order += u64::from(out_of_order);
                self.bytes += u64::from(bytes);
            }
            SegmentVerdict::Discard(reason) => {
                self.damaged += 1;
                self.discards[usize::from(reason.number()) - 1] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damaged_segment_ends_in_exactly_one_outcome() {
        let mut counters = Counters::default();
        let accepted = Acceptance { confirmed: true, guess: true, bytes: 7, ..Acceptance::default() };
        let left_alone = [
            SegmentVerdict::NotOurs,
            SegmentVerdict::NotLite,
            SegmentVerdict::Pass,
            SegmentVerdict::Unverifiable,
        ];
        let discarded = Reason::ALL.map(SegmentVerdict::Discard);
        for verdict in left_alone.into_iter().chain([SegmentVerdict::Accept(accepted)]).chain(discarded) {
            counters.count(verdict);
        }
        assert_eq!((counters.right, counters.unverifiable, counters.damaged), (1, 1, 13));
        assert_eq!((counters.accepted, counters.confirmed, counters.guesses, counters.bytes), (1, 1, 1, 7));
        assert_eq!((counters.approximate, counters.out_of_order), (0, 0));
        assert!(Reason::ALL.into_iter().all(|reason| counters.discarded(reason) == 1));
        assert_eq!(counters.damaged, counters.accepted + counters.all_discarded());
    }
}
