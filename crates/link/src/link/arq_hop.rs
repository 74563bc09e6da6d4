//! A hop with retransmissions as the medium of a link.
//!
//! The hop of [`crate::arq`] identifies packets by numbers and asks its surroundings about erasures
//! on the air. This module provides the packets and the air.

mod air;

use super::medium::Medium;
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::Outbox;
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::{OutageCommand, OutageError, OutageSpec};
use crate::stage::spec::SpecError;
use crate::units::Time;
use air::Air;
use arq::Then;
use arq::hop::{self, Block, Counters, EndRecord, Hop, OnAir, Protocol, Surroundings, Watch};
use borsh::{BorshDeserialize, BorshSerialize};
use packet::Frame;
use std::collections::VecDeque;
use vocabulary::{Direction, Loss};

/// Description of a hop.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct HopSpec {
    /// The protocol with its parameters.
    pub protocol: Protocol,
    /// Errors on the way up; `None` if there are none.
    pub errors_up: Option<ErrorSpec>,
    /// Errors on the way down; `None` if there are none.
    pub errors_down: Option<ErrorSpec>,
    /// Outages on the way up, by the names of their stages. The names select the random streams.
    pub outages_up: Vec<(String, OutageSpec)>,
    /// Outages on the way down, by the names of their stages.
    pub outages_down: Vec<(String, OutageSpec)>,
}

/// Error of an invalid [`HopSpec`].
#[derive(Debug, thiserror::Error)]
pub(super) enum HopError {
    /// An error process cannot be built.
    #[error(transparent)]
    Errors(#[from] SpecError),
    /// An outage process cannot be built.
    #[error(transparent)]
    Outage(#[from] OutageError),
    /// The protocol cannot run.
    #[error(transparent)]
    Protocol(#[from] hop::HopError),
}

/// The hop with its surroundings.
pub(super) struct ArqHop {
    hop: Hop,
    ways: Ways,
}

/// Both directions, up first.
struct Ways([Way; 2]);

/// One direction.
struct Way {
    air: Air,
    /// Packets inside in their order, with their numbers in the hop.
    packets: VecDeque<(u64, Packet)>,
    next_number: u64,
    out: Outbox,
}

impl ArqHop {
    /// Builds the hop. `seed` is that of the link.
    pub fn new(spec: &HopSpec, seed: &Seed) -> Result<Self, HopError> {
        let way = |air| Way { air, packets: VecDeque::new(), next_number: 0, out: Outbox::default() };
        let ways = Ways(Air::pair(spec, seed)?.map(way));
        Ok(Self { hop: Hop::new(&spec.protocol)?, ways })
    }
}

impl Way {
    /// Returns the place of the packet with this number in the hop.
    fn place(&self, number: u64) -> Option<usize> {
        self.packets.iter().position(|(kept, _)| *kept == number)
    }

    /// Removes the packet with this number, which leaves the hop at `now`.
    fn take(&mut self, number: u64, now: Time) -> Option<Packet> {
        let place = self.place(number)?;
        self.packets.remove(place).map(|(_, packet)| Packet { at: now, ..packet })
    }
}

impl Surroundings for Ways {
    fn frame(&self, direction: Direction, number: u64) -> &Frame {
        let way = &self.0[direction as usize];
        &way.packets[way.place(number).expect("it is inside")].1.frame
    }

    fn carries(&mut self, direction: Direction, sent: &OnAir) -> bool {
        let air = &mut self.0[direction as usize].air;
        let is_right = air.carries(sent);
        // At the end of a block or frame, none that overlaps what follows has been judged, in
        // either direction: an outage from here on erases all of them.
        if let Some(length) = air.count(sent) {
            self.0.iter_mut().for_each(|way| way.air.obey(OutageCommand::DownFor(length), sent.end));
        }
        is_right
    }

    fn delivered(&mut self, direction: Direction, number: u64, octets: Option<&[u8]>, now: Time) {
        let way = &mut self.0[direction as usize];
        if let Some(packet) = way.take(number, now) {
            debug_assert!(octets.is_none_or(|octets| *packet.frame.to_bytes() == *octets));
            way.out.pass(packet);
        }
    }

    fn abandoned(&mut self, direction: Direction, number: u64, why: Then, now: Time) {
        let way = &mut self.0[direction as usize];
        let why = match why {
            Then::GiveUp => Loss::Persistency,
            Then::Reset => Loss::LinkReset,
            Then::Disconnect => Loss::Disconnected,
        };
        if let Some(packet) = way.take(number, now) {
            way.out.lose(packet, why);
        }
    }
}

impl Medium for ArqHop {
    fn is_ready(&self, direction: Direction) -> bool {
        self.hop.is_ready(direction)
    }

    fn accept(&mut self, direction: Direction, packet: Packet) {
        let way = &mut self.ways.0[direction as usize];
        let (number, now) = (way.next_number, packet.at);
        way.next_number += 1;
        way.packets.push_back((number, packet));
        self.hop.accept(direction, number, now, &mut self.ways);
    }

    fn due(&self) -> Time {
        self.hop.due()
    }

    fn advance(&mut self, now: Time) {
        self.hop.advance(now, &mut self.ways);
    }

    fn outbox(&mut self, direction: Direction) -> &mut Outbox {
        &mut self.ways.0[direction as usize].out
    }

    fn inside(&self, direction: Direction) -> usize {
        self.ways.0[direction as usize].packets.len()
    }

    fn obey(&mut self, direction: Direction, command: OutageCommand, now: Time) {
        self.ways.0[direction as usize].air.obey(command, now);
    }

    fn clear(&mut self) -> [Vec<Packet>; 2] {
        self.ways.0.each_mut().map(|way| way.packets.drain(..).map(|(_, packet)| packet).collect())
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
