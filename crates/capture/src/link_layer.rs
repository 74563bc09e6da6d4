//! Records of the two ends of a link layer with retransmissions, as a log and as a table: rlpdump
//! (Ludwig 3.1.1, LL-07).
//!
//! A row is one thing that one end sent, received or did: a numbered frame for the first time or
//! again, a frame that is asked for again, flow control, a reset, a block that could be decoded or
//! not. Rows of one end come in the order of their times. Those of an idle link come to the log
//! late, when somebody looks at the link again, and so rows of several links need not be in order
//! of time.
//!
//! As with the states of TCP senders ([`crate::senders`]), records are appended during a run to a
//! [`log`] with the framing of [`crate::log`], and [`convert`] makes the Parquet file of it; its
//! metadata has `lasthop.link-layer` (the header of the event log as JSON) instead of
//! `lasthop.header`. What version 1 of the schema means is fixed for ever; a column may be added
//! within it.
//!
//! [`blocks`] is the other form: the blocks themselves with all their octets, as a capture.

pub mod blocks;
pub mod columns;
pub mod log;
mod table;

pub use table::{Converted, Reader, Writer, convert, read, recover};

use crate::event::{Direction, LinkId};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Version of the schema that this crate writes.
pub const SCHEMA: u16 = 1;

/// One record of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Row {
    /// When, in nanoseconds since the start of the run: the times of the event log.
    pub time_ns: i64,
    /// On which link.
    pub link: LinkId,
    /// Which end, by the direction in which it sends: up is the wireless host, down the network.
    pub end: Direction,
    /// Whether this end sent or received it.
    pub way: Way,
    /// What.
    pub event: Event,
    /// N(S), or the number that is asked for; 0 where there is none.
    pub ns: u16,
    /// N(R), or what the end that noted it expects next.
    pub nr: u16,
    /// `DATA`: octets of packets in the frame. `XMIT`: how often it was sent before. `OK` and
    /// `ERAS`: octets of the block. Else 0.
    pub aux: u32,
}

/// Which way something went, seen from the end that noted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Way {
    /// Sent.
    Sent,
    /// Received.
    Received,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Event {
    /// `DATA`: a numbered frame for the first time.
    First,
    /// `XMIT`: a numbered frame again.
    Again,
    /// `SREJ`: one frame is asked for again.
    SelectiveReject,
    /// `REJ`: all frames from a number on are.
    Reject,
    /// `XON`: characters may flow again.
    XOn,
    /// `XOFF`: no characters for now.
    XOff,
    /// `RST`: both ends begin again with number 0.
    Reset,
    /// `ERAS`: a block that could not be decoded.
    Erased,
    /// `OK`: a block that could.
    Right,
}

impl Way {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Sent, Self::Received];

    /// Its letter in tables and RLP traces.
    #[must_use]
    pub const fn letter(self) -> &'static str {
        match self {
            Self::Sent => "S",
            Self::Received => "R",
        }
    }

    /// The way of this letter.
    #[must_use]
    pub fn from_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|way| way.letter() == letter)
    }
}

impl Event {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::First,
        Self::Again,
        Self::SelectiveReject,
        Self::Reject,
        Self::XOn,
        Self::XOff,
        Self::Reset,
        Self::Erased,
        Self::Right,
    ];

    /// Its word in tables and RLP traces.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::First => "DATA",
            Self::Again => "XMIT",
            Self::SelectiveReject => "SREJ",
            Self::Reject => "REJ",
            Self::XOn => "XON",
            Self::XOff => "XOFF",
            Self::Reset => "RST",
            Self::Erased => "ERAS",
            Self::Right => "OK",
        }
    }

    /// The event of this word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.word() == word)
    }
}

/// The table that stands beside an event log: `x-link-layer.parquet` beside `x.parquet`.
#[must_use]
pub fn beside(events: &Path) -> PathBuf {
    let stem = events.file_stem().unwrap_or_default().to_string_lossy();
    events.with_file_name(format!("{stem}-link-layer.parquet"))
}

#[cfg(test)]
mod tests;
