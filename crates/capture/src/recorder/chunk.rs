//! A piece of the recording on its way from one thread to the other.

use crate::event::{Ended, LinkInfo};
use crate::link_layer::{Row, Way};
use crate::units::Time;
use std::ops::Range;
use vocabulary::{Direction, LinkId};

/// Bytes of packets in a chunk.
pub(super) const BYTES: usize = 256 * 1024;

/// Records in a chunk.
const ENTRIES: usize = 1024;

/// Records with the bytes of their packets. Never grows: what has no room goes to the next chunk.
pub(super) struct Chunk {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

/// Where the bytes of a record lie in its chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    start: u32,
    end: u32,
}

/// One record.
pub(super) enum Entry {
    /// A packet came to a link.
    Entered { link: LinkId, direction: Direction, number: u64, at: Time, length: u32, bytes: Kept },
    /// A packet's way ended; the bytes only if it is a copy or was changed.
    Ended { ended: Ended, bytes: Kept },
    /// An end of a link layer has noted something.
    LinkLayer(Row),
    /// A block of RLP is at one end.
    Block { link: LinkId, end: Direction, way: Way, at: Time, erased: bool, octets: Kept },
    /// Nothing earlier will come.
    Settled(Time),
    /// Something happened to the run.
    Note { at: Time, text: Kept },
    /// A link is described anew.
    Link(Box<LinkInfo>),
}

/// Memory that a chunk takes.
pub(super) const fn memory() -> usize {
    BYTES + ENTRIES * size_of::<Entry>()
}

impl Chunk {
    pub(super) fn new() -> Self {
        Self { entries: Vec::with_capacity(ENTRIES), bytes: Vec::with_capacity(BYTES) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether one more record with `bytes` bytes fits in.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.entries.len() < ENTRIES && self.bytes.len() + bytes <= BYTES
    }

    /// Adds a record, for which there is room.
    pub(super) fn push(&mut self, bytes: &[u8], entry: impl FnOnce(Kept) -> Entry) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.entries.push(entry(Kept { start, end: self.bytes.len() as u32 }));
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The bytes of one of the records.
    pub(super) fn bytes(&self, kept: Kept) -> &[u8] {
        &self.bytes[Range::from(kept)]
    }

    pub(super) fn clear(&mut self) {
        self.entries.clear();
        self.bytes.clear();
    }
}

impl From<Kept> for Range<usize> {
    fn from(kept: Kept) -> Self {
        kept.start as usize..kept.end as usize
    }
}
