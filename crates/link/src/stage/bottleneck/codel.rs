//! CoDel: queue control by the waiting times of packets (RFC 8289).
//!
//! If no packet has waited for less than `target` during an `interval`, CoDel loses one packet as
//! it leaves the queue. It then loses another each time `interval / sqrt(count)` has passed, until
//! a packet has waited for less. The algorithm is that of section 5 of the RFC, with "MAXPACKET"
//! set to the largest packet so far.
//!
//! With `ecn`, packets of ECN-capable transports are marked instead, as in Linux (`codel_dequeue`
//! in `include/net/codel_impl.h`): a marked packet leaves and ends the round.

use super::discipline::{Discipline, Moment, Parameters, Site, lose, mark};
use super::fifo::{Amount, Fifo, Waiting};
use super::limit::Limit;
use super::queue::QueueSpec;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;

/// Parameters of CoDel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CoDelSpec {
    /// Waiting time that is acceptable permanently. Default: 5 ms (RFC 8289, section 4.4).
    pub target: Span,
    /// Time for which waiting times may exceed the target; about the longest usual round-trip time.
    /// Default: 100 ms (RFC 8289, section 4.3).
    pub interval: Span,
    /// Maximum length of the queue, as in drop-tail. Default: 1000 packets, as in Linux.
    pub limit: Limit,
    /// Whether packets of ECN-capable transports are marked instead of lost (RFC 3168).
    pub ecn: bool,
}

impl Default for CoDelSpec {
    fn default() -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            limit: Limit::Packets(1000),
            ecn: false,
        }
    }
}

impl fmt::Display for CoDelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, interval, limit, ecn } = self;
        write!(f, "CoDel target {target} interval {interval} limit {limit}{}", if *ecn { " ECN" } else { "" })
    }
}

impl CoDelSpec {
    fn law(&self) -> Result<Law, SpecError> {
        Law { target: self.target, interval: self.interval, ecn: self.ecn }.checked()
    }
}

impl Parameters for CoDelSpec {
    fn build(&self, _: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(CoDel {
            law: self.law()?,
            limit: self.limit,
            fifo: Fifo::default(),
            control: Control::default(),
            max_packet: 0,
        }))
    }
}

/// A queue under CoDel.
#[derive(Debug)]
struct CoDel {
    law: Law,
    limit: Limit,
    fifo: Fifo,
    control: Control,
    max_packet: u64,
}

impl Discipline for CoDel {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        self.max_packet = self.max_packet.max(arriving.cost);
        if moment.has_room(self.limit, self.fifo.amount(), arriving.cost) {
            self.fifo.push(arriving);
        } else {
            lose(arriving, Loss::QueueFull, moment.now, out);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment<'_>, out: &mut Outbox) -> Option<Waiting> {
        let Self { law, fifo, control, max_packet, .. } = self;
        let pop = || {
            let waiting = fifo.pop()?;
            Some((waiting, fifo.amount().bytes <= *max_packet))
        };
        control.dequeue(law, pop, moment.now, out)
    }

    fn amount(&self) -> Amount {
        self.fifo.amount()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.fifo.recount(cost);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::CoDel(spec) = to else { return Ok(false) };
        (self.law, self.limit) = (spec.law()?, spec.limit);
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.fifo.drain().collect()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.fifo.push(waiting);
    }
}

/// Parameters of the control law.
#[derive(Debug, Clone, Copy)]
pub(super) struct Law {
    pub target: Span,
    pub interval: Span,
    pub ecn: bool,
}

impl Law {
    /// Returns the law if it is valid.
    pub fn checked(self) -> Result<Self, SpecError> {
        if self.interval == Span::ZERO {
            return Err(SpecError::value("interval", self.interval, "must be above 0, such as 100ms"));
        }
        Ok(self)
    }
}

/// State of CoDel over one queue; the names are those of the RFC.
#[derive(Debug, Default)]
pub(super) struct Control {
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Control {
    /// Strengthens the signal, because `lost` packets of the queue were lost for want of room.
    pub fn overflow(&mut self, lost: u32) {
        self.count = self.count.saturating_add(lost);
    }

    /// Removes the packet that is sent next. `pop` removes the oldest packet of the queue, and
    /// returns with it whether so little is left that no packet is lost.
    pub fn dequeue(
        &mut self,
        law: &Law,
        mut pop: impl FnMut() -> Option<(Waiting, bool)>,
        now: Time,
        out: &mut Outbox,
    ) -> Option<Waiting> {
        let (mut head, mut ok_to_drop) = self.do_dequeue(law, &mut pop, now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if let Some(waiting) = &mut head
                    && law.marks(waiting, now)
                {
                    self.drop_next = self.control_law(law, self.drop_next);
                    break;
                }
                drop_packet(head, now, out);
                (head, ok_to_drop) = self.do_dequeue(law, &mut pop, now);
                if ok_to_drop {
                    self.drop_next = self.control_law(law, self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let marked = head.as_mut().is_some_and(|waiting| law.marks(waiting, now));
            if !marked {
                drop_packet(head, now, out);
                (head, _) = self.do_dequeue(law, &mut pop, now);
            }
            self.dropping = true;
            // If the last cycle was recent, its final rate of losses, which controlled the queue,
            // is a good start. As in Linux, `drop_next` may also be in the future.
            let delta = self.count - self.last_count;
            let recent = now.since(self.drop_next) < law.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.control_law(law, now);
            self.last_count = self.count;
        }
        head
    }

    /// Removes the oldest packet; also returns whether waiting times have exceeded the target for
    /// too long.
    fn do_dequeue(
        &mut self,
        law: &Law,
        pop: &mut impl FnMut() -> Option<(Waiting, bool)>,
        now: Time,
    ) -> (Option<Waiting>, bool) {
        let Some((head, nearly_empty)) = pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn = now.since(head.packet.at);
        if sojourn < law.target || nearly_empty {
            self.first_above_time = None;
            return (Some(head), false);
        }
        let first_above_time = *self.first_above_time.get_or_insert(now + law.interval);
        (Some(head), now >= first_above_time)
    }

    fn control_law(&self, law: &Law, time: Time) -> Time {
        time + Span::from_nanos((law.interval.as_nanos() as f64 / f64::from(self.count).sqrt()) as u64)
    }
}

impl Law {
    fn marks(&self, waiting: &mut Waiting, now: Time) -> bool {
        self.ecn && mark(waiting, now)
    }
}

fn drop_packet(waiting: Option<Waiting>, now: Time, out: &mut Outbox) {
    if let Some(waiting) = waiting {
        lose(waiting, Loss::CoDel, now, out);
    }
}
