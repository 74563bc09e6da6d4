//! The bottleneck of a link: a limiter that sends one packet after the other, and the queue in
//! front of it.
//!
//! * A packet that finds the limiter free is sent at once. Others wait in order, as far as the
//!   queue allows. The packet being sent does not count as waiting, nor do packets in flight behind
//!   the limiter (ReSoA evaluation 10.2.5, M16).
//! * A packet leaves when its last bit is sent, and [`Packet::sending`] contains the start and the
//!   end of its transmission. It is never early. At a constant rate it is less than 1 ns late after
//!   any number of packets in a row (see [`RateSpec`] for traces).
//! * The size of a packet for the limiter depends on a parameter, [`Counted`].
//! * Errors belong to another stage behind this one: a packet that they hit has used the link
//!   (M14).
//!
//! [`Bottleneck::set`] changes parameters while packets are inside. These packets stay, in order:
//!
//! * Drop-tail, CoDel, RED, PIE and DualPI2 apply new limits to later arrivals. FQ-CoDel and SFQ
//!   lose waiting packets when the next one arrives.
//! * Drop-head applies a new limit to waiting packets as well: a limit in time at once, one in
//!   packets or bytes when the next packet arrives.
//! * CoDel, FQ-CoDel, PIE, DualPI2 and SFQ apply new parameters from the next packet on that
//!   arrives or leaves.
//! * The unsent bits of the packet being sent go at the new rate from that instant on. With a new
//!   trace, they are part of its first opportunities or lines.
//! * A new trace begins at the instant of the change; an unchanged trace continues.
//! * A discipline keeps its state if its kind is unchanged. FQ-CoDel and SFQ build their queues
//!   anew for another number of them.
//! * A discipline of another kind takes over the packets in order of arrival.

mod clock;
pub mod codel;
mod counted;
mod discipline;
mod drop_head;
mod drop_tail;
pub mod dualpi2;
mod fifo;
mod flows;
pub mod fq_codel;
mod limit;
mod limiter;
pub mod mahimahi;
pub mod pie;
mod queue;
mod rate;
pub mod red;
pub mod sfq;
pub mod theaterq;
mod trace;
mod updates;

pub use codel::CoDelSpec;
pub use counted::Counted;
pub use drop_head::DropHeadSpec;
pub use drop_tail::DropTailSpec;
pub use dualpi2::DualPi2Spec;
pub use fq_codel::FqCoDelSpec;
pub use limit::Limit;
pub use pie::PieSpec;
pub use queue::QueueSpec;
pub use rate::RateSpec;
pub use red::RedSpec;
pub use sfq::SfqSpec;
pub use trace::{TraceLimit, TraceQueueSpec};

use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::spec::StageSpec;
use crate::stage::spec::{Read, SpecError};
use crate::stage::{Outbox, Stage};
use crate::units::Time;
use borsh::{BorshDeserialize, BorshSerialize};
use discipline::{Discipline, Moment, Site};
use fifo::Waiting;
use limiter::Limiter;
use rand::RngExt;
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::{Loss, Sending};

/// Parameters of [`Bottleneck`]. The default is a perfect link: unlimited, so that no packet ever
/// waits.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BottleneckSpec {
    /// Rate of the limiter.
    pub rate: RateSpec,
    /// Queue in front of the limiter.
    pub queue: QueueSpec,
    /// Bytes of a packet that the limiter counts.
    pub counted: Counted,
}

impl BottleneckSpec {
    /// Reads the files of the specification. [`Bottleneck::new`] requires this for a specification
    /// that names a file.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        self.rate.load(read)
    }
}

impl fmt::Display for BottleneckSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}, {}", self.rate, self.counted, self.queue)
    }
}

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct Bottleneck {
    spec: BottleneckSpec,
    seed: Seed,
    limiter: Limiter,
    queue: Box<dyn Discipline>,
    /// The packet being sent. The end of its transmission is [`Time::NEVER`] if it depends on later
    /// opportunities of a trace.
    serving: Option<Packet>,
    due: Time,
    stream: Stream,
}

