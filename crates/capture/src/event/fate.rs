//! How a packet's way on a link ended.
//!
//! [`Ended`] is what the emulator hands in: small, without memory of its own, stages by number.
//! [`Fate`] is the row that the log keeps of it: stages by name, and the packet's addresses and
//! ports.

use super::{Direction, Flow, LinkId};
use crate::time::{Span, Time};
use packet::Check;
use std::fmt;

/// The end of a packet's way, as the emulator reports it. A duplicate ends on its own and has a
/// record of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// On which link.
    pub link: LinkId,
    /// In which direction.
    pub direction: Direction,
    /// Number of the packet in its direction of its link, in order of arrival, from 0. A duplicate
    /// keeps the number.
    pub number: u64,
    /// Whether this is a copy that the link made.
    pub copy: bool,
    /// Length in bytes at the link's layer.
    pub length: u32,
    /// When it came to the link.
    pub arrived: Time,
    /// When the limiter sent it; both ends are `arrived` where none has.
    pub sending: Sending,
    /// When it was delivered or lost.
    pub left: Time,
    /// Which of the two.
    pub outcome: Outcome,
    /// Place of the stage that lost it, or else of the one that damaged it; `None` if none did.
    pub stage: Option<u8>,
    /// State of the channel when the last error process judged it; `None` where none has.
    pub channel: Option<Channel>,
    /// Bits that were flipped.
    pub bits_flipped: u32,
    /// Whether the TCP or UDP checksum was made wrong with nothing else touched (TL-13).
    pub checksum_spoiled: bool,
    /// By what a receiver finds that it is damaged, if it was delivered so. Counted, and in no log.
    pub found_by: Option<Check>,
    /// Whether the link set the ECN field to Congestion Experienced (RFC 3168).
    pub congestion_marked: bool,
    /// How long hiccups held it back.
    pub held: Span,
    /// How many packets that had come after it left before it.
    pub overtaken: u32,
}

/// The transmission interval of a packet on the limiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// First bit.
    pub start: Time,
    /// Last bit.
    pub end: Time,
}

/// Whether a packet reached the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// It did.
    Delivered,
    /// It did not, for this reason.
    Lost(Loss),
}

/// Why a packet was lost. The names that [`Loss::name`] gives are part of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Loss {
    /// It found the queue full (drop-tail).
    QueueFull,
    /// It was the oldest in a queue that had to make room (drop-head).
    QueueHead,
    /// It had waited longer than the queue's limit in time.
    QueueAge,
    /// CoDel dropped it (RFC 8289).
    CoDel,
    /// RED dropped it early (Floyd and Jacobson 1993).
    Red,
    /// The error process hit it; [`Ended::channel`] has the state.
    Error,
    /// Its number was on the list of packets to lose.
    Listed,
    /// The link was out.
    Outage,
    /// A hiccup held it longer than its expiration time (LL-25).
    Expired,
    /// A link layer gave it up after the last retransmission of a part of it.
    Persistency,
    /// It was in flight when a link layer reset its connection.
    LinkReset,
    /// A link layer's connection has ended.
    Disconnected,
    /// It was still inside when the run ended.
    RunEnded,
}

/// Why a packet was lost, as read: a log of a later program may know more reasons.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// One that this version knows.
    Known(Loss),
    /// Another, by its name.
    Other(String),
}

/// State of an error process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Channel {
    /// Few errors or none.
    Good,
    /// Many errors: a burst.
    Bad,
}

/// One row of the event log; fields as in [`Ended`] where they have the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "`Ended` documents them")]
pub struct Fate {
    pub link: LinkId,
    pub direction: Direction,
    pub number: u64,
    pub copy: bool,
    pub length: u32,
    pub arrived: Time,
    pub sending: Sending,
    pub left: Time,
    /// Why it was lost; `None` if it was delivered.
    pub lost: Option<Reason>,
    /// Name of the stage that lost it, or else of the one that damaged it.
    pub stage: Option<String>,
    pub channel: Option<Channel>,
    pub bits_flipped: u32,
    pub checksum_spoiled: bool,
    pub congestion_marked: bool,
    pub held: Span,
    pub overtaken: u32,
    /// Whose packet it was, read from the packet as it came to the link; `None` if its headers
    /// could not be read.
    pub flow: Option<Flow>,
}

