//! Incoming messages: assembled from parts, held until the messages that they follow have been
//! delivered, and delivered once. A notice that a message was given up is treated like a message. A
//! message that may be lost is delivered as lost if it had to be held for too long.

use super::wire::{COST, Data, Malformed, Notice};
use crate::came::Came;
use crate::order::may_be_lost;
use crate::ranges::Ranges;
use crate::sequence::Sequence;
use resoa_protocol::lhp::Lost;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Bytes of messages, each plus [`COST`], that are kept because the user does not take them or an
/// earlier message is missing.
pub(super) const ROOM: u64 = 4 << 20;

/// A message may have arrived in this many pieces with gaps between them, plus one for every
/// `PIECE` of its bytes. Keeping track of a piece takes about that many bytes, so it never takes
/// more memory than the messages. An honest sender's pieces are as long as packets, or are what is
/// left of lost packets.
const PIECES: u64 = 8;
const PIECE: u64 = 32;

/// A message of which some parts have arrived. Its order is unknown until the first part arrives.
#[derive(Debug)]
struct Partial {
    octets: Vec<u8>,
    there: Ranges,
    behind: Option<Vec<u64>>,
}

/// The time, and how long a message that may be lost can be held.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Duration,
    pub(super) patience: Duration,
}

/// Incoming messages; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Incoming {
    partial: BTreeMap<u64, Partial>,
    /// Each with the time at which it was complete.
    sequence: Sequence<(Duration, Came)>,
    ready: VecDeque<Came>,
    /// Share of our limit that has been used by messages that have begun, and by those that the
    /// user has taken.
    begun: u64,
    taken: u64,
}

impl Incoming {
    /// Returns how much the other side may send in total, since the beginning.
    pub(super) fn limit(&self) -> u64 {
        self.taken + ROOM
    }

    /// Takes the next message for the user.
    pub(super) fn take(&mut self) -> Option<Came> {
        let message = self.ready.pop_front()?;
        self.taken += message.octets() + COST;
        Some(message)
    }

    /// Returns whether the user has taken all messages, of which there are this many.
    pub(super) fn is_through(&self, messages: u64) -> bool {
        self.ready.is_empty() && self.sequence.done() >= messages
    }

