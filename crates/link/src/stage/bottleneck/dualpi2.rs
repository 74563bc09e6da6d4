//! DualPI2: a queue for scalable congestion controls (L4S) beside a classic one, with coupled
//! signals (RFC 9332).
//!
//! * Packets with ECT(1) or CE wait in the L queue, all others in the C queue (section 2.3).
//! * Every `tupdate`, the base probability p changes by `alpha * (delay - target) + beta * (delay -
//!   last delay)`. The delay is how long the oldest packet has waited, of both queues the longer
//!   time (section 2.4; a C queue alone in appendix A.1).
//! * A packet of the C queue is marked or lost with probability p², one of the L queue is marked
//!   with probability k p (appendix A.1). Random numbers decide when the packet leaves its queue.
//! * A packet of the L queue that waited for more than `step` is marked as well.
//! * If k p is above 1, ECN is overloaded: packets of both queues are lost with probability p². All
//!   others of the L queue are marked (section 2.5.1 and appendix A.2).
//! * The queues take turns by weighted round robin, in which the C queue has a share of
//!   `c_share` while both have packets (section 2.5.1.1).
//! * The probability has no effect while less than two packets of the largest size wait.
//! * A packet that finds no room in both queues together is lost.
//!
//! Where the RFC leaves a choice, this is `net/sched/sch_dualpi2.c` of Linux with its defaults
//! (`drop_on_overload`, `drop_dequeue`). Sizes are those that the limiter counts.

use super::discipline::{Discipline, Moment, Parameters, Site, lose, mark};
use super::fifo::{Amount, Fifo, Waiting};
use super::limit::Limit;
use super::pie::check_gains;
use super::queue::QueueSpec;
use super::updates::Updates;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{Probability, Span, Time};
use ::packet::Ecn;
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;

/// Parameters of DualPI2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DualPi2Spec {
    /// Waiting time that the controller aims at. Default: 15 ms.
    pub target: Span,
    /// Time between two updates of the probability. Default: 16 ms.
    pub tupdate: Span,
    /// Weight of the difference to the target, per second. Default: 0.16.
    pub alpha: f64,
    /// Weight of the change since the last update, per second. Default: 3.2.
    pub beta: f64,
    /// Factor k from the base probability to that of the L queue. Default: 2.
    pub coupling: f64,
    /// Waiting time above which each packet of the L queue is marked. Default: 1 ms.
    pub step: Span,
    /// Share of the C queue while both queues have packets. Default: 10 %.
    pub c_share: Probability,
    /// Maximum amount in both queues together, as in drop-tail. Default: 10000 packets.
    pub limit: Limit,
}

impl Default for DualPi2Spec {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            tupdate: Span::from_millis(16),
            alpha: 0.16,
            beta: 3.2,
            coupling: 2.0,
            step: Span::from_millis(1),
            c_share: Probability::new(0.1).unwrap_or_default(),
            limit: Limit::Packets(10_000),
        }
    }
}

impl fmt::Display for DualPi2Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, tupdate, alpha, beta, coupling, step, c_share, limit } = self;
        write!(f, "DualPI2 target {target} tupdate {tupdate} alpha {alpha} beta {beta}")?;
        write!(f, " coupling {coupling} step {step} C share {c_share} limit {limit}")
    }
}

impl DualPi2Spec {
    fn checked(&self) -> Result<Self, SpecError> {
        check_gains(self.tupdate, self.alpha, self.beta)?;
        if !(self.coupling.is_finite() && self.coupling > 0.0) {
            return Err(SpecError::value("coupling", self.coupling, "must be above 0, such as 2"));
        }
        Ok(self.clone())
    }
}

impl Parameters for DualPi2Spec {
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        Ok(Box::new(DualPi2::new(&self.checked()?, site.start)))
    }

    fn is_random(&self) -> bool {
        true
    }
}

/// Two queues with coupled signals.
#[derive(Debug)]
struct DualPi2 {
    spec: DualPi2Spec,
    low: Fifo,
    classic: Fifo,
    control: Control,
    updates: Updates,
    /// Credits of the C queue in bytes: above 0 it is the C queue's turn, else the L queue's. They
    /// do not change while a queue is empty. When both become empty, the queue with the larger
    /// share gets credits for the start.
    turns: f64,
    max_packet: u64,
}

/// State of the proportional integral controller.
#[derive(Debug, Clone, Default, PartialEq)]
struct Control {
    /// Base probability (p').
    base: f64,
    /// Delay at the last update.
    delay: Span,
}

impl Control {
    fn update(&mut self, spec: &DualPi2Spec, delay: Span) {
        let error = delay.as_secs_f64() - spec.target.as_secs_f64();
        let change = delay.as_secs_f64() - self.delay.as_secs_f64();
        self.base = (self.base + spec.alpha * error + spec.beta * change).clamp(0.0, 1.0);
        self.delay = delay;
    }
}

/// Treatment of a packet that leaves its queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Pass,
    Mark,
    Drop,
}

impl DualPi2 {
    fn new(spec: &DualPi2Spec, start: Time) -> Self {
        Self {
            spec: spec.clone(),
            low: Fifo::default(),
            classic: Fifo::default(),
            control: Control::default(),
            updates: Updates::new(start, spec.tupdate),
            turns: 0.0,
            max_packet: 0,
        }
    }

