//! Timers: retransmitting, probing, and giving up.

use super::{Machine, Stage};
use resoa_protocol::lhp::DisconnectReason;
use std::time::Duration;

/// Number of packets that may be sent beyond the rate in order to probe whether anything arrives.
const PROBES: u32 = 2;
/// Number of timeouts without an answer after which packets are short again.
const PATHS: u32 = 3;

impl Machine {
    /// Returns when an answer should have arrived.
    fn answer_due(&self) -> Option<Duration> {
        self.flight.last_sent().map(|at| at + self.rtt.patience(self.unanswered))
    }

    /// Returns when the other side is to be asked for more room.
    fn room_due(&self) -> Option<Duration> {
        let is_blocked = self.outgoing.is_blocked() && self.flight.is_empty();
        self.blocked.filter(|_| is_blocked).map(|asked| asked + self.rtt.patience(4))
    }

    /// Returns when the oldest waiting message that may be lost becomes late.
    fn late_from(&self) -> Option<Duration> {
        self.outage.late_from(self.outgoing.oldest_waiting()?, self.patience())
    }

    /// Gives up the messages that are late.
    pub(super) fn give_up(&mut self, now: Duration) {
        while self.late_from().is_some_and(|from| from <= now) {
            self.outgoing.give_up_oldest();
        }
    }

    /// Returns when a closed connection ends because none of its remaining data arrives.
    fn farewell_due(&self) -> Option<Duration> {
        match self.stage {
            Stage::Closing { moved } => Some(moved + self.silence.end),
            _ => None,
        }
    }

    /// Returns when a timer is due.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let acknowledgement = self.received.due();
        if self.has_ended() {
            return acknowledgement;
        }
        let is_open = self.flight.octets() < self.rate.window();
        let length = self.length.due().filter(|_| is_open && self.stage == Stage::Up);
        let length = length.map(|due| due.max(self.rate.next()));
        let paced = (is_open && self.has_more()).then(|| self.rate.next());
        let blocked = (self.outgoing.is_blocked() && self.blocked.is_none()).then_some(Duration::ZERO);
        [
            acknowledgement,
            paced,
            length,
            blocked,
            self.flight.loss_due(),
            self.answer_due(),
            self.room_due(),
            self.late_from(),
            self.farewell_due(),
            Some(self.heard.max(self.asked) + self.silence.ask),
            Some(self.heard + self.silence.end),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Handles the timers that are due.
    pub(crate) fn expire(&mut self, now: Duration) {
        if self.has_ended() {
            return;
        }
        if self.heard + self.silence.end <= now {
            self.ended(DisconnectReason::Unreachable);
            return;
        }
        if self.farewell_due().is_some_and(|due| due <= now) {
            // The other side is there, but takes nothing.
            self.reset();
            return;
        }
        self.give_up(now);
        if self.flight.loss_due().is_some_and(|due| due <= now) {
            let lost = self.flight.look_for_losses(&self.rtt, now);
            self.lost(lost, now);
        }
        if self.answer_due().is_some_and(|due| due <= now) {
            self.unanswered += 1;
            if self.unanswered == PATHS {
                self.length.doubt(now);
            }
            self.probes = PROBES;
            self.ping = true;
            // The packet stays in flight: if it did arrive, its acknowledgement may still come.
            if let Some((_, oldest)) = self.flight.oldest() {
                let oldest = oldest.clone();
                self.lost(vec![oldest], now);
            }
        }
        if self.outgoing.is_blocked() && self.blocked.is_none() {
            self.blocked = Some(now);
        }
        if self.room_due().is_some_and(|due| due <= now) {
            self.blocked = Some(now);
            self.ping = true;
        }
        if self.heard.max(self.asked) + self.silence.ask <= now {
            self.asked = now;
            self.ping = true;
        }
    }
}
