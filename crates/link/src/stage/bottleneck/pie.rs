//! PIE: packets are lost on arrival with a probability that a controller adapts to the waiting time
//! (RFC 8033, Proportional Integral controller Enhanced).
//!
//! Every `tupdate`, the probability changes by
//!
//! ```text
//! alpha * (delay - target) + beta * (delay - delay at the last update)
//! ```
//!
//! * The change is scaled down while the probability is small, and is at most 2 % where the
//!   probability is 10 % or more (sections 4.2 and 5.5).
//! * The delay is the waiting time of the last packet that left the queue (section 4.3). It is 0 if
//!   that packet left the queue empty.
//! * For `burst` after the queue was last uncongested, no packet is lost (section 4.4).
//! * No packet is lost while at most two packets of the largest size wait, or while the last delay
//!   is below half of the target and the probability below 20 % (section 4.1).
//! * Losses are spread: none until the probabilities of the packets since the last one add up to
//!   0.85, and a certain one at 8.5 (section 5.4).
//!
//! Unlike Linux, PIE does not add to the probability while the delay is above 250 ms.
//!
//! With `ecn`, packets of ECN-capable transports are marked instead, up to a probability of
//! `ecn_threshold` (section 5.1).
//!
//! An update needs no event: between two packets nothing changes that it depends on. So the queue
//! makes up for missed updates when the next packet arrives or leaves.

use super::discipline::{Discipline, Moment, Parameters, Site, lose, mark};
use super::fifo::{Amount, Fifo, Waiting};
use super::limit::Limit;
use super::queue::QueueSpec;
use super::updates::Updates;
use crate::packet::Packet;
use crate::stage::Outbox;
use crate::stage::spec::SpecError;
use crate::units::{Probability, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;

/// Bounds of the probability, and the divisor of its change below each (RFC 8033, section 4.2).
const SCALES: [(f64, f64); 6] =
    [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];

/// Parameters of PIE.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PieSpec {
    /// Waiting time that the controller aims at (`QDELAY_REF`). Default: 15 ms.
    pub target: Span,
    /// Time between two updates of the probability (`T_UPDATE`). Default: 15 ms.
    pub tupdate: Span,
    /// Weight of the difference to the target, per second. Default: 0.125.
    pub alpha: f64,
    /// Weight of the change since the last update, per second. Default: 1.25.
    pub beta: f64,
    /// Time for which a burst is allowed (`MAX_BURST`). Default: 150 ms.
    pub burst: Span,
    /// Maximum length of the queue, as in drop-tail. Default: 1000 packets, as in Linux.
    pub limit: Limit,
    /// Whether packets of ECN-capable transports are marked instead of lost (RFC 3168).
    pub ecn: bool,
    /// Probability above which packets are lost even with `ecn` (`mark_ecnth`). Default: 10 %.
    pub ecn_threshold: Probability,
}

impl Default for PieSpec {
    fn default() -> Self {
        Self {
            target: Span::from_millis(15),
            tupdate: Span::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Span::from_millis(150),
            limit: Limit::Packets(1000),
            ecn: false,
            ecn_threshold: Probability::new(0.1).unwrap_or_default(),
        }
    }
}

impl fmt::Display for PieSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, tupdate, alpha, beta, burst, limit, ecn, ecn_threshold } = self;
        write!(f, "PIE target {target} tupdate {tupdate} alpha {alpha} beta {beta} burst {burst}")?;
        write!(f, " limit {limit}")?;
        if *ecn { write!(f, " ECN to {ecn_threshold}") } else { Ok(()) }
    }
}

impl PieSpec {
    fn checked(&self) -> Result<Self, SpecError> {
        check_gains(self.tupdate, self.alpha, self.beta)?;
        Ok(self.clone())
    }
}

/// Checks the parameters of a proportional integral controller.
pub(super) fn check_gains(tupdate: Span, alpha: f64, beta: f64) -> Result<(), SpecError> {
    if tupdate == Span::ZERO {
        return Err(SpecError::value("tupdate", tupdate, "must be above 0, such as 15ms"));
    }
    for (field, gain) in [("alpha", alpha), ("beta", beta)] {
        if !(gain.is_finite() && gain >= 0.0) {
            return Err(SpecError::value(field, gain, "must be 0 or above, per second"));
        }
    }
    Ok(())
}

impl Parameters for PieSpec {
    fn build(&self, site: &Site<'_>) -> Result<Box<dyn Discipline>, SpecError> {
        let control = Control::new(self.burst);
        let updates = Updates::new(site.start, self.tupdate);
        Ok(Box::new(Pie { spec: self.checked()?, fifo: Fifo::default(), control, updates, max_packet: 0 }))
    }

