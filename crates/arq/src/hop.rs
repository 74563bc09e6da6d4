//! A wireless hop with retransmissions, for both directions together: both ends of [`super::rlp`]
//! or [`super::llp`] and the air between them.
//!
//! It identifies packets by numbers. The trait [`Surroundings`] gives it the air, which loses
//! blocks or frames, and the owner of the packets. Its contract is that of a stage of a link, for
//! two directions at once:
//!
//! * A packet enters by [`Hop::accept`] at its logical time and leaves once. It is delivered when
//!   the other end has all of it, or abandoned.
//! * [`Hop::due`] returns when something happens next. [`Hop::advance`] must be called with exactly
//!   that time.
//!
//! The queue of the bottleneck is above the hop. The hop takes one packet ahead of the one that it
//! is sending, and asks for more by [`Hop::is_ready`] (M15). If the caller accepts a packet anyway,
//! it waits inside.

mod llp_hop;
mod rlp_hop;
#[cfg(test)]
mod tests;

use super::{Order, Persistency, Then, rlp};
use borsh::{BorshDeserialize, BorshSerialize};
use packet::Frame;
use std::collections::VecDeque;
use vocabulary::Direction;
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::units::{BitRate, ByteCount, Span, Time};

/// Environment of a hop.
pub trait Surroundings {
    /// Returns a packet of this direction that is inside.
    fn frame(&self, direction: Direction, number: u64) -> &Frame;
    /// Tells whether a block or frame in this direction arrives intact. The hop calls this once for
    /// each, in the order in which a direction sends them.
    fn carries(&mut self, direction: Direction, sent: &OnAir) -> bool;
    /// Packet `number` of this direction is complete at the other end at `now`. `octets` are its
    /// bytes; a protocol that is modelled without octets has none.
    fn delivered(&mut self, direction: Direction, number: u64, octets: Option<&[u8]>, now: Time);
    /// Packet `number` of this direction will not be delivered.
    fn abandoned(&mut self, direction: Direction, number: u64, why: Then, now: Time);
}

/// A block or frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnAir {
    /// Its length.
    pub octets: ByteCount,
    /// When its first bit is sent.
    pub start: Time,
    /// When its last bit is sent. The next one starts at this time.
    pub end: Time,
    /// Time for error processes that judge by a single point in time.
    pub judged: Time,
}

/// A protocol with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum Protocol {
    /// RLP over a circuit with a block of 30 octets every 20 ms in each direction.
    Rlp(RlpHopSpec),
    /// LLP over a link with rates.
    Llp(LlpHopSpec),
}

/// A circuit-switched data call.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct RlpHopSpec {
    /// Parameters of both ends. The mobile sets up the connection.
    pub parameters: rlp::Parameters,
    /// Time from the end of a block's transmission until it is decoded: propagation and
    /// interleaving.
    pub delay: Span,
    /// Throttle for packets down, if the line behind the mobile is slower than the link.
    pub throttle_down: Option<rlp::Throttle>,
    /// Throttle for packets up, if the line behind the network is slower than the link.
    pub throttle_up: Option<rlp::Throttle>,
}

impl Default for RlpHopSpec {
    /// Returns the defaults of GSM 04.22, with 100 ms of interleaving and no throttle.
    fn default() -> Self {
        Self {
            parameters: rlp::Parameters::default(),
            delay: Span::from_millis(100),
            throttle_down: None,
            throttle_up: None,
        }
    }
}

/// A link as the ReSoA thesis models it (10.2.4): a server and a delay in each direction.
#[derive(Debug, Clone, Copy, PartialEq, BorshSerialize, BorshDeserialize)]
pub struct LlpHopSpec {
    /// Rate up.
    pub rate_up: BitRate,
    /// Rate down.
    pub rate_down: BitRate,
    /// Propagation delay up.
    pub delay_up: Span,
    /// Propagation delay down.
    pub delay_down: Span,
    /// Maximum number of outstanding frames, at most 32 (Table 10.3: 32).
    pub window: u16,
    /// Limit of retransmissions, and the action when it is reached (Table 8.2: 255
    /// retransmissions).
    pub persistency: Persistency,
    /// Order in which packets are delivered.
    pub order: Order,
}

impl LlpHopSpec {
    /// Creates a link with these rates and this delay, and the values of Tables 10.3 and 8.2.
    #[must_use]
    pub const fn thesis(rate_up: BitRate, rate_down: BitRate, delay: Span) -> Self {
        let persistency = Persistency { retransmissions: Some(255), then: Then::Disconnect };
        let order = Order::InSequence;
        Self { rate_up, rate_down, delay_up: delay, delay_down: delay, window: 32, persistency, order }
    }
}

