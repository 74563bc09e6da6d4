//! RED: packets are lost early and at random, the more so the longer the average queue is (Floyd
//! and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Transactions
//! on Networking 1(4), 1993).
//!
//! On each arrival, the average moves by `weight` towards the length of the queue without the
//! arriving packet. Idle time of the limiter counts as if packets of `packet` bytes had been sent
//! without a gap and had found an empty queue (section IV of the paper).
//!
//! * Below `min`, no packet is lost.
//! * From `min` to `max` the probability rises from 0 to `probability`, and losses are spread
//!   evenly (section VII: `p_b / (1 − count · p_b)`).
//! * Above `max` every packet is lost. With `gentle`, the probability instead rises further, to 1
//!   at twice `max` (ns-2's `gentle_`).
//!
//! The probability does not depend on the size of the packet, even if the queue is measured in
//! bytes (RFC 7141).
//!
//! With `ecn`, packets of ECN-capable transports are marked in place of random losses. They are
//! still lost where every packet is lost.

use super::discipline::{Discipline, Moment, Parameters, Site, lose, mark};
use super::fifo::{Amount, Fifo, Waiting};
use super::limit::Limit;
use super::queue::QueueSpec;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Probability, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;

/// Parameters of RED.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct RedSpec {
    /// Average below which no packet is lost, in packets or bytes.
    pub min: Limit,
    /// Average at which `probability` is reached, in the same unit. The paper recommends at least
    /// twice `min`.
    pub max: Limit,
    /// Probability of a loss at `max`. Default: 2 %, as in the paper and in `tc`.
    #[serde(default = "default_probability")]
    pub probability: Probability,
    /// Weight of the current length in the average. Default: 0.002, as in the paper.
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// Size of a typical packet, by which the average falls while the limiter is idle (`avpkt` of
    /// `tc`). Default: 1000 bytes.
    #[serde(default = "default_packet")]
    pub packet: ByteCount,
    /// Whether the probability rises from `max` to twice `max`, instead of jumping to 1.
    #[serde(default)]
    pub gentle: bool,
    /// Whether packets of ECN-capable transports are marked in place of random losses (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// Maximum length of the queue, as in drop-tail.
    #[serde(default)]
    pub limit: Limit,
}

fn default_probability() -> Probability {
    Probability::new(0.02).unwrap_or_default()
}

const fn default_weight() -> f64 {
    0.002
}

const fn default_packet() -> ByteCount {
    ByteCount::new(1000)
}

impl Default for RedSpec {
    /// Returns RED between 5 and 15 packets: `minth` and three times that, as Floyd recommends
    /// (RED: Discussions of Setting Parameters, 1997).
    fn default() -> Self {
        Self::between(Limit::Packets(5), Limit::Packets(15))
    }
}

impl RedSpec {
    /// Creates RED between these averages, with defaults for all other parameters.
    #[must_use]
    pub fn between(min: Limit, max: Limit) -> Self {
        Self {
            min,
            max,
            probability: default_probability(),
            weight: default_weight(),
            packet: default_packet(),
            gentle: false,
            ecn: false,
            limit: Limit::Unlimited,
        }
    }

    /// Returns `min` and `max` as numbers, and whether they are bytes.
    fn thresholds(&self) -> Result<(f64, f64, bool), SpecError> {
        let (min, max, in_bytes) = match (self.min, self.max) {
            (Limit::Packets(min), Limit::Packets(max)) => (min, max, false),
            (Limit::Bytes(min), Limit::Bytes(max)) => (min.get(), max.get(), true),
            _ => {
                let both = format!("{} and max = {}", self.min, self.max);
                return Err(SpecError::value(
                    "min",
                    both,
                    "both must be packets, like 5p, or both bytes, like 7500B",
                ));
            }
        };
        if min >= max {
            return Err(SpecError::value("max", self.max, "must be above min"));
        }
        Ok((min as f64, max as f64, in_bytes))
    }
}

impl fmt::Display for RedSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { min, max, probability, weight, packet, gentle, ecn, limit } = self;
        write!(f, "RED min {min} max {max} probability {probability} weight {weight} packet {packet}")?;
        write!(f, " limit {limit}{}{}", if *gentle { " gentle" } else { "" }, if *ecn { " ECN" } else { "" })
    }
}

impl Parameters for RedSpec {
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(RedQueue { red: Red::new(self.clone(), site.start)?, fifo: Fifo::default() }))
    }

    fn is_random(&self) -> bool {
        true
    }
}

/// A queue under RED.
#[derive(Debug)]
struct RedQueue {
    red: Red,
    fifo: Fifo,
}

