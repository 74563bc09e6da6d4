//! Outgoing messages: numbered, cut into parts that fit packets, and kept until the other side has
//! them.
//!
//! A message that may be lost and is [late](crate::outage) is given up. Its unsent and lost parts
//! are not sent. Instead a notice is sent, until the other side has it.

use super::incoming::ROOM;
use super::wire::{COST, Data, Frame, Notice};
use crate::order::{Lanes, Place, may_be_lost};
use crate::ranges::Ranges;
use resoa_protocol::lhp::HEAD_OCTETS;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A part of a message that was sent, or that is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) message: u64,
    pub(super) offset: u64,
    pub(super) octets: u64,
    /// It is the notice that the message was given up.
    pub(super) is_notice: bool,
}

#[derive(Debug)]
struct Message {
    /// The contents; of a message that was given up, only the first bytes.
    octets: Vec<u8>,
    length: u64,
    behind: Vec<u64>,
    arrived: Ranges,
    /// When it was handed over, if it may be lost.
    handed_over: Option<Duration>,
    is_given_up: bool,
}

/// Outgoing messages; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    lanes: Lanes,
    messages: BTreeMap<u64, Message>,
    /// Number of the next message.
    next: u64,
    /// The first message with unsent data, and the offset of that data.
    unsent: (u64, u64),
    /// Bytes that were not sent yet, including each message's cost.
    waiting: usize,
    /// Parts that were lost: message and offset, with the length.
    again: BTreeMap<(u64, u64), u64>,
    /// Messages that may be lost and still have something to send, by the time of their hand-over.
    waits: BTreeSet<(Duration, u64)>,
    /// Share of the other side's limit that is used by messages that have begun, and by those that
    /// have arrived; and the limit.
    begun: u64,
    arrived: u64,
    limit: u64,
    /// Number of parts that were sent again.
    pub(super) repeated: u64,
}

