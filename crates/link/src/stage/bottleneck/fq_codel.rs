//! FQ-CoDel: flows take turns, and CoDel controls the queue of each (RFC 8290).
//!
//! * A hash of the packet selects one of `flows` queues (section 4.1; see [`super::flows`]).
//! * Queues that send have credits in bytes. A queue that becomes active is at the end of the list
//!   of new queues with a credit of one `quantum`. New queues go before old ones. A queue without
//!   credits gets a quantum and goes to the end of the list of old queues (section 4.2).
//! * A new queue that becomes empty goes to the end of the list of old queues. An old one leaves
//!   its list.
//! * If more than `limit` waits, the oldest packets of the queue with the most bytes are lost:
//!   half of its bytes, and at most 64 packets (section 4.1). They count as signals
//!   of CoDel, as in Linux (`fq_codel_drop` in `net/sched/sch_fq_codel.c`).
//! * CoDel loses nothing while at most one packet of the largest size waits in all queues together,
//!   as in Linux.
//!
//! Sizes are those that the limiter counts.

use super::codel::{Control, Law};
use super::discipline::{Discipline, Moment, Parameters, Site, lose};
use super::fifo::{Amount, Fifo, Waiting};
use super::flows::FlowHash;
use super::limit::Limit;
use super::queue::QueueSpec;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Span};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use vocabulary::Loss;

/// Most packets that are lost at once if the queue is full (RFC 8290, section 4.1).
const DROP_BATCH: u32 = 64;
/// Most flows, as in Linux.
const MOST_FLOWS: u32 = 65_536;

/// Parameters of FQ-CoDel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FqCoDelSpec {
    /// Waiting time that is acceptable permanently. Default: 5 ms (RFC 8290, section 5.2.2).
    pub target: Span,
    /// Time for which waiting times may exceed the target. Default: 100 ms (RFC 8290, section
    /// 5.2.1).
    pub interval: Span,
    /// Bytes that a queue may send in its turn. Default: 1514 bytes (RFC 8290, section 5.2.4).
    pub quantum: ByteCount,
    /// Number of queues. Default: 1024 (RFC 8290, section 5.2.5).
    pub flows: u32,
    /// Maximum amount in all queues together, in packets or bytes. Default: 10240 packets (RFC
    /// 8290, section 5.2.3).
    pub limit: Limit,
    /// Whether packets of ECN-capable transports are marked instead of lost. Default: true (RFC
    /// 8290, section 5.2.6).
    pub ecn: bool,
}

impl Default for FqCoDelSpec {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            quantum: ByteCount::new(1514),
            flows: 1024,
            limit: Limit::Packets(10_240),
            ecn: true,
        }
    }
}

impl fmt::Display for FqCoDelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, interval, quantum, flows, limit, ecn } = self;
        write!(f, "FQ-CoDel target {target} interval {interval} quantum {quantum} flows {flows}")?;
        write!(f, " limit {limit}{}", if *ecn { " ECN" } else { "" })
    }
}

impl FqCoDelSpec {
    fn law(&self) -> Result<Law, SpecError> {
        if self.quantum.get() == 0 {
            return Err(SpecError::value("quantum", self.quantum, "must be above 0, such as 1514B"));
        }
        if !(1..=MOST_FLOWS).contains(&self.flows) {
            return Err(SpecError::value("flows", self.flows, "must be from 1 to 65536"));
        }
        self.limit.refuse_time()?;
        Law { target: self.target, interval: self.interval, ecn: self.ecn }.checked()
    }
}

impl Parameters for FqCoDelSpec {
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(FqCoDel::new(self.clone(), FlowHash::new(site.seed))?))
    }

    fn is_random(&self) -> bool {
        self.flows > 1
    }
}

/// Queues of flows that take turns.
#[derive(Debug)]
pub(super) struct FqCoDel {
    spec: FqCoDelSpec,
    law: Law,
    hash: FlowHash,
    flows: Vec<Flow>,
    /// Places of the new and of the old queues, in the order of their turns.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    total: Amount,
    max_packet: u64,
}

