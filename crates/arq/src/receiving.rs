//! The receiving half of a selective-repeat ARQ: frames from V(R) on, held until all frames before
//! them have arrived.
//!
//! Each number in the window is missing or held. The protocol decides whether and how to request
//! missing frames. It can keep data for this, such as a timer, with each gap.

use super::Modulus;
use borsh::{BorshDeserialize, BorshSerialize};
use std::collections::VecDeque;

/// When a frame is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, BorshSerialize, BorshDeserialize)]
pub enum Order {
    /// In the order of numbers, after all frames before it.
    #[default]
    InSequence,
    /// As soon as it arrives, once.
    AsReceived,
}

/// Frames from V(R) on. `G` is the protocol's data for each gap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReceiveWindow<T, G> {
    modulus: Modulus,
    size: usize,
    order: Order,
    /// V(R): number of the oldest frame that has not arrived.
    next: u16,
    slots: VecDeque<Slot<T, G>>,
}

/// State of a number from V(R) on.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Slot<T, G> {
    Missing(G),
    Held(T),
    /// Arrived and already passed on ([`Order::AsReceived`]).
    Passed,
}

/// Result of the arrival of a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// V(R) has advanced by this many numbers.
    InSequence(usize),
    /// The frame is held, or passed on ahead of its order.
    Ahead,
    /// The frame had arrived before.
    Again,
    /// The frame is outside the window; nothing has changed.
    Outside,
}

impl<T, G: Default> ReceiveWindow<T, G> {
    /// Creates an empty window that starts at number 0.
    ///
    /// # Panics
    /// If the size is 0, or not smaller than the modulus.
    #[must_use]
    pub fn new(modulus: Modulus, size: usize, order: Order) -> Self {
        assert!(size > 0 && size < modulus.numbers() as usize, "a window of {size} and {modulus:?}");
        Self { modulus, size, order, next: 0, slots: VecDeque::new() }
    }

    /// Returns V(R).
    #[must_use]
    pub fn next(&self) -> u16 {
        self.next
    }

    /// Receives a frame. Frames that can be passed on as a result go to `out`.
    pub fn receive(&mut self, ns: u16, body: T, out: &mut Vec<T>) -> Arrival {
        let place = self.modulus.steps(self.next, ns);
        if place >= self.size {
            return Arrival::Outside;
        }
        while self.slots.len() <= place {
            self.slots.push_back(Slot::Missing(G::default()));
        }
        if !matches!(self.slots[place], Slot::Missing(_)) {
            return Arrival::Again;
        }
        self.slots[place] = match self.order {
            Order::InSequence => Slot::Held(body),
            Order::AsReceived => {
                out.push(body);
                Slot::Passed
            }
        };
        if place > 0 {
            return Arrival::Ahead;
        }
        Arrival::InSequence(self.pass(out))
    }

    /// Skips the oldest missing number without its frame. Frames held behind it go to `out`.
    pub fn skip(&mut self, out: &mut Vec<T>) {
        self.slots.pop_front();
        self.next = self.modulus.after(self.next, 1);
        self.pass(out);
    }

    /// Moves V(R) to the first missing number.
    fn pass(&mut self, out: &mut Vec<T>) -> usize {
        let arrived = self.slots.iter().take_while(|slot| !matches!(slot, Slot::Missing(_))).count();
        out.extend(self.slots.drain(..arrived).filter_map(|slot| match slot {
            Slot::Held(body) => Some(body),
            Slot::Missing(_) | Slot::Passed => None,
        }));
        self.next = self.modulus.after(self.next, arrived);
        arrived
    }

    /// Iterates over missing numbers before a number that has arrived, the oldest first.
    pub fn gaps(&self) -> impl Iterator<Item = (u16, &G)> {
        self.slots.iter().enumerate().filter_map(|(place, slot)| match slot {
            Slot::Missing(gap) => Some((self.modulus.after(self.next, place), gap)),
            Slot::Held(_) | Slot::Passed => None,
        })
    }

    /// The same as [`ReceiveWindow::gaps`], for changes.
    pub fn gaps_mut(&mut self) -> impl Iterator<Item = (u16, &mut G)> {
        let (modulus, next) = (self.modulus, self.next);
        self.slots.iter_mut().enumerate().filter_map(move |(place, slot)| match slot {
            Slot::Missing(gap) => Some((modulus.after(next, place), gap)),
            Slot::Held(_) | Slot::Passed => None,
        })
    }

    /// Returns a mask whose bit n is set if frame V(R) + 1 + n has arrived. All frames before V(R)
    /// have arrived; frame V(R) has not.
    #[must_use]
    pub fn held(&self) -> u32 {
        let arrived = |(bit, slot): (usize, &Slot<T, G>)| {
            if matches!(slot, Slot::Missing(_)) { 0 } else { 1u32 << bit }
        };
        self.slots.iter().skip(1).take(32).enumerate().map(arrived).sum()
    }

    /// Starts again at number 0 and drops held frames.
    pub fn clear(&mut self) {
        self.next = 0;
        self.slots.clear();
    }

    /// Changes the size of the window. Held frames stay.
    pub fn resize(&mut self, size: usize) {
        self.size = size.min(self.modulus.numbers() as usize - 1);
    }
}

#[cfg(test)]
mod tests;
