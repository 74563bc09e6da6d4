//! A wireless hop with retransmissions: both ends of [`super::rlp`] or [`super::llp`] and the air
//! between them, for both directions together.
//!
//! It knows packets by their numbers, and what is around it by a trait ([`Surroundings`]): the air,
//! which loses blocks or frames, and whoever the packets belong to. Its contract is that of a stage
//! of a link, for two directions at once:
//!
//! * A packet enters by [`Hop::accept`] at its logical time, and leaves once: delivered at the
//!   instant at which the other end has it complete, or abandoned.
//! * [`Hop::due`] says when something happens next, and [`Hop::advance`] is called with exactly
//!   that instant.
//!
//! The queue of the bottleneck stands above: a hop has one packet ahead of the one that it is
//! sending and asks for more by [`Hop::is_ready`] (M15). A packet that is accepted nevertheless
//! waits inside.

mod llp_hop;
mod rlp_hop;
#[cfg(test)]
mod tests;

use super::{Order, Persistency, Then, rlp};
use packet::Frame;
use std::collections::VecDeque;
use vocabulary::Direction;
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::units::{BitRate, ByteCount, Span, Time};

/// What is around a hop.
pub trait Surroundings {
    /// A packet of this direction that is inside.
    fn frame(&self, direction: Direction, number: u64) -> &Frame;
    /// Whether what is sent in this direction arrives as it was sent. Asked once for each block or
    /// frame, in the order in which a direction sends them.
    fn carries(&mut self, direction: Direction, sent: &OnAir) -> bool;
    /// The other end has packet `number` of this direction complete at `now`, with these octets
    /// where the protocol is more than a model without octets.
    fn delivered(&mut self, direction: Direction, number: u64, octets: Option<&[u8]>, now: Time);
    /// Packet `number` of this direction will not be delivered.
    fn abandoned(&mut self, direction: Direction, number: u64, why: Then, now: Time);
}

/// A block or a frame on the air.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnAir {
    /// Its length.
    pub octets: ByteCount,
    /// When its first bit is sent.
    pub start: Time,
    /// When its last bit is sent. That instant is the next one's.
    pub end: Time,
    /// The instant at which a process judges it that judges at an instant.
    pub judged: Time,
}

/// The protocols.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Protocol {
    /// RLP over a circuit with a block of 30 octets every 20 ms each way.
    Rlp(RlpHopSpec),
    /// LLP over a link with rates.
    Llp(LlpHopSpec),
}

/// A circuit-switched data call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RlpHopSpec {
    /// Of both ends; the mobile sets up the connection.
    pub parameters: rlp::Parameters,
    /// From the end of a block's transmission until it is decoded: propagation and interleaving.
    pub delay: Span,
    /// The line behind the mobile is slower than the link (throttles what goes down).
    pub throttle_down: Option<rlp::Throttle>,
    /// The line behind the network is (throttles what goes up).
    pub throttle_up: Option<rlp::Throttle>,
}

impl Default for RlpHopSpec {
    /// Defaults of GSM 04.22, 100 ms of interleaving, and no throttle.
    fn default() -> Self {
        Self {
            parameters: rlp::Parameters::default(),
            delay: Span::from_millis(100),
            throttle_down: None,
            throttle_up: None,
        }
    }
}

/// A link as the ReSoA thesis models it (10.2.4): a server and a delay each way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LlpHopSpec {
    /// Rate up.
    pub rate_up: BitRate,
    /// Rate down.
    pub rate_down: BitRate,
    /// Propagation delay up.
    pub delay_up: Span,
    /// Propagation delay down.
    pub delay_down: Span,
    /// Most frames outstanding, at most 32 (Table 10.3: 32).
    pub window: u16,
    /// When to stop, and how (Table 8.2: 255 retransmissions).
    pub persistency: Persistency,
    /// In which order packets are delivered.
    pub order: Order,
}

impl LlpHopSpec {
    /// A link with these rates and this delay, and the rest of Tables 10.3 and 8.2.
    #[must_use]
    pub const fn thesis(rate_up: BitRate, rate_down: BitRate, delay: Span) -> Self {
        let persistency = Persistency { retransmissions: Some(255), then: Then::Disconnect };
        let order = Order::InSequence;
        Self { rate_up, rate_down, delay_up: delay, delay_down: delay, window: 32, persistency, order }
    }
}

/// What is wrong with a [`Protocol`].
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    /// T1 - T2 is no longer than a round trip: frames would be sent again that have arrived, and
    /// taken for new ones.
    #[error(
        "T1 {t1_ms} ms less T2 {t2_ms} ms must be at least the round trip of {round_trip}; make T1 longer"
    )]
    Timer {
        /// T1 in milliseconds.
        t1_ms: u32,
        /// T2 in milliseconds.
        t2_ms: u32,
        /// What a frame and its answer take.
        round_trip: Span,
    },
    /// A window that the protocol does not have.
    #[error("a window of {given} frames is not possible; use 1 to {most}")]
    Window {
        /// As given.
        given: u16,
        /// The largest one.
        most: u16,
    },
}

