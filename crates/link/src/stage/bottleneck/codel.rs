//! CoDel: queue control by the waiting times of packets (RFC 8289).
//!
//! If no packet has waited for less than `target` during an `interval`, CoDel loses one packet as
//! it leaves the queue. It then loses another each time `interval / sqrt(count)` has passed, until
//! a packet has waited for less. The algorithm is that of section 5 of the RFC, with "MAXPACKET"
//! set to the largest packet so far.
//!
//! With `ecn`, packets of ECN-capable transports are marked instead, as in Linux (`codel_dequeue`
//! in `include/net/codel_impl.h`): a marked packet leaves and ends the round.

use super::backlog::{Backlog, Waiting};
use super::queue::Limit;
use crate::fate::Effect;
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

/// State of CoDel; the names are those of the RFC.
#[derive(Debug)]
pub(super) struct CoDel {
    pub spec: CoDelSpec,
    first_above_time: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    max_packet: u64,
}

impl CoDel {
    pub fn new(spec: CoDelSpec) -> Result<Self, SpecError> {
        if spec.interval == Span::ZERO {
            return Err(SpecError::value("interval", spec.interval, "must be above 0, such as 100ms"));
        }
        Ok(Self {
            spec,
            first_above_time: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            max_packet: 0,
        })
    }

    /// Returns the same queue with other parameters.
    pub fn with(&self, spec: CoDelSpec) -> Result<Self, SpecError> {
        let Self { spec, .. } = Self::new(spec)?;
        Ok(Self { spec, ..*self })
    }

    /// Notes a packet of `cost` bytes that enters the queue.
    pub fn enqueued(&mut self, cost: u64) {
        self.max_packet = self.max_packet.max(cost);
    }

    /// Removes the packet that is sent next.
    pub fn dequeue(&mut self, backlog: &mut Backlog, now: Time, out: &mut Outbox) -> Option<Waiting> {
        let (mut head, mut ok_to_drop) = self.do_dequeue(backlog, now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if let Some(waiting) = &mut head
                    && self.marks(waiting, now)
                {
                    self.drop_next = self.control_law(self.drop_next);
                    break;
                }
                lose(head, now, out);
                (head, ok_to_drop) = self.do_dequeue(backlog, now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let marked = head.as_mut().is_some_and(|waiting| self.marks(waiting, now));
            if !marked {
                lose(head, now, out);
                (head, _) = self.do_dequeue(backlog, now);
            }
            self.dropping = true;
            // If the last cycle was recent, its final rate of losses, which controlled the queue,
            // is a good start. As in Linux, `drop_next` may also be in the future.
            let delta = self.count - self.last_count;
            let recent = now.since(self.drop_next) < self.spec.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = self.control_law(now);
            self.last_count = self.count;
        }
        head
    }

    /// Removes the oldest packet; also returns whether waiting times have exceeded the target for
    /// too long.
    fn do_dequeue(&mut self, backlog: &mut Backlog, now: Time) -> (Option<Waiting>, bool) {
        let Some(head) = backlog.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        let sojourn = now.since(head.packet.at);
        if sojourn < self.spec.target || backlog.amount().bytes <= self.max_packet {
            self.first_above_time = None;
            return (Some(head), false);
        }
        let first_above_time = *self.first_above_time.get_or_insert(now + self.spec.interval);
        (Some(head), now >= first_above_time)
    }

    fn control_law(&self, time: Time) -> Time {
        time + Span::from_nanos((self.spec.interval.as_nanos() as f64 / f64::from(self.count).sqrt()) as u64)
    }

    fn marks(&self, waiting: &mut Waiting, now: Time) -> bool {
        let marked = self.spec.ecn && waiting.packet.frame.mark_ce();
        if marked {
            waiting.packet.at = now;
            waiting.packet.mark(Effect::CongestionMarked);
        }
        marked
    }
}

fn lose(waiting: Option<Waiting>, now: Time, out: &mut Outbox) {
    if let Some(Waiting { mut packet, .. }) = waiting {
        packet.at = now;
        out.lose(packet, Loss::CoDel);
    }
}
