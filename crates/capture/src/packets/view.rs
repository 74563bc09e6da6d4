//! A packet in the reader's memory.

use super::endian::Endian;
use super::pcapng::{options, text};
use super::{Found, Interface, Packet};
use crate::units::WallTime;

/// A packet of a capture that was not copied; see [`super::Reader::view`]. Fields as in [`Packet`].
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Index into [`super::Reader::interfaces`].
    pub interface: usize,
    /// Number of the interface in the whole file, counting those of earlier sections.
    pub number: usize,
    /// The interface.
    pub captured_at: &'a Interface,
    /// Time of capture, rounded down to nanoseconds. Zero if the file does not say.
    pub time: WallTime,
    /// Its original length, in bytes.
    pub length: u32,
    /// The bytes that were kept.
    pub bytes: &'a [u8],
    options: Option<(Endian, &'a [u8])>,
}

impl<'a> View<'a> {
    #[inline]
    pub(super) fn new(record: &'a [u8], found: Found, captured_at: &'a Interface, before: usize) -> Self {
        Self {
            interface: found.interface,
            number: before + found.interface,
            captured_at,
            time: found.time,
            length: found.length,
            bytes: &record[found.bytes],
            options: found.options.map(|(endian, range)| (endian, &record[range])),
        }
    }

    /// Iterates over its comments, in order.
    pub fn comments(&self) -> impl Iterator<Item = String> {
        self.options().filter(|(code, _)| *code == 1).map(|(_, value)| text(value))
    }

    /// Tells whether the capturing machine received it (`true`) or sent it (`false`); `None` if the
    /// file does not say.
    #[must_use]
    pub fn inbound(&self) -> Option<bool> {
        let endian = self.options?.0;
        let (_, flags) = self.options().filter(|(code, _)| *code == 2).last()?;
        match endian.u32(flags, 0)? & 3 {
            1 => Some(true),
            2 => Some(false),
            _ => None,
        }
    }

    /// Copies the packet.
    #[must_use]
    pub fn to_packet(&self) -> Packet {
        Packet {
            interface: self.interface,
            time: self.time,
            length: self.length,
            bytes: self.bytes.to_vec(),
            comments: self.comments().collect(),
            inbound: self.inbound(),
        }
    }

    fn options(&self) -> impl Iterator<Item = (u16, &'a [u8])> + use<'a> {
        self.options.into_iter().flat_map(|(endian, list)| options(endian, list))
    }
}
