//! SFQ: flows take turns, and the longest one loses a packet if the queue is full (stochastic
//! fairness queueing: McKenney, INFOCOM 1990; deficit round robin: Shreedhar and Varghese, SIGCOMM
//! 1995; here as in `net/sched/sch_sfq.c` of Linux).
//!
//! * A hash of the packet selects one of `buckets` buckets (see [`super::flows`]). A bucket with
//!   packets is a flow, and at most `flows` flows wait at a time.
//! * Flows take turns, in which each sends up to `quantum` bytes beyond its last packet. A flow
//!   that becomes active has the last turn.
//! * A packet is lost on arrival if its flow already has `depth` packets, or if it would be one
//!   flow too many.
//! * If more than `limit` packets wait, the flow with the most packets loses its newest one.
//! * With `perturb`, the hash gets another key each time this has passed, at the next event of the
//!   queue. Waiting packets move to their new flows in order, even beyond a limit.

use super::discipline::{Discipline, Moment, Parameters, Site, lose};
use super::fifo::{Amount, Fifo, Waiting};
use super::flows::FlowHash;
use super::limit::Limit;
use super::queue::QueueSpec;
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use vocabulary::Loss;

/// Parameters of SFQ. The defaults are those of Linux.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SfqSpec {
    /// Bytes that a flow may send in its turn. Default: 1514 bytes.
    pub quantum: ByteCount,
    /// Time after which the hash changes; 0: never. Default: 0.
    pub perturb: Span,
    /// Most packets of one flow. Default: 127.
    pub depth: u64,
    /// Most flows that wait at a time. Default: 128.
    pub flows: u32,
    /// Number of buckets of the hash (`divisor`). Default: 1024.
    pub buckets: u32,
    /// Maximum amount in all flows together, in packets or bytes. Default: 127 packets.
    pub limit: Limit,
}

impl Default for SfqSpec {
    fn default() -> Self {
        Self {
            quantum: ByteCount::new(1514),
            perturb: Span::ZERO,
            depth: 127,
            flows: 128,
            buckets: 1024,
            limit: Limit::Packets(127),
        }
    }
}

impl fmt::Display for SfqSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { quantum, perturb, depth, flows, buckets, limit } = self;
        write!(f, "SFQ quantum {quantum} depth {depth} flows {flows} buckets {buckets} limit {limit}")?;
        if *perturb > Span::ZERO { write!(f, " perturb {perturb}") } else { Ok(()) }
    }
}

impl SfqSpec {
    fn checked(&self) -> Result<Self, SpecError> {
        if self.quantum.get() == 0 {
            return Err(SpecError::value("quantum", self.quantum, "must be above 0, such as 1514B"));
        }
        let counts = [("depth", self.depth), ("flows", self.flows.into()), ("buckets", self.buckets.into())];
        for (field, count) in counts {
            if count == 0 {
                return Err(SpecError::value(field, count, "must be above 0"));
            }
        }
        self.limit.refuse_time()?;
        Ok(self.clone())
    }
}

impl Parameters for SfqSpec {
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(Sfq::new(self.checked()?, site)))
    }

    fn is_random(&self) -> bool {
        self.buckets > 1
    }
}

/// Flows that take turns.
#[derive(Debug)]
struct Sfq {
    spec: SfqSpec,
    seed: Seed,
    hash: FlowHash,
    /// Number of changes of the hash, and the time of the last one.
    hashes: u64,
    hashed: Time,
    /// The flows with packets, by the place of their bucket.
    flows: BTreeMap<u32, Flow>,
    /// The places of the flows in the order of their turns.
    turns: VecDeque<u32>,
    total: Amount,
    /// Number of packets that came or left.
    changes: u64,
}

/// The packets of one bucket.
#[derive(Debug, Default)]
struct Flow {
    fifo: Fifo,
    credits: i64,
    /// [`Sfq::changes`] when the flow got its length.
    changed: u64,
}

