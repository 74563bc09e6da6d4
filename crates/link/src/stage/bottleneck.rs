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
//! * Drop-tail and RED apply new limits to later arrivals.
//! * Drop-head applies a new limit to waiting packets as well: a limit in time at once, one in
//!   packets or bytes when the next packet arrives.
//! * CoDel applies a new target to waiting packets when they leave.
//! * The unsent bits of the packet being sent go at the new rate from that instant on. With a new
//!   trace, they are part of its first opportunities or lines.
//! * A new trace begins at the instant of the change; an unchanged trace continues.
//! * CoDel and RED keep their state if the kind of queue is unchanged.

mod backlog;
mod clock;
pub mod codel;
mod counted;
mod limiter;
pub mod mahimahi;
mod queue;
mod rate;
pub mod red;
pub mod theaterq;

pub use codel::CoDelSpec;
pub use counted::Counted;
pub use queue::{Limit, QueueSpec, TraceLimit};
pub use rate::{Once, RateSpec};
pub use red::RedSpec;

use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::spec::StageSpec;
use crate::stage::spec::{Read, SpecError};
use crate::stage::{Outbox, Stage};
use crate::units::Time;
use backlog::{Backlog, Waiting};
use borsh::{BorshDeserialize, BorshSerialize};
use codel::CoDel;
use limiter::Limiter;
use rand::RngExt;
use red::{Red, RedAction};
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
    limiter: Limiter,
    discipline: Discipline,
    backlog: Backlog,
    /// The packet being sent. The end of its transmission is [`Time::NEVER`] if it depends on later
    /// opportunities of a trace.
    serving: Option<Packet>,
    due: Time,
    stream: Stream,
}

/// A queue discipline with its state.
#[derive(Debug)]
enum Discipline {
    DropTail(Limit),
    DropHead(Limit),
    CoDel(CoDel),
    Red(Red),
    Trace(TraceLimit),
}

