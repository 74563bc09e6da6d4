//! Outage: for a while the link carries nothing, and what is sent is lost.
//!
//! Outages come by schedule, by a random process, on command, or by several of these: the link is
//! out if any of them says so. They evolve in time and do not depend on traffic. Scheduled ones are
//! the outages of the ReSoA evaluation (Table 8.4, scenario S4: 0.01 s to 5 s at the start, in the
//! middle or at the end of a transfer) for a link without a reliable link layer. Over one they are
//! beneath it, on the air, and erase its blocks or frames ([`OutagePlace`]); where there is none
//! and nothing is to be lost, [`super::hiccup`] holds the packets instead.
//!
//! An outage includes the instant at which it starts and not the one at which it ends. A packet is
//! lost if the link is out when it comes to the stage, or at any time while the limiter sent it: a
//! parameter, see [`Judged`].

mod windows;

pub use windows::Sojourn;

use crate::packet::Packet;
use crate::seed::Seed;
use crate::spec::StageSpec;
use crate::stage::{Outbox, Stage, StageCommand};
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;
use windows::{Commands, Process, Schedule};

/// Parameters of [`Outage`]. Times count from the start of the run, or from the moment at which
/// they were changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutageSpec {
    /// Outages at given times, in any order; they may overlap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduledOutage>,
    /// Repeats the schedule with this period. Without it the schedule happens once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// Outages at random.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<OutageProcess>,
    /// When a packet is judged.
    pub judged: Judged,
    /// Where the outage is if the link has a link layer with retransmissions.
    pub place: OutagePlace,
}

/// Where an outage is on a link with a link layer ([`crate::arq`]). On others it is the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutagePlace {
    /// Beneath: what is on the air at any time of it is erased, whatever [`OutageSpec::judged`]
    /// says.
    #[default]
    Air,
    /// Behind, where the profile has it, as in a network beyond the link: packets are lost.
    Behind,
}

/// One outage of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledOutage {
    /// When it starts, after the start of the schedule or of its period.
    pub start: Span,
    /// How long it lasts.
    pub length: Span,
}

/// Alternating times up and down, the first of them up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutageProcess {
    /// Mean time up.
    pub up: Span,
    /// Mean time down.
    pub down: Span,
    /// How the times are distributed.
    #[serde(default)]
    pub sojourn: Sojourn,
}

/// When a packet meets an outage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    /// At the one instant at which it comes to the stage.
    #[default]
    Instant,
    /// Over its transmission interval, both ends included. Packets have to come in the order in
    /// which they were sent: behind a stage that re-orders, a packet is judged only from where the
    /// one before it was begun.
    Transmission,
}

/// What one can tell a link while it runs. Only outages by command are ended by a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutageCommand {
    /// The link is out until it is told to be up.
    Down,
    /// The link is up again.
    Up,
    /// The link is out for this long from now on.
    DownFor(Span),
}

/// An outage that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutageError {
    /// The outage and its next repetition would overlap.
    #[error(
        "an outage that starts at {start} and lasts {length} does not end within the period of {period}: lengthen the period or split the outage"
    )]
    BeyondPeriod {
        /// Start of the outage.
        start: Span,
        /// Its length.
        length: Span,
        /// The period.
        period: Span,
    },
    /// A period without outages.
    #[error("a period of {0} without an outage: give `schedule = [{{ start = \"5s\", length = \"1s\" }}]`")]
    NothingToRepeat(Span),
    /// A mean time of nothing.
    #[error("mean time {0} of the outage process is 0: both mean times must be above 0")]
    NoTime(&'static str),
}

