//! Messages on their way out: numbered, told what they stay behind, and handed to QUIC as far as
//! the other side has room.

use super::wire::{COST, Head};
use super::{LANES, Lane};
use crate::order::{Lanes, Place, may_be_lost};
use bytes::Bytes;
use quinn_proto::{Connection, Dir, StreamId};
use std::collections::VecDeque;
use std::time::Duration;

#[derive(Debug)]
struct Waiting {
    lane: Lane,
    /// What it takes of the other side's limit; 0 as soon as that has been taken.
    cost: u64,
    octets: Bytes,
    /// One that may be lost, and nothing of which QUIC has: what it says of itself, and when it was
    /// handed over.
    may_be_lost: Option<(Head, Duration)>,
}

/// How the connection does, for what may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    Fair,
    /// Nothing is answered. What QUIC took now would be sent whenever it is over.
    Silent,
}

/// See the [module](self).
#[derive(Debug)]
pub(super) struct Outgoing {
    order: Lanes,
    /// Number of the next message.
    next: u64,
    /// The other side has passed on all before this one, as far as it has said.
    done: u64,
    waiting: VecDeque<Waiting>,
    /// Octets of those.
    octets: usize,
    /// What the messages that were begun take of the other side's limit, and that.
    begun: u64,
    limit: u64,
    streams: Vec<Option<StreamId>>,
}

impl Outgoing {
    /// The other side has room for so much, before it says anything.
    pub(super) fn new(limit: u64) -> Self {
        let (order, waiting, streams) = (Lanes::default(), VecDeque::new(), vec![None; LANES]);
        Self { order, next: 0, done: 0, waiting, octets: 0, begun: 0, limit, streams }
    }

    /// A message, behind those before it; if it may be lost, with the time at which it was handed
    /// over.
    pub(super) fn push(&mut self, message: &[u8], handed_over: Option<Duration>) {
        let number = self.next;
        self.next += 1;
        let place = Place::of(message);
        let lane = match &place {
            // Nothing stays behind it, so nothing should wait for it.
            Place::Lanes { joins, .. } if joins.is_empty() => Lane((number % LANES as u64) as usize),
            _ => Lane::of(message),
        };
        let behind = self.order.behind(number, place, self.done);
        let mut octets = Vec::with_capacity(message.len() + 32);
        let head = Head { number, behind, octets: message.len(), is_given_up: false };
        head.write(&mut octets);
        octets.extend(message);
        self.octets += octets.len();
        let may_be_lost = handed_over.filter(|_| may_be_lost(message)).map(|time| (head, time));
        let waiting = Waiting { lane, cost: message.len() as u64 + COST, octets: octets.into(), may_be_lost };
        self.waiting.push_back(waiting);
    }

    /// Messages that there have been.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    /// Octets that QUIC has not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.octets
    }

    /// The other side has passed on all before `done`, and has room up to `limit`.
    pub(super) fn report(&mut self, done: u64, limit: u64) {
        self.done = self.done.max(done.min(self.next));
        self.limit = self.limit.max(limit);
    }

    /// Gives up the next message, if it may be lost and `is_late` says so of when it was handed
    /// over.
    fn give_up(&mut self, is_late: impl Fn(Duration) -> bool) {
        let Some(next) = self.waiting.front_mut() else { return };
        let Some((head, _)) = next.may_be_lost.take_if(|(_, time)| is_late(*time)) else { return };
        let message = next.octets.slice(next.octets.len() - head.octets..);
        let head = Head { is_given_up: true, ..head };
        let mut octets = Vec::new();
        head.write(&mut octets);
        octets.extend(&message[..head.follow()]);
        self.octets -= next.octets.len();
        self.octets += octets.len();
        next.octets = octets.into();
    }

    /// Hands over what can be, in the order of the numbers: one that has to wait for room so has
    /// nothing behind it that could take the room away.
    pub(super) fn write(
        &mut self,
        connection: &mut Connection,
        weather: Weather,
        is_late: impl Fn(Duration) -> bool,
    ) {
        loop {
            self.give_up(&is_late);
            let Some(head) = self.waiting.front_mut() else { return };
            if self.begun + head.cost > self.limit
                || (weather == Weather::Silent && head.may_be_lost.is_some())
            {
                return;
            }
            let stream = &mut self.streams[head.lane.0];
            if stream.is_none() {
                *stream = connection.streams().open(Dir::Uni);
            }
            let Some(stream) = *stream else { return };
            self.begun += std::mem::take(&mut head.cost);
            let written = connection.send_stream(stream).write_chunks(std::slice::from_mut(&mut head.octets));
            // If the other side wants no more of a stream it is of another protocol: the connection
            // ends by its silence.
            let Ok(written) = written else { return };
            self.octets -= written.bytes;
            head.may_be_lost = None;
            if head.octets.is_empty() {
                self.waiting.pop_front();
            }
        }
    }
}
