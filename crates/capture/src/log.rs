//! An event log as it is written during a run: records one after the other in a file.
//!
//! The format survives being cut off: everything in the file up to the last complete record can be
//! read after a `kill -9` or a full disk, and a reader says where it had to stop instead of
//! failing. [`crate::table`] makes Parquet of it. What the rows are is a [`Schema`]: fates of
//! packets ([`crate::fates`]), states of TCP senders ([`crate::senders`]) or records of link layers
//! ([`crate::link_layer`]).
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
//! Readers skip records of other kinds, and whatever follows the fields that they know.

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

/// One record of a log of rows `S` after its header.
#[derive(Debug, Clone, PartialEq)]
pub enum Record<S> {
    /// A row.
    Row(S),
    /// Something happened to the run.
    Note(Note),
    /// A link was added, or got other stages: from here on this description counts for its number.
    Link(LinkInfo),
    /// So many rows more are missing: the recorder was too slow, or the kernel did not run it.
    Lost(u64),
}

/// Rows that were lost, as they lie in the log.
#[derive(Serialize, Deserialize)]
struct Lost {
    states: u64,
}

/// First bytes of a log.
const MAGIC: &[u8; 8] = b"lasthop\x01";

/// Bytes of a record before its body.
const FRAME: usize = 9;

/// Longest body: more than any header, less than what a spoiled length would ask for.
const LONGEST: usize = 1 << 24;

/// Kinds of records that all logs may have; [`crate::schema::Contents::kinds`] has the others.
mod kind {
    pub const LINK: u8 = 3;
    pub const NOTE: u8 = 4;
    pub const LOST: u8 = 7;
}

#[cfg(test)]
mod tests;
