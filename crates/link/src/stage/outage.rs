//! Outage: for some time the link is out and loses every packet.
//!
//! Outages follow a schedule, a random process, commands or the number of bytes sent; the link is
//! out if any of these says so. All but the last evolve in time and do not depend on traffic.
//! Scheduled outages are those of the ReSoA evaluation (Table 8.4: 0.01 s to 5 s) for a link
//! without a reliable link layer. Its scenario S4 has them at the start, in the middle or at the
//! end of a transfer, whenever that is: [`OutageAfter`] counts the bytes. With a reliable link
//! layer, outages are beneath it, on the air, and erase its blocks or frames ([`OutagePlace`]). For
//! an outage without a link layer and without losses, [`super::hiccup`] holds the packets instead.
//!
//! An outage includes the instant of its start but not that of its end. By default a packet is lost
//! if the link is out when the packet arrives at the stage. [`Judged`] can select the whole time of
//! its transmission instead.

mod windows;

pub use windows::Sojourn;

use crate::packet::Packet;
use crate::seed::Seed;
use crate::spec::StageSpec;
use crate::stage::{Outbox, Stage, StageCommand};
use crate::units::{ByteCount, Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::fmt;
use vocabulary::Loss;
use windows::{Commands, Process, Schedule};

/// Parameters of [`Outage`]. Times count from the start of the run, or from the change of the
/// parameters.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutageSpec {
    /// Outages at given times, in any order; they may overlap.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<ScheduledOutage>,
    /// Outages after a number of bytes, in any order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<OutageAfter>,
    /// Period with which the schedule repeats. If absent, the schedule happens once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<Span>,
    /// Random outages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<OutageProcess>,
    /// When a packet is judged.
    pub judged: Judged,
    /// Place of the outage if the link has a link layer with retransmissions.
    pub place: OutagePlace,
}

/// Place of an outage on a link with a link layer ([`crate::arq`]). On other links it has no
/// effect.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum OutagePlace {
    /// Beneath the link layer: blocks or frames whose transmission overlaps the outage are erased,
    /// whatever [`OutageSpec::judged`] says.
    #[default]
    Air,
    /// Behind the link layer, at its place in the profile, such as a network beyond the link:
    /// packets are lost.
    Behind,
}

/// An outage of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledOutage {
    /// Time from the start of the schedule, or of its period, to the start of the outage.
    pub start: Span,
    /// Duration of the outage.
    pub length: Span,
}

/// An outage after a number of bytes.
///
/// It begins at the end of the packet or frame with which that many bytes have been sent in its
/// direction. Without a link layer, the bytes are those of packets that reach the stage, and the
/// outage is one of its direction. Beneath a link layer, they are those of blocks or frames of any
/// kind, erased or not, and the outage is one of both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageAfter {
    /// Bytes that are sent before, from the start of the run or from the change of the parameters.
    pub bytes: ByteCount,
    /// Duration of the outage.
    pub length: Span,
}

/// A process of alternating times up and down, beginning with a time up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OutageProcess {
    /// Mean time up.
    pub up: Span,
    /// Mean time down.
    pub down: Span,
    /// Distribution of the times.
    #[serde(default)]
    pub sojourn: Sojourn,
}

/// Time for which a packet is checked against outages.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    /// The instant at which the packet arrives at the stage.
    #[default]
    Instant,
    /// The transmission interval, both ends included. Packets must arrive in the order of their
    /// transmission. Behind a stage that reorders, a packet's interval counts only from the latest
    /// start of an earlier packet.
    Transmission,
}

/// A command for a running link. Commands end outages by command and those after a number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum OutageCommand {
    /// Takes the link down until [`OutageCommand::Up`].
    Down,
    /// Ends an outage by command.
    Up,
    /// Takes the link down for this long from now on.
    DownFor(Span),
}

/// Error of impossible outages.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutageError {
    /// The outage would overlap its next repetition.
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
    /// The schedule has a period, but no outage.
    #[error("a period of {0} without an outage: give `schedule = [{{ start = \"5s\", length = \"1s\" }}]`")]
    NothingToRepeat(Span),
    /// An outage after no byte.
    #[error("an outage after 0 bytes never begins: use at least 1B, or a time")]
    AfterNothing,
    /// A mean time is zero.
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
        parts
            .extend(self.after.iter().map(|after| format!("out after {} for {}", after.bytes, after.length)));
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
    /// Bytes sent, as far as outages wait for them.
    sent: u64,
    seed: Seed,
    /// Latest start of a query so far: earlier times are not asked for again.
    from: Time,
}

impl Outage {
    /// Creates outages as `spec` says from [`Time::ZERO`] on. The process draws from a stream of
    /// its own below `seed`.
    pub fn new(spec: OutageSpec, seed: &Seed) -> Result<Self, OutageError> {
        spec.check()?;
        Ok(Self {
            schedule: Schedule::new(&spec.schedule, spec.period, Time::ZERO),
            process: spec
                .process
                .map(|process| Process::new(process, Time::ZERO, seed.stage("process").stream())),
            commands: Commands::default(),
            sent: 0,
            seed: seed.clone(),
            from: Time::ZERO,
            spec,
        })
    }

    /// Takes over other parameters at `now`. A changed schedule, process or list `after` starts
    /// anew, and outages of the old one before `now` are forgotten. Outages by command stay.
    pub fn set(&mut self, spec: OutageSpec, now: Time) -> Result<(), OutageError> {
        spec.check()?;
        if (&spec.schedule, spec.period) != (&self.spec.schedule, self.spec.period) {
            self.schedule = Schedule::new(&spec.schedule, spec.period, now);
        }
        if spec.process != self.spec.process {
            // The new process continues the random stream, so that it does not repeat the draws of
            // the old one.
            let stream =
                self.process.take().map_or_else(|| self.seed.stage("process").stream(), Process::into_stream);
            self.process = spec.process.map(|process| Process::new(process, now, stream));
        }
        if spec.after != self.spec.after {
            self.sent = 0;
        }
        self.spec = spec;
        Ok(())
    }

    /// Returns the current parameters.
    #[must_use]
    pub const fn spec(&self) -> &OutageSpec {
        &self.spec
    }

    /// Executes a command at `now`.
    pub fn command(&mut self, now: Time, command: OutageCommand) {
        match command {
            OutageCommand::Down => self.commands.down(now, Time::NEVER),
            OutageCommand::DownFor(span) => self.commands.down(now, now + span),
            OutageCommand::Up => self.commands.up(now),
        }
    }

    /// Counts bytes that have been sent; returns the duration of the outage that begins with them,
    /// if one does. The caller takes the link down.
    pub(crate) fn count(&mut self, bytes: ByteCount) -> Option<Span> {
        let before = self.sent;
        self.sent += bytes.get();
        let reached = |after: &&OutageAfter| (before + 1..=self.sent).contains(&after.bytes.get());
        self.spec.after.iter().filter(reached).map(|after| after.length).max()
    }

    /// Returns whether the link is out at any time from `start` to `end`, both included. Times
    /// before the latest `start` so far are ignored.
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
        let is_out = self.is_out(start, end);
        if let Some(length) = self.count(ByteCount::new(packet.frame.len() as u64)) {
            self.command(end, OutageCommand::DownFor(length));
        }
        if is_out {
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
    /// Returns whether no outage is planned, so that only commands take the link down.
    #[must_use]
    pub fn is_on_command(&self) -> bool {
        self.schedule.is_empty() && self.after.is_empty() && self.process.is_none()
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
        if self.after.iter().any(|after| after.bytes.get() == 0) {
            return Err(OutageError::AfterNothing);
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