impl Sfq {
    fn new(spec: SfqSpec, site: &Site<'_>) -> Self {
        Self {
            spec,
            seed: site.seed.clone(),
            hash: FlowHash::new(site.seed),
            hashes: 0,
            hashed: site.start,
            flows: BTreeMap::new(),
            turns: VecDeque::new(),
            total: Amount::default(),
            changes: 0,
        }
    }

    /// Changes the hash if it is time.
    fn perturb(&mut self, now: Time) {
        let period = self.spec.perturb;
        if period == Span::ZERO || now.since(self.hashed) < period {
            return;
        }
        let changes = now.since(self.hashed).as_nanos() / period.as_nanos();
        self.hashes += changes;
        self.hashed += period * changes;
        self.hash = FlowHash::new(&self.seed.stage(&self.hashes.to_string()));
        for waiting in self.drain() {
            self.adopt(waiting);
        }
    }

    /// Loses the newest packet of the flow with the most packets; of several, of the flow that got
    /// there last, as in Linux.
    fn make_room(&mut self, now: Time, out: &mut Outbox) {
        let longest =
            self.flows.iter_mut().max_by_key(|(_, flow)| (flow.fifo.amount().packets, flow.changed));
        let Some((&place, flow)) = longest else { return };
        let Some(newest) = flow.fifo.pop_newest() else { return };
        self.changes += 1;
        flow.changed = self.changes;
        if flow.fifo.is_empty() {
            self.flows.remove(&place);
            self.turns.retain(|other| *other != place);
        }
        self.left(&newest);
        lose(newest, Loss::QueueFull, now, out);
    }

    fn left(&mut self, waiting: &Waiting) {
        self.total.packets -= 1;
        self.total.bytes -= waiting.cost;
    }
}

impl Discipline for Sfq {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        self.perturb(moment.now);
        let place = self.hash.place(&arriving.packet.frame, self.spec.buckets);
        let room = match self.flows.get(&place) {
            Some(flow) => flow.fifo.amount().packets < self.spec.depth,
            None => self.flows.len() < self.spec.flows as usize,
        };
        if !room {
            lose(arriving, Loss::QueueFull, moment.now, out);
            return;
        }
        self.adopt(arriving);
        while !moment.free && self.total.exceeds(self.spec.limit) {
            self.make_room(moment.now, out);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment<'_>, _: &mut Outbox) -> Option<Waiting> {
        self.perturb(moment.now);
        loop {
            let place = self.turns.pop_front()?;
            let Some(flow) = self.flows.get_mut(&place) else { continue };
            if flow.credits <= 0 {
                flow.credits += self.spec.quantum.get().cast_signed();
                self.turns.push_back(place);
                continue;
            }
            let Some(next) = flow.fifo.pop() else { continue };
            flow.credits -= next.cost.cast_signed();
            self.changes += 1;
            flow.changed = self.changes;
            if flow.fifo.is_empty() {
                self.flows.remove(&place);
            } else {
                self.turns.push_front(place);
            }
            self.left(&next);
            return Some(next);
        }
    }

    fn amount(&self) -> Amount {
        self.total
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.flows.values_mut().for_each(|flow| flow.fifo.recount(cost));
        let amounts = self.flows.values().map(|flow| flow.fifo.amount());
        self.total = amounts.fold(Amount::default(), |sum, one| sum + one);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::Sfq(spec) = to else { return Ok(false) };
        if spec.buckets != self.spec.buckets {
            return Ok(false);
        }
        self.spec = spec.checked()?;
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.turns.clear();
        self.total = Amount::default();
        let flows = std::mem::take(&mut self.flows).into_values();
        let mut all: Vec<_> = flows.flat_map(|mut flow| flow.fifo.drain()).collect();
        all.sort_by_key(|waiting| (waiting.packet.at, waiting.packet.number));
        all
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.total = self.total + Amount { packets: 1, bytes: waiting.cost };
        let place = self.hash.place(&waiting.packet.frame, self.spec.buckets);
        let flow = self.flows.entry(place).or_insert_with(|| {
            self.turns.push_back(place);
            Flow { credits: self.spec.quantum.get().cast_signed(), ..Flow::default() }
        });
        self.changes += 1;
        flow.changed = self.changes;
        flow.fifo.push(waiting);
    }
}
