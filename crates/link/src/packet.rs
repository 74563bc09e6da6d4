//! A packet on its way through a pipeline.

use crate::fate::{Effect, Mark, Marks};
use ::packet::Frame;
use vocabulary::units::Time;
use vocabulary::{ChannelState, Sending};

/// A frame with what the link knows about it.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Number of the packet in its direction of its link, in order of arrival, from 0. A duplicate
    /// keeps the number.
    pub number: u64,
    /// The bytes.
    pub frame: Frame,
    /// When it came to the link.
    pub arrived: Time,
    /// Logical time: when it reached the stage it is in, or left the last one.
    pub at: Time,
    /// When the limiter sent it; both ends are [`Packet::arrived`] where no limiter has.
    pub sending: Sending,
    /// State of the channel when the last error process judged the packet; `None` where none has.
    pub channel: Option<ChannelState>,
    /// What stages did to it so far.
    pub marks: Marks,
}

impl Packet {
    /// A packet that comes to the link at `now`.
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

    /// Adds a mark with the packet's logical time. The pipeline fills in which stage it was.
    pub fn mark(&mut self, effect: Effect) {
        self.marks.push(Mark { stage: Mark::BY_CURRENT_STAGE, at: self.at, effect });
    }

    /// The effect that ended the packet's way, if it is lost.
    #[must_use]
    pub fn loss(&self) -> Option<crate::Loss> {
        match self.marks.last() {
            Some(Mark { effect: Effect::Lost(loss), .. }) => Some(*loss),
            _ => None,
        }
    }

    /// Whether bytes of the packet are wrong.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.marks.iter().any(|mark| mark.effect.is_damage())
    }
}