impl Discipline for RedQueue {
    fn enqueue(&mut self, mut arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        let (waits, now) = (self.fifo.amount(), moment.now);
        let packet_time = moment.packet_time(self.red.spec.packet);
        let action = self.red.arrival(waits, now, packet_time, || moment.random());
        let marked = action == RedAction::Signal && self.red.spec.ecn && mark(&mut arriving, now);
        if action != RedAction::Keep && !marked {
            if moment.end.is_none() && self.fifo.is_empty() {
                self.red.idle(now);
            }
            lose(arriving, Loss::Red, now, out);
        } else if moment.has_room(self.red.spec.limit, waits, arriving.cost) {
            self.fifo.push(arriving);
        } else {
            lose(arriving, Loss::QueueFull, now, out);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment<'_>, _: &mut Outbox) -> Option<Waiting> {
        let next = self.fifo.pop();
        if next.is_none() {
            self.red.idle(moment.now);
        }
        next
    }

    fn amount(&self) -> Amount {
        self.fifo.amount()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.fifo.recount(cost);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::Red(spec) = to else { return Ok(false) };
        self.red = self.red.with(spec.clone())?;
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.fifo.drain().collect()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.fifo.push(waiting);
    }
}

/// Decision of RED on an arriving packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RedAction {
    /// The packet may wait.
    Keep,
    /// The packet is lost, or marked if that is allowed.
    Signal,
    /// The packet is lost.
    Drop,
}

/// State of RED.
#[derive(Debug)]
pub(super) struct Red {
    pub spec: RedSpec,
    min: f64,
    max: f64,
    in_bytes: bool,
    average: f64,
    /// Packets since the last signalled one; −1 below `min`.
    count: i64,
    /// Start of the limiter's current idle time.
    idle: Option<Time>,
}

impl Red {
    /// Creates a queue that is empty at `now`.
    pub fn new(spec: RedSpec, now: Time) -> Result<Self, SpecError> {
        let (min, max, in_bytes) = spec.thresholds()?;
        if !(spec.weight > 0.0 && spec.weight <= 1.0) {
            return Err(SpecError::value(
                "weight",
                spec.weight,
                "must be above 0 and at most 1, such as 0.002",
            ));
        }
        if spec.packet.get() == 0 {
            return Err(SpecError::value("packet", spec.packet, "must be above 0, such as 1000B"));
        }
        Ok(Self { spec, min, max, in_bytes, average: 0.0, count: -1, idle: Some(now) })
    }

    /// Returns the same queue with other parameters.
    pub fn with(&self, spec: RedSpec) -> Result<Self, SpecError> {
        let new = Self::new(spec, Time::ZERO)?;
        let average = if new.in_bytes == self.in_bytes { self.average } else { 0.0 };
        Ok(Self { average, count: self.count, idle: self.idle, ..new })
    }

    /// Notes that the limiter is idle from `now` on.
    pub fn idle(&mut self, now: Time) {
        self.idle.get_or_insert(now);
    }

    /// Decides on a packet that finds `queue` waiting.
    ///
    /// `packet_time` is the transmission time of a typical packet. `uniform` returns a number drawn
    /// from [0, 1).
    pub fn arrival(
        &mut self,
        queue: Amount,
        now: Time,
        packet_time: Span,
        uniform: impl FnOnce() -> f64,
    ) -> RedAction {
        if let Some(since) = self.idle.take() {
            let missed = now.since(since).as_nanos() as f64 / packet_time.as_nanos().max(1) as f64;
            self.average *= (1.0 - self.spec.weight).powf(missed);
        } else {
            let length = if self.in_bytes { queue.bytes } else { queue.packets };
            self.average += self.spec.weight * (length as f64 - self.average);
        }
        let limit = if self.spec.gentle { 2.0 * self.max } else { self.max };
        if self.average < self.min {
            self.count = -1;
            return RedAction::Keep;
        }
        if self.average >= limit {
            self.count = 0;
            return RedAction::Drop;
        }
        self.count += 1;
        let probability = self.probability();
        // Once `count` has grown to 1/p_b, the quotient is above 1 or negative, and a loss is
        // certain.
        let rest = 1.0 - self.count as f64 * probability;
        if rest <= probability || uniform() < probability / rest {
            self.count = 0;
            return RedAction::Signal;
        }
        RedAction::Keep
    }

    /// Returns `p_b` of the paper at the current average, which is at least `min`.
    fn probability(&self) -> f64 {
        let most = self.spec.probability.get();
        if self.average < self.max {
            most * (self.average - self.min) / (self.max - self.min)
        } else {
            most + (1.0 - most) * (self.average - self.max) / self.max
        }
    }
}
