//! Hiccup: packets are held for a while, overtaken by later ones, or dropped after too long a hold.
//!
//! The model is the tool of the same name in Ludwig's dissertation, section 3.3.3 (LL-23 to LL-26):
//! an emulated semi-reliable link with adjustable persistency and in-order or out-of-order
//! delivery.
//!
//! * **Hold** (LL-23): packets queue for a given time. At its end all leave at once, in order or in
//!   another order. A hold that starts within a hold extends it if it ends later. A packet that
//!   arrives exactly at the end of a hold passes.
//! * **Reordering** (LL-24): a selected packet waits until `length` later packets have left the
//!   stage, and leaves directly behind the last of them. It is displaced by exactly `length`.
//!   Packets that arrive during a hold are not selected; the selection applies to the next packet
//!   that does not queue. The last packets of a transfer have no successors; `timeout` releases
//!   them after that long. By default there is no timeout, and they stay until the run ends. If a
//!   timeout expires during a hold, the packet leaves first at the end of the hold.
//! * **Expiration** (LL-25): a packet inside is dropped exactly at its own arrival plus
//!   `expiration`. It is then at the front of the queue (drop-from-front). A packet that expires at
//!   the instant of its release is dropped. A short expiration is a semi-reliable link. Without
//!   one, the default, the link is fully reliable (LL-26).
//!
//! Both times in Ludwig's logs are known for each packet: it leaves at `packet.at`, and
//! [`Effect::Held`] states how long before that it arrived. Parameters may change at any time
//! ([`Hiccup::set`]) and also apply to the packets inside.

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
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use trigger::Firing;
use vocabulary::Loss;

/// Parameters of [`Hiccup`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HiccupSpec {
    /// Holds that start by a trigger; `None` for holds by command only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldSpec>,
    /// Order in which the packets of a hold leave.
    pub release: Release,
    /// Reordering.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderSpec>,
    /// Time after its arrival at which a packet inside is dropped. If absent, packets do not
    /// expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration: Option<Span>,
    /// Maximum number of packets inside. A packet that would have to wait in a full stage is lost.
    /// If absent, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Holds that start by a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct HoldSpec {
    /// Duration of each hold.
    pub span: Span,
    /// Start of each hold.
    pub trigger: Trigger,
}

/// Reordering of selected packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, BorshSerialize, BorshDeserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReorderSpec {
    /// Reordering length RL: number of packets that overtake a selected one.
    pub length: u32,
    /// Maximum time that a selected packet waits to be overtaken. If absent, it waits until the run
    /// ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Span>,
    /// Selection of packets. A trigger by time selects the next packet.
    #[serde(default)]
    pub trigger: Trigger,
}

/// A command for a running hiccup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum HiccupCommand {
    /// Holds packets for this long; [`Span::MAX`] holds until [`HiccupCommand::Release`].
    Hold(Span),
    /// Ends the hold now.
    Release,
    /// Selects the next packet for reordering.
    ReorderNext,
}

/// Error of an impossible hiccup.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HiccupError {
    /// A trigger is invalid.
    #[error("trigger of {of}: {fault}")]
    Trigger {
        /// `hold` or `reorder`.
        of: &'static str,
        /// The cause.
        fault: &'static str,
    },
    /// The reordering length is 0.
    #[error("reorder.length is 0, which re-orders nothing: give 1 or more, or remove `reorder`")]
    NoLength,
    /// A packet was selected without a reordering length.
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
    /// End of the current hold.
    until: Option<Time>,
    /// Packets of the hold, in order of arrival.
    queue: VecDeque<Packet>,
    /// Packets that wait to be overtaken, in order of arrival. All arrived before any packet in
    /// `queue`.
    selected: VecDeque<Selected>,
    /// Number of selections that wait for a packet.
    pending: u64,
    /// Number of packets that have left without being selected.
    passed: u64,
    /// Instant of the last event; no later event is due before it.
    latest: Time,
}

#[derive(Debug)]
struct Selected {
    packet: Packet,
    /// [`Hiccup::passed`] at its arrival. The increase since then is the number of packets that
    /// have overtaken it.
    since: u64,
}

impl Hiccup {
    /// Creates a stage that holds and reorders as `spec` says from [`Time::ZERO`] on. The triggers
    /// of holds and of reordering and the order of release each draw from a stream of their own
    /// below `seed`.
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

    /// Takes over other parameters at `now`.
    ///
    /// Length, timeout, expiration and order of release also apply to the packets inside. A current
    /// hold keeps its end. A changed trigger starts to count anew. Events that become due by the
    /// change happen in the next [`Stage::advance`], for which [`Stage::due`] returns `now`.
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

    /// Returns the current parameters.
    #[must_use]
    pub const fn spec(&self) -> &HiccupSpec {
        &self.spec
    }

    /// Executes a command at `now`. Events that become due by it happen in the next
    /// [`Stage::advance`], for which [`Stage::due`] returns `now`.
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

    /// Starts a hold, or extends the current one.
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

    /// Returns the number of packets that must overtake a selected one. It is 0 without reordering,
    /// so that packets still inside leave.
    fn length(&self) -> u64 {
        self.spec.reorder.map_or(0, |reorder| u64::from(reorder.length))
    }

    /// Returns whether the first selected packet has been overtaken by as many packets as required.
    fn is_overtaken(&self) -> bool {
        self.selected.front().is_some_and(|first| self.passed - first.since >= self.length())
    }

    /// Passes an ordinary packet, and behind it the selected packets that waited for it.
    fn pass(&mut self, packet: Packet, out: &mut Outbox) {
        let now = packet.at;
        out.pass(packet);
        self.passed += 1;
        while self.is_overtaken() {
            self.let_go(now, out);
        }
    }

    /// Releases the first selected packet.
    fn let_go(&mut self, now: Time, out: &mut Outbox) {
        if let Some(Selected { mut packet, since }) = self.selected.pop_front() {
            held(&mut packet, now);
            packet.mark(Effect::Overtaken((self.passed - since) as u32));
            out.pass(packet);
        }
    }

    /// Drops the packets whose time inside has expired.
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

    /// Releases the selected packets that need not wait any longer.
    fn release_selected(&mut self, now: Time, out: &mut Outbox) {
        let timeout = self.timeout();
        while self.is_overtaken()
            || self.selected.front().is_some_and(|first| first.packet.at + timeout <= now)
        {
            self.let_go(now, out);
        }
    }

    /// Ends the hold and releases its packets.
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

/// Marks a packet that arrived at `packet.at` and leaves at `now`.
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
