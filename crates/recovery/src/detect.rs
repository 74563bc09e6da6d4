//! Phase 1: what arrived, and is its checksum right? (P II-B a)

use crate::Pair;
use packet::checksum::{self, add};
use packet::{Field, Headers, Layer, TcpHeader, headers};
use std::ops::Range;

/// Longest segment that is summed up, in bytes: a jumbo frame's.
pub const LONGEST: usize = 9216;
/// Shortest frame payload of Ethernet: shorter IP packets are padded to it.
const PADDED: usize = 46;
const IPV4_LEN: usize = 20;
const IPV6_LEN: usize = 40;

/// A TCP segment in its IP packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    /// The addresses.
    pub pair: Pair,
    /// Where the segment lies in the bytes, without padding.
    pub segment: Range<usize>,
    /// Sum of the pseudo-header.
    pub pseudo: u16,
    /// Whether the IPv4 header's own checksum is right; IPv6 has none.
    pub is_ip_right: bool,
}

/// What the checksum says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detection {
    /// Nothing is damaged.
    Right,
    /// Something is.
    Wrong,
    /// The field holds the sum of the pseudo-header only, for a device to complete: nothing can be
    /// judged.
    Partial,
}

impl Arrival {
    /// Reads the IP packet at the start of `bytes`. `None` for everything but whole TCP segments
    /// directly behind an IP header without options or extensions, of at most [`LONGEST`] bytes if
    /// the kernel did not merge them.
    ///
    /// What fails here is no loss: such packets do not occur in the traffic that is repaired, and a
    /// damaged IP header makes the kernel drop the packet anyway. An IPv6 packet may be followed by
    /// padding only if it is as short as padded packets are; otherwise its length, which no
    /// checksum protects, is damaged.
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

    /// Judges the checksum of the segment, whose first bytes are `header`.
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

    /// Whether a segment with this sum, the checksum field included, has the right checksum.
    #[must_use]
    pub const fn is_right(&self, sum: u16) -> bool {
        add(self.pseudo, sum) == 0xffff
    }

    /// Makes the checksum of a segment right.
    pub fn complete(&self, segment: &mut [u8]) {
        let Some(header) = TcpHeader::read(segment) else { return };
        header.with(Field::Checksum, 0).write(segment);
        let checksum = !add(self.pseudo, checksum::sum(segment));
        header.with(Field::Checksum, u32::from(checksum)).write(segment);
    }
}

#[cfg(test)]
mod tests;
