//! Drop-tail with the room and the virtual queue of the rate's TheaterQ trace.

use super::discipline::{Discipline, Moment, Parameters, Site, lose};
use super::fifo::{Amount, Fifo, Waiting};
use super::limiter::Limiter;
use super::queue::QueueSpec;
use super::rate::RateSpec;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use vocabulary::Loss;

/// Parameters of a queue whose room is in the rate's TheaterQ trace.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(deny_unknown_fields, default)]
pub struct TraceQueueSpec {
    /// Unit of the room. Default: packets.
    pub limit_in: TraceLimit,
}

/// Unit of the room in the queue in a TheaterQ trace, which does not state it (`pktqlen` and
/// `byteqlen` of its `tc`).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum TraceLimit {
    /// Packets.
    #[default]
    Packets,
    /// Bytes, as the limiter counts them.
    Bytes,
}

impl fmt::Display for TraceQueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit_in {
            TraceLimit::Packets => f.write_str("drop-tail as the trace says, in packets"),
            TraceLimit::Bytes => f.write_str("drop-tail as the trace says, in bytes"),
        }
    }
}

impl Parameters for TraceQueueSpec {
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        match site.rate {
            RateSpec::Theaterq(..) => Ok(Box::new(TraceQueue {
                unit: self.limit_in,
                fifo: Fifo::default(),
                queues: BTreeMap::new(),
            })),
            _ => Err(SpecError::value("queue", "trace", "needs a rate with a TheaterQ trace")),
        }
    }
}

#[derive(Debug)]
struct TraceQueue {
    unit: TraceLimit,
    fifo: Fifo,
    /// Amounts in virtual queues. All packets wait in one row.
    queues: BTreeMap<u16, Amount>,
}

impl TraceQueue {
    fn amount_in(&self, queue: u16) -> Amount {
        self.queues.get(&queue).copied().unwrap_or_default()
    }

    fn push(&mut self, waiting: Waiting) {
        let amount = self.queues.entry(waiting.queue).or_default();
        *amount = *amount + Amount { packets: 1, bytes: waiting.cost };
        self.fifo.push(waiting);
    }
}

impl Discipline for TraceQueue {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        let limit = match moment.limiter {
            Limiter::Theaterq(replay, _) => u64::from(replay.at(moment.now).limit),
            _ => 0,
        };
        let inside = self.amount_in(arriving.queue);
        let room = match self.unit {
            TraceLimit::Packets => inside.packets < limit,
            TraceLimit::Bytes => inside.bytes + arriving.cost <= limit,
        };
        if limit == 0 || room || moment.free {
            self.push(arriving);
        } else {
            lose(arriving, Loss::QueueFull, moment.now, out);
        }
    }

    fn dequeue(&mut self, _: &mut Moment<'_>, _: &mut Outbox) -> Option<Waiting> {
        let waiting = self.fifo.pop()?;
        if let Some(amount) = self.queues.get_mut(&waiting.queue) {
            amount.packets -= 1;
            amount.bytes -= waiting.cost;
        }
        Some(waiting)
    }

    fn amount(&self) -> Amount {
        self.fifo.amount()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.queues.clear();
        for waiting in std::mem::take(&mut self.fifo).drain() {
            let cost = cost(&waiting.packet);
            self.push(Waiting { cost, ..waiting });
        }
    }

    /// A queue without a trace cannot be built, so this one always gives way to a new one.
    fn change(&mut self, _: &QueueSpec) -> Result<bool, SpecError> {
        Ok(false)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.queues.clear();
        self.fifo.drain().collect()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.push(waiting);
    }
}