impl Outgoing {
    /// Creates the queue. `limit` is what the other side has room for before it announces anything.
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, ..Self::default() }
    }

    /// Appends a message. `handed_over` is the time of its hand-over if it may be lost.
    pub(super) fn push(&mut self, octets: &[u8], handed_over: Option<Duration>) {
        let number = self.next;
        self.next += 1;
        let behind = self.lanes.behind(number, Place::of(octets), self.done());
        self.waiting += octets.len() + COST as usize;
        let handed_over = handed_over.filter(|_| may_be_lost(octets));
        self.waits.extend(handed_over.map(|time| (time, number)));
        let message = Message {
            octets: octets.to_vec(),
            length: octets.len() as u64,
            behind,
            arrived: Ranges::default(),
            handed_over,
            is_given_up: false,
        };
        self.messages.insert(number, message);
    }

    /// Returns when the oldest message was handed over that may be lost and still has something to
    /// send.
    pub(super) fn oldest_waiting(&self) -> Option<Duration> {
        self.waits.first().map(|(time, _)| *time)
    }

    /// Gives up the message of [`oldest_waiting`](Self::oldest_waiting).
    pub(super) fn give_up_oldest(&mut self) {
        let Some((_, number)) = self.waits.pop_first() else { return };
        let Some(message) = self.messages.get_mut(&number) else { return };
        message.is_given_up = true;
        message.octets.truncate(HEAD_OCTETS);
        message.octets.shrink_to_fit();
        let (first, offset) = self.unsent;
        if number > first || (number == first && offset == 0) {
            self.waiting -= message.length as usize - message.octets.len();
            return;
        }
        if number == first {
            self.waiting -= (message.length - offset) as usize + COST as usize;
            self.unsent = (number + 1, 0);
        }
        self.forget_lost_parts(number);
        self.again.insert((number, 0), 0);
    }

    fn forget_lost_parts(&mut self, number: u64) {
        while let Some((&key, _)) = self.again.range((number, 0)..=(number, u64::MAX)).next() {
            self.again.remove(&key);
        }
    }

    /// Updates whether a message that may be lost still has something to send.
    fn look_whether_it_waits(&mut self, number: u64) {
        let Some(message) = self.messages.get(&number) else { return };
        let Some(handed_over) = message.handed_over.filter(|_| !message.is_given_up) else { return };
        let is_lost = self.again.range((number, 0)..=(number, u64::MAX)).next().is_some();
        if is_lost || self.unsent.0 <= number {
            self.waits.insert((handed_over, number));
        } else {
            self.waits.remove(&(handed_over, number));
        }
    }

    /// Returns the number up to which the other side has all messages.
    fn done(&self) -> u64 {
        self.messages.first_key_value().map_or(self.next, |(number, _)| *number)
    }

    /// Returns the number of messages so far.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes that were not sent yet, including each message's cost.
    pub(super) fn waiting(&self) -> usize {
        self.waiting
    }

    /// Returns whether the other side has everything.
    pub(super) fn is_done(&self) -> bool {
        self.messages.is_empty()
    }

    /// Notes how much the other side has room for in total, since the beginning.
    pub(super) fn limit(&mut self, limit: u64) {
        self.limit = self.limit.max(limit);
    }

    /// Returns whether there is something to send that the other side has room for.
    pub(super) fn has_part(&self) -> bool {
        !self.again.is_empty() || (self.has_unsent() && !self.is_blocked())
    }

    fn has_unsent(&self) -> bool {
        self.unsent.0 < self.next
    }

    /// Returns whether new data waits only because of the other side's limit.
    pub(super) fn is_blocked(&self) -> bool {
        let (number, offset) = self.unsent;
        let cost = self.messages.get(&number).map_or(0, |message| message.length + COST);
        // An end's room is beyond what it already has. A peer that announces more although nothing
        // has arrived would make us keep everything.
        let limit = self.limit.min(self.arrived + ROOM);
        self.has_unsent() && offset == 0 && self.begun + cost > limit
    }

    /// Writes the next part into the rest of a packet: lost parts before new ones, the oldest
    /// first. Returns `None` if there is no room for a part.
    pub(super) fn write(&mut self, room: usize, out: &mut Vec<u8>) -> Option<Part> {
        let lost =
            self.again.first_key_value().map(|((message, offset), octets)| (*message, *offset, *octets));
        let (number, offset, most) = match lost {
            Some(lost) => lost,
            None if self.has_unsent() && !self.is_blocked() => (self.unsent.0, self.unsent.1, u64::MAX),
            None => return None,
        };
        let message = self.messages.get(&number)?;
        if message.is_given_up {
            return self.write_notice(number, room, out);
        }
        let behind = if offset == 0 { &message.behind[..] } else { &[] };
        let length = message.length;
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
        self.look_whether_it_waits(number);
        Some(Part { message: number, offset, octets, is_notice: false })
    }

    fn write_notice(&mut self, number: u64, room: usize, out: &mut Vec<u8>) -> Option<Part> {
        let message = self.messages.get(&number)?;
        let Message { length, behind, octets, .. } = message;
        if Notice::octets(number, *length, behind) > room {
            return None;
        }
        Frame::Notice(Notice { message: number, length: *length, behind: behind.clone(), head: octets })
            .write(out);
        if self.again.remove(&(number, 0)).is_some() {
            self.repeated += 1;
        } else {
            self.begun += length + COST;
            self.waiting -= octets.len() + COST as usize;
            self.unsent = (number + 1, 0);
        }
        Some(Part { message: number, offset: 0, octets: 0, is_notice: true })
    }

    /// Notes that the other side has this part.
    pub(super) fn arrived(&mut self, part: Part) {
        let Some(message) = self.messages.get_mut(&part.message) else { return };
        message.arrived.add(part.offset..part.offset + part.octets);
        // All parts of a message that was given up may still have arrived.
        if part.is_notice || message.arrived.first_missing() == message.length {
            let handed_over = message.handed_over;
            self.arrived += message.length + COST;
            self.messages.remove(&part.message);
            self.forget_lost_parts(part.message);
            if let Some(time) = handed_over {
                self.waits.remove(&(time, part.message));
            }
        }
    }

    /// Notes that the packet with this part is lost, or may be.
    pub(super) fn lost(&mut self, part: Part) {
        let Some(message) = self.messages.get(&part.message) else { return };
        if message.is_given_up && !part.is_notice {
            return;
        }
        if part.is_notice || message.length == 0 {
            self.again.insert((part.message, 0), 0);
        }
        for range in message.arrived.missing_in(part.offset..part.offset + part.octets) {
            let octets = self.again.entry((part.message, range.start)).or_default();
            *octets = (*octets).max(range.end - range.start);
        }
        self.look_whether_it_waits(part.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: usize = 1150;

    fn datagram(octets: usize) -> Vec<u8> {
        [&[0x13, 4, 0, 0, 0, 0, 1, 4, 0, 53, 192, 0, 2, 1][..], &vec![9; octets]].concat()
    }

    fn write(outgoing: &mut Outgoing) -> Option<Part> {
        outgoing.write(PACKET, &mut Vec::new())
    }

    /// C91: a message that was given up uses as much of the other side's room as if it had been
    /// sent, begun or not. Nothing of it waits once its notice is sent.
    #[test]
    fn what_is_given_up_is_counted() {
        for is_begun in [false, true] {
            let message = datagram(3000);
            let cost = message.len() as u64 + COST;
            let mut outgoing = Outgoing::new(cost + 10);
            for _ in 0..2 {
                outgoing.push(&message, Some(Duration::ZERO));
            }
            let part = is_begun.then(|| write(&mut outgoing).expect("there is room"));
            let before = outgoing.waiting();
            outgoing.give_up_oldest();
            assert!(outgoing.waiting() < before - 1500);
            let notice = write(&mut outgoing).expect("is small");
            assert!(notice.is_notice);
            assert_eq!(outgoing.waiting() as u64, cost, "the other one");
            assert!(outgoing.is_blocked() && !outgoing.has_part(), "there is no room for two");
            // Lost parts of it are not sent again, but the notice is.
            if let Some(part) = part {
                outgoing.lost(part);
            }
            assert!(!outgoing.has_part());
            outgoing.lost(notice);
            assert_eq!(write(&mut outgoing), Some(notice));
            outgoing.arrived(notice);
            outgoing.limit(2 * cost);
            while let Some(part) = write(&mut outgoing) {
                outgoing.arrived(part);
            }
            assert!(outgoing.is_done() && outgoing.waiting() == 0 && outgoing.oldest_waiting().is_none());
        }
    }

    /// If all parts of a message that was given up have arrived, its notice need not arrive. Parts
    /// of it that were lost earlier are forgotten.
    #[test]
    fn what_has_arrived_all_the_same() {
        let mut outgoing = Outgoing::new(1 << 20);
        outgoing.push(&datagram(1500), Some(Duration::ZERO));
        let parts: Vec<_> = std::iter::from_fn(|| write(&mut outgoing)).collect();
        assert_eq!((parts.len(), outgoing.oldest_waiting()), (2, None), "all is under way");
        outgoing.lost(parts[0]);
        assert_eq!(outgoing.oldest_waiting(), Some(Duration::ZERO));
        outgoing.lost(parts[1]);
        outgoing.give_up_oldest();
        let notice = write(&mut outgoing).expect("is small");
        assert!(notice.is_notice && !outgoing.has_part());
        outgoing.lost(notice);
        for part in parts {
            outgoing.arrived(part);
        }
        assert!(outgoing.is_done() && !outgoing.has_part());
    }

    /// No more is in flight than an end has room for, whatever room the other side announces.
    #[test]
    fn room_without_end() {
        let message = vec![7; 65_000];
        let cost = message.len() as u64 + COST;
        let most = (ROOM / cost) as usize;
        let mut outgoing = Outgoing::new(ROOM);
        outgoing.limit(u64::MAX >> 2);
        for _ in 0..2 * most {
            outgoing.push(&message, None);
        }
        let parts: Vec<_> = std::iter::from_fn(|| write(&mut outgoing)).collect();
        assert_eq!(parts.last().map(|part| part.message + 1), Some(most as u64));
        assert!(outgoing.is_blocked() && outgoing.waiting() as u64 == most as u64 * cost);
        for part in parts.into_iter().filter(|part| part.message == 3) {
            outgoing.arrived(part);
        }
        let next = std::iter::from_fn(|| write(&mut outgoing)).last();
        assert_eq!(next.map(|part| part.message), Some(most as u64), "one has made room for one");
    }

    /// Only datagrams are given up, whatever the user says.
    #[test]
    fn what_is_no_datagram_is_kept() {
        let mut outgoing = Outgoing::new(1 << 20);
        outgoing.push(&[0x13, 3, 0, 0, 0, 0, 1, 9], Some(Duration::ZERO));
        assert_eq!(outgoing.oldest_waiting(), None);
    }
}
