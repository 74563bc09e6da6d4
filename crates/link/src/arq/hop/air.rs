//! The air of one direction: which blocks or frames are hit, and the packets that are under way on
//! it.

use super::{HopError, HopSpec};
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::Outbox;
use crate::stage::errors::Errors;
use crate::stage::outage::{Outage, OutageCommand, OutageSpec};
use crate::units::{ByteCount, Span, Time};
use packet::{Frame, Layer};
use std::collections::VecDeque;
use vocabulary::{Direction, Loss, Sending};

/// One direction.
#[derive(Debug)]
pub(super) struct Air {
    errors: Option<Errors>,
    outages: Vec<Outage>,
    /// Outages by command.
    commanded: Outage,
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
    pub fn pair(spec: &HopSpec, seed: &Seed) -> Result<[Self; 2], HopError> {
        let HopSpec { errors_up, errors_down, outages_up, outages_down, .. } = spec;
        let air = |direction: Direction, errors: &Option<_>, outages: &[(String, OutageSpec)]| {
            let seed = seed.direction(direction);
            let errors =
                errors.clone().map(|errors| Errors::new(errors, &seed.stage("errors"))).transpose()?;
            let outages = outages.iter().map(|(name, spec)| Outage::new(spec.clone(), &seed.stage(name)));
            Ok::<_, HopError>(Self {
                errors,
                outages: outages.collect::<Result<_, _>>()?,
                commanded: Outage::new(OutageSpec::default(), &seed.stage("outage"))?,
                blocks: 0,
                erased: 0,
                packets: VecDeque::new(),
                next_number: 0,
            })
        };
        Ok([air(Direction::Up, errors_up, outages_up)?, air(Direction::Down, errors_down, outages_down)?])
    }

    /// Whether the next block arrives as it was sent. One that is judged at an instant is judged at
    /// `at`.
    pub fn carries(&mut self, octets: ByteCount, at: Time, sending: Sending) -> bool {
        let number = self.blocks;
        self.blocks += 1;
        let hit = self.errors.as_mut().is_some_and(|errors| {
            let frame = Frame::owned(Layer::Ip, vec![0; octets.get() as usize]);
            errors.hits(&Packet { sending, ..Packet::new(number, frame, at) })
        });
        let is_erased = hit | self.is_out(sending);
        self.erased += u64::from(is_erased);
        !is_erased
    }

    /// Whether there is an outage at any time of a transmission. It ends where the next one begins:
    /// that instant is the next one's.
    fn is_out(&mut self, Sending { start, end }: Sending) -> bool {
        let last = Time::ZERO + (end - Time::ZERO - Span::from_nanos(1));
        let mut all = self.outages.iter_mut().chain([&mut self.commanded]);
        all.any(|outage| outage.is_out(start, last))
    }

    /// An outage by command.
    pub fn obey(&mut self, command: OutageCommand, now: Time) {
        self.commanded.command(now, command);
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
