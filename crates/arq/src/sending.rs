//! The sending half of a selective-repeat ARQ: the frames between V(A) and V(S), and their states.
//!
//! Retransmissions come before new data, the oldest first. The protocol decides when to send, and
//! what.

use super::Modulus;
use std::collections::VecDeque;

/// Frames that were sent and are not acknowledged, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SendWindow<T> {
    modulus: Modulus,
    /// Maximum number of outstanding frames.
    size: usize,
    /// V(A): number of the oldest frame that is not acknowledged.
    oldest: u16,
    slots: VecDeque<Slot<T>>,
}

/// An outstanding frame.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Slot<T> {
    /// Its content.
    pub body: T,
    /// Its state.
    pub state: SlotState,
    /// How often it was sent.
    pub sent: u16,
}

/// State of an outstanding frame, as far as the sender knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SlotState {
    /// Sent: in transit, received or lost.
    Sent,
    /// Waits for its retransmission.
    Again,
    /// The receiver has it, but not all frames before it.
    Held,
    /// Given up after its last retransmission. It is never sent again.
    GivenUp,
}

/// A frame to send now.
#[derive(Debug, PartialEq, Eq)]
pub struct Transmission<'a, T> {
    /// N(S).
    pub ns: u16,
    /// How often it was sent, including this time.
    pub sent: u16,
    /// Its content.
    pub body: &'a mut T,
}

impl<T> SendWindow<T> {
    /// Creates an empty window that starts at number 0.
    ///
    /// # Panics
    /// If the size is 0, or not smaller than the modulus.
    #[must_use]
    pub fn new(modulus: Modulus, size: usize) -> Self {
        assert!(size > 0 && size < modulus.numbers() as usize, "a window of {size} and {modulus:?}");
        Self { modulus, size, oldest: 0, slots: VecDeque::new() }
    }

    /// Returns V(A).
    #[must_use]
    pub fn oldest(&self) -> u16 {
        self.oldest
    }

    /// Returns V(S), the number of the next new frame.
    #[must_use]
    pub fn next(&self) -> u16 {
        self.modulus.after(self.oldest, self.slots.len())
    }

    /// Returns the number of frames that are not acknowledged.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.slots.len()
    }

    /// Tells whether a new frame may be sent.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.slots.len() < self.size
    }

    /// Iterates over the outstanding frames with their numbers, the oldest first.
    #[must_use]
    pub fn slots(&self) -> impl DoubleEndedIterator<Item = (u16, &Slot<T>)> {
        self.slots.iter().enumerate().map(|(place, slot)| (self.modulus.after(self.oldest, place), slot))
    }

    /// Iterates over the contents of the outstanding frames, the oldest first.
    pub fn bodies_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().map(|slot| &mut slot.body)
    }

    /// Returns the outstanding frame with this number.
    #[must_use]
    pub fn slot(&self, number: u16) -> Option<&Slot<T>> {
        self.slots.get(self.modulus.steps(self.oldest, number))
    }

    fn slot_mut(&mut self, number: u16) -> Option<&mut Slot<T>> {
        self.slots.get_mut(self.modulus.steps(self.oldest, number))
    }

    /// Adds a new frame, which is sent now for the first time. Returns its N(S).
    ///
    /// # Panics
    /// If the window is not open.
    pub fn send(&mut self, body: T) -> u16 {
        assert!(self.is_open(), "{} frames are outstanding already", self.slots.len());
        let ns = self.next();
        self.slots.push_back(Slot { body, state: SlotState::Sent, sent: 1 });
        ns
    }

    /// Returns the oldest frame that waits for its retransmission, and counts it as sent.
    pub fn send_again(&mut self) -> Option<Transmission<'_, T>> {
        let place = self.slots.iter().position(|slot| slot.state == SlotState::Again)?;
        let ns = self.modulus.after(self.oldest, place);
        let slot = &mut self.slots[place];
        slot.state = SlotState::Sent;
        slot.sent = slot.sent.saturating_add(1);
        Some(Transmission { ns, sent: slot.sent, body: &mut slot.body })
    }

    /// Tells whether a frame waits for its retransmission.
    #[must_use]
    pub fn has_again(&self) -> bool {
        self.slots.iter().any(|slot| slot.state == SlotState::Again)
    }

    /// Marks a frame for retransmission if its state is [`SlotState::Sent`]. Returns whether it
    /// was.
    pub fn again(&mut self, number: u16) -> bool {
        match self.slot_mut(number) {
            Some(slot) if slot.state == SlotState::Sent => {
                slot.state = SlotState::Again;
                true
            }
            _ => false,
        }
    }

    /// Marks all frames from `number` on for retransmission whose state is [`SlotState::Sent`].
    pub fn all_again(&mut self, number: u16) {
        let from = self.modulus.steps(self.oldest, number);
        for slot in self.slots.iter_mut().skip(from).filter(|slot| slot.state == SlotState::Sent) {
            slot.state = SlotState::Again;
        }
    }

    /// Notes that the receiver has this frame. Returns whether this is new.
    pub fn hold(&mut self, number: u16) -> bool {
        self.put(number, SlotState::Held)
    }

    /// Notes that this frame is never sent again. Returns whether this is new.
    pub fn give_up(&mut self, number: u16) -> bool {
        self.put(number, SlotState::GivenUp)
    }

    fn put(&mut self, number: u16, state: SlotState) -> bool {
        let Some(slot) = self.slot_mut(number) else { return false };
        let is_new = slot.state != state;
        slot.state = state;
        is_new
    }

    /// Removes the frames before `next`, which the receiver has, and returns them, the oldest
    /// first. `None` if `next` is not from V(A) to V(S).
    pub fn acknowledge(&mut self, next: u16) -> Option<Vec<Slot<T>>> {
        let count = self.modulus.steps(self.oldest, next);
        if count > self.slots.len() {
            return None;
        }
        self.oldest = next;
        Some(self.slots.drain(..count).collect())
    }

    /// Starts again at number 0 and returns the outstanding frames.
    pub fn clear(&mut self) -> Vec<Slot<T>> {
        self.oldest = 0;
        self.slots.drain(..).collect()
    }

    /// Changes the size of the window. Outstanding frames stay.
    pub fn resize(&mut self, size: usize) {
        self.size = size.min(self.modulus.numbers() as usize - 1);
    }

    /// Limits the counts of transmissions to `most`, so that states of a model that differ only in
    /// higher counts are equal.
    #[cfg(test)]
    pub(crate) fn cap_counts(&mut self, most: u16) {
        for slot in &mut self.slots {
            slot.sent = slot.sent.min(most);
        }
    }
}

#[cfg(test)]
mod tests;
