//! The air of one direction: which blocks or frames are hit, and the packets that are under way on it.

use super::HopSpec;
use crate::fate::Loss;
use crate::packet::{Packet, Sending};
use crate::seed::{Direction, Seed};
use crate::stage::Outbox;
use crate::stage::errors::Errors;
use crate::stage::spec::SpecError;
use crate::units::{ByteCount, Time};
use packet::{Frame, Layer};
use std::collections::VecDeque;

/// One direction.
#[derive(Debug)]
pub(super) struct Air {
    errors: Option<Errors>,
    /// Blocks or frames that were sent.
    blocks: u64,
    /// Those of them that were hit.
    erased: u64,
    /// Packets inside, with their numbers in this hop, in their order.
    packets: VecDeque<(u64, Packet)>,
    next_number: u64,
}

impl Air {
    /// Both directions, up first.
    pub fn pair(spec: &HopSpec, seed: &Seed) -> Result<[Self; 2], SpecError> {
        let air = |direction: Direction, errors: &Option<_>| {
            let seed = seed.direction(direction).stage("errors");
            let errors = errors.clone().map(|errors| Errors::new(errors, &seed)).transpose()?;
            Ok::<_, SpecError>(Self {
                errors,
                blocks: 0,
                erased: 0,
                packets: VecDeque::new(),
                next_number: 0,
            })
        };
        Ok([air(Direction::Up, &spec.errors_up)?, air(Direction::Down, &spec.errors_down)?])
    }

    /// Whether the next block arrives as it was sent. One that is judged at an instant is judged at `at`.
    pub fn carries(&mut self, octets: ByteCount, at: Time, sending: Sending) -> bool {
        let number = self.blocks;
        self.blocks += 1;
        let Some(errors) = &mut self.errors else { return true };
        let frame = Frame::owned(Layer::Ip, vec![0; octets.get() as usize]);
        let hit = errors.hits(&Packet { sending, ..Packet::new(number, frame, at) });
        self.erased += u64::from(hit);
        !hit
    }

    pub fn erased(&self) -> u64 {
        self.erased
    }

    /// A packet comes in, and has this number from now on.
    pub fn enter(&mut self, packet: Packet) -> (u64, &Packet) {
        let number = self.next_number;
        self.next_number += 1;
        self.packets.push_back((number, packet));
        (number, &self.packets[self.packets.len() - 1].1)
    }

    /// The number of the packet inside whose last bits are `low`.
    pub fn number_of(&self, low: u16) -> Option<u64> {
        self.packets.iter().map(|(number, _)| *number).find(|number| *number as u16 == low)
    }

    fn take(&mut self, number: u64) -> Option<Packet> {
        let place = self.packets.iter().position(|(kept, _)| *kept == number)?;
        self.packets.remove(place).map(|(_, packet)| packet)
    }

    /// The other end has packet `number` complete at `now`.
    pub fn deliver<'a>(&mut self, number: u64, now: Time, out: &'a mut Outbox) -> Option<&'a Packet> {
        let mut packet = self.take(number)?;
        packet.at = now;
        out.pass(packet);
        out.passed().last()
    }

    /// Packet `number` will not be delivered, unless it was.
    pub fn abandon(&mut self, number: u64, why: Loss, now: Time, out: &mut Outbox) {
        if let Some(mut packet) = self.take(number) {
            packet.at = now;
            out.lose(packet, why);
        }
    }

    pub fn len(&self) -> usize {
        self.packets.len()
    }

    pub fn clear(&mut self) -> Vec<Packet> {
        self.packets.drain(..).map(|(_, packet)| packet).collect()
    }
}
