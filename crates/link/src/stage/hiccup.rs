//! Hiccup: packets are held for a while, overtaken by later ones, or dropped because they were held
//! too long.
//!
//! After the tool of the same name in Ludwig's dissertation, section 3.3.3 (LL-23 to LL-26): an
//! emulated semi-reliable link with adjustable persistency and in-order or out-of-order delivery.
//!
//! * **Hold** (LL-23): packets queue up for a given time; at its end all leave at once, in order or
//!   in another. A hold that starts within a hold lengthens it if it ends later. A packet that
//!   comes at the very end of a hold passes.
//! * **Re-ordering** (LL-24): a selected packet waits until `length` later packets have left the
//!   stage, and leaves right behind the last of them: it is displaced by exactly `length`. Packets
//!   that come during a hold are not selected: what is to be selected then is the next packet that
//!   does not queue. The last packets of a transfer have none behind them; `timeout` lets them go
//!   after that long (default: never, so they stay until the run ends). If a timeout falls into a
//!   hold, the packet leaves first at the hold's end.
//! * **Expiration** (LL-25): a packet inside is dropped exactly at its own arrival plus
//!   `expiration`, which is at the front of the queue (drop-from-front). A packet that expires at
//!   the instant of its release is dropped. Default: never. Short: a semi-reliable link; never: a
//!   fully reliable one (LL-26).
//!
//! Both moments of L's logs are known of each packet: it leaves at `packet.at`, and
//! [`Effect::Held`] says how long before that it came. Parameters may change at any time
//! ([`Hiccup::set`]) and apply to the packets inside as well.

mod release;
mod trigger;

pub use release::Release;
pub use trigger::Trigger;

use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::{Seed, Stream};
use crate::spec::StageSpec;
use crate::stage::{Outbox, Stage, StageCommand};
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use trigger::Firing;
use vocabulary::Loss;

/// Parameters of [`Hiccup`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HiccupSpec {
    /// Holds that start by themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldSpec>,
    /// In which order the packets of a hold leave.
    pub release: Release,
    /// Re-ordering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderSpec>,
    /// How long after its arrival a packet that is still inside is dropped. Without it: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration: Option<Span>,
    /// Packets inside at most; one that would have to wait in a full stage is lost. Without it
    /// there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Holds that start by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HoldSpec {
    /// How long each lasts.
    pub span: Span,
    /// When they start.
    pub trigger: Trigger,
}

/// Re-ordering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReorderSpec {
    /// Re-ordering length RL: packets that overtake a selected one.
    pub length: u32,
    /// How long a selected packet waits at most for packets that overtake it. Without it: until the
    /// run ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// When a packet is selected; by time: the next one.
    #[serde(default)]
    pub trigger: Trigger,
}

/// What one can tell a hiccup while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HiccupCommand {
    /// Hold packets for this long; [`Span::MAX`]: until [`HiccupCommand::Release`].
    Hold(Span),
    /// End the hold now.
    Release,
    /// Select the next packet for re-ordering.
    ReorderNext,
}

/// A hiccup that cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HiccupError {
    /// A trigger makes no sense.
    #[error("trigger of {of}: {fault}")]
    Trigger {
        /// `hold` or `reorder`.
        of: &'static str,
        /// What is wrong.
        fault: &'static str,
    },
    /// A length of 0 re-orders nothing.
    #[error("reorder.length is 0, which re-orders nothing: give 1 or more, or remove `reorder`")]
    NoLength,
    /// Nothing says how far to move a packet.
    #[error("no re-ordering length: set `reorder = {{ length = 3 }}` before selecting packets")]
    NoReorder,
}

impl fmt::Display for HiccupSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.hold.as_ref().map(|hold| format!("holds for {}, {}", hold.span, hold.trigger)));
        parts.extend(
            self.reorder
                .as_ref()
                .map(|reorder| format!("re-orders by {}, {}", reorder.length, reorder.trigger)),
        );
        parts.extend(self.expiration.map(|expiration| format!("drops after {expiration}")));
        parts.extend(self.limit.map(|limit| format!("{limit} packets at most")));
        if parts.is_empty() {
            parts.push("on command".to_owned());
        }
        f.write_str(&parts.join(", "))
    }
}

/// The stage; see the [module](self).
#[derive(Debug)]
pub struct Hiccup {
    spec: HiccupSpec,
    holds: Firing,
    selections: Firing,
    shuffle: Stream,
    /// End of the hold that is on.
    until: Option<Time>,
    /// Packets of the hold, in order of arrival.
    queue: VecDeque<Packet>,
    /// Packets that wait to be overtaken, in order of arrival: all came before any in `queue`.
    selected: VecDeque<Selected>,
    /// Selections that wait for a packet.
    pending: u64,
    /// Packets that left without having been selected.
    passed: u64,
    /// The last instant at which anything happened here: nothing is due before it.
    latest: Time,
}