impl Bottleneck {
    /// Creates a bottleneck as `spec` says, with the random numbers of `seed`. A trace begins at
    /// [`Time::ZERO`].
    pub fn new(spec: BottleneckSpec, seed: &Seed) -> Result<Self, SpecError> {
        let site = Site { rate: &spec.rate, seed, start: Time::ZERO };
        Ok(Self {
            limiter: Limiter::new(&spec.rate, Time::ZERO)?,
            queue: spec.queue.build(&site)?,
            spec,
            seed: seed.clone(),
            serving: None,
            due: Time::NEVER,
            stream: seed.stream(),
        })
    }

    /// Returns the current parameters.
    #[must_use]
    pub fn spec(&self) -> &BottleneckSpec {
        &self.spec
    }

    /// Takes over other parameters at `now`, which must not be earlier than any event so far; see
    /// the [module](self). [`Stage::due`] may change.
    ///
    /// # Errors
    /// If the parameters are invalid. The old ones then stay.
    pub fn set(&mut self, spec: BottleneckSpec, now: Time) -> Result<(), SpecError> {
        let limiter = if spec.rate == self.spec.rate { None } else { Some(Limiter::new(&spec.rate, now)?) };
        if !self.queue.change(&spec.queue)? {
            let site = Site { rate: &spec.rate, seed: &self.seed, start: now };
            let mut queue = spec.queue.build(&site)?;
            self.queue.drain().into_iter().for_each(|waiting| queue.adopt(waiting));
            self.queue = queue;
        }
        if let Some(mut limiter) = limiter {
            if let Some(packet) = &mut self.serving {
                packet.sending.end = limiter.resume(self.limiter.left(now), now);
            }
            self.limiter = limiter;
        }
        let overhead = self.limiter.overhead();
        self.queue.recount(&|packet| spec.counted.bytes(&packet.frame) + overhead);
        self.spec = spec;
        self.due = self.next_due(now);
        Ok(())
    }

    /// Returns whether no packet waits or is being sent.
    pub(crate) fn is_empty(&self) -> bool {
        self.serving.is_none() && self.waiting() == 0
    }

    /// Takes a packet that arrives at the queue; it counts in the virtual queue `queue`.
    fn arrive(&mut self, packet: Packet, queue: u16, out: &mut Outbox) {
        let now = packet.at;
        let cost = self.spec.counted.bytes(&packet.frame) + self.limiter.overhead();
        let idle = self.is_empty();
        if idle && let Limiter::Mahimahi(replay) = &mut self.limiter {
            replay.skip(now);
        }
        let free = idle && self.limiter.is_ready(now);
        let (discipline, mut moment) = self.moment(now, free);
        discipline.enqueue(Waiting { packet, cost, queue }, &mut moment, out);
        if free && let Some(waiting) = self.take_next(now, out) {
            self.send(waiting.packet, waiting.cost, now, false, out);
        }
        self.due = self.next_due(now);
    }

    /// Splits the bottleneck into its queue and what the queue may see of the rest.
    fn moment(&mut self, now: Time, free: bool) -> (&mut dyn Discipline, Moment<'_>) {
        let Self { limiter, queue, serving, stream, .. } = self;
        let end = serving.as_ref().map(|packet| packet.sending.end);
        (queue.as_mut(), Moment { now, free, end, limiter, stream })
    }

    /// Removes the packet that leaves the queue for transmission.
    fn take_next(&mut self, now: Time, out: &mut Outbox) -> Option<Waiting> {
        let (discipline, mut moment) = self.moment(now, false);
        discipline.dequeue(&mut moment, out)
    }

