//! A packet on its way through a pipeline.

use crate::fate::{Effect, Mark, Marks};
use ::packet::Frame;
use vocabulary::units::Time;
use vocabulary::{ChannelState, Sending};

/// A frame with the link's information about it.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Number of the packet in its direction of the link, in order of arrival, from 0. A duplicate
    /// has the number of its original.
    pub number: u64,
    /// The bytes.
    pub frame: Frame,
    /// Time of arrival at the link.
    pub arrived: Time,
    /// Logical time: when the packet reached its current stage, or left the last one.
    pub at: Time,
    /// Start and end of the limiter's transmission. Both equal [`Packet::arrived`] until a limiter
    /// sends the packet.
    pub sending: Sending,
    /// State of the channel when the last error process judged the packet; `None` before the first.
    pub channel: Option<ChannelState>,
    /// Effects of the stages so far.
    pub marks: Marks,
}

impl Packet {
    /// Creates a packet that arrives at the link at `now`.
    #[must_use]
    pub fn new(number: u64, frame: Frame, now: Time) -> Self {
        Self {
            number,
            frame,
            arrived: now,
            at: now,
            sending: Sending { start: now, end: now },
            channel: None,
            marks: Marks::default(),
        }
    }

    /// Adds a mark with the packet's logical time. The pipeline fills in the stage.
    pub fn mark(&mut self, effect: Effect) {
        self.marks.push(Mark { stage: Mark::BY_CURRENT_STAGE, at: self.at, effect });
    }

    /// Returns the cause of the loss if the packet is lost.
    #[must_use]
    pub fn loss(&self) -> Option<crate::Loss> {
        match self.marks.last() {
            Some(Mark { effect: Effect::Lost(loss), .. }) => Some(*loss),
            _ => None,
        }
    }

    /// Returns whether a stage has damaged bytes of the packet.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.marks.iter().any(|mark| mark.effect.is_damage())
    }
}
