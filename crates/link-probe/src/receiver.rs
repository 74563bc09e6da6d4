//! The receiving side of a phase.

use crate::message::{Data, Feedback, HEAVY, REPORT, Report};
use crate::{MILLI, NEVER};
use std::collections::HashSet;

/// Time between two feedbacks.
const FEEDBACK: u64 = 50 * MILLI;

/// A probe packet that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub data: Data,
    /// UDP payload in bytes.
    pub payload: u16,
    /// Time at the receiver.
    pub received: u64,
}

/// Packets of a phase that arrived, in their order, without duplicates.
#[derive(Debug, Default)]
pub(crate) struct Receiver {
    phase: u8,
    arrivals: Vec<Arrival>,
    known: HashSet<u32>,
    /// Time of the next feedback.
    feedback: u64,
    /// Longest time between two arrivals.
    longest_gap: u64,
    /// The last train whose last packet arrived.
    train: u32,
    /// Whether the end of a train causes feedback.
    tells_trains: bool,
}

impl Receiver {
    pub fn new(phase: u8, tells_trains: bool) -> Self {
        Self { phase, feedback: NEVER, tells_trains, ..Self::default() }
    }

    /// Takes a packet.
    pub fn take(&mut self, data: Data, payload: u16, received: u64) {
        if !self.known.insert(data.sequence) {
            return;
        }
        if let Some(last) = self.arrivals.last() {
            self.longest_gap = self.longest_gap.max(received.saturating_sub(last.received));
        }
        self.arrivals.push(Arrival { data, payload, received });
        if data.count == HEAVY {
            self.feedback = self.feedback.min(received.saturating_add(FEEDBACK));
        } else if self.tells_trains && data.count > 1 && data.place.checked_add(1) == Some(data.count) {
            self.train = data.train;
            self.feedback = received;
        }
    }

    pub fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Returns the time at which feedback is due.
    pub fn due(&self) -> u64 {
        self.feedback
    }

    /// Returns the feedback if it is due at `now`.
    pub fn feedback(&mut self, now: u64) -> Option<Feedback> {
        if now < self.feedback {
            return None;
        }
        self.feedback = NEVER;
        let last = self.arrivals.last()?.received;
        let packets = u32::try_from(self.arrivals.len()).unwrap_or(u32::MAX);
        Some(Feedback { phase: self.phase, packets, last, train: self.train })
    }

    /// Returns a time without arrivals after which no more are likely.
    pub fn quiet(&self) -> u64 {
        self.longest_gap.saturating_mul(3)
    }

    /// Returns a part of the list. `sent` is the number of packets that this end has sent.
    pub fn report(&self, part: u32, sent: u32) -> Report {
        let parts = u32::try_from(self.arrivals.len().div_ceil(REPORT)).unwrap_or(u32::MAX).max(1);
        let begin = (part as usize).saturating_mul(REPORT).min(self.arrivals.len());
        let end = begin.saturating_add(REPORT).min(self.arrivals.len());
        let arrivals = self.arrivals[begin..end].iter();
        let arrivals = arrivals.map(|arrival| (arrival.data.sequence, arrival.received)).collect();
        Report { phase: self.phase, part, parts, sent, arrivals }
    }
}