/// Why a [`Protocol`] is invalid.
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    /// T1 - T2 is shorter than a round trip. The sender would retransmit frames that have arrived,
    /// and the receiver would take them for new ones.
    #[error(
        "T1 {t1_ms} ms less T2 {t2_ms} ms must be at least the round trip of {round_trip}; make T1 longer"
    )]
    Timer {
        /// T1 in milliseconds.
        t1_ms: u32,
        /// T2 in milliseconds.
        t2_ms: u32,
        /// Time for a frame and its answer.
        round_trip: Span,
    },
    /// The window size is invalid for the protocol.
    #[error("a window of {given} frames is not possible; use 1 to {most}")]
    Window {
        /// The given size.
        given: u16,
        /// The maximum size.
        most: u16,
    },
}

/// A record of one end, identified by the direction in which it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct EndRecord {
    /// [`Direction::Up`] is the wireless host, [`Direction::Down`] the network.
    pub end: Direction,
    /// The record.
    pub record: Record,
}

/// An RLP block at one end, as a receiver beside that end would show it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
pub struct Block {
    /// The end at which it was sent or received: [`Direction::Up`] is the wireless host.
    pub end: Direction,
    /// Whether this end sent or received it.
    pub way: Way,
    /// When its first bit was sent, or when it had arrived and was decoded.
    pub at: Time,
    /// The whole frame with its FCS, as it was sent.
    pub octets: Vec<u8>,
    /// Whether the air erases it. The model does not define which octets are wrong.
    pub erased: bool,
}

/// Which data of a hop to collect for an observer, beside its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Watch {
    /// Records of the ends ([`EndRecord`]).
    pub records: bool,
    /// Every block at both ends ([`Block`]). Only of RLP, since LLP is modelled without octets.
    pub blocks: bool,
}

/// Counters of the frames that an end has sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Counters {
    /// Numbered frames sent for the first time.
    pub first: u64,
    /// Numbered frames that were retransmitted.
    pub again: u64,
    /// Blocks or frames of any kind that the other end could not decode.
    pub erased: u64,
    /// Requests of this end for retransmissions (SREJ, REJ, NAK).
    pub rejects: u64,
    /// Resets of the link that this end began.
    pub resets: u64,
    /// Blocks without new data because the window was full ([`Hop::stalls`]).
    pub stalls: u64,
}

impl Counters {
    fn count(&mut self, record: &Record) {
        let Record { way, event, .. } = record;
        match (way, event) {
            (Way::Sent, Event::First) => self.first += 1,
            (Way::Sent, Event::Again) => self.again += 1,
            (Way::Sent, Event::SelectiveReject | Event::Reject) => self.rejects += 1,
            (Way::Sent, Event::Reset) => self.resets += 1,
            _ => {}
        }
    }
}

/// The hop; see the [module](self).
#[derive(Debug)]
pub struct Hop {
    machine: Machine,
    state: State,
}

#[derive(Debug)]
enum Machine {
    Rlp(Box<rlp_hop::RlpHop>),
    Llp(Box<llp_hop::LlpHop>),
}

/// Common state of both machines.
#[derive(Debug, Default)]
struct State {
    /// Numbers of the packets inside, in order: first those going up, then down.
    inside: [VecDeque<u64>; 2],
    /// Records of the ends, if they are watched.
    records: Option<Vec<EndRecord>>,
    /// Blocks at the ends, if they are watched.
    blocks: Option<Vec<Block>>,
    /// Counters of each end.
    counted: [Counters; 2],
}

/// Output of a machine.
struct Exit<'a> {
    state: &'a mut State,
    around: &'a mut dyn Surroundings,
}