impl Bottleneck {
    /// Creates a bottleneck as `spec` says, with the random numbers of `seed`. A trace begins at
    /// [`Time::ZERO`].
    pub fn new(spec: BottleneckSpec, seed: &Seed) -> Result<Self, SpecError> {
        Ok(Self {
            limiter: Limiter::new(&spec.rate, Time::ZERO)?,
            discipline: Discipline::new(&spec, None, Time::ZERO)?,
            spec,
            backlog: Backlog::default(),
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
        let discipline = Discipline::new(&spec, Some(&self.discipline), now)?;
        if spec.rate != self.spec.rate {
            let mut limiter = Limiter::new(&spec.rate, now)?;
            if let Some(packet) = &mut self.serving {
                packet.sending.end = limiter.resume(self.limiter.left(now), now);
            }
            self.limiter = limiter;
        }
        self.discipline = discipline;
        let overhead = self.limiter.overhead();
        self.backlog.recount(|packet| spec.counted.bytes(&packet.frame) + overhead);
        self.spec = spec;
        self.due = self.next_due(now);
        Ok(())
    }

    /// Takes a packet that arrives at the queue; it counts in the virtual queue `queue`.
    fn arrive(&mut self, mut packet: Packet, queue: u16, out: &mut Outbox) {
        let now = packet.at;
        let cost = self.spec.counted.bytes(&packet.frame) + self.limiter.overhead();
        let idle = self.serving.is_none() && self.backlog.is_empty();
        if idle && let Limiter::Mahimahi(replay) = &mut self.limiter {
            replay.skip(now);
        }
        let free = idle && self.limiter.is_ready(now);
        if let Err(why) = self.admit(&mut packet, cost, queue, free, now) {
            out.lose(packet, why);
        } else if !free {
            self.backlog.push(Waiting { packet, cost, queue });
            self.make_room(now, out);
        } else if let Discipline::CoDel(_) = self.discipline {
            // CoDel sees every packet when it leaves the queue, including those that did not wait.
            self.backlog.push(Waiting { packet, cost, queue });
            self.send_next(now, false, out);
        } else {
            self.send(packet, cost, now, false, out);
        }
        self.due = self.next_due(now);
    }

    /// Decides whether a packet may wait, or be sent at once if the limiter is `free`.
    ///
    /// # Errors
    /// The cause, if the packet is lost.
    fn admit(
        &mut self,
        packet: &mut Packet,
        cost: u64,
        queue: u16,
        free: bool,
        now: Time,
    ) -> Result<(), Loss> {
        let Self { limiter, discipline, backlog, serving, stream, .. } = self;
        let waits = backlog.amount();
        let limit = match discipline {
            Discipline::DropTail(limit) => *limit,
            Discipline::DropHead(_) => return Ok(()),
            Discipline::CoDel(codel) => {
                codel.enqueued(cost);
                codel.spec.limit
            }
            Discipline::Red(red) => {
                let packet_time = limiter.packet_time(red.spec.packet, now);
                let verdict = red.arrival(waits, now, packet_time, || stream.random());
                if verdict == RedAction::Signal && red.spec.ecn && packet.frame.mark_ce() {
                    packet.mark(Effect::CongestionMarked);
                } else if verdict != RedAction::Keep {
                    if serving.is_none() && backlog.is_empty() {
                        red.idle(now);
                    }
                    return Err(Loss::Red);
                }
                red.spec.limit
            }
            Discipline::Trace(unit) => {
                let Limiter::Theaterq(replay, _) = limiter else { return Ok(()) };
                let (limit, inside) = (u64::from(replay.at(now).limit), backlog.amount_in(queue));
                let room = match unit {
                    TraceLimit::Packets => inside.packets < limit,
                    TraceLimit::Bytes => inside.bytes + cost <= limit,
                };
                return if limit == 0 || room || free { Ok(()) } else { Err(Loss::QueueFull) };
            }
        };
        let end = serving.as_ref().map(|packet| packet.sending.end);
        if free || backlog.has_room(limit, cost, || limiter.wait(waits.bytes, end, now)) {
            return Ok(());
        }
        Err(Loss::QueueFull)
    }

    /// Drop-head: removes the oldest packets to make room for the newest.
    fn make_room(&mut self, now: Time, out: &mut Outbox) {
        let Discipline::DropHead(limit) = self.discipline else { return };
        while self.backlog.exceeds(limit) {
            self.lose_head(now, Loss::QueueHead, out);
        }
    }

    /// Drop-head with a limit in time: loses the packets whose limit has passed at `now`.
    fn expire(&mut self, now: Time, out: &mut Outbox) {
        let Discipline::DropHead(Limit::Time(limit)) = self.discipline else { return };
        while self.backlog.front().is_some_and(|head| head.packet.at + limit <= now) {
            self.lose_head(now, Loss::QueueAge, out);
        }
    }

    fn lose_head(&mut self, now: Time, why: Loss, out: &mut Outbox) {
        if let Some(Waiting { mut packet, .. }) = self.backlog.pop() {
            packet.at = now;
            out.lose(packet, why);
        }
    }

    /// Removes the packet that leaves the queue for transmission.
    fn take_next(&mut self, now: Time, out: &mut Outbox) -> Option<Waiting> {
        let next = match &mut self.discipline {
            Discipline::CoDel(codel) => codel.dequeue(&mut self.backlog, now, out),
            _ => self.backlog.pop(),
        };
        if next.is_none()
            && let Discipline::Red(red) = &mut self.discipline
        {
            red.idle(now);
        }
        next
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
    fn send_next(&mut self, now: Time, waited: bool, out: &mut Outbox) {
        while self.serving.is_none() && self.limiter.is_ready(now) {
            let Some(waiting) = self.take_next(now, out) else { return };
            self.send(waiting.packet, waiting.cost, now, waited, out);
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
            (_, None) if self.backlog.is_empty() => Time::NEVER,
            (limiter, None) => limiter.next(now),
        };
        match (&self.discipline, self.backlog.front()) {
            (Discipline::DropHead(Limit::Time(limit)), Some(head)) => {
                sending.min((head.packet.at + *limit).max(now))
            }
            _ => sending,
        }
    }
}

impl Discipline {
    /// Creates the discipline of `spec`; it keeps the state of `old` if that is of the same kind.
    fn new(spec: &BottleneckSpec, old: Option<&Self>, now: Time) -> Result<Self, SpecError> {
        Ok(match (spec.queue.clone(), old) {
            (QueueSpec::DropTail(limit), _) => Self::DropTail(limit),
            (QueueSpec::DropHead(limit), _) => Self::DropHead(limit),
            (QueueSpec::CoDel(spec), Some(Self::CoDel(old))) => Self::CoDel(old.with(spec)?),
            (QueueSpec::CoDel(spec), _) => Self::CoDel(CoDel::new(spec)?),
            (QueueSpec::Red(spec), Some(Self::Red(old))) => Self::Red(old.with(spec)?),
            (QueueSpec::Red(spec), _) => Self::Red(Red::new(spec, now)?),
            (QueueSpec::Trace(unit), _) => match spec.rate {
                RateSpec::Theaterq(..) => Self::Trace(unit),
                _ => return Err(SpecError::value("queue", "trace", "needs a rate with a TheaterQ trace")),
            },
        })
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
            self.send_next(now, true, out);
        }
        self.expire(now, out);
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
        out.extend(self.backlog.drain());
        self.due = Time::NEVER;
    }

    fn waiting(&self) -> usize {
        self.backlog.amount().packets as usize
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
