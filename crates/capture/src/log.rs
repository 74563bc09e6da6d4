//! The event log as it is written during a run: records behind each other in one file.
//!
//! It is made for being cut off: whatever is in the file up to the last complete record can be read
//! after a `kill -9` or a full disk, and a reader says where it had to stop instead of failing.
//! [`crate::table`] makes Parquet of it.
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
//! Records of another kind are passed over, and so is what stands behind the fields that a reader
//! knows.

pub(crate) mod framing;
mod read;
mod row;
mod write;

pub use read::{LogError, Reader};
pub use write::Writer;

/// First bytes of a log.
const MAGIC: &[u8; 8] = b"lasthop\x01";

/// Bytes of a record before its body.
const FRAME: usize = 9;

/// Longest body: more than any header, less than what a spoiled length would ask for.
const LONGEST: usize = 1 << 24;

/// What a record is.
pub(crate) mod kind {
    pub const HEADER: u8 = 1;
    pub const FATE: u8 = 2;
    pub const LINK: u8 = 3;
    pub const NOTE: u8 = 4;
    pub const SENDERS: u8 = 5;
    pub const SENDER: u8 = 6;
    pub const SENDERS_LOST: u8 = 7;
    pub const LINK_LAYER: u8 = 8;
    pub const LINK_LAYER_ROW: u8 = 9;
}

#[cfg(test)]
mod tests;