    /// Processes a part of a message. Fails if it contradicts an earlier part, or exceeds our
    /// limit.
    pub(super) fn part(&mut self, data: Data, moment: Moment) -> Result<(), Malformed> {
        let number = data.message;
        if self.sequence.has(number) {
            return Ok(());
        }
        if !self.partial.contains_key(&number) {
            self.begin(data.length)?;
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
        if partial.there.count() as u64 > PIECES + data.length / PIECE {
            return Err(Malformed);
        }
        if data.offset == 0 {
            partial.behind = Some(data.behind);
        }
        let is_whole = partial.there.first_missing() == data.length;
        if is_whole && let Some(Partial { octets, behind: Some(behind), .. }) = self.partial.remove(&number) {
            self.arrived(number, behind, Came::Whole(octets), moment)?;
        }
        Ok(())
    }

    /// Processes the notice that a message was given up. If the message has arrived, the notice is
    /// ignored.
    pub(super) fn notice(&mut self, notice: Notice, moment: Moment) -> Result<(), Malformed> {
        let number = notice.message;
        if self.sequence.has(number) {
            return Ok(());
        }
        match self.partial.remove(&number) {
            Some(partial) if partial.octets.len() as u64 != notice.length => return Err(Malformed),
            Some(_) => {}
            None => self.begin(notice.length)?,
        }
        let lost = Lost { head: notice.head.to_vec(), octets: notice.length as usize };
        self.arrived(number, notice.behind, Came::Lost(lost), moment)
    }

    /// Counts a message of this length against the limit.
    fn begin(&mut self, length: u64) -> Result<(), Malformed> {
        self.begun += length + COST;
        if self.begun > self.limit() { Err(Malformed) } else { Ok(()) }
    }

    fn arrived(
        &mut self,
        number: u64,
        behind: Vec<u64>,
        came: Came,
        moment: Moment,
    ) -> Result<(), Malformed> {
        let Moment { now, patience } = moment;
        let ready = &mut self.ready;
        self.sequence.arrived(number, behind, (now, came), |(since, came)| {
            ready.push_back(match came {
                Came::Whole(octets) if since + patience <= now && may_be_lost(&octets) => {
                    Came::Lost(Lost::of(&octets))
                }
                came => came,
            });
        });
        // An honest sender has begun all missing messages, and our user has none of them, so they
        // fit the room. A sender that skips numbers would make us keep track of the gaps for ever.
        if self.sequence.runs() as u64 > ROOM / COST + 1 { Err(Malformed) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::lhp::HEAD_OCTETS;

    const BEGIN: Moment = Moment { now: Duration::ZERO, patience: Duration::from_secs(1) };

    fn data(message: u64, offset: u64, length: u64, octets: &[u8]) -> Data<'_> {
        Data { message, offset, length, behind: Vec::new(), octets }
    }

    /// Parts in any order, overlapping and repeated, make one message, once.
    #[test]
    fn parts_in_any_order() {
        let mut incoming = Incoming::default();
        for (offset, octets) in [(3, &b"def"[..]), (3, b"def"), (0, b"abcd"), (5, b"f"), (0, b"abcdef")] {
            incoming.part(data(0, offset, 6, octets), BEGIN).expect("fits");
        }
        assert_eq!(incoming.take(), Some(Came::Whole(b"abcdef".to_vec())));
        assert_eq!(incoming.take(), None);
        assert!(incoming.is_through(1) && !incoming.is_through(2));
    }

    /// Messages wait for those that they follow. A message that follows all waits for all.
    #[test]
    fn what_stays_behind() {
        let mut incoming = Incoming::default();
        let mut come = |message: u64, behind: &[u64]| {
            let octets = [message as u8];
            let data = Data { message, offset: 0, length: 1, behind: behind.to_vec(), octets: &octets };
            incoming.part(data, BEGIN).expect("fits");
            let whole = |came| if let Came::Whole(octets) = came { octets[0] } else { panic!("{came:?}") };
            std::iter::from_fn(|| incoming.take()).map(whole).collect::<Vec<_>>()
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

    /// The other side cannot make us keep more than there is room for, nor give a message two
    /// lengths.
    #[test]
    fn room_is_kept_to() {
        let mut incoming = Incoming::default();
        let long = 65_536;
        let most = ROOM / (long + COST);
        for message in 0..most {
            incoming.part(data(1 + message, 0, long, &[7]), BEGIN).expect("fits");
        }
        assert_eq!(incoming.part(data(1 + most, 0, long, &[7]), BEGIN), Err(Malformed));
        let mut incoming = Incoming::default();
        for message in 0..ROOM / COST {
            incoming.part(data(1 + message, 0, 0, &[]), BEGIN).expect("fits");
        }
        assert_eq!(incoming.part(data(0, 0, 0, &[]), BEGIN), Err(Malformed));
        let mut incoming = Incoming::default();
        incoming.part(data(0, 0, 10, &[7]), BEGIN).expect("fits");
        assert_eq!(incoming.part(data(0, 1, 11, &[7]), BEGIN), Err(Malformed));
    }

    /// The number of pieces of a message is bounded. Keeping track of a message with every other
    /// byte missing would take many times its length.
    #[test]
    fn pieces_are_bounded() {
        let mut incoming = Incoming::default();
        let length = 65_536;
        let most = PIECES + length / PIECE;
        for piece in 0..most {
            incoming.part(data(0, 2 * piece, length, &[7]), BEGIN).expect("may be");
        }
        incoming.part(data(0, 1, length, &[7]), BEGIN).expect("fills a gap");
        incoming.part(data(0, 2 * most, length, &[7]), BEGIN).expect("may be");
        assert_eq!(incoming.part(data(0, 2 * most + 2, length, &[7]), BEGIN), Err(Malformed));
    }

    fn notice(message: u64, behind: &[u64], length: u64) -> Notice<'_> {
        let head = &[7; HEAD_OCTETS][..HEAD_OCTETS.min(length as usize)];
        Notice { message, length, behind: behind.to_vec(), head }
    }

    fn lost(octets: usize) -> Came {
        Came::Lost(Lost { head: vec![7; octets.min(HEAD_OCTETS)], octets })
    }

    /// C91: either the message or its notice takes its place, once. Parts of a message that was
    /// given up are dropped, and messages that follow it go on.
    #[test]
    fn notices_take_the_place_of_messages() {
        let mut incoming = Incoming::default();
        incoming.part(data(0, 0, 100, &[1; 60]), BEGIN).expect("fits");
        let next = Data { message: 1, offset: 0, length: 1, behind: vec![1], octets: &[2] };
        incoming.part(next, BEGIN).expect("fits");
        assert_eq!(incoming.take(), None);
        for _ in 0..2 {
            incoming.notice(notice(0, &[], 100), BEGIN).expect("fits");
            incoming.part(data(0, 60, 100, &[1; 40]), BEGIN).expect("is late");
        }
        assert_eq!(incoming.take(), Some(lost(100)));
        assert_eq!(incoming.take(), Some(Came::Whole(vec![2])));
        incoming.notice(notice(1, &[1], 1), BEGIN).expect("it has arrived");
        incoming.notice(notice(2, &[0], 5), BEGIN).expect("fits");
        assert_eq!(incoming.take(), Some(lost(5)));
        assert_eq!(incoming.take(), None);
        assert!(incoming.is_through(3) && incoming.partial.is_empty());
        assert_eq!((incoming.begun, incoming.taken), (106 + 3 * COST, 106 + 3 * COST));
    }

    /// A notice takes as much of the room as its message, so that notices cannot make us keep more.
    /// A notice with a different length than the message's parts is refused.
    #[test]
    fn notices_keep_to_the_room() {
        let mut incoming = Incoming::default();
        incoming.part(data(0, 0, 10, &[7]), BEGIN).expect("fits");
        assert_eq!(incoming.notice(notice(0, &[], 11), BEGIN), Err(Malformed));
        let mut incoming = Incoming::default();
        let long = 65_536;
        let most = ROOM / (long + COST);
        for message in 0..most {
            incoming.notice(notice(1 + message, &[0], long), BEGIN).expect("fits");
        }
        assert_eq!(incoming.notice(notice(1 + most, &[0], long), BEGIN), Err(Malformed));
        assert_eq!(incoming.limit(), ROOM, "nobody has taken any");
    }

    /// C91: a message that may be lost is late if it had to be held for too long.
    #[test]
    fn what_is_held_for_long_is_lost() {
        let datagram = [&[0x13, 4, 0, 0, 0, 0, 1, 0][..], &[9; 100]].concat();
        let write = [&[0x13, 3, 0, 0, 0, 0, 1][..], &[9; 100]].concat();
        for (after, whole) in [(999, 3), (1000, 2)] {
            let mut incoming = Incoming::default();
            let later = Moment { now: Duration::from_millis(after), ..BEGIN };
            for (message, octets) in [(1, &datagram), (2, &write)] {
                let part =
                    Data { message, offset: 0, length: octets.len() as u64, behind: vec![message], octets };
                incoming.part(part, BEGIN).expect("fits");
            }
            incoming.part(data(0, 0, datagram.len() as u64, &datagram), later).expect("fits");
            let came: Vec<_> = std::iter::from_fn(|| incoming.take()).collect();
            assert_eq!(came.iter().filter(|came| matches!(came, Came::Whole(_))).count(), whole);
            let second =
                if whole == 3 { Came::Whole(datagram.clone()) } else { Came::Lost(Lost::of(&datagram)) };
            assert_eq!(came[1], second);
        }
    }

    /// Skipped numbers are limited by the room, even if the user takes every message.
    #[test]
    fn numbers_are_not_left_out() {
        let mut incoming = Incoming::default();
        for number in 0..=ROOM / COST {
            incoming.part(data(1 + 2 * number, 0, 0, &[]), BEGIN).expect("may be under way");
            incoming.take().expect("stays behind nothing");
        }
        assert_eq!(incoming.part(data(3 + 2 * (ROOM / COST), 0, 0, &[]), BEGIN), Err(Malformed));
    }
}
