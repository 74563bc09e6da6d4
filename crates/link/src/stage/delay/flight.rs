//! Packets in flight that may overtake each other.
//!
//! Counting how many packets have overtaken a packet reads one bit for each packet that arrived
//! after it: 16 words of memory if 1000 packets are in flight.

use crate::packet::Packet;
use crate::units::Time;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Packets in flight, ordered by the time at which they leave. Of packets that leave together, the
/// earliest arrival goes first.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    heap: BinaryHeap<Flying>,
    inside: Inside,
}

#[derive(Debug)]
struct Flying {
    leaves: Time,
    /// Place in the order of arrival.
    number: u64,
    packet: Packet,
}

impl Reordering {
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    pub fn due(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |flying| flying.leaves)
    }

    /// Adds a packet, the `number`th of all; numbers increase.
    pub fn enter(&mut self, number: u64, leaves: Time, packet: Packet) {
        self.inside.enter(number);
        self.heap.push(Flying { leaves, number, packet });
    }

    /// Removes the next packet that leaves until `now`; returns it with the number of later
    /// arrivals that left before it.
    pub fn leave(&mut self, now: Time) -> Option<(Packet, u32)> {
        if self.due() > now {
            return None;
        }
        let Flying { number, packet, .. } = self.heap.pop()?;
        let overtaken = self.inside.leave(number);
        Some((packet, u32::try_from(overtaken).unwrap_or(u32::MAX)))
    }

    pub fn clear(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.heap.drain().map(|flying| flying.packet));
        self.inside = Inside::default();
    }
}

impl Ord for Flying {
    /// A heap returns its greatest element first, so an earlier departure compares as greater.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.leaves, other.number).cmp(&(self.leaves, self.number))
    }
}

impl PartialOrd for Flying {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Flying {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Flying {}

/// The set of packets in flight: a bit for each packet since the oldest.
#[derive(Debug, Default)]
struct Inside {
    words: VecDeque<u64>,
    /// Number of the packet of the first bit.
    base: u64,
    /// Number of the next packet.
    next: u64,
}

impl Inside {
    fn enter(&mut self, number: u64) {
        if self.words.is_empty() {
            self.base = number;
        }
        self.next = number + 1;
        let place = number - self.base;
        let word = (place / 64) as usize;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= 1 << (place % 64);
    }

    /// Removes packet `number`; returns how many later arrivals have left already.
    fn leave(&mut self, number: u64) -> u64 {
        let place = number - self.base;
        let (word, bit) = ((place / 64) as usize, place % 64);
        self.words[word] &= !(1 << bit);
        let still = (self.words[word] >> bit).count_ones()
            + self.words.range(word + 1..).map(|word| word.count_ones()).sum::<u32>();
        while self.words.front() == Some(&0) {
            self.words.pop_front();
            self.base += 64;
        }
        self.next - number - 1 - u64::from(still)
    }
}
