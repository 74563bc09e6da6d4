//! The fixed part of a TCP header as a value: read from a segment, changed by field, written back.
//!
//! [`crate::Headers`] trusts the header that it reads. Code that repairs headers cannot: here,
//! every combination of bits is a header.

use crate::checksum;

/// Fields of the fixed TCP header, with each flag as a field (RFC 9293 section 3.1, RFC 3168).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Field {
    /// Port of the sender.
    SourcePort,
    /// Port of the receiver.
    DestinationPort,
    /// Sequence number of the first byte.
    Sequence,
    /// Acknowledgment number.
    Acknowledgment,
    /// Length of the header with its options, in units of 4 bytes.
    DataOffset,
    /// The four bits between data offset and flags.
    Reserved,
    /// Congestion window reduced.
    Cwr,
    /// ECN echo.
    Ece,
    /// The urgent pointer is valid.
    Urg,
    /// The acknowledgment number is valid.
    Ack,
    /// Push.
    Psh,
    /// Reset the connection.
    Rst,
    /// Synchronize sequence numbers.
    Syn,
    /// No more data from the sender.
    Fin,
    /// Window, not scaled.
    Window,
    /// Checksum.
    Checksum,
    /// Urgent pointer.
    UrgentPointer,
}

impl Field {
    /// All fields, in the order of the header; together they cover each of its 160 bits once.
    pub const ALL: [Self; 17] = [
        Self::SourcePort,
        Self::DestinationPort,
        Self::Sequence,
        Self::Acknowledgment,
        Self::DataOffset,
        Self::Reserved,
        Self::Cwr,
        Self::Ece,
        Self::Urg,
        Self::Ack,
        Self::Psh,
        Self::Rst,
        Self::Syn,
        Self::Fin,
        Self::Window,
        Self::Checksum,
        Self::UrgentPointer,
    ];

    /// Returns the first bit, counted from the most significant one of byte 0, and the number of
    /// bits.
    ///
    /// No field crosses a 32-bit boundary.
    #[must_use]
    pub const fn place(self) -> (usize, usize) {
        match self {
            Self::SourcePort => (0, 16),
            Self::DestinationPort => (16, 16),
            Self::Sequence => (32, 32),
            Self::Acknowledgment => (64, 32),
            Self::DataOffset => (96, 4),
            Self::Reserved => (100, 4),
            Self::Cwr => (104, 1),
            Self::Ece => (105, 1),
            Self::Urg => (106, 1),
            Self::Ack => (107, 1),
            Self::Psh => (108, 1),
            Self::Rst => (109, 1),
            Self::Syn => (110, 1),
            Self::Fin => (111, 1),
            Self::Window => (112, 16),
            Self::Checksum => (128, 16),
            Self::UrgentPointer => (144, 16),
        }
    }

    /// Returns the field of `bit`, which is counted as in [`Field::place`]; `None` after the fixed
    /// header.
    #[must_use]
    pub fn at(bit: usize) -> Option<Self> {
        Self::ALL.into_iter().find(|field| {
            let (first, width) = field.place();
            (first..first + width).contains(&bit)
        })
    }
}

/// The fixed part of a TCP header: any 20 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpHeader([u8; Self::LEN]);

impl TcpHeader {
    /// Length of the header in bytes, without options.
    pub const LEN: usize = 20;

    /// Reads the header at the start of a segment; `None` if the segment is too short.
    #[must_use]
    pub fn read(segment: &[u8]) -> Option<Self> {
        segment.first_chunk().copied().map(Self)
    }

    /// Writes the header to the start of a segment.
    ///
    /// # Panics
    /// If `segment` has fewer than 20 bytes.
    pub fn write(&self, segment: &mut [u8]) {
        segment[..Self::LEN].copy_from_slice(&self.0);
    }

    /// Returns the value of a field.
    #[must_use]
    pub fn get(&self, field: Field) -> u32 {
        let (word, shift, mask) = bits(field);
        (self.word(word) >> shift) & mask
    }

