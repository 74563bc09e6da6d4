//! pcap: one header, then packets.

use super::endian::Endian;
use super::{Clock, Found, Interface, LONGEST, Unit};
use crate::input::{End, Input};
use std::io::Read;

const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

/// Byte order and unit of time, as given by the first four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    endian: Endian,
    /// Units of time in a second, as a power of ten: 6 or 9.
    power: u8,
}

/// State of reading a pcap.
pub(super) struct Header {
    form: Form,
    pub(super) interface: Interface,
}

impl Form {
    pub(super) fn of(magic: &[u8]) -> Option<Self> {
        let (endian, power) = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => (Endian::Little, 6),
            [0xa1, 0xb2, 0xc3, 0xd4] => (Endian::Big, 6),
            [0x4d, 0x3c, 0xb2, 0xa1] => (Endian::Little, 9),
            [0xa1, 0xb2, 0x3c, 0x4d] => (Endian::Big, 9),
            _ => return None,
        };
        Some(Self { endian, power })
    }
}

impl Header {
    pub(super) fn read<R: Read>(input: &mut Input<R>, form: Form) -> Result<Self, End> {
        let header = input.begin(FILE_HEADER)?;
        let word = |at| form.endian.u32(header, at).expect("the header is longer");
        let interface = Interface {
            name: String::new(),
            description: String::new(),
            // The upper bits describe the frame check sequence.
            link_type: word(20) as u16,
            snap_length: word(16),
            clock: Clock { unit: Unit::Decimal(form.power), offset: 0 },
        };
        Ok(Self { form, interface })
    }

    #[inline]
    pub(super) fn packet<R: Read>(&self, input: &mut Input<R>) -> Result<Found, End> {
        let header = input.begin(PACKET_HEADER)?;
        let word = |at| self.form.endian.u32(header, at).expect("the header is longer");
        let (seconds, parts, kept, length) = (word(0), word(4), word(8), word(12));
        let count = u64::from(seconds) * 10_u64.pow(u32::from(self.form.power)) + u64::from(parts);
        if kept as usize > LONGEST {
            return Err(End::Tail(input.damaged()));
        }
        let end = input.more(kept as usize)?.len();
        let time = self.interface.clock.time(count);
        Ok(Found { interface: 0, time, length, bytes: PACKET_HEADER..end, options: None })
    }
}
