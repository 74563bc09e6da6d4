//! pcapng: sections of blocks.

use super::endian::Endian;
use super::{Clock, Found, Interface, LONGEST, Unit};
use crate::input::{End, Input};
use std::io::Read;

/// First bytes of the format: the type of a section header block, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];

/// Length of a block's type and length fields, in bytes.
const BLOCK_HEADER: usize = 8;

mod block {
    pub const SECTION: u32 = 0x0A0D_0D0A;
    pub const INTERFACE: u32 = 1;
    pub const OLD_PACKET: u32 = 2;
    pub const SIMPLE_PACKET: u32 = 3;
    pub const PACKET: u32 = 6;
}

/// State of reading a section.
pub(super) struct Section {
    endian: Endian,
    pub(super) interfaces: Vec<Interface>,
    /// Number of interfaces of all earlier sections.
    pub(super) interfaces_before: usize,
}

impl Section {
    /// Reads the first block, which must begin a section.
    pub(super) fn read<R: Read>(input: &mut Input<R>) -> Result<Self, End> {
        let mut section = Self { endian: Endian::Little, interfaces: Vec::new(), interfaces_before: 0 };
        match section.block(input)? {
            (block::SECTION, _) => Ok(section),
            _ => Err(End::Tail(input.damaged())),
        }
    }

    /// Reads up to the next packet.
    pub(super) fn packet<R: Read>(&mut self, input: &mut Input<R>) -> Result<Found, End> {
        loop {
            let (kind, body) = self.block(input)?;
            let endian = self.endian;
            let packet = match kind {
                block::SECTION => {
                    self.interfaces_before += self.interfaces.len();
                    self.interfaces.clear();
                    continue;
                }
                block::INTERFACE => match Interface::of(endian, body) {
                    Some(interface) => {
                        self.interfaces.push(interface);
                        continue;
                    }
                    None => None,
                },
                block::PACKET | block::OLD_PACKET => self.enhanced(kind, body),
                block::SIMPLE_PACKET => self.simple(body),
                _ => continue,
            };
            return packet.ok_or_else(|| End::Tail(input.damaged()));
        }
    }

    /// Reads a block and returns its type and its body.
    fn block<'a, R: Read>(&mut self, input: &'a mut Input<R>) -> Result<(u32, &'a [u8]), End> {
        let header = input.begin(BLOCK_HEADER)?;
        let is_section = header.starts_with(&MAGIC);
        if is_section {
            let magic = &input.more(4)?[BLOCK_HEADER..];
            self.endian = match magic {
                [0x4D, 0x3C, 0x2B, 0x1A] => Endian::Little,
                [0x1A, 0x2B, 0x3C, 0x4D] => Endian::Big,
                _ => return Err(End::Tail(input.damaged())),
            };
        }
        let header = input.record();
        let read = header.len();
        let word = |bytes: &[u8], at| self.endian.u32(bytes, at).expect("that much was read");
        let (kind, length) = (word(header, 0), word(header, 4) as usize);
        if length < read + 4 || !length.is_multiple_of(4) || length > LONGEST {
            return Err(End::Tail(input.damaged()));
        }
        let block = input.more(length - read)?;
        if word(block, length - 4) as usize != length {
            return Err(End::Tail(input.damaged()));
        }
        Ok((kind, &input.record()[BLOCK_HEADER..length - 4]))
    }

    /// Reads an enhanced packet block, or its obsolete predecessor, whose interface number has 16
    /// bits.
    fn enhanced(&self, kind: u32, body: &[u8]) -> Option<Found> {
        const FIXED: usize = 20;
        let word = |at| self.endian.u32(body, at);
        let interface = match kind {
            block::OLD_PACKET => usize::from(self.endian.u16(body, 0)?),
            _ => word(0)? as usize,
        };
        let count = u64::from(word(4)?) << 32 | u64::from(word(8)?);
        let (kept, length) = (word(12)? as usize, word(16)?);
        if kept > body.len().checked_sub(FIXED)? {
            return None;
        }
        let start = BLOCK_HEADER + FIXED;
        let options = (BLOCK_HEADER + body.len()).min(start + kept.next_multiple_of(4));
        Some(Found {
            interface,
            time: self.interfaces.get(interface)?.clock.time(count),
            length,
            bytes: start..start + kept,
            options: Some((self.endian, options..BLOCK_HEADER + body.len())),
        })
    }

    /// Reads a simple packet block. It has no time and no options. Only the snap length tells
    /// padding from the packet's bytes.
    fn simple(&self, body: &[u8]) -> Option<Found> {
        const FIXED: usize = 4;
        let length = self.endian.u32(body, 0)?;
        let snap_length = match self.interfaces.first()?.snap_length {
            0 => u32::MAX,
            limit => limit,
        };
        let kept = (body.len() - FIXED).min(length.min(snap_length) as usize);
        let start = BLOCK_HEADER + FIXED;
        let time = crate::WallTime::default();
        Some(Found { interface: 0, time, length, bytes: start..start + kept, options: None })
    }
}

impl Interface {
    fn of(endian: Endian, body: &[u8]) -> Option<Self> {
        let mut interface = Self {
            name: String::new(),
            description: String::new(),
            link_type: endian.u16(body, 0)?,
            snap_length: endian.u32(body, 4)?,
            clock: Clock { unit: Unit::Decimal(6), offset: 0 },
        };
        for (code, value) in options(endian, &body[8..]) {
            match (code, value) {
                (2, name) => interface.name = text(name),
                (3, description) => interface.description = text(description),
                (9, [power, ..]) => {
                    let exponent = power & 0x7f;
                    let binary = power & 0x80 != 0;
                    interface.clock.unit =
                        if binary { Unit::Binary(exponent) } else { Unit::Decimal(exponent) };
                }
                (14, seconds) => interface.clock.offset = endian.i64(seconds, 0).unwrap_or(0),
                _ => {}
            }
        }
        Some(interface)
    }
}

/// Iterates over code and value of each option, up to the end of options, the end of the block, or
/// an invalid option.
pub(super) fn options(endian: Endian, mut rest: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let code = endian.u16(rest, 0)?;
        let length = usize::from(endian.u16(rest, 2)?);
        let value = rest.get(4..4 + length)?;
        rest = rest.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        (code != 0).then_some((code, value))
    })
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
