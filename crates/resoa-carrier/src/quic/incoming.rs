//! Messages on their way in: cut out of their lanes, put in order, kept until the user takes them.

use super::wire::{COST, Head, Malformed};
use super::{LANES, ROOM};
use crate::came::Came;
use crate::sequence::Sequence;
use crate::tcp::backlog::Backlog;
use quinn_proto::StreamId;
use resoa_protocol::lhp::Lost;
use std::collections::{HashMap, VecDeque};

/// A lane: octets of which no message has become yet, and what the next one says of itself.
#[derive(Debug, Default)]
struct Lane {
    octets: Backlog,
    head: Option<Head>,
}

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Incoming {
    lanes: HashMap<StreamId, Lane>,
    sequence: Sequence<Came>,
    ready: VecDeque<Came>,
    /// What those that have begun take of our limit; and those that the user has.
    begun: u64,
    taken: u64,
    /// The limit that the other side knows.
    told: u64,
}

impl Incoming {
    pub(super) fn new() -> Self {
        Self { told: ROOM, ..Self::default() }
    }

    /// Octets of a lane have come. Fails if the other side does not keep to what it said, or to our
    /// limit.
    pub(super) fn heard(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Malformed> {
        // Lanes stay open. One that is finished would make room for another at QUIC's count, and
        // here for none.
        if stream.index() >= LANES as u64 {
            return Err(Malformed);
        }
        let lane = self.lanes.entry(stream).or_default();
        lane.octets.behind().extend(octets);
        loop {
            if lane.head.is_none()
                && let Some((head, length)) = Head::read(lane.octets.waiting())?
            {
                lane.octets.gone(length);
                self.begun += head.octets as u64 + COST;
                if self.begun > self.taken + ROOM {
                    return Err(Malformed);
                }
                lane.head = Some(head);
            }
            let Some(head) = lane.head.take() else { return Ok(()) };
            let Some(message) = lane.octets.waiting().get(..head.follow()) else {
                lane.head = Some(head);
                return Ok(());
            };
            let message = message.to_vec();
            lane.octets.gone(head.follow());
            if self.sequence.has(head.number) {
                return Err(Malformed);
            }
            let came = if head.is_given_up {
                Came::Lost(Lost { head: message, octets: head.octets })
            } else {
                Came::Whole(message)
            };
            let ready = &mut self.ready;
            self.sequence.arrived(head.number, head.behind, came, |came| ready.push_back(came));
            // All that is missing was begun, and is not with our user: it fits the room. Who leaves
            // out numbers would have us keep them for ever.
            if self.sequence.runs() as u64 > ROOM / COST + 1 {
                return Err(Malformed);
            }
        }
    }

    /// The next message for the user.
    pub(super) fn take(&mut self) -> Option<Came> {
        let message = self.ready.pop_front()?;
        self.taken += message.octets() + COST;
        Some(message)
    }

    /// Whether the user has so many messages, which are all.
    pub(super) fn is_through(&self, messages: u64) -> bool {
        self.ready.is_empty() && self.sequence.done() >= messages
    }

    /// What the other side should know by now: which messages have passed, and how far it may go.
    pub(super) fn report(&mut self) -> Option<(u64, u64)> {
        let limit = self.taken + ROOM;
        (limit - self.told >= ROOM / 4).then(|| {
            self.told = limit;
            (self.sequence.done(), limit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quinn_proto::{Dir, Side};
    use resoa_protocol::lhp::HEAD_OCTETS;

    fn lane(number: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Uni, number)
    }

    fn message(number: u64, behind: Vec<u64>, octets: usize) -> Vec<u8> {
        let mut out = Vec::new();
        Head { number, behind, octets, is_given_up: false }.write(&mut out);
        out.resize(out.len() + octets, number as u8);
        out
    }

    /// Messages come in parts, and in the order that they ask for, whatever that of the lanes is.
    #[test]
    fn parts_and_order() {
        let mut incoming = Incoming::new();
        let second = message(1, vec![1], 3);
        let (begin, end) = second.split_at(5);
        incoming.heard(lane(1), begin).unwrap();
        incoming.heard(lane(1), end).unwrap();
        assert_eq!(incoming.take(), None);
        incoming.heard(lane(0), &[message(0, vec![], 2), message(2, vec![2, 1], 0)].concat()).unwrap();
        for expected in [vec![0, 0], vec![1, 1, 1], vec![]] {
            assert!(!incoming.is_through(3));
            assert_eq!(incoming.take(), Some(Came::Whole(expected)));
        }
        assert!(incoming.is_through(3));
    }

    /// C91: one that was given up takes its place and its room, whatever the lanes do.
    #[test]
    fn notices() {
        let mut incoming = Incoming::new();
        let mut notice = Vec::new();
        Head { number: 0, behind: vec![], octets: 60_000, is_given_up: true }.write(&mut notice);
        notice.extend([7; HEAD_OCTETS]);
        incoming.heard(lane(1), &message(1, vec![1], 3)).unwrap();
        incoming.heard(lane(0), &notice[..20]).unwrap();
        assert_eq!(incoming.take(), None);
        incoming.heard(lane(0), &notice[20..]).unwrap();
        incoming.heard(lane(0), &message(2, vec![], 1)).unwrap();
        let lost = Lost { head: vec![7; HEAD_OCTETS], octets: 60_000 };
        assert_eq!(incoming.take(), Some(Came::Lost(lost)));
        assert_eq!(incoming.take(), Some(Came::Whole(vec![1; 3])));
        assert_eq!(incoming.take(), Some(Came::Whole(vec![2])));
        assert_eq!((incoming.begun, incoming.taken), (60_004 + 3 * COST, 60_004 + 3 * COST));
        assert_eq!(incoming.heard(lane(2), &notice), Err(Malformed), "it is told twice");
    }

    /// More than there is room for ends it, before it is kept; what the user takes makes room, and
    /// that is told.
    #[test]
    fn room() {
        let mut incoming = Incoming::new();
        let long = |number| message(number, vec![], 65_000);
        let fit = ROOM / (65_000 + COST);
        for number in 0..fit {
            incoming.heard(lane(0), &long(number)).unwrap();
        }
        assert_eq!(incoming.report(), None);
        for _ in 0..fit {
            incoming.take().unwrap();
        }
        assert_eq!(incoming.report(), Some((fit, ROOM + fit * (65_000 + COST))));
        assert_eq!(incoming.report(), None);
        for number in fit..2 * fit {
            incoming.heard(lane(0), &long(number)).unwrap();
        }
        assert_eq!(incoming.heard(lane(0), &long(2 * fit)[..9]), Err(Malformed));
    }

    /// Numbers that are left out are no more than fit the room, though the user takes what comes.
    #[test]
    fn numbers_are_not_left_out() {
        let mut incoming = Incoming::new();
        for number in 0..=ROOM / COST {
            incoming.heard(lane(0), &message(1 + 2 * number, vec![], 0)).unwrap();
            incoming.take().unwrap();
        }
        let next = message(3 + 2 * (ROOM / COST), vec![], 0);
        assert_eq!(incoming.heard(lane(0), &next), Err(Malformed));
    }

    /// There are as many lanes as there may be, though one after the other was finished.
    #[test]
    fn lanes() {
        let mut incoming = Incoming::new();
        for number in 0..LANES as u64 {
            incoming.heard(lane(number), &message(number, vec![], 1)).unwrap();
        }
        assert_eq!(incoming.heard(lane(LANES as u64), &[]), Err(Malformed));
    }
}
