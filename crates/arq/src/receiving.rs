//! The receiving half of a selective-repeat ARQ: frames from V(R) on, held until those before them
//! are there.
//!
//! Each number in the window is missing or held. Whether the missing ones are asked for, and how,
//! is the protocol's business, which keeps what it needs for that (a timer, for instance) with each
//! gap.

use super::Modulus;
use std::collections::VecDeque;

/// When a frame is passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Order {
    /// In the order of numbers: behind all before it.
    #[default]
    InSequence,
    /// As soon as it arrives, once.
    AsReceived,
}

/// Frames from V(R) on. `G` is what the protocol keeps with each gap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ReceiveWindow<T, G> {
    modulus: Modulus,
    size: usize,
    order: Order,
    /// V(R): number of the oldest frame that has not arrived.
    next: u16,
    slots: VecDeque<Slot<T, G>>,
}

/// What stands at a number behind V(R).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Slot<T, G> {
    Missing(G),
    Held(T),
    /// Arrived, and passed on already ([`Order::AsReceived`]).
    Passed,
}

/// What became of a frame that arrived.
#[derive(Debug, PartialEq, Eq)]
pub enum Arrival {
    /// V(R) has moved on, over so many numbers.
    InSequence(usize),
    /// It is held, or passed on before its turn.
    Ahead,
    /// It was there already.
    Again,
    /// It lies outside of the window; nothing has changed.
    Outside,
}

impl<T, G: Default> ReceiveWindow<T, G> {
    /// An empty window that begins with number 0.
    ///
    /// # Panics
    /// If the window has no place, or is not smaller than the modulus.
    #[must_use]
    pub fn new(modulus: Modulus, size: usize, order: Order) -> Self {
        assert!(size > 0 && size < modulus.numbers() as usize, "a window of {size} and {modulus:?}");
        Self { modulus, size, order, next: 0, slots: VecDeque::new() }
    }

    /// V(R).
    #[must_use]
    pub fn next(&self) -> u16 {
        self.next
    }

    /// A frame arrives. What can be passed on by that goes to `out`.
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

    /// Passes over the oldest number that is missing, without its frame; what is held behind it
    /// goes to `out`.
    pub fn skip(&mut self, out: &mut Vec<T>) {
        self.slots.pop_front();
        self.next = self.modulus.after(self.next, 1);
        self.pass(out);
    }

    /// Moves V(R) to the first number that is missing.
    fn pass(&mut self, out: &mut Vec<T>) -> usize {
        let arrived = self.slots.iter().take_while(|slot| !matches!(slot, Slot::Missing(_))).count();
        out.extend(self.slots.drain(..arrived).filter_map(|slot| match slot {
            Slot::Held(body) => Some(body),
            Slot::Missing(_) | Slot::Passed => None,
        }));
        self.next = self.modulus.after(self.next, arrived);
        arrived
    }

    /// Numbers that are missing before one that has arrived, the oldest first.
    pub fn gaps(&self) -> impl Iterator<Item = (u16, &G)> {
        self.slots.iter().enumerate().filter_map(|(place, slot)| match slot {
            Slot::Missing(gap) => Some((self.modulus.after(self.next, place), gap)),
            Slot::Held(_) | Slot::Passed => None,
        })
    }

    /// The same, to be changed.
    pub fn gaps_mut(&mut self) -> impl Iterator<Item = (u16, &mut G)> {
        let (modulus, next) = (self.modulus, self.next);
        self.slots.iter_mut().enumerate().filter_map(move |(place, slot)| match slot {
            Slot::Missing(gap) => Some((modulus.after(next, place), gap)),
            Slot::Held(_) | Slot::Passed => None,
        })
    }

    /// Bit n is set if the frame n+1 after V(R) has arrived: what lies before V(R) has, V(R) has
    /// not.
    #[must_use]
    pub fn held(&self) -> u32 {
        let arrived = |(bit, slot): (usize, &Slot<T, G>)| {
            if matches!(slot, Slot::Missing(_)) { 0 } else { 1u32 << bit }
        };
        self.slots.iter().skip(1).take(32).enumerate().map(arrived).sum()
    }

    /// Begins again with number 0, without what was held.
    pub fn clear(&mut self) {
        self.next = 0;
        self.slots.clear();
    }

    /// Another window; frames that are held stay.
    pub fn resize(&mut self, size: usize) {
        self.size = size.min(self.modulus.numbers() as usize - 1);
    }
}

#[cfg(test)]
mod tests;
