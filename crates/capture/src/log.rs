//! Event logs as written during a run: a sequence of records in a file.
//!
//! The format survives truncation. After a `kill -9` or on a full disk, every complete record of
//! the file can be read; a reader reports where it had to stop instead of failing. [`crate::table`]
//! converts a log to Parquet. A [`Schema`] describes the rows: fates of packets ([`crate::fates`]),
//! states of TCP senders ([`crate::senders`]) or records of link layers ([`crate::link_layer`]).
//!
//! The format, little-endian:
//!
//! ```text
//! file    = "lasthop\x01" record*              the last byte of the magic is the version of this framing
//! record  = length:u32 crc:u32 kind:u8 body    length of body; CRC-32 (IEEE) of kind and body
//! kind 1  = header    JSON, the first record   kind 3 = link   JSON
//! kind 2  = fate      postcard                 kind 4 = note   JSON
//! kind 5  = header of a log of TCP senders     kind 6 = state of a sender, postcard
//! kind 7  = states of senders that were lost   JSON: how many
//! kind 8  = header of a log of link layers     kind 9 = row of one, postcard
//! ```
//!
//! Readers skip records of other kinds, and any bytes after the fields that they know.

mod error;
mod framing;
mod read;
mod write;

pub use error::LogError;
pub use read::Reader;
pub use write::Writer;

#[cfg(doc)]
use crate::schema::Schema;

use crate::event::{LinkInfo, Note};
use serde::{Deserialize, Serialize};

/// A record of a log of rows `S` after its header.
#[derive(Debug, Clone, PartialEq)]
pub enum Record<S> {
    /// A row.
    Row(S),
    /// An event of the run.
    Note(Note),
    /// A link was added or changed. From here on, this description applies to its number.
    Link(LinkInfo),
    /// This many rows are missing: the recorder was too slow, or the kernel did not run it.
    Lost(u64),
}

/// Number of lost rows, as stored in the log.
#[derive(Serialize, Deserialize)]
struct Lost {
    states: u64,
}

/// First bytes of a log.
const MAGIC: &[u8; 8] = b"lasthop\x01";

/// Length of a record before its body, in bytes.
const FRAME: usize = 9;

/// Longest body: longer than any header, and a limit for damaged length fields.
const LONGEST: usize = 1 << 24;

/// Kinds of records that all logs may have. [`crate::schema::Contents::kinds`] has the others.
mod kind {
    pub const LINK: u8 = 3;
    pub const NOTE: u8 = 4;
    pub const LOST: u8 = 7;
}

#[cfg(test)]
mod tests;
