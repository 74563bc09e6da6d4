//! Drop-tail: a packet that finds no room is lost.

use super::discipline::{Discipline, Moment, Parameters, Site, lose};
use super::fifo::{Amount, Fifo, Waiting};
use super::limit::Limit;
use super::queue::QueueSpec;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;

/// Parameters of drop-tail.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(deny_unknown_fields)]
pub struct DropTailSpec {
    /// Maximum length of the queue.
    pub limit: Limit,
}

impl fmt::Display for DropTailSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "drop-tail {}", self.limit)
    }
}

impl Parameters for DropTailSpec {
    fn build(&self, _: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(DropTail { limit: self.limit, fifo: Fifo::default() }))
    }
}

#[derive(Debug)]
struct DropTail {
    limit: Limit,
    fifo: Fifo,
}

impl Discipline for DropTail {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        if moment.has_room(self.limit, self.fifo.amount(), arriving.cost) {
            self.fifo.push(arriving);
        } else {
            lose(arriving, Loss::QueueFull, moment.now, out);
        }
    }

    fn dequeue(&mut self, _: &mut Moment<'_>, _: &mut Outbox) -> Option<Waiting> {
        self.fifo.pop()
    }

    fn amount(&self) -> Amount {
        self.fifo.amount()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.fifo.recount(cost);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::DropTail(spec) = to else { return Ok(false) };
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