/// The queue of one or more flows with the same hash.
#[derive(Debug, Default)]
struct Flow {
    fifo: Fifo,
    control: Control,
    credits: i64,
    /// Whether it is in a list.
    listed: bool,
}

impl FqCoDel {
    pub fn new(spec: FqCoDelSpec, hash: FlowHash) -> Result<Self, SpecError> {
        Ok(Self {
            law: spec.law()?,
            hash,
            flows: (0..spec.flows).map(|_| Flow::default()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            total: Amount::default(),
            max_packet: 0,
            spec,
        })
    }

    /// Loses the oldest packets of the queue with the most bytes.
    fn make_room(&mut self, moment: &Moment<'_>, out: &mut Outbox) {
        // The first of several, as in Linux.
        let fattest = self.flows.iter_mut().rev().max_by_key(|flow| flow.fifo.amount().bytes);
        let Some(Flow { fifo, control, .. }) = fattest else { return };
        let threshold = fifo.amount().bytes / 2;
        let (mut lost, mut bytes) = (0, 0);
        while let Some(head) = fifo.pop() {
            lost += 1;
            bytes += head.cost;
            lose(head, Loss::QueueHead, moment.now, out);
            if lost >= DROP_BATCH || bytes >= threshold {
                break;
            }
        }
        control.overflow(lost);
        self.total.packets -= u64::from(lost);
        self.total.bytes -= bytes;
    }
}

impl Discipline for FqCoDel {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        self.adopt(arriving);
        while !moment.free && self.total.exceeds(self.spec.limit) {
            self.make_room(moment, out);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment<'_>, out: &mut Outbox) -> Option<Waiting> {
        let quantum = self.spec.quantum.get().cast_signed();
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let place = list.pop_front()?;
            let Flow { fifo, control, credits, listed } = &mut self.flows[place as usize];
            if *credits <= 0 {
                *credits += quantum;
                self.old.push_back(place);
                continue;
            }
            let (total, max_packet) = (&mut self.total, self.max_packet);
            let pop = || {
                let waiting = fifo.pop()?;
                total.packets -= 1;
                total.bytes -= waiting.cost;
                Some((waiting, total.bytes <= max_packet))
            };
            if let Some(next) = control.dequeue(&self.law, pop, moment.now, out) {
                *credits -= next.cost.cast_signed();
                let list = if is_new { &mut self.new } else { &mut self.old };
                list.push_front(place);
                return Some(next);
            }
            // A pass through the old queues, so that new ones cannot starve them.
            if is_new && !self.old.is_empty() {
                self.old.push_back(place);
            } else {
                *listed = false;
            }
        }
    }

    fn amount(&self) -> Amount {
        self.total
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.flows.iter_mut().for_each(|flow| flow.fifo.recount(cost));
        let amounts = self.flows.iter().map(|flow| flow.fifo.amount());
        self.total = amounts.fold(Amount::default(), |sum, one| sum + one);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::FqCoDel(spec) = to else { return Ok(false) };
        if spec.flows != self.spec.flows {
            return Ok(false);
        }
        (self.law, self.spec) = (spec.law()?, spec.clone());
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.total = Amount::default();
        self.new.clear();
        self.old.clear();
        let mut all = Vec::new();
        for flow in &mut self.flows {
            flow.listed = false;
            all.extend(flow.fifo.drain());
        }
        all.sort_by_key(|waiting| (waiting.packet.at, waiting.packet.number));
        all
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.max_packet = self.max_packet.max(waiting.cost);
        self.total = self.total + Amount { packets: 1, bytes: waiting.cost };
        let place = self.hash.place(&waiting.packet.frame, self.spec.flows);
        let flow = &mut self.flows[place as usize];
        flow.fifo.push(waiting);
        if !flow.listed {
            (flow.listed, flow.credits) = (true, self.spec.quantum.get().cast_signed());
            self.new.push_back(place);
        }
    }
}