impl fmt::Display for OutageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self
            .schedule
            .iter()
            .map(|outage| format!("out from {} for {}", outage.start, outage.length))
            .collect();
        parts.extend(self.period.map(|period| format!("again every {period}")));
        parts.extend(
            self.process.map(|process| format!("up {}, down {} at random", process.up, process.down)),
        );
        if parts.is_empty() {
            parts.push("on command".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct Outage {
    spec: OutageSpec,
    schedule: Schedule,
    process: Option<Process>,
    commands: Commands,
    seed: Seed,
    /// Where the part of time begins that may still be asked for.
    from: Time,
}

impl Outage {
    /// A link with outages as `spec` says from [`Time::ZERO`] on; the process draws from a stream
    /// of its own below `seed`.
    pub fn new(spec: OutageSpec, seed: &Seed) -> Result<Self, OutageError> {
        spec.check()?;
        Ok(Self {
            schedule: Schedule::new(&spec.schedule, spec.period, Time::ZERO),
            process: spec
                .process
                .map(|process| Process::new(process, Time::ZERO, seed.stage("process").stream())),
            commands: Commands::default(),
            seed: seed.clone(),
            from: Time::ZERO,
            spec,
        })
    }

    /// Takes over other parameters at `now`. A schedule or process that is not the same starts
    /// anew, and what the old one did before `now` is forgotten; outages by command stay.
    pub fn set(&mut self, spec: OutageSpec, now: Time) -> Result<(), OutageError> {
        spec.check()?;
        if (&spec.schedule, spec.period) != (&self.spec.schedule, self.spec.period) {
            self.schedule = Schedule::new(&spec.schedule, spec.period, now);
        }
        if spec.process != self.spec.process {
            // The stream of the process goes on, so that the new one does not repeat the old one's
            // draws.
            let stream =
                self.process.take().map_or_else(|| self.seed.stage("process").stream(), Process::into_stream);
            self.process = spec.process.map(|process| Process::new(process, now, stream));
        }
        self.spec = spec;
        Ok(())
    }

    /// The parameters in force.
    #[must_use]
    pub const fn spec(&self) -> &OutageSpec {
        &self.spec
    }

    /// Does at `now` what is told.
    pub fn command(&mut self, now: Time, command: OutageCommand) {
        match command {
            OutageCommand::Down => self.commands.down(now, Time::NEVER),
            OutageCommand::DownFor(span) => self.commands.down(now, now + span),
            OutageCommand::Up => self.commands.up(now),
        }
    }

    /// Whether the link is out at any time from `start` to `end`, both included; as far as the part
    /// before an earlier start need not be known for it.
    pub(crate) fn is_out(&mut self, start: Time, end: Time) -> bool {
        self.from = self.from.max(start);
        let (start, end) = (self.from, end.max(self.from));
        let process = self.process.as_mut().is_some_and(|process| process.meets(start, end));
        self.schedule.meets(start, end) | process | self.commands.meets(start, end)
    }
}

impl Stage for Outage {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        let (start, end) = match self.spec.judged {
            Judged::Instant => (packet.at, packet.at),
            Judged::Transmission => (packet.sending.start, packet.sending.end),
        };
        if self.is_out(start, end) {
            out.lose(packet, Loss::Outage);
        } else {
            out.pass(packet);
        }
    }

    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let StageSpec::Outage(spec) = to else {
            return Err(format!("`outage` cannot become `{}`", to.kind()));
        };
        self.set(spec.clone(), now).map_err(|error| error.to_string())
    }

    fn obey(&mut self, command: StageCommand, now: Time) -> Result<(), String> {
        let StageCommand::Outage(command) = command else {
            return Err(format!("`outage` does not support the command {command:?}"));
        };
        self.command(now, command);
        Ok(())
    }

    fn keeps_packets(&self) -> bool {
        false
    }
}

impl OutageSpec {
    /// Whether nothing is planned: the link is out on command alone.
    #[must_use]
    pub fn is_on_command(&self) -> bool {
        self.schedule.is_empty() && self.process.is_none()
    }

    fn check(&self) -> Result<(), OutageError> {
        if let Some(period) = self.period {
            if self.schedule.iter().all(|outage| outage.length == Span::ZERO) {
                return Err(OutageError::NothingToRepeat(period));
            }
            for &ScheduledOutage { start, length } in &self.schedule {
                if start + length > period {
                    return Err(OutageError::BeyondPeriod { start, length, period });
                }
            }
        }
        if let Some(process) = self.process {
            for (name, mean) in [("up", process.up), ("down", process.down)] {
                if mean == Span::ZERO {
                    return Err(OutageError::NoTime(name));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