    /// Starts the transmission of a packet. A packet that takes no time leaves at once.
    fn send(&mut self, mut packet: Packet, cost: u64, now: Time, waited: bool, out: &mut Outbox) {
        let end = self.limiter.send(cost, now, waited);
        packet.sending = Sending { start: now, end };
        if end > now {
            self.serving = Some(packet);
        } else {
            packet.at = now;
            out.pass(packet);
        }
    }

    /// Sends waiting packets as long as the limiter is free.
    fn send_next(&mut self, now: Time, out: &mut Outbox) {
        while self.serving.is_none() && self.limiter.is_ready(now) {
            let Some(waiting) = self.take_next(now, out) else { return };
            self.send(waiting.packet, waiting.cost, now, true, out);
        }
    }

    /// Uses an opportunity of a mahimahi trace.
    fn use_opportunity(&mut self, mut budget: u64, now: Time, out: &mut Outbox) {
        while budget > 0 {
            if self.serving.is_none() {
                let Some(waiting) = self.take_next(now, out) else { return };
                self.send(waiting.packet, waiting.cost, now, true, out);
            }
            let (left, done) = self.limiter.spend(budget);
            budget = left;
            if done {
                self.deliver(now, out);
            }
        }
    }

    /// Ends the transmission of the packet being sent.
    fn deliver(&mut self, now: Time, out: &mut Outbox) {
        if let Some(mut packet) = self.serving.take() {
            packet.sending.end = now;
            packet.at = now;
            out.pass(packet);
        }
    }

    fn next_due(&mut self, now: Time) -> Time {
        let sending = match (&mut self.limiter, &self.serving) {
            (Limiter::Mahimahi(replay), Some(_)) => replay.due(),
            (_, Some(packet)) => packet.sending.end,
            (_, None) if self.queue.amount().packets == 0 => Time::NEVER,
            (limiter, None) => limiter.next(now),
        };
        sending.min(self.queue.due(now))
    }
}

impl Stage for Bottleneck {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        let Limiter::Theaterq(replay, _) = &mut self.limiter else {
            self.arrive(packet, 0, out);
            return;
        };
        let entry = *replay.at(packet.at);
        let mut hit = |probability: crate::units::Probability| {
            probability.get() > 0.0 && probability.happens(self.stream.random())
        };
        if hit(entry.loss) {
            out.lose(packet, Loss::Error);
            return;
        }
        let copy = hit(entry.duplicate).then(|| {
            let mut copy = packet.clone();
            copy.mark(Effect::Copied);
            copy
        });
        let copy_lost = copy.is_some() && hit(entry.loss);
        self.arrive(packet, entry.queue, out);
        match copy {
            Some(copy) if copy_lost => out.lose(copy, Loss::Error),
            Some(copy) => self.arrive(copy, entry.queue, out),
            None => {}
        }
    }

    fn due(&self) -> Time {
        self.due
    }

    fn advance(&mut self, now: Time, out: &mut Outbox) {
        if let Some(budget) = self.limiter.opportunity(now) {
            self.use_opportunity(budget, now, out);
        } else {
            if self.serving.as_ref().is_some_and(|packet| packet.sending.end <= now) {
                self.deliver(now, out);
            }
            self.send_next(now, out);
        }
        self.queue.expire(now, out);
        self.due = self.next_due(now);
    }

    fn limiter(&self) -> Option<&BottleneckSpec> {
        Some(&self.spec)
    }

    fn release(&mut self, now: Time) {
        if let Limiter::LinkLayer { open, .. } = &mut self.limiter {
            *open = true;
            self.due = self.next_due(now);
        }
    }

    fn clear(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.serving.take());
        out.extend(self.queue.drain().into_iter().map(|waiting| waiting.packet));
        self.due = Time::NEVER;
    }

    fn waiting(&self) -> usize {
        self.queue.amount().packets as usize
    }

    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let StageSpec::Bottleneck(spec) = to else {
            return Err(format!("`bottleneck` cannot become `{}`", to.kind()));
        };
        self.set(spec.clone(), now).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
pub(crate) mod tests;
