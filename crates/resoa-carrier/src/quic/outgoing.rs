//! Outgoing messages: numbered, told which messages they must follow, and handed to QUIC as far as
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
    /// What it uses of the other side's limit; 0 once that has been counted.
    cost: u64,
    octets: Bytes,
    /// Head and time of hand-over, if it may be lost and QUIC has no part of it yet.
    may_be_lost: Option<(Head, Duration)>,
}

/// Whether QUIC may be given messages that may be lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    Fair,
    /// Nothing is answered. QUIC would send a message that it took now whenever the silence is
    /// over.
    Silent,
}

/// Outgoing messages; see the [module](self).
#[derive(Debug)]
pub(super) struct Outgoing {
    order: Lanes,
    /// Number of the next message.
    next: u64,
    /// Number up to which the other side has passed on all messages, as far as it has reported.
    done: u64,
    waiting: VecDeque<Waiting>,
    /// Bytes of the waiting messages.
    octets: usize,
    /// Share of the other side's limit that is used by messages that have begun, and the limit.
    begun: u64,
    limit: u64,
    streams: Vec<Option<StreamId>>,
}

impl Outgoing {
    /// Creates the queue. `limit` is what the other side has room for before it announces anything.
    pub(super) fn new(limit: u64) -> Self {
        let (order, waiting, streams) = (Lanes::default(), VecDeque::new(), vec![None; LANES]);
        Self { order, next: 0, done: 0, waiting, octets: 0, begun: 0, limit, streams }
    }

    /// Appends a message. `handed_over` is the time of its hand-over if it may be lost.
    pub(super) fn push(&mut self, message: &[u8], handed_over: Option<Duration>) {
        let number = self.next;
        self.next += 1;
        let place = Place::of(message);
        let lane = match &place {
            // No message has to follow it, so none should wait for it in a lane.
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

    /// Returns the number of messages so far.
    pub(super) fn count(&self) -> u64 {
        self.next
    }

    /// Returns the number of bytes that QUIC has not taken yet.
    pub(super) fn waiting(&self) -> usize {
        self.octets
    }

    /// Notes that the other side has passed on all messages before `done`, and has room up to
    /// `limit`.
    pub(super) fn report(&mut self, done: u64, limit: u64) {
        self.done = self.done.max(done.min(self.next));
        self.limit = self.limit.max(limit);
    }

    /// Gives up the next message if it may be lost, and `is_late` returns true for the time of its
    /// hand-over.
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

    /// Hands messages to QUIC in the order of their numbers. So no later message can take the room
    /// that an earlier one waits for.
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
            // A peer that stops a stream does not follow the protocol. The connection ends by the
            // silence that results.
            let Ok(written) = written else { return };
            self.octets -= written.bytes;
            head.may_be_lost = None;
            if head.octets.is_empty() {
                self.waiting.pop_front();
            }
        }
    }
}
