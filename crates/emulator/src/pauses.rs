//! Pauses of the emulator, and whether they spoil the run.
//!
//! A packet has no logical time before it is read from its port, so [`crate::punctuality`] cannot
//! see how long it waited there. A process may be stopped (SIGSTOP), its control group frozen, or
//! the machine without a free processor. If the link was empty, none of these leaves a late packet
//! behind. The event loop therefore sleeps for at most [`crate::Driver::longest_wait`] at a time. A
//! turn that begins later than the loop asked for is a pause of the emulator, whatever woke it.
//!
//! A pause is measured from the end of the sleep that the loop asked for, so it is too short by up
//! to one such sleep.

use crate::punctuality::{FAR_TOO_LATE, FORGIVEN, LATE_SHARE, Overload};
use borsh::{BorshDeserialize, BorshSerialize};
use link::units::{Span, Time};

/// A turn that is delayed by more than this counts as a pause. A loaded machine now and then delays
/// a thread by a few milliseconds, and a turn with many packets takes as long.
pub const PAUSE: Span = Span::from_millis(20);

/// The pauses of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, BorshSerialize, BorshDeserialize)]
pub struct Pauses {
    /// Number of pauses.
    pub count: u64,
    /// Sum of their lengths.
    pub total: Span,
    /// Length of the longest.
    pub longest: Span,
    /// Packets read in the turn after a pause. Each may have waited for all of the pause.
    pub waited: u64,
    /// Length of the longest pause after which there was a packet to read.
    pub longest_waited: Span,
}

impl Pauses {
    /// Notes that a turn of the loop began at `now`, with `read` packets, and should have begun at
    /// `due`.
    pub fn note(&mut self, due: Time, now: Time, read: u64) {
        let pause = now.since(due);
        if pause <= PAUSE {
            return;
        }
        self.count += 1;
        self.total = self.total + pause;
        self.longest = self.longest.max(pause);
        if read > 0 {
            self.waited += read;
            self.longest_waited = self.longest_waited.max(pause);
        }
    }

    /// Judges a run in which `packets` packets left a link, by the packets that waited to be read.
    /// The limits are those for late packets.
    #[must_use]
    pub fn verdict(&self, packets: u64) -> Option<Overload> {
        let too_many = self.waited > FORGIVEN && self.waited as f64 > packets as f64 * LATE_SHARE;
        (too_many || self.longest_waited > FAR_TOO_LATE).then_some(Overload::Paused {
            total: self.total,
            longest: self.longest_waited,
            packets: self.waited,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pauses: &[(u64, u64)]) -> Pauses {
        let mut all = Pauses::default();
        for &(millis, read) in pauses {
            all.note(Time::from_nanos(5), Time::from_nanos(5) + Span::from_millis(millis), read);
        }
        all
    }

    #[test]
    fn short_delays_of_a_turn_are_no_pauses() {
        assert_eq!(of(&[(0, 3), (19, 3), (20, 3)]), Pauses::default());
        let late = of(&[(21, 0), (40, 2)]);
        assert_eq!((late.count, late.total, late.waited), (2, Span::from_millis(61), 2));
    }

    #[test]
    fn a_pause_counts_against_the_run_if_a_packet_waited() {
        assert_eq!(of(&[(5000, 0)]).verdict(10), None);
        assert_eq!(of(&[(200, 1)]).verdict(10), None);
        let (total, longest) = (Span::from_millis(5201), Span::from_millis(201));
        let expected = Overload::Paused { total, longest, packets: 1 };
        assert_eq!(of(&[(5000, 0), (201, 1)]).verdict(1000), Some(expected));
    }

    #[test]
    fn many_short_pauses_count_if_more_than_one_packet_in_a_hundred_waited() {
        let often = of(&[(50, 1); 11]);
        assert!(often.verdict(1000).is_some());
        assert_eq!(often.verdict(1100), None);
        assert_eq!(of(&[(50, 1); 10]).verdict(20), None);
    }
}