#[derive(Debug)]
struct Selected {
    packet: Packet,
    /// [`Hiccup::passed`] when it came: the difference is what has overtaken it.
    since: u64,
}

impl Hiccup {
    /// A stage that holds and re-orders as `spec` says from [`Time::ZERO`] on. The triggers of
    /// holds and of re-ordering and the order of release each draw from a stream of their own below
    /// `seed`.
    pub fn new(spec: HiccupSpec, seed: &Seed) -> Result<Self, HiccupError> {
        spec.check()?;
        Ok(Self {
            holds: Firing::new(spec.hold_trigger(), Time::ZERO, seed.stage("hold").stream()),
            selections: Firing::new(spec.reorder_trigger(), Time::ZERO, seed.stage("reorder").stream()),
            shuffle: seed.stage("release").stream(),
            spec,
            until: None,
            queue: VecDeque::new(),
            selected: VecDeque::new(),
            pending: 0,
            passed: 0,
            latest: Time::ZERO,
        })
    }

    /// Takes over other parameters at `now`. Length, timeout, expiration and order of release hold
    /// for the packets inside as well; a hold that is on keeps its end; a trigger that is not the
    /// same starts to count anew. What becomes due by it happens in the next [`Stage::advance`],
    /// which [`Stage::due`] asks for at `now`.
    pub fn set(&mut self, spec: HiccupSpec, now: Time) -> Result<(), HiccupError> {
        spec.check()?;
        self.holds.set(spec.hold_trigger(), now);
        self.selections.set(spec.reorder_trigger(), now);
        if spec.reorder.is_none() {
            self.pending = 0;
        }
        self.spec = spec;
        self.latest = now;
        Ok(())
    }

    /// The parameters in force.
    #[must_use]
    pub const fn spec(&self) -> &HiccupSpec {
        &self.spec
    }

    /// Does at `now` what is told. What becomes due by it happens in the next [`Stage::advance`],
    /// which [`Stage::due`] asks for at `now`.
    pub fn command(&mut self, now: Time, command: HiccupCommand) -> Result<(), HiccupError> {
        match command {
            HiccupCommand::Hold(span) => self.hold(now, span),
            HiccupCommand::Release => self.until = self.until.map(|_| now),
            HiccupCommand::ReorderNext if self.spec.reorder.is_none() => return Err(HiccupError::NoReorder),
            HiccupCommand::ReorderNext => self.pending += 1,
        }
        self.latest = now;
        Ok(())
    }

    /// Starts a hold, or lengthens the one that is on.
    fn hold(&mut self, now: Time, span: Span) {
        let end = now + span;
        self.until = Some(self.until.map_or(end, |until| until.max(end)));
    }

    fn hold_by_trigger(&mut self, now: Time) {
        if let Some(hold) = self.spec.hold {
            self.hold(now, hold.span);
        }
    }

    fn expiration(&self) -> Span {
        self.spec.expiration.unwrap_or(Span::MAX)
    }

    fn timeout(&self) -> Span {
        self.spec.reorder.and_then(|reorder| reorder.timeout).unwrap_or(Span::MAX)
    }

    /// Packets that must overtake a selected one. Without re-ordering none: those still inside
    /// leave.
    fn length(&self) -> u64 {
        self.spec.reorder.map_or(0, |reorder| u64::from(reorder.length))
    }

    /// Whether the packet that was selected first has been overtaken by as many as it should.
    fn is_overtaken(&self) -> bool {
        self.selected.front().is_some_and(|first| self.passed - first.since >= self.length())
    }

    /// An ordinary packet leaves, and behind it the selected ones that waited for it.
    fn pass(&mut self, packet: Packet, out: &mut Outbox) {
        let now = packet.at;
        out.pass(packet);
        self.passed += 1;
        while self.is_overtaken() {
            self.let_go(now, out);
        }
    }

    /// The packet that was selected first leaves.
    fn let_go(&mut self, now: Time, out: &mut Outbox) {
        if let Some(Selected { mut packet, since }) = self.selected.pop_front() {
            held(&mut packet, now);
            packet.mark(Effect::Overtaken((self.passed - since) as u32));
            out.pass(packet);
        }
    }

    /// Drops what has been inside for too long.
    fn expire(&mut self, now: Time, out: &mut Outbox) {
        let expiration = self.expiration();
        while self.selected.front().is_some_and(|first| first.packet.at + expiration <= now) {
            if let Some(Selected { packet, .. }) = self.selected.pop_front() {
                expired(packet, now, out);
            }
        }
        while self.queue.front().is_some_and(|first| first.at + expiration <= now) {
            if let Some(packet) = self.queue.pop_front() {
                expired(packet, now, out);
            }
        }
    }

