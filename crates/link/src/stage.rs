//! Stages: what a direction of a link is made of.
//!
//! The contract, which [`crate::Pipeline`] relies on and every stage keeps:
//!
//! * A packet enters by [`Stage::accept`] at its logical time `packet.at`. Packets enter in the
//!   order of their times.
//! * A stage that keeps a packet says by [`Stage::due`] when it next has something to do, and does
//!   it in [`Stage::advance`], which is called with exactly that instant, however late the caller
//!   is.
//! * A packet leaves by [`Outbox::pass`] with `packet.at` set to the instant at which it leaves:
//!   the time given to `accept` or `advance`, never an earlier nor a later one.
//! * A packet that ends here leaves by [`Outbox::lose`]. No packet disappears: each leaves by one
//!   of the two ways, once (a copy that a stage makes is a packet of its own).
//! * Where two things happen at the same instant, what is due happens before what arrives.

pub mod bottleneck;
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
use hiccup::HiccupCommand;
use outage::OutageCommand;
use vocabulary::Loss;

/// One stage of a pipeline; see the contract in the [module](self).
pub trait Stage: Send {
    /// A packet enters at `packet.at`.
    fn accept(&mut self, packet: Packet, out: &mut Outbox);

    /// When the stage next has something to do; [`Time::NEVER`] if only a packet can make it act.
    fn due(&self) -> Time {
        Time::NEVER
    }

    /// Does what is due at `now`, which is the instant that [`Stage::due`] gave.
    fn advance(&mut self, now: Time, out: &mut Outbox) {
        let _ = (now, out);
    }

    /// The least time that a packet stays which enters from now on, as far as the stage knows
    /// without looking at it. Zero is always true. Whoever waits for a packet behind this stage
    /// need not look earlier ([`crate::Pipeline::wake`]).
    fn least_delay(&self) -> Span {
        Span::ZERO
    }

    /// The medium that follows takes one more packet: for a queue above one ([`crate::Link`]),
    /// which may have something due at once then.
    fn release(&mut self, now: Time) {
        let _ = now;
    }

    /// How fast it sends and what of a packet counts, of a stage that limits.
    fn limiter(&self) -> Option<&bottleneck::BottleneckSpec> {
        None
    }

    /// Gives up every packet inside, in no particular order, because the run ended.
    fn clear(&mut self, out: &mut Vec<Packet>) {
        let _ = out;
    }

    /// Packets inside that wait (for a limiter, for the end of a hiccup), not counting those in
    /// flight.
    fn waiting(&self) -> usize {
        0
    }

    /// Takes over other parameters at `now`; packets inside stay. Refused, with what stands there,
    /// by a stage of another kind and by parameters that make no sense; then nothing has changed.
    fn change(&mut self, to: &StageSpec, now: Time) -> Result<(), String> {
        let _ = now;
        Err(format!("this stage cannot become `{}`", to.kind()))
    }

    /// Does what it is told at `now`.
    fn obey(&mut self, command: StageCommand, now: Time) -> Result<(), String> {
        let _ = now;
        Err(format!("this stage does not support the command {command:?}"))
    }

    /// Whether a packet may stay in the stage beyond [`Stage::accept`].
    fn keeps_packets(&self) -> bool {
        true
    }

    /// Whether the stage may change bytes of a packet. If no stage does, whole segments may pass in
    /// one piece.
    fn changes_bytes(&self) -> bool {
        false
    }
}

/// What one can tell a stage while the link runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageCommand {
    /// For an outage stage.
    Outage(OutageCommand),
    /// For a hiccup stage.
    Hiccup(HiccupCommand),
}

/// Where a stage puts packets that leave it.
#[derive(Debug, Default)]
pub struct Outbox {
    pub(crate) passed: Vec<Packet>,
    pub(crate) lost: Vec<Packet>,
}

impl Outbox {
    /// The packet goes on to the next stage at `packet.at`.
    pub fn pass(&mut self, packet: Packet) {
        self.passed.push(packet);
    }

    /// The packet is gone.
    pub fn lose(&mut self, mut packet: Packet, why: Loss) {
        packet.mark(Effect::Lost(why));
        self.lost.push(packet);
    }

    /// Packets that have passed and were not fetched yet.
    #[must_use]
    pub fn passed(&self) -> &[Packet] {
        &self.passed
    }

    /// Packets that were lost and were not fetched yet.
    #[must_use]
    pub fn lost(&self) -> &[Packet] {
        &self.lost
    }

    /// Empties the box: what passed, and what was lost.
    pub fn take(&mut self) -> (Vec<Packet>, Vec<Packet>) {
        (std::mem::take(&mut self.passed), std::mem::take(&mut self.lost))
    }
}
