//! A hop with retransmissions as the medium of a link.

use super::medium::Medium;
use crate::arq::hop::{Block, Counters, EndRecord, Hop, HopError, HopSpec, Outboxes, Watch};
use crate::packet::Packet;
use crate::seed::{Direction, Seed};
use crate::stage::Outbox;
use crate::stage::outage::OutageCommand;
use crate::units::Time;

/// The hop, and what has left it.
pub(super) struct ArqHop {
    hop: Hop,
    out: Outboxes,
}

impl ArqHop {
    /// `seed` is that of the link.
    pub fn new(spec: &HopSpec, seed: &Seed) -> Result<Self, HopError> {
        Ok(Self { hop: Hop::new(spec, seed, false)?, out: Outboxes::default() })
    }
}

impl Medium for ArqHop {
    fn is_ready(&self, direction: Direction) -> bool {
        self.hop.is_ready(direction)
    }

    fn accept(&mut self, direction: Direction, packet: Packet) {
        self.hop.accept(direction, packet, &mut self.out);
    }

    fn due(&self) -> Time {
        self.hop.due()
    }

    fn advance(&mut self, now: Time) {
        self.hop.advance(now, &mut self.out);
    }

    fn outbox(&mut self, direction: Direction) -> &mut Outbox {
        self.out.of(direction)
    }

    fn inside(&self, direction: Direction) -> usize {
        self.hop.inside(direction)
    }

    fn obey(&mut self, direction: Direction, command: OutageCommand, now: Time) {
        self.hop.obey(direction, command, now);
    }

    fn clear(&mut self) -> [Vec<Packet>; 2] {
        self.hop.clear()
    }

    fn watch(&mut self, watch: Watch) {
        self.hop.watch(watch);
    }

    fn counters(&self, direction: Direction) -> Counters {
        self.hop.counters(direction)
    }

    fn take_records(&mut self) -> Vec<EndRecord> {
        self.hop.take_records()
    }

    fn take_blocks(&mut self) -> Vec<Block> {
        self.hop.take_blocks()
    }
}
