//! Delay: the propagation time of packets behind the limiter.
//!
//! Any number of packets are in flight at the same time, so a delay limits no rate. Each packet
//! leaves exactly at its arrival plus its delay. Unless `reorder` is set, packets keep their order:
//! a packet whose delay would end before its predecessor's leaves together with the predecessor. A
//! packet that leaves after later arrivals is marked with their number ([`Effect::Overtaken`]).
//!
//! The [`Law`] gives the distribution of delays, and [`Correlation`] their dependence:
//!
//! * As a process in time, the delay depends only on the seed and the instant. All packets of an
//!   instant share it.
//! * Alternatively each packet draws its own delay. If such packets keep their order, each waits
//!   for the slowest of its predecessors. Denser packets then have a longer and less varied delay.
//!
//! A TheaterQ trace draws its jitter for each packet, as TheaterQ does.
//!
//! [`Delay::set`] changes the law for later packets; packets in flight keep their times.
//!
//! Sources of laws: ReSoA evaluation 10.2.4 (M11: constant), tc-netem(8) (uniform, normal).

mod correlation;
mod flight;
mod law;
mod leocc;
mod process;
mod spec;
mod table;

pub use correlation::Correlation;
pub use leocc::{Delays as LeoccDelays, LEOCC_INTERVAL};
pub use spec::{Between, DelaySpec, Empirical, Law};
pub use table::{Course, Quantiles};

use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::spec::StageSpec;
use crate::stage::spec::SpecError;
use crate::stage::{Outbox, Stage};
use crate::units::{Span, Time};
use flight::Reordering;
use law::{Draw, Drawn};
use process::Process;
use std::collections::{HashMap, VecDeque};

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct Delay {
    spec: DelaySpec,
    draw: Draw,
    /// The process in time that delays follow; `None` if each packet draws its own.
    process: Option<Process>,
    seed: Seed,
    /// Packets that leave in their order of arrival. They leave after all packets of `reordering`.
    row: VecDeque<(Time, Packet)>,
    reordering: Reordering,
    /// Number of packets that have arrived.
    entered: u64,
    /// Time at which the last packet leaves.
    last: Time,
    /// Time at which the last packet of each route leaves.
    routes: HashMap<u16, Time>,
    stream: Stream,
}

impl Delay {
    /// Creates a delay as `spec` says, with the random numbers of `seed`. A trace begins at
    /// [`Time::ZERO`].
    pub fn new(spec: DelaySpec, seed: &Seed) -> Result<Self, SpecError> {
        Ok(Self {
            draw: Draw::new(&spec.law, Time::ZERO)?,
            process: process(&spec, seed)?,
            seed: seed.clone(),
            spec,
            row: VecDeque::new(),
            reordering: Reordering::default(),
            entered: 0,
            last: Time::ZERO,
            routes: HashMap::new(),
            stream: seed.stream(),
        })
    }

    /// Returns the current parameters.
    #[must_use]
    pub fn spec(&self) -> &DelaySpec {
        &self.spec
    }

    /// Takes over other parameters for packets that arrive from `now` on. A new trace begins at
    /// `now`; an unchanged one continues.
    ///
    /// # Errors
    /// If the parameters are invalid. The old ones then stay.
    pub fn set(&mut self, spec: DelaySpec, now: Time) -> Result<(), SpecError> {
        let process = process(&spec, &self.seed)?;
        if spec.law != self.spec.law {
            self.draw = Draw::new(&spec.law, now)?;
            self.routes.clear();
        }
        if spec.reorder {
            let first = self.entered - self.row.len() as u64;
            for ((leaves, packet), number) in self.row.drain(..).zip(first..) {
                self.reordering.enter(number, leaves, packet);
            }
        }
        self.process = process;
        self.spec = spec;
        Ok(())
    }

    /// Returns when a packet of a TheaterQ route leaves: not before its predecessor. If it has to
    /// wait for the predecessor, the route then stays busy for the packet's transmission time, as
    /// TheaterQ preserves the rate of a route.
    fn on_route(&mut self, packet: &Packet, route: u16, leaves: Time) -> Time {
        let busy = self.routes.entry(route).or_default();
        if leaves > *busy {
            *busy = leaves;
            return leaves;
        }
        let leaves = *busy;
        *busy += packet.sending.end.since(packet.sending.start);
        leaves
    }
}

/// Returns the process that the delays of `spec` follow, if they follow one.
fn process(spec: &DelaySpec, seed: &Seed) -> Result<Option<Process>, SpecError> {
    if let Some(correlation) = spec.correlation {
        correlation.check(&spec.law)?;
    }
    Ok(match spec.correlation() {
        Correlation::Time(time) => Some(Process::new(time, seed)),
        Correlation::None => None,
    })
}

impl Stage for Delay {
    fn accept(&mut self, packet: Packet, _: &mut Outbox) {
        let Drawn { delay, route } = self.draw.draw(&packet, self.process.as_mut(), &mut self.stream);
        let mut leaves = packet.at + delay;
        if self.spec.reorder {
            if route > 0 {
                leaves = self.on_route(&packet, route, leaves);
            }
            self.last = self.last.max(leaves);
            self.reordering.enter(self.entered, leaves, packet);
        } else {
            self.last = self.last.max(leaves);
            self.row.push_back((self.last, packet));
        }
        self.entered += 1;
    }

    fn due(&self) -> Time {
        let row = self.row.front().map_or(Time::NEVER, |(leaves, _)| *leaves);
        if self.reordering.is_empty() { row } else { row.min(self.reordering.due()) }
    }

    fn advance(&mut self, now: Time, out: &mut Outbox) {
        while let Some((mut packet, overtaken)) = self.reordering.leave(now) {
            packet.at = now;
            if overtaken > 0 {
                packet.mark(Effect::Overtaken(overtaken));
            }
            out.pass(packet);
        }
        while self.row.front().is_some_and(|(leaves, _)| *leaves <= now) {
            if let Some((_, mut packet)) = self.row.pop_front() {
                packet.at = now;
                out.pass(packet);
            }
        }
    }

    fn least_delay(&self) -> Span {
        match self.spec.law {
            Law::Constant { delay } => delay,
            Law::Uniform { mean, jitter } => mean - jitter,
            // Their lower bound is 0 or that of a table, which is rarely large.
            _ => Span::ZERO,
        }
    }

    fn clear(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.row.drain(..).map(|(_, packet)| packet));
        self.reordering.clear(out);
    }

    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let StageSpec::Delay(spec) = to else { return Err(format!("`delay` cannot become `{}`", to.kind())) };
        self.set(spec.clone(), now).map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests;
