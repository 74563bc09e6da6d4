//! Messages on their way out: numbered, cut into parts that fit packets, kept until the other side has them.

use super::wire::{COST, Data, Frame};
use crate::order::{Lanes, Place};
use crate::ranges::Ranges;
use std::collections::BTreeMap;

/// A part of a message that was sent, or is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) message: u64,
    pub(super) offset: u64,
    pub(super) octets: u64,
}

#[derive(Debug)]
struct Message {
    octets: Vec<u8>,
    behind: Vec<u64>,
    arrived: Ranges,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    lanes: Lanes,
    messages: BTreeMap<u64, Message>,
    /// Number of the next message.
    next: u64,
    /// What was not sent yet begins in this message, at this octet.
    unsent: (u64, u64),
    /// Octets of messages of which that is so.
    waiting: usize,
    /// Parts that were lost.
    again: BTreeMap<(u64, u64), u64>,
    /// What the messages that were begun take of the other side's limit, and that.
    begun: u64,
    limit: u64,
    /// Parts that were sent again.
    pub(super) repeated: u64,
}

impl Outgoing {
    /// The other side has room for so much, before it says anything.
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    pub(super) fn push(&mut self, octets: &[u8]) {
        let number = self.next;
        self.next += 1;
        let behind = self.lanes.behind(number, Place::of(octets), self.done());
        self.waiting += octets.len() + COST as usize;
        self.messages.insert(number, Message { octets: octets.to_vec(), behind, arrived: Ranges::default() });
    }

    /// All messages before this one are with the other side.
    fn done(&self) -> u64 {
        self.messages.first_key_value().map_or(self.next, |(number, _)| *number)
    }

    /// Messages that there have been.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    /// Octets that were not sent yet.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Whether the other side has everything.
    pub(super) fn is_done(&self) -> bool {
        self.messages.is_empty()
    }

    /// The other side has room for so much since the beginning.
    pub(super) fn limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// Whether there is something to be sent that the other side has room for.
    pub(super) fn has_part(&self) -> bool {
        !self.again.is_empty() || (self.has_unsent() && !self.is_blocked())
    }

    fn has_unsent(&self) -> bool {
        self.unsent.0 < self.next
    }

    /// Whether only the other side's limit keeps something here.
    pub(super) fn is_blocked(&self) -> bool {
        let (number, offset) = self.unsent;
        let cost = self.messages.get(&number).map_or(0, |message| message.octets.len() as u64 + COST);
        self.has_unsent() && offset == 0 && self.begun + cost > self.limit
    }

    /// Writes the next part into what is left of a packet: what was lost first, the oldest of that first. Nothing if too little is left for any.
    pub(super) fn write(&mut self, room: usize, out: &mut Vec<u8>) -> Option<Part> {
        let lost =
            self.again.first_key_value().map(|((message, offset), octets)| (*message, *offset, *octets));
        let (number, offset, most) = match lost {
            Some(lost) => lost,
            None if self.has_unsent() && !self.is_blocked() => (self.unsent.0, self.unsent.1, u64::MAX),
            None => return None,
        };
        let message = self.messages.get(&number)?;
        let behind = if offset == 0 { &message.behind[..] } else { &[] };
        let length = message.octets.len() as u64;
        let room = room.checked_sub(Data::overhead(number, offset, length, behind))? as u64;
        let octets = room.min(most).min(length - offset);
        if octets == 0 && length > 0 {
            return None;
        }
        let bytes = &message.octets[offset as usize..(offset + octets) as usize];
        Frame::Data(Data { message: number, offset, length, behind: behind.to_vec(), octets: bytes })
            .write(out);
        if lost.is_some() {
            self.again.remove(&(number, offset));
            if octets < most {
                self.again.insert((number, offset + octets), most - octets);
            }
            self.repeated += 1;
        } else {
            if offset == 0 {
                self.begun += length + COST;
            }
            self.unsent = (number, offset + octets);
            self.waiting -= octets as usize;
            if offset + octets == length {
                self.unsent = (number + 1, 0);
                self.waiting -= COST as usize;
            }
        }
        Some(Part { message: number, offset, octets })
    }

    /// The other side has this part.
    pub(super) fn arrived(&mut self, part: Part) {
        let Some(message) = self.messages.get_mut(&part.message) else { return };
        message.arrived.add(part.offset..part.offset + part.octets);
        if message.arrived.first_missing() == message.octets.len() as u64 {
            self.messages.remove(&part.message);
            while let Some((&(number, offset), _)) = self.again.range((part.message, 0)..).next()
                && number == part.message
            {
                self.again.remove(&(number, offset));
            }
        }
    }

    /// A packet with this part is lost, or may be.
    pub(super) fn lost(&mut self, part: Part) {
        let Some(message) = self.messages.get(&part.message) else { return };
        if message.octets.is_empty() {
            self.again.insert((part.message, 0), 0);
        }
        for range in message.arrived.missing_in(part.offset..part.offset + part.octets) {
            let octets = self.again.entry((part.message, range.start)).or_default();
            *octets = (*octets).max(range.end - range.start);
        }
    }
}
