//! Incoming messages: cut out of their lanes, put in order, and kept until the user takes them.

use super::wire::{COST, Head, Malformed};
use super::{LANES, ROOM};
use crate::came::Came;
use crate::sequence::Sequence;
use crate::tcp::backlog::Backlog;
use quinn_proto::StreamId;
use resoa_protocol::lhp::Lost;
use std::collections::{HashMap, VecDeque};

/// A lane: bytes that are not a complete message yet, and the head of the next message.
#[derive(Debug, Default)]
struct Lane {
    octets: Backlog,
    head: Option<Head>,
}

/// Incoming messages; see the [module](self).
#[derive(Debug, Default)]
pub(super) struct Incoming {
    lanes: HashMap<StreamId, Lane>,
    sequence: Sequence<Came>,
    ready: VecDeque<Came>,
    /// Share of our limit that has been used by messages that have begun, and by those that the
    /// user has taken.
    begun: u64,
    taken: u64,
    /// The limit that the other side knows.
    told: u64,
}

impl Incoming {
    pub(super) fn new() -> Self {
        Self { told: ROOM, ..Self::default() }
    }

    /// Processes bytes of a lane. Fails if they violate the protocol or exceed our limit.
    pub(super) fn heard(&mut self, stream: StreamId, octets: &[u8]) -> Result<(), Malformed> {
        // Lanes stay open. A lane that the other side finishes lets it open another by QUIC's
        // count, but not by ours.
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
            // An honest sender has begun all missing messages, and our user has none of them, so
            // they fit the room. A sender that skips numbers would make us keep track of the gaps
            // for ever.
            if self.sequence.runs() as u64 > ROOM / COST + 1 {
                return Err(Malformed);
            }
        }
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

    /// Returns what should be reported to the other side now, if anything: the number up to which
    /// all messages were passed on, and the limit.
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

    /// Messages arrive in parts, and are delivered in the order that they ask for, whatever the
    /// order of the lanes.
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

    /// C91: the notice of a message that was given up takes the message's place and room, whatever
    /// the order of the lanes.
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

    /// More than there is room for ends the connection before it is kept. Messages that the user
    /// takes make room, which is reported.
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

    /// Skipped numbers are limited by the room, even if the user takes every message.
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

    /// The number of lanes is limited, even if finished lanes would allow more by QUIC's count.
    #[test]
    fn lanes() {
        let mut incoming = Incoming::new();
        for number in 0..LANES as u64 {
            incoming.heard(lane(number), &message(number, vec![], 1)).unwrap();
        }
        assert_eq!(incoming.heard(lane(LANES as u64), &[]), Err(Malformed));
    }
}
