//! The sending half of a selective-repeat ARQ: the frames between V(A) and V(S), and what is to be
//! done about each.
//!
//! Retransmissions precede new data, the oldest first. When something is sent, and what it is, is
//! the protocol's business.

use super::Modulus;
use std::collections::VecDeque;

/// Frames that were sent and are not acknowledged, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SendWindow<T> {
    modulus: Modulus,
    /// Most frames that may be outstanding.
    size: usize,
    /// V(A): number of the oldest frame that is not acknowledged.
    oldest: u16,
    slots: VecDeque<Slot<T>>,
}

/// One outstanding frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot<T> {
    /// What it carries.
    pub body: T,
    /// Where it stands.
    pub state: SlotState,
    /// How often it was sent.
    pub sent: u16,
}

/// Where an outstanding frame stands, as far as the sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotState {
    /// Under way, or arrived, or lost.
    Sent,
    /// To be sent again.
    Again,
    /// The receiver has it, though not all before it.
    Held,
    /// Sent as often as it may be: never again.
    GivenUp,
}

/// A frame that is to be sent now.
#[derive(Debug, PartialEq, Eq)]
pub struct Transmission<'a, T> {
    /// N(S).
    pub ns: u16,
    /// How often it has been sent, this time included.
    pub sent: u16,
    /// What it carries.
    pub body: &'a mut T,
}

impl<T> SendWindow<T> {
    /// An empty window that begins with number 0.
    ///
    /// # Panics
    /// If the window has no place, or is not smaller than the modulus.
    #[must_use]
    pub fn new(modulus: Modulus, size: usize) -> Self {
        assert!(size > 0 && size < modulus.numbers() as usize, "a window of {size} and {modulus:?}");
        Self { modulus, size, oldest: 0, slots: VecDeque::new() }
    }

    /// V(A).
    #[must_use]
    pub fn oldest(&self) -> u16 {
        self.oldest
    }

    /// V(S): number of the next new frame.
    #[must_use]
    pub fn next(&self) -> u16 {
        self.modulus.after(self.oldest, self.slots.len())
    }

    /// Frames that are not acknowledged.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.slots.len()
    }

    /// Whether a new frame may be sent.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.slots.len() < self.size
    }

    /// The outstanding frames, the oldest first, with their numbers.
    #[must_use]
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = (u16, &Slot<T>)> {
        self.slots.iter().enumerate().map(|(place, slot)| (self.modulus.after(self.oldest, place), slot))
    }

    /// Bodies of the outstanding frames, the oldest first.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().map(|slot| &mut slot.body)
    }

    /// The outstanding frame with this number.
    #[must_use]
    pub fn slot(&self, number: u16) -> Option<&Slot<T>> {
        self.slots.get(self.modulus.steps(self.oldest, number))
    }

    fn slot_mut(&mut self, number: u16) -> Option<&mut Slot<T>> {
        self.slots.get_mut(self.modulus.steps(self.oldest, number))
    }

    /// A new frame: sent now, for the first time. Gives its N(S).
    ///
    /// # Panics
    /// If the window is not open.
    pub fn send(&mut self, body: T) -> u16 {
        assert!(self.is_open(), "{} frames are outstanding already", self.slots.len());
        let ns = self.next();
        self.slots.push_back(Slot { body, state: SlotState::Sent, sent: 1 });
        ns
    }

    /// The oldest frame that is to be sent again, which counts as sent by this.
    pub fn send_again(&mut self) -> Option<Transmission<'_, T>> {
        let place = self.slots.iter().position(|slot| slot.state == SlotState::Again)?;
        let ns = self.modulus.after(self.oldest, place);
        let slot = &mut self.slots[place];
        slot.state = SlotState::Sent;
        slot.sent = slot.sent.saturating_add(1);
        Some(Transmission { ns, sent: slot.sent, body: &mut slot.body })
    }

    /// Whether a frame waits to be sent again.
    #[must_use]
    pub fn has_again(&self) -> bool {
        self.slots.iter().any(|slot| slot.state == SlotState::Again)
    }

    /// Marks a frame to be sent again, if it is outstanding and neither held nor given up. Whether
    /// it was under way.
    pub fn again(&mut self, number: u16) -> bool {
        match self.slot_mut(number) {
            Some(slot) if slot.state == SlotState::Sent => {
                slot.state = SlotState::Again;
                true
            }
            _ => false,
        }
    }

    /// Marks all from `number` on to be sent again that are neither held nor given up.
    pub fn all_again(&mut self, number: u16) {
        let from = self.modulus.steps(self.oldest, number);
        for slot in self.slots.iter_mut().skip(from).filter(|slot| slot.state == SlotState::Sent) {
            slot.state = SlotState::Again;
        }
    }

    /// The receiver has this frame. Whether that is new.
    pub fn hold(&mut self, number: u16) -> bool {
        self.put(number, SlotState::Held)
    }

    /// This frame is never sent again. Whether that is new.
    pub fn give_up(&mut self, number: u16) -> bool {
        self.put(number, SlotState::GivenUp)
    }

    fn put(&mut self, number: u16, state: SlotState) -> bool {
        let Some(slot) = self.slot_mut(number) else { return false };
        let is_new = slot.state != state;
        slot.state = state;
        is_new
    }

    /// The receiver has everything before `next`: those frames, the oldest first, or `None` if
    /// `next` is not from V(A) to V(S).
    pub fn acknowledge(&mut self, next: u16) -> Option<Vec<Slot<T>>> {
        let count = self.modulus.steps(self.oldest, next);
        if count > self.slots.len() {
            return None;
        }
        self.oldest = next;
        Some(self.slots.drain(..count).collect())
    }

    /// Begins again with number 0, and gives what was outstanding.
    pub fn clear(&mut self) -> Vec<Slot<T>> {
        self.oldest = 0;
        self.slots.drain(..).collect()
    }

    /// Another window; frames that are outstanding stay.
    pub fn resize(&mut self, size: usize) {
        self.size = size.min(self.modulus.numbers() as usize - 1);
    }

    /// Counts how often frames were sent only as far as `most`, so that states of a model which
    /// differ in nothing else are one.
    #[cfg(test)]
    pub(crate) fn cap_counts(&mut self, most: u16) {
        for slot in &mut self.slots {
            slot.sent = slot.sent.min(most);
        }
    }
}

#[cfg(test)]
mod tests;
