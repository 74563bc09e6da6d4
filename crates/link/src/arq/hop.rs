//! A wireless hop with retransmissions: both ends of [`super::rlp`] or [`super::llp`] and the air
//! between them, for both directions together.
//!
//! The contract is that of a stage (see [`crate::stage`]), for two directions at once:
//!
//! * A packet enters by [`Hop::accept`] at its logical time, and leaves once by its direction's
//!   outbox: passed, with `packet.at` the instant at which the other end has it complete, or lost.
//! * [`Hop::due`] says when something happens next, and [`Hop::advance`] is called with exactly
//!   that instant.
//!
//! The queue of the bottleneck stands above: a hop has one packet ahead of the one that it is
//! sending and asks for more by [`Hop::is_ready`] (M15). A packet that is accepted nevertheless
//! waits inside.
//!
//! Errors hit blocks or frames on the air, as loss profiles say them of packets: what an error
//! process hits is erased, whatever the profile says of its effect. The process sees a packet of a
//! block's or a frame's length. So does an outage, over the whole of what it takes to send.

mod air;
mod llp_hop;
mod rlp_hop;
#[cfg(test)]
mod tests;

use super::{Order, Persistency, Then, rlp};
use crate::packet::Packet;
use crate::seed::Seed;
use crate::stage::Outbox;
use crate::stage::errors::ErrorSpec;
use crate::stage::outage::{OutageCommand, OutageError, OutageSpec};
use crate::stage::spec::SpecError;
use crate::units::{BitRate, Span, Time};
use vocabulary::link_layer::{Event, Record, Way};
use vocabulary::{Direction, Loss};

/// What a hop is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct HopSpec {
    /// The protocol, with what it runs over.
    pub protocol: Protocol,
    /// Errors on the way up; none if there is nothing here.
    pub errors_up: Option<ErrorSpec>,
    /// Errors on the way down.
    pub errors_down: Option<ErrorSpec>,
    /// Outages on the way up, by the names of their stages, which pick their random streams.
    pub outages_up: Vec<(String, OutageSpec)>,
    /// Outages on the way down.
    pub outages_down: Vec<(String, OutageSpec)>,
}

impl HopSpec {
    /// A hop with an air that loses nothing.
    #[must_use]
    pub const fn without_errors(protocol: Protocol) -> Self {
        Self {
            protocol,
            errors_up: None,
            errors_down: None,
            outages_up: Vec::new(),
            outages_down: Vec::new(),
        }
    }
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

/// What is wrong with a [`HopSpec`].
#[derive(Debug, thiserror::Error)]
pub enum HopError {
    /// An error process cannot be made.
    #[error(transparent)]
    Errors(#[from] SpecError),
    /// An outage cannot be.
    #[error(transparent)]
    Outage(#[from] OutageError),
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
    #[error("a window of {given} frames is not possible; it is 1 to {most}")]
    Window {
        /// As given.
        given: u16,
        /// The largest one.
        most: u16,
    },
}

/// Where packets of both directions go that leave a hop.
#[derive(Debug, Default)]
pub struct Outboxes {
    /// Of packets that go up.
    pub up: Outbox,
    /// Of packets that go down.
    pub down: Outbox,
}

impl Outboxes {
    /// The one of a direction.
    pub fn of(&mut self, direction: Direction) -> &mut Outbox {
        match direction {
            Direction::Up => &mut self.up,
            Direction::Down => &mut self.down,
        }
    }
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
    /// What the ends have noted, if anybody wants to know.
    records: Option<Vec<EndRecord>>,
    /// Blocks at the ends, likewise.
    blocks: Option<Vec<Block>>,
    /// Of each end.
    counted: [Counters; 2],
}

#[derive(Debug)]
enum Machine {
    Rlp(Box<rlp_hop::RlpHop>),
    Llp(Box<llp_hop::LlpHop>),
}

/// What a machine writes to.
struct Exit<'a> {
    out: &'a mut Outboxes,
    records: &'a mut Option<Vec<EndRecord>>,
    blocks: &'a mut Option<Vec<Block>>,
    counted: &'a mut [Counters; 2],
}

impl Exit<'_> {
    fn records(&mut self, end: Direction, records: Vec<Record>) {
        for record in &records {
            self.counted[end as usize].count(record);
        }
        if let Some(all) = self.records {
            all.extend(records.into_iter().map(|record| EndRecord { end, record }));
        }
    }

