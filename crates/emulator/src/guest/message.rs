//! Messages between a process and the event loop in its guest's kernel.
//!
//! Both are of the same build of lasthop, so the messages have no version. Each order is one write.
//! Events are a stream: four bytes with the length in the machine's byte order, and the event.

use crate::control::LinkChange;
use crate::event_loop::WayId;
use crate::framing::Segments;
use crate::pauses::Pauses;
use crate::punctuality::Punctuality;
use borsh::{BorshDeserialize, BorshSerialize};
use link::arq::hop::{Block, Counters, Watch};
use link::fate::Marks;
use link::link_layer::Record;
use link::seed::Seed;
use link::units::Time;
use link::{ChannelState, LinkSpec, Packet, Sending};
use packet::{Frame, Layer};
use std::borrow::Cow;
use std::io;

/// The form of packets at both ends of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Form {
    /// The layer of their first byte.
    pub layer: Layer,
    /// Whether segments stay whole.
    pub segments: Segments,
}

/// An order of a process to the loop.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum Order {
    /// Builds a link between the two devices that were put behind this loop last.
    Add {
        /// The link.
        spec: Box<LinkSpec>,
        /// Its seed.
        seed: Seed,
        /// The records of its link layer that are reported.
        watch: Watch,
        /// The form of its packets.
        form: Form,
    },
    /// Begins the run. Its time zero is this time of the monotonic clock, in nanoseconds.
    Begin {
        /// That time.
        origin: u64,
        /// Whether events are to contain the bytes of packets ([`crate::Observer::wants_bytes`]).
        wants_bytes: bool,
    },
    /// Changes a way; the answer is [`Event::Changed`].
    Change {
        /// The way.
        way: WayId,
        /// The change.
        change: Box<LinkChange>,
    },
    /// Asks for all events until now; the last is [`Event::Settled`].
    Settle,
    /// Ends the run; the answer is [`Event::Finished`].
    Finish,
}

/// An event that the loop reports to the process.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub enum Event<'a> {
    /// A packet entered a way.
    Entered { way: WayId, number: u64, now: Time, body: Body<'a> },
    /// A packet was delivered or lost.
    Ended { way: WayId, fate: Fate, body: Body<'a> },
    /// A link layer logged a record.
    Noted { way: WayId, record: Record },
    /// A link layer handled a block.
    Block { way: WayId, block: Block },
    /// A way was changed, or not.
    Changed { way: WayId, now: Time, made: Result<(), String> },
    /// These were all events until now.
    Settled { now: Time },
    /// The run has ended.
    Finished(Box<Totals>),
    /// An order could not be carried out, and why.
    Failed(String),
}

/// The fate of a packet: all of [`Packet`] but its bytes.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Fate {
    number: u64,
    arrived: Time,
    at: Time,
    sending: Sending,
    channel: Option<ChannelState>,
    marks: Marks,
}

/// The bytes of a packet, or only their number.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub struct Body<'a> {
    layer: Layer,
    length: u32,
    bytes: Option<Cow<'a, [u8]>>,
}

/// Totals of a run.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Totals {
    pub at: Time,
    pub punctuality: Punctuality,
    pub pauses: Pauses,
    pub counted: Vec<(WayId, Counters)>,
    /// Packets that could not be cut into MTU-sized packets.
    pub unusable: u64,
    /// Packets that a device refused: their number, and the last errno.
    pub refused: Option<(u64, i32)>,
}

impl Fate {
    pub fn of(packet: &Packet) -> Self {
        let Packet { number, arrived, at, sending, channel, marks, frame: _ } = packet;
        Self {
            number: *number,
            arrived: *arrived,
            at: *at,
            sending: *sending,
            channel: *channel,
            marks: marks.clone(),
        }
    }

    pub fn with(self, frame: Frame) -> Packet {
        let Self { number, arrived, at, sending, channel, marks } = self;
        Packet { number, frame, arrived, at, sending, channel, marks }
    }
}

impl<'a> Body<'a> {
    pub fn of(frame: &'a Frame, with_bytes: bool) -> Self {
        let bytes = with_bytes.then(|| frame.to_bytes());
        Self { layer: frame.layer(), length: frame.len() as u32, bytes }
    }

    /// Returns the frame. Without bytes, it has the right length and is all zeros.
    pub fn into_frame(self) -> Frame {
        let bytes = self.bytes.map_or_else(|| vec![0; self.length as usize], Cow::into_owned);
        Frame::owned(self.layer, bytes)
    }
}

impl Event<'_> {
    /// Appends the event to a stream.
    pub fn append(&self, stream: &mut Vec<u8>) {
        let start = stream.len();
        stream.extend_from_slice(&[0; 4]);
        self.serialize(stream).expect("a vector takes everything");
        let length = (stream.len() - start - 4) as u32;
        stream[start..start + 4].copy_from_slice(&length.to_ne_bytes());
    }

    /// Takes the first event from a stream; `None` if it is not complete yet.
    ///
    /// # Errors
    /// If the bytes are no event.
    pub fn take(stream: &mut &[u8]) -> io::Result<Option<Event<'static>>> {
        let Some((length, rest)) = stream.split_first_chunk::<4>() else { return Ok(None) };
        let Some((event, rest)) = rest.split_at_checked(u32::from_ne_bytes(*length) as usize) else {
            return Ok(None);
        };
        *stream = rest;
        borsh::from_slice(event).map(Some)
    }
}
