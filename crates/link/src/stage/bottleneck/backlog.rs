//! Packets that wait for a limiter, in the order in which they came.

use super::queue::Limit;
use crate::packet::Packet;
use crate::units::Span;
use std::collections::{HashMap, VecDeque};

/// A packet that waits. Its logical time is when it came.
#[derive(Debug)]
pub(super) struct Waiting {
    pub packet: Packet,
    /// Bytes that it costs.
    pub cost: u64,
    /// The virtual queue that it counts in.
    pub queue: u16,
}

/// The row of waiting packets.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    row: VecDeque<Waiting>,
    bytes: u64,
    /// What waits in virtual queues other than 0, which is all the rest.
    virtuals: HashMap<u16, Amount>,
}

/// How much waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

impl Backlog {
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// Everything that waits.
    pub fn amount(&self) -> Amount {
        Amount { packets: self.row.len() as u64, bytes: self.bytes }
    }

    /// What waits in one virtual queue.
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

    /// Whether more waits than `limit` allows.
    pub fn exceeds(&self, limit: Limit) -> bool {
        match limit {
            Limit::Unlimited | Limit::Time(_) => false,
            Limit::Packets(most) => self.row.len() as u64 > most,
            Limit::Bytes(most) => self.bytes > most.get(),
        }
    }

    /// Whether `limit` allows a packet of `cost` bytes to wait as well, which would be for `wait`.
    pub fn has_room(&self, limit: Limit, cost: u64, wait: impl FnOnce() -> Span) -> bool {
        match limit {
            Limit::Unlimited => true,
            Limit::Packets(most) => (self.row.len() as u64) < most,
            Limit::Bytes(most) => self.bytes.saturating_add(cost) <= most.get(),
            Limit::Time(longest) => wait() <= longest,
        }
    }

    /// Counts anew what each packet costs.
    pub fn recount(&mut self, cost: impl Fn(&Packet) -> u64) {
        let row = std::mem::take(&mut self.row);
        *self = Self::default();
        for waiting in row {
            let cost = cost(&waiting.packet);
            self.push(Waiting { cost, ..waiting });
        }
    }

    /// Takes everything out.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> {
        std::mem::take(self).row.into_iter().map(|waiting| waiting.packet)
    }
}
