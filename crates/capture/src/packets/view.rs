//! A packet that still lies in the reader's memory.

use super::endian::Endian;
use super::pcapng::{options, text};
use super::{Found, Interface, Packet};
use crate::units::WallTime;

/// One packet of a capture, not copied: [`super::Reader::view`]. Fields as in [`Packet`].
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Index into [`super::Reader::interfaces`].
    pub interface: usize,
    /// Number of the interface in the whole file: those of the sections before are counted, too.
    pub number: usize,
    /// The interface.
    pub captured_at: &'a Interface,
    /// When; rounded down to nanoseconds, and zero if the file does not say.
    pub time: WallTime,
    /// Its length when it was captured, in bytes.
    pub length: u32,
    /// What was kept of it.
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

    /// Its comments, in their order.
    pub fn comments(&self) -> impl Iterator<Item = String> {
        self.options().filter(|(code, _)| *code == 1).map(|(_, value)| text(value))
    }

    /// Whether it came to the machine that captured (`true`) or from it (`false`); `None` if the
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

    /// A copy that lives on its own.
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
