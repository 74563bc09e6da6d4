//! The place of a hop in the row of one direction. The hop itself belongs to both directions, and
//! is [`crate::HopLink`]'s: here is only its name, for marks and logs, and what it says of itself.

use super::outage::OutageCommand;
use super::{Outbox, Stage, StageCommand, StageSpec};
use crate::arq::ArqSpec;
use crate::packet::Packet;
use crate::units::Time;

/// A stage that no packet ever enters: the pipeline hands those that come to the hop. It stands
/// behind a queue, never first.
#[derive(Debug)]
pub struct HopPlace {
    spec: ArqSpec,
    /// Told since the hop's owner looked.
    orders: Vec<OutageCommand>,
}

impl HopPlace {
    /// The place of a hop with this link layer.
    #[must_use]
    pub const fn new(spec: ArqSpec) -> Self {
        Self { spec, orders: Vec::new() }
    }
}

impl Stage for HopPlace {
    fn accept(&mut self, packet: Packet, out: &mut Outbox) {
        out.pass(packet);
    }

    fn is_hop(&self) -> bool {
        true
    }

    fn change(&mut self, to: &StageSpec, _: Time) -> Result<(), String> {
        match to {
            StageSpec::Arq(spec) if *spec == self.spec => Ok(()),
            _ => Err("the link layer stays as it is while the link runs".to_owned()),
        }
    }

    fn obey(&mut self, command: StageCommand, _: Time) -> Result<(), String> {
        let StageCommand::Outage(command) = command else {
            return Err(format!("a link layer knows no {command:?}"));
        };
        self.orders.push(command);
        Ok(())
    }

    fn take_orders(&mut self) -> Vec<OutageCommand> {
        std::mem::take(&mut self.orders)
    }
}