impl Ended {
    /// A packet that came to a link and was delivered, with nothing else that is worth a word: what
    /// an end is before the marks of stages are read.
    #[must_use]
    pub const fn untouched(
        link: LinkId,
        direction: Direction,
        number: u64,
        length: u32,
        arrived: Time,
        left: Time,
    ) -> Self {
        Self {
            link,
            direction,
            number,
            copy: false,
            length,
            arrived,
            sending: Sending { start: arrived, end: arrived },
            left,
            outcome: Outcome::Delivered,
            stage: None,
            channel: None,
            bits_flipped: 0,
            checksum_spoiled: false,
            found_by: None,
            congestion_marked: false,
            held: Span::ZERO,
            overtaken: 0,
        }
    }

    /// Whether bytes of the packet are wrong.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.bits_flipped > 0 || self.checksum_spoiled
    }

    /// Whether the packet leaves with the bytes that it came with.
    #[must_use]
    pub const fn is_unchanged(&self) -> bool {
        !self.is_damaged() && !self.congestion_marked
    }

    /// The row for the log.
    #[must_use]
    pub fn fate(&self, stage: Option<&str>, flow: Option<Flow>) -> Fate {
        Fate {
            link: self.link,
            direction: self.direction,
            number: self.number,
            copy: self.copy,
            length: self.length,
            arrived: self.arrived,
            sending: self.sending,
            left: self.left,
            lost: match self.outcome {
                Outcome::Delivered => None,
                Outcome::Lost(loss) => Some(Reason::Known(loss)),
            },
            stage: stage.map(str::to_owned),
            channel: self.channel,
            bits_flipped: self.bits_flipped,
            checksum_spoiled: self.checksum_spoiled,
            congestion_marked: self.congestion_marked,
            held: self.held,
            overtaken: self.overtaken,
            flow,
        }
    }
}

impl Fate {
    /// Whether bytes of the packet are wrong.
    #[must_use]
    pub const fn is_damaged(&self) -> bool {
        self.bits_flipped > 0 || self.checksum_spoiled
    }
}

impl Loss {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::QueueFull,
        Self::QueueHead,
        Self::QueueAge,
        Self::CoDel,
        Self::Red,
        Self::Error,
        Self::Listed,
        Self::Outage,
        Self::Expired,
        Self::Persistency,
        Self::LinkReset,
        Self::Disconnected,
        Self::RunEnded,
    ];

    /// The name in logs and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::QueueFull => "queue-full",
            Self::QueueHead => "queue-head",
            Self::QueueAge => "queue-age",
            Self::CoDel => "codel",
            Self::Red => "red",
            Self::Error => "error",
            Self::Listed => "listed",
            Self::Outage => "outage",
            Self::Expired => "expired",
            Self::Persistency => "persistency",
            Self::LinkReset => "link-reset",
            Self::Disconnected => "disconnected",
            Self::RunEnded => "run-ended",
        }
    }
}

impl Reason {
    /// The reason with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match Loss::ALL.into_iter().find(|loss| loss.name() == name) {
            Some(loss) => Self::Known(loss),
            None => Self::Other(name.to_owned()),
        }
    }

    /// The name in logs and tables.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Known(loss) => loss.name(),
            Self::Other(name) => name,
        }
    }
}

impl Channel {
    /// `good` or `bad`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }

    /// The state with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Good, Self::Bad].into_iter().find(|channel| channel.name() == name)
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::QueueFull => "queue full",
            Self::QueueHead => "oldest in a full queue",
            Self::QueueAge => "waited too long in the queue",
            Self::CoDel => "CoDel",
            Self::Red => "RED",
            Self::Error => "wireless error",
            Self::Listed => "on the list of packets to lose",
            Self::Outage => "outage",
            Self::Expired => "expired while held",
            Self::Persistency => "given up by the link layer",
            Self::LinkReset => "link reset",
            Self::Disconnected => "link disconnected",
            Self::RunEnded => "in flight when the run ended",
        })
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
