//! Stages: the building blocks of a link's direction.
//!
//! Every stage keeps this contract, and [`crate::Pipeline`] relies on it:
//!
//! * A packet enters by [`Stage::accept`] at its logical time `packet.at`. Packets enter in the
//!   order of their times.
//! * A stage that keeps a packet reports its next event by [`Stage::due`] and handles the event in
//!   [`Stage::advance`], which receives exactly that instant, however late the caller is.
//! * A packet leaves by [`Outbox::pass`] with `packet.at` set to the instant at which it leaves:
//!   the time given to `accept` or `advance`, never an earlier nor a later one.
//! * A packet that is lost leaves by [`Outbox::lose`]. No packet disappears: each leaves once, by
//!   one of the two ways. A copy made by a stage counts as a packet of its own.
//! * Of two events at the same instant, due events happen before arrivals.

pub mod bottleneck;
pub mod cellreplay;
pub mod delay;
pub mod duplicate;
pub mod errors;
pub mod hiccup;
pub mod outage;
pub mod spec;

use crate::fate::Effect;
use crate::packet::Packet;
use crate::spec::StageSpec;
use crate::units::{Span, Time};
use borsh::{BorshDeserialize, BorshSerialize};
use hiccup::HiccupCommand;
use outage::OutageCommand;
use vocabulary::Loss;

/// A stage of a pipeline; see the contract in the [module](self).
pub trait Stage: Send {
    /// Takes a packet that enters at `packet.at`.
    fn accept(&mut self, packet: Packet, out: &mut Outbox);

    /// Returns the time of the stage's next event; [`Time::NEVER`] if only a packet can cause one.
    fn due(&self) -> Time {
        Time::NEVER
    }

    /// Handles the event that is due at `now`, the instant returned by [`Stage::due`].
    fn advance(&mut self, now: Time, out: &mut Outbox) {
        let _ = (now, out);
    }

    /// Returns a lower bound on the delay of packets that enter from now on, as far as the stage
    /// knows it without seeing them.
    ///
    /// Zero is always a valid bound. A caller that waits for packets behind this stage need not
    /// look earlier ([`crate::Pipeline::wake`]).
    fn least_delay(&self) -> Span {
        Span::ZERO
    }

    /// Announces that the medium behind the stage takes one more packet.
    ///
    /// This is for a queue above a medium ([`crate::Link`]), which may then have an event due at
    /// once.
    fn release(&mut self, now: Time) {
        let _ = now;
    }

    /// Returns the parameters of a stage that limits: its rate, and how it counts the bytes of a
    /// packet.
    fn limiter(&self) -> Option<&bottleneck::BottleneckSpec> {
        None
    }

    /// Moves every packet inside to `out`, in no particular order, because the run ended.
    fn clear(&mut self, out: &mut Vec<Packet>) {
        let _ = out;
    }

    /// Returns the number of packets that wait inside, for a limiter or for the end of a hiccup.
    /// Packets in flight do not count.
    fn waiting(&self) -> usize {
        0
    }

    /// Takes over other parameters at `now`. Packets inside stay.
    ///
    /// # Errors
    /// If `to` is for another kind of stage, or its values are invalid. The stage is then
    /// unchanged.
    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let _ = now;
        Err(format!("this stage cannot become `{}`", to.kind()))
    }

    /// Executes a command at `now`.
    ///
    /// # Errors
    /// If the stage does not know the command.
    fn obey(&mut self, command: StageCommand, now: Time) -> Result<(), String> {
        let _ = now;
        Err(format!("this stage does not support the command {command:?}"))
    }

    /// Returns whether a packet may stay in the stage after [`Stage::accept`].
    fn keeps_packets(&self) -> bool {
        true
    }

    /// Returns whether the stage may change bytes of a packet. If no stage does, whole segments may
    /// pass in one piece.
    fn changes_bytes(&self) -> bool {
        false
    }
}

/// A command for a stage of a running link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum StageCommand {
    /// For an outage stage.
    Outage(OutageCommand),
    /// For a hiccup stage.
    Hiccup(HiccupCommand),
}

/// Output of a stage: the packets that leave it.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(crate) passed: Vec<Packet>,
    pub(crate) lost: Vec<Packet>,
}

impl Outbox {
    /// Passes the packet on to the next stage at `packet.at`.
    pub fn pass(&mut self, packet: Packet) {
        self.passed.push(packet);
    }

    /// Loses the packet and marks it with the cause.
    pub fn lose(&mut self, mut packet: Packet, why: Loss) {
        packet.mark(Effect::Lost(why));
        self.lost.push(packet);
    }

    /// Returns the packets that have passed and were not taken yet.
    #[must_use]
    pub fn passed(&self) -> &[Packet] {
        &self.passed
    }

    /// Returns the packets that were lost and were not taken yet.
    #[must_use]
    pub fn lost(&self) -> &[Packet] {
        &self.lost
    }

    /// Empties the outbox; returns the passed packets and the lost ones.
    pub fn take(&mut self) -> (Vec<Packet>, Vec<Packet>) {
        (std::mem::take(&mut self.passed), std::mem::take(&mut self.lost))
    }
}