/// A record of one end, which is known by the direction in which it sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EndRecord {
    /// [`Direction::Up`] is the wireless host, [`Direction::Down`] the network.
    pub end: Direction,
    /// What it noted.
    pub record: Record,
}

/// A block of RLP at one end, as a receiver beside that end's would show it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// Whose block or whose receiver: [`Direction::Up`] is the wireless host.
    pub end: Direction,
    /// Whether this end sent or received it.
    pub way: Way,
    /// When its first bit was sent, or when it was there and decoded.
    pub at: Time,
    /// The whole frame with its FCS, as it was sent.
    pub octets: Vec<u8>,
    /// Whether the air erases it. Which octets are wrong then is not said: the model does not know.
    pub erased: bool,
}

/// What somebody wants to see of a hop beside its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Watch {
    /// What the ends note ([`EndRecord`]).
    pub records: bool,
    /// Every block at both ends ([`Block`]); of RLP alone, since LLP is a model without octets.
    pub blocks: bool,
}

/// What an end has sent, and what did not arrive of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Numbered frames that were sent for the first time.
    pub first: u64,
    /// Numbered frames that were sent again.
    pub again: u64,
    /// Blocks or frames of any kind that the other end could not decode.
    pub erased: u64,
    /// How often this end asked for frames again (SREJ, REJ, NAK).
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

/// What both machines keep alike.
#[derive(Debug, Default)]
struct State {
    /// Numbers of the packets inside, up first, in their order.
    inside: [VecDeque<u64>; 2],
    /// What the ends have noted, if anybody wants to know.
    records: Option<Vec<EndRecord>>,
    /// Blocks at the ends, likewise.
    blocks: Option<Vec<Block>>,
    /// Of each end.
    counted: [Counters; 2],
}

/// What a machine writes to.
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

    /// The packet inside whose number ends with these bits.
    fn number_of(&self, direction: Direction, low: u16) -> Option<u64> {
        self.state.inside[direction as usize].iter().copied().find(|number| *number as u16 == low)
    }

    /// Whether the packet was inside; it is not from here on.
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

    /// The packet will not be delivered, unless it was.
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
    /// A hop from [`Time::ZERO`] on.
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

    /// From here on the hop keeps what is watched, until it is taken, and nothing else.
    pub fn watch(&mut self, watch: Watch) {
        self.state.records = watch.records.then(Vec::new);
        self.state.blocks = watch.blocks.then(Vec::new);
    }

    /// Whether a packet of this direction should be accepted now: no other one waits inside that
    /// was not begun.
    #[must_use]
    pub fn is_ready(&self, direction: Direction) -> bool {
        match &self.machine {
            Machine::Rlp(hop) => hop.is_ready(direction),
            Machine::Llp(hop) => hop.is_ready(direction),
        }
    }

    /// A packet comes to the hop at `now`. Packets of a direction are numbered in their order, from
    /// 0.
    pub fn accept(&mut self, direction: Direction, number: u64, now: Time, around: &mut dyn Surroundings) {
        self.state.inside[direction as usize].push_back(number);
        let mut exit = Exit { state: &mut self.state, around };
        match &mut self.machine {
            Machine::Rlp(hop) => hop.accept(direction, number, &exit),
            Machine::Llp(hop) => hop.accept(direction, number, now, &mut exit),
        }
    }

    /// When something happens next.
    #[must_use]
    pub fn due(&self) -> Time {
        match &self.machine {
            Machine::Rlp(hop) => hop.due(),
            Machine::Llp(hop) => hop.due(),
        }
    }

    /// Does what is due at `now`, which is what [`Hop::due`] gave.
    pub fn advance(&mut self, now: Time, around: &mut dyn Surroundings) {
        let mut exit = Exit { state: &mut self.state, around };
        match &mut self.machine {
            Machine::Rlp(hop) => hop.advance(now, &mut exit),
            Machine::Llp(hop) => hop.advance(now, &mut exit),
        }
    }

    /// Packets of this direction that are inside.
    #[must_use]
    pub fn inside(&self, direction: Direction) -> usize {
        self.state.inside[direction as usize].len()
    }

    /// Blocks that went without new data of this direction because the window was full (*stalled
    /// window*, LL-03); LLP's are not counted.
    #[must_use]
    pub fn stalls(&self, direction: Direction) -> u64 {
        match &self.machine {
            Machine::Rlp(hop) => hop.stalls(direction),
            Machine::Llp(_) => 0,
        }
    }

    /// What was sent in this direction so far.
    #[must_use]
    pub fn counters(&self, direction: Direction) -> Counters {
        Counters { stalls: self.stalls(direction), ..self.state.counted[direction as usize] }
    }

    /// What the ends have noted since the last call, in the order in which they noted it.
    pub fn take_records(&mut self) -> Vec<EndRecord> {
        self.state.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The blocks at both ends since the last call, in the order of their times.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.state.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }
}
