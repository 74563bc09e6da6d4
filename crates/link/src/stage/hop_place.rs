//! The place of a hop in the row of one direction. The hop itself belongs to both directions, and is [`crate::HopLink`]'s: here is only
//! its name, for marks and logs, and what it says of itself.

use super::{Outbox, Stage, StageSpec};
use crate::arq::ArqSpec;
use crate::packet::Packet;
use crate::units::Time;

/// A stage that no packet ever enters: the pipeline hands those that come to the hop. It stands behind a queue, never first.
#[derive(Debug)]
pub struct HopPlace(pub ArqSpec);

impl Stage for HopPlace {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        out.pass(packet);
    }

    fn is_hop(&self) -> bool {
        true
    }

    fn change(&mut self, to: &StageSpec, _: Time) -> Result<(), String> {
        match to {
            StageSpec::Arq(spec) if *spec == self.0 => Ok(()),
            _ => Err("the link layer stays as it is while the link runs".to_owned()),
        }
    }
}
