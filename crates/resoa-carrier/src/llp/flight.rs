//! Packets in flight: which have arrived, and which are lost.
//!
//! A packet is lost if a later one has arrived, and either that one was sent [`AHEAD`] packets
//! later, or a bit more than a round trip has passed since the packet was sent (RFC 9002, 6.1). If
//! no answer comes for longer than it should take, the oldest data is sent again to ask for one.

use super::outgoing::Part;
use super::rate::Sample;
use super::rtt::Rtt;
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// How far packets may overtake each other.
const AHEAD: u64 = 3;

/// Part of a packet that must arrive and is not part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Hello,
    Welcome,
    Close,
}

/// A packet that was sent.
#[derive(Debug, Clone)]
pub(super) struct Sent {
    pub(super) at: Duration,
    pub(super) octets: usize,
    pub(super) parts: Vec<Part>,
    pub(super) words: Vec<Word>,
    /// It is a probe for a greater packet length.
    pub(super) tries_length: bool,
    pub(super) sample: Sample,
}

/// Result of an acknowledgement.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) arrived: Vec<Sent>,
    pub(super) lost: Vec<Sent>,
    /// Time from sending to now of the packet with the highest number, if it is acknowledged for
    /// the first time.
    pub(super) trip: Option<Duration>,
}

/// Packets in flight; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Flight {
    packets: BTreeMap<u64, Sent>,
    octets: u64,
    /// Highest number that has arrived.
    last: Option<u64>,
    /// When the first packet before that will count as lost.
    loss_due: Option<Duration>,
}

impl Flight {
    pub(super) fn octets(&self) -> u64 {
        self.octets
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Returns the oldest packet in flight.
    pub(super) fn oldest(&self) -> Option<(u64, &Sent)> {
        self.packets.first_key_value().map(|(number, sent)| (*number, sent))
    }

    /// Returns when the newest packet was sent.
    pub(super) fn last_sent(&self) -> Option<Duration> {
        self.packets.last_key_value().map(|(_, sent)| sent.at)
    }

    pub(super) fn loss_due(&self) -> Option<Duration> {
        self.loss_due
    }

    pub(super) fn sent(&mut self, number: u64, sent: Sent) {
        self.octets += sent.octets as u64;
        self.packets.insert(number, sent);
    }

    /// Processes an acknowledgement. [`Machine`](super::Machine) has checked that it contains no
    /// packet that was never sent.
    pub(super) fn acknowledged(&mut self, told: &[Range<u64>], rtt: &Rtt, now: Duration) -> Outcome {
        let mut found = Outcome::default();
        let newest = told.first().map(|range| range.end - 1);
        for range in told {
            let numbers: Vec<_> = self.packets.range(range.clone()).map(|(number, _)| *number).collect();
            for number in numbers {
                let Some(packet) = self.packets.remove(&number) else { continue };
                self.octets -= packet.octets as u64;
                if newest == Some(number) {
                    found.trip = Some(now.saturating_sub(packet.at));
                }
                found.arrived.push(packet);
            }
        }
        self.last = self.last.max(newest);
        found.lost = self.look_for_losses(rtt, now);
        found
    }

    /// Removes and returns the packets that are lost by now.
    pub(super) fn look_for_losses(&mut self, rtt: &Rtt, now: Duration) -> Vec<Sent> {
        self.loss_due = None;
        let Some(newest) = self.last else { return Vec::new() };
        let mut lost = Vec::new();
        for (&number, sent) in self.packets.range(..newest) {
            let due = sent.at + rtt.reordering();
            if number + AHEAD <= newest || due <= now {
                lost.push(number);
            } else {
                self.loss_due = Some(self.loss_due.map_or(due, |earlier| earlier.min(due)));
            }
        }
        let lost: Vec<_> = lost.into_iter().filter_map(|number| self.packets.remove(&number)).collect();
        self.octets -= lost.iter().map(|sent| sent.octets as u64).sum::<u64>();
        lost
    }
}
