//! What a process and the loop in the guest's kernel say to each other.
//!
//! Both are of the same build of lasthop, so the form has no versions. Orders are one write each.
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

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct End {
    /// Number that the kernel gave the device when it was put behind this loop.
    pub port: u32,
    /// Whether packets start with an Ethernet header.
    pub ethernet: bool,
    /// The form of packets.
    pub segments: Segments,
}

impl End {
    pub(super) fn layer(self) -> Layer {
        if self.ethernet { Layer::Ethernet } else { Layer::Ip }
    }
}

/// What a process tells the loop.
#[derive(Debug, Clone, PartialEq, BorshSerialize, BorshDeserialize)]
pub enum Order {
    /// Builds a link. Links are numbered in the order in which they come.
    Add {
        /// The link.
        spec: Box<LinkSpec>,
        /// Its seed.
        seed: Seed,
        /// What is recorded of its link layer.
        watch: Watch,
        /// The wireless host's end, and the network's.
        ends: [End; 2],
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
        way: u64,
        /// The change.
        change: Box<LinkChange>,
    },
    /// Asks for all events until now; the last is [`Event::Settled`].
    Settle,
    /// Ends the run; the answer is [`Event::Finished`].
    Finish,
}

/// What the loop tells the process.
#[derive(Debug, BorshSerialize, BorshDeserialize)]
pub enum Event<'a> {
    /// A packet entered a way.
    Entered { way: u64, number: u64, now: Time, body: Body<'a> },
    /// A packet was delivered or lost.
    Ended { way: u64, packet: Flight, body: Body<'a> },
    /// A link layer logged a record.
    Noted { way: u64, record: Record },
    /// A link layer handled a block.
    Block { way: u64, block: Block },
    /// A way was changed, or not.
    Changed { way: u64, now: Time, made: Result<(), String> },
    /// These were all events until now.
    Settled { now: Time },
    /// The run has ended.
    Finished(Box<Final>),
    /// The loop cannot do what it was told.
    Failed(String),
}

/// A packet without its bytes.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Flight {
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
    ethernet: bool,
    length: u32,
    bytes: Option<Cow<'a, [u8]>>,
}

/// The result of a run.
#[derive(Debug, Clone, BorshSerialize, BorshDeserialize)]
pub struct Final {
    pub at: Time,
    pub punctuality: Punctuality,
    pub pauses: Pauses,
    pub counted: Vec<(u64, Counters)>,
    pub unusable: u64,
}

impl Flight {
    pub fn of(packet: &Packet) -> Self {
        let Packet { number, arrived, at, sending, channel, marks, .. } = packet;
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
        Self {
            ethernet: frame.layer() == Layer::Ethernet,
            length: frame.len() as u32,
            bytes: with_bytes.then(|| frame.to_bytes()),
        }
    }

    /// Returns the frame. Without bytes, it has the right length and is all zeros.
    pub fn into_frame(self) -> Frame {
        let layer = if self.ethernet { Layer::Ethernet } else { Layer::Ip };
        let bytes = self.bytes.map_or_else(|| vec![0; self.length as usize], Cow::into_owned);
        Frame::owned(layer, bytes)
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

/// Number of a way in messages.
pub fn number(WayId(way): WayId) -> u64 {
    way as u64
}
