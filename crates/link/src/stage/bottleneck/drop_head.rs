//! Drop-head: the oldest packets make room for an arriving packet, or are lost when they have
//! waited too long.

use super::discipline::{Discipline, Moment, Parameters, Site, lose};
use super::fifo::{Amount, Fifo, Waiting};
use super::limit::Limit;
use super::queue::QueueSpec;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::Time;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;

/// Parameters of drop-head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct DropHeadSpec {
    /// Maximum length of the queue. With a limit in time, a packet is lost when the limit has
    /// passed since its arrival and its transmission has not begun.
    pub limit: Limit,
}

impl fmt::Display for DropHeadSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drop-head {}", self.limit)
    }
}

impl Parameters for DropHeadSpec {
    fn build(&self, _: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(DropHead { limit: self.limit, fifo: Fifo::default() }))
    }
}

#[derive(Debug)]
struct DropHead {
    limit: Limit,
    fifo: Fifo,
}

impl DropHead {
    /// Returns when the oldest packet has waited for a limit in time.
    fn deadline(&self) -> Time {
        match (self.limit, self.fifo.front()) {
            (Limit::Time(limit), Some(head)) => head.packet.at + limit,
            _ => Time::NEVER,
        }
    }
}

impl Discipline for DropHead {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        self.fifo.push(arriving);
        while !moment.free
            && self.fifo.amount().exceeds(self.limit)
            && let Some(head) = self.fifo.pop()
        {
            lose(head, Loss::QueueHead, moment.now, out);
        }
    }

    fn dequeue(&mut self, _: &mut Moment<'_>, _: &mut Outbox) -> Option<Waiting> {
        self.fifo.pop()
    }

    fn due(&self, now: Time) -> Time {
        self.deadline().max(now)
    }

    fn expire(&mut self, now: Time, out: &mut Outbox) {
        while self.deadline() <= now
            && let Some(head) = self.fifo.pop()
        {
            lose(head, Loss::QueueAge, now, out);
        }
    }

    fn amount(&self) -> Amount {
        self.fifo.amount()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.fifo.recount(cost);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::DropHead(spec) = to else { return Ok(false) };
        self.limit = spec.limit;
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.fifo.drain().collect()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.fifo.push(waiting);
    }
}
