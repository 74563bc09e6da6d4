//! Packets that wait in order of arrival: the storage of all queue disciplines.

use super::limit::Limit;
use crate::packet::Packet;
use std::collections::VecDeque;

/// A waiting packet. Its logical time is that of its arrival.
#[derive(Debug)]
pub(super) struct Waiting {
    pub packet: Packet,
    /// Size in bytes, as the limiter counts it.
    pub cost: u64,
    /// The virtual queue of a TheaterQ trace in which it counts.
    pub queue: u16,
}

/// An amount of waiting packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Amount {
    pub packets: u64,
    pub bytes: u64,
}

impl Amount {
    /// Returns whether the amount exceeds `limit`; never for one in time.
    pub fn exceeds(self, limit: Limit) -> bool {
        match limit {
            Limit::Unlimited | Limit::Time(_) => false,
            Limit::Packets(most) => self.packets > most,
            Limit::Bytes(most) => self.bytes > most.get(),
        }
    }
}

impl std::ops::Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

/// A first-in, first-out queue.
#[derive(Debug, Default)]
pub(super) struct Fifo {
    row: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// Returns the total amount.
    pub fn amount(&self) -> Amount {
        Amount { packets: self.row.len() as u64, bytes: self.bytes }
    }

    pub fn front(&self) -> Option<&Waiting> {
        self.row.front()
    }

    pub fn push(&mut self, waiting: Waiting) {
        self.bytes += waiting.cost;
        self.row.push_back(waiting);
    }

    /// Removes the oldest packet.
    pub fn pop(&mut self) -> Option<Waiting> {
        let waiting = self.row.pop_front()?;
        self.bytes -= waiting.cost;
        Some(waiting)
    }

    /// Removes the newest packet.
    pub fn pop_newest(&mut self) -> Option<Waiting> {
        let waiting = self.row.pop_back()?;
        self.bytes -= waiting.cost;
        Some(waiting)
    }

    /// Computes the size of each packet anew.
    pub fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        for waiting in &mut self.row {
            waiting.cost = cost(&waiting.packet);
        }
        self.bytes = self.row.iter().map(|waiting| waiting.cost).sum();
    }

    /// Removes all packets.
    pub fn drain(&mut self) -> impl Iterator<Item = Waiting> + use<> {
        std::mem::take(self).row.into_iter()
    }
}