    /// Returns the header with another value in one field; bits beyond the field's width are
    /// ignored.
    #[must_use]
    pub fn with(mut self, field: Field, value: u32) -> Self {
        let (word, shift, mask) = bits(field);
        let changed = self.word(word) & !(mask << shift) | (value & mask) << shift;
        self.0[word * 4..word * 4 + 4].copy_from_slice(&changed.to_be_bytes());
        self
    }

    /// Returns the length of the header with its options in bytes, by the data offset: 0 to 60.
    #[must_use]
    pub fn header_len(&self) -> usize {
        self.get(Field::DataOffset) as usize * 4
    }

    /// Returns the one's complement sum of the header with its checksum field, not complemented.
    #[must_use]
    pub fn sum(&self) -> u16 {
        checksum::sum(&self.0)
    }

    fn word(&self, index: usize) -> u32 {
        let (words, _) = self.0.as_chunks::<4>();
        u32::from_be_bytes(words[index])
    }
}

/// Returns the position of a field: word, bits to the right of it in that word, and its mask.
const fn bits(field: Field) -> (usize, usize, u32) {
    let (first, width) = field.place();
    (first / 32, 32 - first % 32 - width, u32::MAX >> (32 - width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tcp;
    use crate::sample::Sample;
    use proptest::prelude::*;

    #[test]
    fn fields_cover_every_bit_once_and_no_field_crosses_a_word() {
        let mut next = 0;
        for field in Field::ALL {
            let (first, width) = field.place();
            assert_eq!(first, next, "{field:?}");
            assert_eq!(first / 32, (first + width - 1) / 32, "{field:?}");
            assert!((first..first + width).all(|bit| Field::at(bit) == Some(field)));
            next += width;
        }
        assert_eq!((next, Field::at(160)), (160, None));
    }

    proptest! {
        #[test]
        fn fields_are_those_that_etherparse_wrote(sample in Sample::any()) {
            let sample = Sample { udp: false, ..sample };
            let bytes = sample.build(b"data");
            let header = TcpHeader::read(&bytes[sample.transport()..]).expect("20 bytes");
            let flags = [Field::Fin, Field::Syn, Field::Rst, Field::Psh, Field::Ack, Field::Urg, Field::Ece, Field::Cwr];
            for (bit, field) in flags.into_iter().enumerate() {
                prop_assert_eq!(header.get(field), u32::from(sample.flags >> bit & 1), "{:?}", field);
            }
            prop_assert_eq!(header.get(Field::SourcePort), u32::from(sample.ports.0));
            prop_assert_eq!(header.get(Field::DestinationPort), u32::from(sample.ports.1));
            prop_assert_eq!(header.get(Field::Sequence), sample.sequence);
            prop_assert_eq!(header.get(Field::Acknowledgment), sample.acknowledgment);
            prop_assert_eq!(header.get(Field::Window), 502);
            prop_assert_eq!(header.get(Field::Reserved), 0);
            prop_assert_eq!(header.header_len(), 20 + 4 * usize::from(sample.options));
        }

        #[test]
        fn what_is_set_is_read_and_nothing_else_changes(bytes: [u8; 20], at: prop::sample::Index, value: u32) {
            let (header, field) = (TcpHeader(bytes), Field::ALL[at.index(Field::ALL.len())]);
            let changed = header.with(field, value);
            let (_, width) = field.place();
            prop_assert_eq!(changed.get(field), value & (u32::MAX >> (32 - width)));
            for other in Field::ALL.into_iter().filter(|other| *other != field) {
                prop_assert_eq!(changed.get(other), header.get(other));
            }
            prop_assert_eq!(changed.with(field, header.get(field)), header);
            let mut written = [0; 24];
            changed.write(&mut written);
            prop_assert_eq!(TcpHeader::read(&written), Some(changed));
            prop_assert_eq!(changed.sum(), crate::sample::naive_sum(&written));
        }
    }

    #[test]
    fn nineteen_bytes_are_no_header() {
        assert_eq!(TcpHeader::read(&[0; 19]), None);
        let header = TcpHeader([0; 20]).with(Field::Syn, 1);
        assert_eq!(header.0[13], Tcp::SYN);
    }
}
