//! The header before each packet of a TUN or TAP device with `IFF_VNET_HDR`: what the kernel has
//! left to do.
//!
//! It is `struct virtio_net_hdr` of Linux's `include/uapi/linux/virtio_net.h`: 10 bytes, in the
//! machine's own byte order unless `TUNSETVNETLE` or `TUNSETVNETBE` requested another. It can
//! express only the kinds of segmentation that a TUN device uses after `TUNSETOFFLOAD(TUN_F_CSUM |
//! TUN_F_TSO4 | TUN_F_TSO6 | TUN_F_TSO_ECN | TUN_F_USO4 | TUN_F_USO6)`.

/// Length of the header in bytes.
pub const LEN: usize = 10;

const NEEDS_CSUM: u8 = 1;
const DATA_VALID: u8 = 2;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_UDP_L4: u8 = 5;
const GSO_ECN: u8 = 0x80;

/// The decoded header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Header {
    /// State of the transport checksum.
    pub checksum: Checksum,
    /// How to segment the packet; `None` if it is a single packet.
    pub segmentation: Option<Segmentation>,
    /// Length of all headers in bytes: a hint, which is not always right in the kernel's own
    /// headers.
    pub header_len: u16,
}

/// State of the transport checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksum {
    /// Complete, and to be verified by the receiver.
    #[default]
    Complete,
    /// Complete, and verified already.
    Valid,
    /// The field holds the sum of the pseudo-header only; see [`crate::checksum::complete`].
    Partial {
        /// Start of the covered bytes, from the start of the packet.
        start: u16,
        /// Position of the checksum field, from `start`.
        offset: u16,
    },
}

/// How to segment a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segmentation {
    /// Protocol of the segments.
    pub kind: SegmentProtocol,
    /// Whether the TCP header has CWR set, which only the first segment may keep (RFC 3168 section
    /// 6.1.2).
    pub ecn: bool,
    /// Length of the payload in bytes in each segment but the last.
    pub size: u16,
}

/// The protocol of a packet's segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentProtocol {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over either: one datagram per segment.
    Udp,
}

/// A virtio header with a kind of segmentation that was not requested.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("virtio gso_type {0} is not TCPV4 (1), TCPV6 (4) or UDP_L4 (5): set the device's offloads to those")]
pub struct UnknownKind(pub u8);

impl Header {
    /// Decodes a header that the device delivered.
    pub fn decode(bytes: &[u8; LEN]) -> Result<Self, UnknownKind> {
        let word = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let checksum = match bytes[0] {
            flags if flags & NEEDS_CSUM != 0 => Checksum::Partial { start: word(6), offset: word(8) },
            flags if flags & DATA_VALID != 0 => Checksum::Valid,
            _ => Checksum::Complete,
        };
        let kind = match bytes[1] & !GSO_ECN {
            GSO_NONE => None,
            GSO_TCPV4 => Some(SegmentProtocol::Tcp4),
            GSO_TCPV6 => Some(SegmentProtocol::Tcp6),
            GSO_UDP_L4 => Some(SegmentProtocol::Udp),
            other => return Err(UnknownKind(other)),
        };
        let segmentation =
            kind.map(|kind| Segmentation { kind, ecn: bytes[1] & GSO_ECN != 0, size: word(4) });
        Ok(Self { checksum, segmentation, header_len: word(2) })
    }

    /// Encodes the header for the device.
    #[must_use]
    pub fn encode(&self) -> [u8; LEN] {
        let (flags, start, offset) = match self.checksum {
            Checksum::Complete => (0, 0, 0),
            Checksum::Valid => (DATA_VALID, 0, 0),
            Checksum::Partial { start, offset } => (NEEDS_CSUM, start, offset),
        };
        let (kind, size) = match self.segmentation {
            None => (GSO_NONE, 0),
            Some(Segmentation { kind, ecn, size }) => {
                let kind = match kind {
                    SegmentProtocol::Tcp4 => GSO_TCPV4,
                    SegmentProtocol::Tcp6 => GSO_TCPV6,
                    SegmentProtocol::Udp => GSO_UDP_L4,
                };
                (kind | if ecn { GSO_ECN } else { 0 }, size)
            }
        };
        let mut bytes = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (at, word) in [(2, self.header_len), (4, size), (6, start), (8, offset)] {
            bytes[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lays out `struct virtio_net_hdr` as in memory: flags, gso_type, hdr_len, gso_size,
    /// csum_start, csum_offset.
    fn laid_out(flags: u8, kind: u8, words: [u16; 4]) -> [u8; LEN] {
        let mut bytes = [flags, kind, 0, 0, 0, 0, 0, 0, 0, 0];
        for (word, place) in words.iter().zip(bytes[2..].chunks_mut(2)) {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn headers_lie_in_memory_as_the_kernel_has_them() {
        let partial = Checksum::Partial { start: 20, offset: 16 };
        let cut = |kind, ecn| Some(Segmentation { kind, ecn, size: 1448 });
        let cases = [
            (laid_out(0, 0, [0, 0, 0, 0]), Header::default()),
            (laid_out(2, 0, [0, 0, 0, 0]), Header { checksum: Checksum::Valid, ..Header::default() }),
            (
                laid_out(1, 0, [52, 0, 20, 16]),
                Header { checksum: partial, segmentation: None, header_len: 52 },
            ),
            (
                laid_out(1, 1, [52, 1448, 20, 16]),
                Header { checksum: partial, segmentation: cut(SegmentProtocol::Tcp4, false), header_len: 52 },
            ),
            (
                laid_out(1, 0x84, [72, 1448, 20, 16]),
                Header { checksum: partial, segmentation: cut(SegmentProtocol::Tcp6, true), header_len: 72 },
            ),
            (
                laid_out(1, 5, [28, 1448, 20, 16]),
                Header { checksum: partial, segmentation: cut(SegmentProtocol::Udp, false), header_len: 28 },
            ),
        ];
        for (bytes, header) in cases {
            assert_eq!(Header::decode(&bytes), Ok(header));
            assert_eq!(header.encode(), bytes);
        }
    }

    #[test]
    fn segmentation_that_was_not_asked_for_is_refused() {
        assert_eq!(Header::decode(&laid_out(1, 3, [0; 4])), Err(UnknownKind(3)));
        assert_eq!(Header::decode(&laid_out(1, 0x83, [0; 4])), Err(UnknownKind(3)));
    }
}
