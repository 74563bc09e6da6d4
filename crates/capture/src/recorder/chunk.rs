//! A part of the recording, passed between the threads.

use crate::event::{EndedPacket, LinkInfo};
use crate::link_layer::{Row, Way};
use crate::units::Time;
use std::ops::Range;
use vocabulary::{Direction, LinkId};

/// Maximum bytes of packets in a chunk.
pub(super) const BYTES: usize = 256 * 1024;

/// Maximum records in a chunk.
const ENTRIES: usize = 1024;

/// Records with the bytes of their packets. It never grows; a record without room goes to the next
/// chunk.
pub(super) struct Chunk {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

/// Position of a record's bytes in its chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kept {
    start: u32,
    end: u32,
}

/// A record.
pub(super) enum Entry {
    /// A packet entered a link.
    Entered { link: LinkId, direction: Direction, number: u64, at: Time, length: u32, bytes: Kept },
    /// A packet or copy ended. The bytes are kept only for copies and changed packets.
    Ended { ended: EndedPacket, bytes: Kept },
    /// An event at one end of a link layer.
    LinkLayer(Row),
    /// An RLP block is at one end.
    Block { link: LinkId, end: Direction, way: Way, at: Time, erased: bool, octets: Kept },
    /// No earlier record will follow.
    Settled(Time),
    /// An event of the run.
    Note { at: Time, text: Kept },
    /// A new description of a link.
    Link(Box<LinkInfo>),
}

/// Returns the memory that a chunk takes, in bytes.
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

    /// Tells whether one more record with `bytes` bytes fits.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.entries.len() < ENTRIES && self.bytes.len() + bytes <= BYTES
    }

    /// Adds a record. There must be room for it.
    pub(super) fn push(&mut self, bytes: &[u8], entry: impl FnOnce(Kept) -> Entry) {
        let start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(bytes);
        self.entries.push(entry(Kept { start, end: self.bytes.len() as u32 }));
    }

    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Returns the bytes of a record.
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