    fn block(&mut self, end: Direction, way: Way, at: Time, octets: &[u8], erased: bool) {
        if let Some(all) = self.blocks {
            all.push(Block { end, way, at, octets: octets.to_vec(), erased });
        }
    }
}

impl Hop {
    /// A hop from [`Time::ZERO`] on, with random numbers of streams below `seed`. With `monitor`,
    /// what the ends note can be had by [`Hop::take_records`].
    pub fn new(spec: &HopSpec, seed: &Seed, monitor: bool) -> Result<Self, HopError> {
        let air = air::Air::pair(spec, seed)?;
        let machine = match &spec.protocol {
            Protocol::Rlp(spec) => Machine::Rlp(Box::new(rlp_hop::RlpHop::new(spec, air)?)),
            Protocol::Llp(spec) => Machine::Llp(Box::new(llp_hop::LlpHop::new(spec, air)?)),
        };
        let mut hop = Self { machine, records: None, blocks: None, counted: Default::default() };
        hop.watch(Watch { records: monitor, blocks: false });
        Ok(hop)
    }

    /// From here on the hop keeps what is watched, until it is taken, and nothing else.
    pub fn watch(&mut self, watch: Watch) {
        self.records = watch.records.then(Vec::new);
        self.blocks = watch.blocks.then(Vec::new);
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

    /// A packet comes to the hop at `packet.at`.
    pub fn accept(&mut self, direction: Direction, packet: Packet, out: &mut Outboxes) {
        let Self { machine, records, blocks, counted } = self;
        let mut exit = Exit { out, records, blocks, counted };
        match machine {
            Machine::Rlp(hop) => hop.accept(direction, packet),
            Machine::Llp(hop) => hop.accept(direction, packet, &mut exit),
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
    pub fn advance(&mut self, now: Time, out: &mut Outboxes) {
        let Self { machine, records, blocks, counted } = self;
        let mut exit = Exit { out, records, blocks, counted };
        match machine {
            Machine::Rlp(hop) => hop.advance(now, &mut exit),
            Machine::Llp(hop) => hop.advance(now, &mut exit),
        }
    }

    /// An outage by command, of the air of this direction. What is being sent may be judged
    /// already.
    pub fn obey(&mut self, direction: Direction, command: OutageCommand, now: Time) {
        match &mut self.machine {
            Machine::Rlp(hop) => hop.air(direction).obey(command, now),
            Machine::Llp(hop) => hop.air(direction).obey(command, now),
        }
    }

    /// Packets of this direction that are inside.
    #[must_use]
    pub fn inside(&self, direction: Direction) -> usize {
        match &self.machine {
            Machine::Rlp(hop) => hop.inside(direction),
            Machine::Llp(hop) => hop.inside(direction),
        }
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
        let erased = match &self.machine {
            Machine::Rlp(hop) => hop.erased(direction),
            Machine::Llp(hop) => hop.erased(direction),
        };
        Counters { erased, stalls: self.stalls(direction), ..self.counted[direction as usize] }
    }

    /// Gives up every packet inside, because the run ended: those that go up, then those that go
    /// down.
    pub fn clear(&mut self) -> [Vec<Packet>; 2] {
        match &mut self.machine {
            Machine::Rlp(hop) => hop.clear(),
            Machine::Llp(hop) => hop.clear(),
        }
    }

    /// What the ends have noted since the last call, in the order in which they noted it.
    pub fn take_records(&mut self) -> Vec<EndRecord> {
        self.records.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The blocks at both ends since the last call, in the order of their times.
    pub fn take_blocks(&mut self) -> Vec<Block> {
        self.blocks.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

/// The fate of a packet that a link layer stopped sending.
const fn fate(then: Then) -> Loss {
    match then {
        Then::GiveUp => Loss::Persistency,
        Then::Reset => Loss::LinkReset,
        Then::Disconnect => Loss::Disconnected,
    }
}
