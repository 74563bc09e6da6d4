//! A fate as it lies in the log. Fields are added at the end only.

use crate::event::{Channel, Direction, Ended, Fate, Flow, LinkId, Outcome, Reason, Sending};
use crate::time::{Span, Time};
use serde::{Deserialize, Serialize};

/// The row; times in nanoseconds.
#[derive(Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools, reason = "a row of a table: each is a column")]
pub(super) struct Row<'a> {
    link: LinkId,
    up: bool,
    copy: bool,
    number: u64,
    length: u32,
    arrived: Time,
    sending_start: Time,
    sending_end: Time,
    left: Time,
    lost: Option<&'a str>,
    stage: Option<&'a str>,
    channel: Option<&'a str>,
    bits_flipped: u32,
    checksum_spoiled: bool,
    congestion_marked: bool,
    held: Span,
    overtaken: u32,
    flow: Option<Flow>,
}

impl<'a> Row<'a> {
    pub(super) fn of(ended: &Ended, stage: Option<&'a str>, flow: Option<Flow>) -> Self {
        Self {
            link: ended.link,
            up: ended.direction == Direction::Up,
            copy: ended.copy,
            number: ended.number,
            length: ended.length,
            arrived: ended.arrived,
            sending_start: ended.sending.start,
            sending_end: ended.sending.end,
            left: ended.left,
            lost: match ended.outcome {
                Outcome::Delivered => None,
                Outcome::Lost(loss) => Some(loss.name()),
            },
            stage,
            channel: ended.channel.map(Channel::name),
            bits_flipped: ended.bits_flipped,
            checksum_spoiled: ended.checksum_spoiled,
            congestion_marked: ended.congestion_marked,
            held: ended.held,
            overtaken: ended.overtaken,
            flow,
        }
    }

    pub(super) fn of_fate(fate: &'a Fate) -> Self {
        Self {
            link: fate.link,
            up: fate.direction == Direction::Up,
            copy: fate.copy,
            number: fate.number,
            length: fate.length,
            arrived: fate.arrived,
            sending_start: fate.sending.start,
            sending_end: fate.sending.end,
            left: fate.left,
            lost: fate.lost.as_ref().map(Reason::name),
            stage: fate.stage.as_deref(),
            channel: fate.channel.map(Channel::name),
            bits_flipped: fate.bits_flipped,
            checksum_spoiled: fate.checksum_spoiled,
            congestion_marked: fate.congestion_marked,
            held: fate.held,
            overtaken: fate.overtaken,
            flow: fate.flow,
        }
    }

    pub(super) fn fate(&self) -> Fate {
        Fate {
            link: self.link,
            direction: if self.up { Direction::Up } else { Direction::Down },
            number: self.number,
            copy: self.copy,
            length: self.length,
            arrived: self.arrived,
            sending: Sending { start: self.sending_start, end: self.sending_end },
            left: self.left,
            lost: self.lost.map(Reason::from_name),
            stage: self.stage.map(str::to_owned),
            channel: self.channel.and_then(Channel::from_name),
            bits_flipped: self.bits_flipped,
            checksum_spoiled: self.checksum_spoiled,
            congestion_marked: self.congestion_marked,
            held: self.held,
            overtaken: self.overtaken,
            flow: self.flow,
        }
    }
}
