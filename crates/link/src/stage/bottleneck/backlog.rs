//! Packets that wait for a limiter, in order of arrival.

use super::queue::Limit;
use crate::packet::Packet;
use crate::units::Span;
use std::collections::{HashMap, VecDeque};

/// A waiting packet. Its logical time is that of its arrival.
#[derive(Debug)]
pub(super) struct Waiting {
    pub packet: Packet,
    /// Size in bytes, as the limiter counts it.
    pub cost: u64,
    /// The virtual queue in which it counts.
    pub queue: u16,
}

/// The waiting packets.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    row: VecDeque<Waiting>,
    bytes: u64,
    /// Amounts in virtual queues other than 0. Queue 0 contains the rest.
    virtuals: HashMap<u16, Amount>,
}

/// An amount of waiting packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// Returns the total amount.
    pub fn amount(&self) -> Amount {
        Amount { packets: self.row.len() as u64, bytes: self.bytes }
    }

    /// Returns the amount in one virtual queue.
    pub fn amount_in(&self, queue: u16) -> Amount {
        if queue > 0 {
            return self.virtuals.get(&queue).copied().unwrap_or_default();
        }
        let mut rest = self.amount();
        for other in self.virtuals.values() {
            rest.packets -= other.packets;
            rest.bytes -= other.bytes;
        }
        rest
    }

    pub fn front(&self) -> Option<&Waiting> {
        self.row.front()
    }

    pub fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.cost;
        if waiting.queue > 0 {
            let amount = self.virtuals.entry(waiting.queue).or_default();
            amount.packets += 1;
            amount.bytes += waiting.cost;
        }
        self.row.push_back(waiting);
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.row.pop_front()?;
        self.bytes -= waiting.cost;
        if waiting.queue > 0
            && let Some(amount) = self.virtuals.get_mut(&waiting.queue)
        {
            amount.packets -= 1;
            amount.bytes -= waiting.cost;
        }
        Some(waiting)
    }

    /// Returns whether the waiting packets exceed `limit`.
    pub fn exceeds(&self, limit: Limit) -> bool {
        match limit {
            Limit::Unlimited | Limit::Time(_) => false,
            Limit::Packets(most) => self.row.len() as u64 > most,
            Limit::Bytes(most) => self.bytes > most.get(),
        }
    }

    /// Returns whether `limit` allows one more packet of `cost` bytes to wait; its waiting time
    /// would be `wait`.
    pub fn has_room(&self, limit: Limit, cost: u64, wait: impl FnOnce() -> Span) -> bool {
        match limit {
            Limit::Unlimited => true,
            Limit::Packets(most) => (self.row.len() as u64) < most,
            Limit::Bytes(most) => self.bytes.saturating_add(cost) <= most.get(),
            Limit::Time(longest) => wait() <= longest,
        }
    }

    /// Computes the size of each packet anew.
    pub fn recount(&mut self, cost: impl Fn(&Packet) -> u64) {
        let row = std::mem::take(&mut self.row);
        *self = Self::default();
        for waiting in row {
            let cost = cost(&waiting.packet);
            self.push(Waiting { cost, ..waiting });
        }
    }

    /// Removes all packets.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> {
        std::mem::take(self).row.into_iter().map(|waiting| waiting.packet)
    }
}
