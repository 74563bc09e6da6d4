//! Messages on their way in: put together, held until what they stay behind was handed over, handed over once.

use super::wire::{COST, Data, Malformed};
use crate::ranges::Ranges;
use crate::sequence::Sequence;
use std::collections::{BTreeMap, VecDeque};

/// Octets of messages, each with [`COST`], that are kept for a user who does not take them, or because something before them is missing.
pub(super) const ROOM: u64 = 4 << 20;

/// Whose first part has not come has no order yet.
#[derive(Debug)]
struct Partial {
    octets: Vec<u8>,
    there: Ranges,
    behind: Option<Vec<u64>>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Incoming {
    partial: BTreeMap<u64, Partial>,
    sequence: Sequence,
    ready: VecDeque<Vec<u8>>,
    /// What those that have begun take of our limit; and those that the user has.
    begun: u64,
    taken: u64,
}

impl Incoming {
    /// What the other side may send since the beginning.
    pub(super) fn limit(&self) -> u64 {
        self.taken + ROOM
    }

    /// The next message for the user.
    pub(super) fn take(&mut self) -> Option<Vec<u8>> {
        let message = self.ready.pop_front()?;
        self.taken += message.len() as u64 + COST;
        Some(message)
    }

    /// Whether the user has so many messages, which are all.
    pub(super) fn is_through(&self, messages: u64) -> bool {
        self.ready.is_empty() && self.sequence.done() >= messages
    }

    /// A part has come. Fails if the other side does not keep to what it said, or to our limit.
    pub(super) fn part(&mut self, data: Data) -> Result<(), Malformed> {
        let number = data.message;
        if self.sequence.has(number) {
            return Ok(());
        }
        if !self.partial.contains_key(&number) {
            self.begun += data.length + COST;
            if self.begun > self.limit() {
                return Err(Malformed);
            }
            let partial =
                Partial { octets: vec![0; data.length as usize], there: Ranges::default(), behind: None };
            self.partial.insert(number, partial);
        }
        let Some(partial) = self.partial.get_mut(&number) else { return Ok(()) };
        if partial.octets.len() as u64 != data.length {
            return Err(Malformed);
        }
        let (begin, end) = (data.offset as usize, data.offset as usize + data.octets.len());
        partial.octets[begin..end].copy_from_slice(data.octets);
        partial.there.add(begin as u64..end as u64);
        if data.offset == 0 {
            partial.behind = Some(data.behind);
        }
        let is_whole = partial.there.first_missing() == data.length;
        if is_whole && let Some(Partial { octets, behind: Some(behind), .. }) = self.partial.remove(&number) {
            let ready = &mut self.ready;
            self.sequence.arrived(number, behind, octets, |octets| ready.push_back(octets));
            // All that is missing was begun, and is not with our user: it fits the room. Who leaves out numbers would have us keep them for ever.
            if self.sequence.runs() as u64 > ROOM / COST + 1 {
                return Err(Malformed);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(message: u64, offset: u64, length: u64, octets: &[u8]) -> Data<'_> {
        Data { message, offset, length, behind: Vec::new(), octets }
    }

    /// Parts in any order, overlapping and again make one message, once.
    #[test]
    fn parts_in_any_order() {
        let mut incoming = Incoming::default();
        for (offset, octets) in [(3, &b"def"[..]), (3, b"def"), (0, b"abcd"), (5, b"f"), (0, b"abcdef")] {
            incoming.part(data(0, offset, 6, octets)).expect("fits");
        }
        assert_eq!(incoming.take(), Some(b"abcdef".to_vec()));
        assert_eq!(incoming.take(), None);
        assert!(incoming.is_through(1) && !incoming.is_through(2));
    }

    /// Messages wait for those that they stay behind; one that stays behind all waits for all.
    #[test]
    fn what_stays_behind() {
        let mut incoming = Incoming::default();
        let mut come = |message: u64, behind: &[u64]| {
            let octets = [message as u8];
            let data = Data { message, offset: 0, length: 1, behind: behind.to_vec(), octets: &octets };
            incoming.part(data).expect("fits");
            std::iter::from_fn(|| incoming.take()).map(|octets| octets[0]).collect::<Vec<_>>()
        };
        assert_eq!(come(6, &[0]), []);
        assert_eq!(come(4, &[2, 1]), []);
        assert_eq!(come(5, &[1]), []);
        assert_eq!(come(1, &[]), [1]);
        assert_eq!(come(2, &[]), [2]);
        assert_eq!(come(3, &[]), [3, 4, 5]);
        assert_eq!(come(0, &[]), [0, 6]);
        assert_eq!(come(6, &[0]), []);
    }

    /// The other side cannot make us keep more than there is room for, nor two lengths of a message.
    #[test]
    fn room_is_kept_to() {
        let mut incoming = Incoming::default();
        let long = 65_536;
        let most = ROOM / (long + COST);
        for message in 0..most {
            incoming.part(data(1 + message, 0, long, &[7])).expect("fits");
        }
        assert_eq!(incoming.part(data(1 + most, 0, long, &[7])), Err(Malformed));
        let mut incoming = Incoming::default();
        for message in 0..ROOM / COST {
            incoming.part(data(1 + message, 0, 0, &[])).expect("fits");
        }
        assert_eq!(incoming.part(data(0, 0, 0, &[])), Err(Malformed));
        let mut incoming = Incoming::default();
        incoming.part(data(0, 0, 10, &[7])).expect("fits");
        assert_eq!(incoming.part(data(0, 1, 11, &[7])), Err(Malformed));
    }

    /// Numbers that are left out are no more than fit the room, though the user takes what comes.
    #[test]
    fn numbers_are_not_left_out() {
        let mut incoming = Incoming::default();
        for number in 0..=ROOM / COST {
            incoming.part(data(1 + 2 * number, 0, 0, &[])).expect("may be under way");
            incoming.take().expect("stays behind nothing");
        }
        assert_eq!(incoming.part(data(3 + 2 * (ROOM / COST), 0, 0, &[])), Err(Malformed));
    }
}
