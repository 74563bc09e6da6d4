//! The trains of the light phase: when each begins.
//!
//! Small packets and trains of large ones alternate. A train begins when the one before it, its
//! answer and the interval are over. If packets are lost, the end cannot be seen, and the train
//! waits for twice the longest round trip instead.

use super::RoundTrip;
use crate::message::{Data, LEAST_DATA};
use crate::plan::Plan;
use crate::{NEVER, SECOND};

/// Time to wait for an answer before a round trip is known.
const FIRST_PATIENCE: u64 = SECOND;

#[derive(Debug)]
pub(super) struct Trains {
    plan: Plan,
    /// Number of the current train.
    train: u32,
    /// Place of its next packet.
    place: u16,
    /// Time at which the next train begins.
    next: u64,
    /// Packets of the answer that have arrived.
    answered: u16,
    drained: bool,
    /// Longest time from a packet to any packet of its answer.
    longest: Option<u64>,
}

impl Trains {
    pub fn new(plan: &Plan, now: u64) -> Self {
        Self { plan: *plan, train: 0, place: 0, next: now, answered: 0, drained: false, longest: None }
    }

    /// Returns the number of packets of a train, and the payload of each.
    fn shape(&self) -> (u16, u16) {
        if self.train.is_multiple_of(2) { (1, LEAST_DATA) } else { (self.plan.train, self.plan.size) }
    }

    pub fn due(&self) -> u64 {
        if self.place > 0 { 0 } else { self.next }
    }

    /// Returns the train, the place, the number of packets and the payload of the packet that is
    /// sent at `now`, if one is due. No train begins from `end` on.
    pub fn next(&mut self, now: u64, end: u64) -> Option<(u32, u16, u16, u16)> {
        if self.place == 0 && (now < self.next || now >= end) {
            if now >= end {
                self.next = NEVER;
            }
            return None;
        }
        let (count, payload) = self.shape();
        let sent = (self.train, self.place, count, payload);
        self.place += 1;
        if self.place == count {
            self.train += 1;
            self.place = 0;
            self.answered = 0;
            self.drained = count == 1;
            let patience = self.longest.map_or(FIRST_PATIENCE, |longest| longest.saturating_mul(2));
            self.next = now.saturating_add(self.plan.interval.max(patience));
        }
        Some(sent)
    }

    /// Takes a packet of an answer; returns the round trip if it is that of two first packets.
    pub fn answer(&mut self, data: &Data, payload: u16, now: u64) -> Option<RoundTrip> {
        let time = now.checked_sub(data.echo_sent)?.checked_sub(data.held)?;
        self.longest = Some(self.longest.unwrap_or(0).max(time));
        if data.train + 1 == self.train && self.place == 0 {
            self.answered += 1;
            self.settle(data.count, now);
        }
        let first = data.place == 0 && data.echo_place == 0;
        first.then_some(RoundTrip {
            train: data.train,
            sent: data.echo_sent,
            time,
            small: payload <= LEAST_DATA,
        })
    }

    /// Notes that the last packet of a train has reached the server.
    pub fn drained(&mut self, train: u32, now: u64) {
        if train + 1 == self.train && self.place == 0 {
            self.drained = true;
            let count = if train.is_multiple_of(2) { 1 } else { self.plan.train };
            self.settle(count, now);
        }
    }

    /// Lets the next train begin an interval after the current one and its answer are over.
    fn settle(&mut self, count: u16, now: u64) {
        if self.answered >= count && self.drained && self.next != NEVER {
            self.next = now.saturating_add(self.plan.interval);
        }
    }
}