    /// Lets selected packets go that need not wait any longer.
    fn release_selected(&mut self, now: Time, out: &mut Outbox) {
        let timeout = self.timeout();
        while self.is_overtaken()
            || self.selected.front().is_some_and(|first| first.packet.at + timeout <= now)
        {
            self.let_go(now, out);
        }
    }

    /// The hold is over.
    fn flush(&mut self, now: Time, out: &mut Outbox) {
        self.until = None;
        self.release_selected(now, out);
        for (mut packet, overtaken) in self.spec.release.order(&mut self.queue, &mut self.shuffle) {
            held(&mut packet, now);
            if overtaken > 0 {
                packet.mark(Effect::Overtaken(overtaken));
            }
            self.pass(packet, out);
        }
    }

    fn is_full(&self) -> bool {
        self.spec.limit.is_some_and(|limit| self.waiting() >= limit as usize)
    }
}

impl Stage for Hiccup {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        let now = packet.at;
        self.latest = now;
        if self.holds.counts() {
            self.hold_by_trigger(now);
        }
        if self.selections.counts() {
            self.pending += 1;
        }
        if self.until.is_none() && self.pending == 0 {
            self.pass(packet, out);
        } else if self.is_full() {
            out.lose(packet, Loss::QueueFull);
        } else if self.until.is_some() {
            self.queue.push_back(packet);
        } else {
            self.pending -= 1;
            self.selected.push_back(Selected { packet, since: self.passed });
        }
    }

    fn due(&self) -> Time {
        let expiration = self.expiration();
        let mut due = self.holds.due().min(self.selections.due());
        if let Some(first) = self.queue.front() {
            due = due.min(first.at + expiration);
        }
        if let Some(first) = self.selected.front() {
            due = due.min(first.packet.at + expiration);
        }
        match self.until {
            Some(until) => due = due.min(until),
            None if self.is_overtaken() => due = Time::ZERO,
            None => {
                if let Some(first) = self.selected.front() {
                    due = due.min(first.packet.at + self.timeout());
                }
            }
        }
        due.max(self.latest)
    }

    fn advance(&mut self, now: Time, out: &mut Outbox) {
        self.latest = now;
        self.expire(now, out);
        if self.until.is_some_and(|until| until <= now) {
            self.flush(now, out);
        }
        while self.holds.fires(now) {
            self.hold_by_trigger(now);
        }
        while self.selections.fires(now) {
            self.pending += 1;
        }
        if self.until.is_none() {
            self.release_selected(now, out);
        }
    }

    fn clear(&mut self, out: &mut Vec<Packet>) {
        out.extend(self.selected.drain(..).map(|selected| selected.packet));
        out.extend(self.queue.drain(..));
    }

    fn waiting(&self) -> usize {
        self.queue.len() + self.selected.len()
    }

    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let StageSpec::Hiccup(spec) = to else {
            return Err(format!("`hiccup` cannot become `{}`", to.kind()));
        };
        self.set(spec.clone(), now).map_err(|error| error.to_string())
    }

    fn obey(&mut self, command: StageCommand, now: Time) -> Result<(), String> {
        let StageCommand::Hiccup(command) = command else {
            return Err(format!("`hiccup` does not support the command {command:?}"));
        };
        self.command(now, command).map_err(|error| error.to_string())
    }
}

impl HiccupSpec {
    fn hold_trigger(&self) -> Trigger {
        self.hold.map_or(Trigger::Command, |hold| hold.trigger)
    }

    fn reorder_trigger(&self) -> Trigger {
        self.reorder.map_or(Trigger::Command, |reorder| reorder.trigger)
    }

    fn check(&self) -> Result<(), HiccupError> {
        for (of, trigger) in [("hold", self.hold_trigger()), ("reorder", self.reorder_trigger())] {
            if let Some(fault) = trigger.fault() {
                return Err(HiccupError::Trigger { of, fault });
            }
        }
        if self.reorder.is_some_and(|reorder| reorder.length == 0) {
            return Err(HiccupError::NoLength);
        }
        Ok(())
    }
}

/// The packet, which came at `packet.at`, leaves at `now`.
fn held(packet: &mut Packet, now: Time) {
    let span = now - packet.at;
    packet.at = now;
    packet.mark(Effect::Held(span));
}

fn expired(mut packet: Packet, now: Time, out: &mut Outbox) {
    held(&mut packet, now);
    out.lose(packet, Loss::Expired);
}

#[cfg(test)]
mod tests;
