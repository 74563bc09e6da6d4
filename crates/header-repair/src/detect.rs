//! Phase 1: reads the packet and verifies the checksum (P II-B a).

use crate::Pair;
use packet::checksum::{self, add};
use packet::{Field, Headers, Layer, TcpHeader, headers};
use std::ops::Range;

/// Longest segment that is summed, in bytes: that of a jumbo frame.
pub const LONGEST: usize = 9216;
/// Shortest payload of an Ethernet frame: shorter IP packets are padded to this length.
const PADDED: usize = 46;
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;

/// A TCP segment in its IP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The addresses.
    pub pair: Pair,
    /// Position of the segment in the bytes, without padding.
    pub segment: Range<usize>,
    /// Sum of the pseudo-header.
    pub pseudo: u16,
    /// Whether the IPv4 header's own checksum is right. True for IPv6, which has none.
    pub is_ip_right: bool,
}

/// What the checksum shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// The checksum is right.
    Right,
    /// The checksum is wrong.
    Wrong,
    /// The field holds only the sum of the pseudo-header, for a device to complete. Nothing can be
    /// judged.
    Partial,
}

impl Arrival {
    /// Reads the IP packet at the start of `bytes`. Returns `None` for everything except whole TCP
    /// segments directly behind an IP header without options or extensions. Segments that the
    /// kernel did not merge must have at most [`LONGEST`] bytes.
    ///
    /// Nothing is lost by refusing the rest: such packets do not occur in the traffic that is
    /// repaired, and the kernel drops packets with a damaged IP header anyway. Bytes behind an IPv6
    /// packet are accepted as padding only if the whole is as short as padded packets are.
    /// Otherwise the length field, which no checksum protects, is damaged.
    #[must_use]
    pub fn read(bytes: &[u8], is_merged: bool) -> Option<Self> {
        let headers = Headers::parse(Layer::Ip, bytes).ok()?;
        let segment = headers.segment();
        let ip_len = if headers.is_ipv4() { IPV4_LEN } else { IPV6_LEN };
        let is_direct = headers.protocol() == headers::TCP && segment.start == ip_len;
        if !is_direct || headers.is_fragment() || headers.is_cut() {
            return None;
        }
        let is_length_doubtful = !headers.is_ipv4() && segment.end < bytes.len() && bytes.len() > PADDED;
        if is_length_doubtful || (segment.len() > LONGEST && !is_merged) {
            return None;
        }
        let (source, destination) = headers.addresses();
        Some(Self {
            pair: Pair::new(source, destination),
            pseudo: checksum::pseudo_header(bytes, &headers, segment.len()),
            is_ip_right: !headers.is_ipv4() || checksum::is_ipv4_right(&bytes[..ip_len]),
            segment,
        })
    }

    /// Classifies the checksum of the segment, whose first bytes are `header`.
    #[must_use]
    pub fn detect(&self, header: &TcpHeader, segment: &[u8]) -> Detection {
        if self.is_right(checksum::sum(segment)) {
            Detection::Right
        } else if header.get(Field::Checksum) == u32::from(self.pseudo) {
            Detection::Partial
        } else {
            Detection::Wrong
        }
    }

    /// Returns whether the checksum of a segment with this sum is right. The sum includes the
    /// checksum field.
    #[must_use]
    pub const fn is_right(&self, sum: u16) -> bool {
        add(self.pseudo, sum) == 0xffff
    }

    /// Writes the right checksum into a segment.
    pub fn complete(&self, segment: &mut [u8]) {
        let Some(header) = TcpHeader::read(segment) else { return };
        header.with(Field::Checksum, 0).write(segment);
        let checksum = !add(self.pseudo, checksum::sum(segment));
        header.with(Field::Checksum, u32::from(checksum)).write(segment);
    }
}

#[cfg(test)]
mod tests;
