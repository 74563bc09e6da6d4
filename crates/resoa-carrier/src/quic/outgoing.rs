//! Messages on their way out: numbered, told what they stay behind, and handed to QUIC as far as the other side has room.

use super::wire::{COST, Head};
use super::{LANES, Lane};
use crate::order::{Lanes, Place};
use bytes::Bytes;
use quinn_proto::{Connection, Dir, StreamId};
use std::collections::VecDeque;

#[derive(Debug)]
struct Waiting {
    lane: Lane,
    /// What it takes of the other side's limit; 0 as soon as that has been taken.
    cost: u64,
    octets: Bytes,
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

    /// A message, behind those before it.
    pub(super) fn push(&mut self, message: &[u8]) {
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
        Head { number, behind, octets: message.len() }.write(&mut octets);
        octets.extend(message);
        self.octets += octets.len();
        let waiting = Waiting { lane, cost: message.len() as u64 + COST, octets: octets.into() };
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

    /// Hands over what can be, in the order of the numbers: one that has to wait for room so has nothing behind it that could take the room away.
    pub(super) fn write(&mut self, connection: &mut Connection) {
        while let Some(head) = self.waiting.front_mut() {
            if self.begun + head.cost > self.limit {
                return;
            }
            let stream = &mut self.streams[head.lane.0];
            if stream.is_none() {
                *stream = connection.streams().open(Dir::Uni);
            }
            let Some(stream) = *stream else { return };
            self.begun += std::mem::take(&mut head.cost);
            let written = connection.send_stream(stream).write_chunks(std::slice::from_mut(&mut head.octets));
            // If the other side wants no more of a stream it is of another protocol: the connection ends by its silence.
            let Ok(written) = written else { return };
            self.octets -= written.bytes;
            if head.octets.is_empty() {
                self.waiting.pop_front();
            }
        }
    }
}