    fn is_random(&self) -> bool {
        true
    }
}

/// A queue under PIE.
#[derive(Debug)]
struct Pie {
    spec: PieSpec,
    fifo: Fifo,
    control: Control,
    updates: Updates,
    max_packet: u64,
}

/// State of PIE; the names are those of the RFC.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Control {
    pub drop_prob: f64,
    accu_prob: f64,
    pub current_qdelay: Span,
    qdelay_old: Span,
    burst_allowance: Span,
}

impl Control {
    pub fn new(burst: Span) -> Self {
        Self {
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: Span::ZERO,
            qdelay_old: Span::ZERO,
            burst_allowance: burst,
        }
    }

    /// Updates the probability (`calculate_drop_prob`).
    pub fn update(&mut self, spec: &PieSpec) {
        let (delay, old) = (self.current_qdelay.as_secs_f64(), self.qdelay_old.as_secs_f64());
        let mut change = spec.alpha * (delay - spec.target.as_secs_f64()) + spec.beta * (delay - old);
        if let Some((_, divisor)) = SCALES.iter().find(|(bound, _)| self.drop_prob < *bound) {
            change /= divisor;
        } else {
            change = change.min(0.02);
        }
        self.drop_prob += change;
        if self.current_qdelay == Span::ZERO && self.qdelay_old == Span::ZERO {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        let half = spec.target.as_nanos() / 2;
        let calm = self.current_qdelay.as_nanos() < half && self.qdelay_old.as_nanos() < half;
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = if calm && self.drop_prob == 0.0 {
            spec.burst
        } else {
            self.burst_allowance - spec.tupdate.min(self.burst_allowance)
        };
    }

    /// Decides whether an arriving packet is lost or marked (`drop_early`). `short` states whether
    /// too little waits for a loss; `uniform` draws a number from [0, 1).
    pub fn drop_early(&mut self, target: Span, short: bool, uniform: impl FnOnce() -> f64) -> bool {
        let calm = self.qdelay_old.as_nanos() < target.as_nanos() / 2 && self.drop_prob < 0.2;
        if self.burst_allowance > Span::ZERO || calm || short {
            return false;
        }
        self.accu_prob = if self.drop_prob == 0.0 { 0.0 } else { self.accu_prob + self.drop_prob };
        if self.accu_prob < 0.85 {
            return false;
        }
        let hit = self.accu_prob >= 8.5 || uniform() < self.drop_prob;
        if hit {
            self.accu_prob = 0.0;
        }
        hit
    }
}

impl Pie {
    fn catch_up(&mut self, now: Time) {
        let Self { spec, control, updates, .. } = self;
        updates.catch_up(now, spec.tupdate, control, |control, _| control.update(spec));
    }
}

impl Discipline for Pie {
    fn enqueue(&mut self, mut arriving: Waiting, moment: &mut Moment<'_>, out: &mut Outbox) {
        let now = moment.now;
        self.catch_up(now);
        self.max_packet = self.max_packet.max(arriving.cost);
        let waits = self.fifo.amount();
        if !moment.has_room(self.spec.limit, waits, arriving.cost) {
            lose(arriving, Loss::QueueFull, now, out);
            return;
        }
        let short = waits.bytes <= 2 * self.max_packet;
        if self.control.drop_early(self.spec.target, short, || moment.random()) {
            let marks = self.spec.ecn && self.control.drop_prob <= self.spec.ecn_threshold.get();
            if !(marks && mark(&mut arriving, now)) {
                lose(arriving, Loss::Pie, now, out);
                return;
            }
        }
        self.fifo.push(arriving);
    }

    fn dequeue(&mut self, moment: &mut Moment<'_>, _: &mut Outbox) -> Option<Waiting> {
        self.catch_up(moment.now);
        let next = self.fifo.pop()?;
        self.control.current_qdelay =
            if self.fifo.is_empty() { Span::ZERO } else { moment.now.since(next.packet.at) };
        Some(next)
    }

    fn amount(&self) -> Amount {
        self.fifo.amount()
    }

    fn recount(&mut self, cost: &dyn Fn(&Packet) -> u64) {
        self.fifo.recount(cost);
    }

    fn change(&mut self, to: &QueueSpec) -> Result<bool, SpecError> {
        let QueueSpec::Pie(spec) = to else { return Ok(false) };
        self.spec = spec.checked()?;
        Ok(true)
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.fifo.drain().collect()
    }

    fn adopt(&mut self, waiting: Waiting) {
        self.max_packet = self.max_packet.max(waiting.cost);
        self.fifo.push(waiting);
    }
}