impl Exit<'_> {
    fn records(&mut self, end: Direction, records: Vec<Record>) {
        for record in &records {
            self.state.counted[end as usize].count(record);
        }
        if let Some(all) = &mut self.state.records {
            all.extend(records.into_iter().map(|record| EndRecord { end, record }));
        }
    }

    fn block(&mut self, end: Direction, way: Way, at: Time, octets: &[u8], erased: bool) {
        if let Some(all) = &mut self.state.blocks {
            all.push(Block { end, way, at, octets: octets.to_vec(), erased });
        }
    }

    fn carries(&mut self, direction: Direction, sent: &OnAir) -> bool {
        let is_right = self.around.carries(direction, sent);
        self.state.counted[direction as usize].erased += u64::from(!is_right);
        is_right
    }

    /// Returns the number of the packet inside whose lower 16 bits are `low`.
    fn number_of(&self, direction: Direction, low: u16) -> Option<u64> {
        self.state.inside[direction as usize].iter().copied().find(|number| *number as u16 == low)
    }

    /// Removes the packet. Returns whether it was inside.
    fn take(&mut self, direction: Direction, number: u64) -> bool {
        let inside = &mut self.state.inside[direction as usize];
        let place = inside.iter().position(|kept| *kept == number);
        place.and_then(|place| inside.remove(place)).is_some()
    }

    fn deliver(&mut self, direction: Direction, number: u64, octets: Option<&[u8]>, now: Time) {
        if self.take(direction, number) {
            self.around.delivered(direction, number, octets, now);
        }
    }

    /// Reports that the packet will not be delivered, unless it was.
    fn abandon(&mut self, direction: Direction, number: u64, why: Then, now: Time) {
        if self.take(direction, number) {
            self.around.abandoned(direction, number, why, now);
        }
    }

    fn abandon_all(&mut self, direction: Direction, why: Then, now: Time) {
        for number in std::mem::take(&mut self.state.inside[direction as usize]) {
            self.around.abandoned(direction, number, why, now);
        }
    }
}

impl Hop {
    /// Creates a hop that starts at [`Time::ZERO`].
    ///
    /// # Errors
    /// If the protocol cannot run with its parameters.
    pub fn new(protocol: &Protocol) -> Result<Self, HopError> {
        let machine = match protocol {
            Protocol::Rlp(spec) => Machine::Rlp(Box::new(rlp_hop::RlpHop::new(spec)?)),
            Protocol::Llp(spec) => Machine::Llp(Box::new(llp_hop::LlpHop::new(spec)?)),
        };
        Ok(Self { machine, state: State::default() })
    }

    /// Collects the data selected by `watch`, and only these, from now on until they are taken.
    pub fn watch(&mut self, watch: Watch) {
        self.state.records = watch.records.then(Vec::new);
        self.state.blocks = watch.blocks.then(Vec::new);
    }

    /// Tells whether the hop wants a packet of this direction now: no other one waits inside whose
    /// transmission has not begun.
    #[must_use]
    pub fn is_ready(&self, direction: Direction) -> bool {
        match &self.machine {
            Machine::Rlp(hop) => hop.is_ready(direction),
            Machine::Llp(hop) => hop.is_ready(direction),
        }
    }

    /// Accepts a packet at `now`. Packets of a direction are numbered in order, from 0.
    pub fn accept(&mut self, direction: Direction, number: u64, now: Time, around: &mut dyn Surroundings) {
        self.state.inside[direction as usize].push_back(number);
        let mut exit = Exit { state: &mut self.state, around };
        match &mut self.machine {
            Machine::Rlp(hop) => hop.accept(direction, number, &exit),
            Machine::Llp(hop) => hop.accept(direction, number, now, &mut exit),
        }
    }

    /// Returns when something happens next.
    #[must_use]
    pub fn due(&self) -> Time {
        match &self.machine {
            Machine::Rlp(hop) => hop.due(),
            Machine::Llp(hop) => hop.due(),
        }
    }

    /// Does what is due at `now`, which must be the time that [`Hop::due`] returned.
    pub fn advance(&mut self, now: Time, around: &mut dyn Surroundings) {
        let mut exit = Exit { state: &mut self.state, around };
        match &mut self.machine {
            Machine::Rlp(hop) => hop.advance(now, &mut exit),
            Machine::Llp(hop) => hop.advance(now, &mut exit),
        }
    }

    /// Returns the number of packets of this direction that are inside.
    #[must_use]
    pub fn inside(&self, direction: Direction) -> usize {
        self.state.inside[direction as usize].len()
    }

    /// Returns the number of blocks without new data of this direction because the window was full
    /// (*stalled window*, LL-03). Always 0 for LLP.
    #[must_use]
    pub fn stalls(&self, direction: Direction) -> u64 {
        match &self.machine {
            Machine::Rlp(hop) => hop.stalls(direction),
            Machine::Llp(_) => 0,
        }
    }

    /// Returns the counters of this direction so far.
    #[must_use]
    pub fn counters(&self, direction: Direction) -> Counters {
        Counters { stalls: self.stalls(direction), ..self.state.counted[direction as usize] }
    }

    /// Returns the records of the ends since the last call, in order.
    pub fn take_records(&mut self) -> Vec<EndRecord> {
        self.state.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Returns the blocks at both ends since the last call, in the order of their times.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.state.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