    fn total(&self) -> Amount {
        self.low.amount() + self.classic.amount()
    }

    fn catch_up(&mut self, now: Time) {
        let Self { spec, low, classic, control, updates, .. } = self;
        let head = [low, classic].iter().filter_map(|fifo| Some(fifo.front()?.packet.at)).min();
        updates.catch_up(now, spec.tupdate, control, |control, at| {
            control.update(spec, head.map_or(Span::ZERO, |head| at.since(head)));
        });
    }

    /// Removes the packet whose turn it is, and returns whether it was in the L queue.
    fn pop(&mut self) -> Option<(Waiting, bool)> {
        let share = self.spec.c_share.get();
        let (low_waits, classic_waits) = (!self.low.is_empty(), !self.classic.is_empty());
        let both = low_waits && classic_waits;
        if low_waits && (!classic_waits || self.turns <= 0.0) {
            let waiting = self.low.pop()?;
            if both {
                self.turns += share * waiting.cost as f64;
            }
            return Some((waiting, true));
        }
        let Some(waiting) = self.classic.pop() else {
            self.turns = (2.0 * share - 1.0) * self.max_packet as f64;
            return None;
        };
        if both {
            self.turns -= (1.0 - share) * waiting.cost as f64;
        }
        Some((waiting, false))
    }

    /// Decides on a packet that leaves its queue at `moment`.
    fn judge(&self, waiting: &Waiting, is_low: bool, moment: &mut Moment<'_>) -> Verdict {
        let base = self.control.base;
        let is_late = moment.now.since(waiting.packet.at) > self.spec.step;
        let unless_late = if is_low && is_late { Verdict::Mark } else { Verdict::Pass };
        if self.total().bytes < 2 * self.max_packet {
            return unless_late;
        }
        let coupled = base * self.spec.coupling;
        let overload = coupled > 1.0;
        if is_low && !overload {
            return if moment.random() < coupled { Verdict::Mark } else { unless_late };
        }
        if moment.random() < base && moment.random() < base {
            return if overload { Verdict::Drop } else { Verdict::Mark };
        }
        if is_low { Verdict::Mark } else { Verdict::Pass }
    }
}

impl Discipline for DualPi2 {
    fn enqueue(&mut self, arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        self.catch_up(moment.now);
        if moment.has_room(self.spec.limit, self.total(), arriving.cost) {
            self.adopt(arriving);
        } else {
            lose(arriving, Loss::QueueFull, moment.now, out);
        }
    }

    fn dequeue(&mut self, moment: &mut Moment<'_>, out: &mut Outbox) -> Option<Waiting> {
        self.catch_up(moment.now);
        loop {
            let turns = self.turns;
            let (mut waiting, is_low) = self.pop()?;
            let passes = match self.judge(&waiting, is_low, moment) {
                Verdict::Pass => true,
                Verdict::Mark => mark(&mut waiting, moment.now),
                Verdict::Drop => false,
            };
            if passes {
                return Some(waiting);
            }
            // A packet that is lost does not use its queue's turn.
            self.turns = turns;
            lose(waiting, Loss::DualPi2, moment.now, out);
        }
    }

    fn amount(&self) -> Amount {
        self.total()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.low.recount(cost);
        self.classic.recount(cost);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::DualPi2(spec) = to else { return Ok(false) };
        self.spec = spec.checked()?;
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        let mut all: Vec<_> = self.low.drain().chain(self.classic.drain()).collect();
        all.sort_by_key(|waiting| (waiting.packet.at, waiting.packet.number));
        all
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.max_packet = self.max_packet.max(waiting.cost);
        match waiting.packet.frame.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.low.push(waiting),
            Ecn::NotEct | Ecn::Ect0 => self.classic.push(waiting),
        }
    }
}

/// Signals to packets of both queues.
#[cfg(test)]
pub(super) struct Coupled {
    pub low: Signals,
    pub classic: Signals,
}

/// Numbers of packets with a signal.
#[cfg(test)]
pub(super) struct Signals {
    pub marked: u32,
    pub lost: u32,
}

/// Returns the signals of `count` packets of each queue at the base probability `base`.
#[cfg(test)]
pub(super) fn signals(base: f64, count: u32) -> Coupled {
    use super::limiter::Limiter;
    let mut stream = crate::seed::Seed::campaign(1).stage("dualpi2").stream();
    let waiting = |at| Waiting {
        packet: Packet::new(0, ::packet::Frame::owned(::packet::Layer::Ip, vec![0; 40]), at),
        cost: 40,
        queue: 0,
    };
    let mut queue = DualPi2::new(&DualPi2Spec::default(), Time::ZERO);
    (0..9).for_each(|_| queue.adopt(waiting(Time::ZERO)));
    queue.control.base = base;
    let mut limiter = Limiter::Unlimited;
    let (stream, limiter) = (&mut stream, &mut limiter);
    let mut moment = Moment { now: Time::ZERO, free: false, end: None, limiter, stream };
    let mut signals = |is_low| {
        let mut signals = Signals { marked: 0, lost: 0 };
        for _ in 0..count {
            match queue.judge(&waiting(Time::ZERO), is_low, &mut moment) {
                Verdict::Pass => {}
                Verdict::Mark => signals.marked += 1,
                Verdict::Drop => signals.lost += 1,
            }
        }
        signals
    };
    Coupled { low: signals(true), classic: signals(false) }
}
