//! The Internet checksum: verifying, completing, recomputing, updating and spoiling it.
//!
//! Covers the IPv4 header, and the checksums of TCP, UDP and ICMPv6 with their pseudo-headers over
//! IPv4 and IPv6 (RFC 1071, RFC 9293, RFC 768, RFC 8200 section 8.1, RFC 4443). UDP-Lite, DCCP and
//! SCTP are not covered. IPv4 source routing, where the pseudo-header's destination is not the one
//! in the header, is not supported; hosts refuse it by default.

use crate::headers::{Headers, ICMPV6, IPV4_LEN, TCP, UDP, u16_at};
use std::ops::Range;

/// Offset of the checksum in a TCP header.
pub(crate) const IN_TCP: usize = 16;
/// Offset of the checksum in a UDP header.
pub(crate) const IN_UDP: usize = 6;
const IN_ICMPV6: usize = 2;
const IN_IPV4: usize = 10;

/// Result of verifying a packet's transport checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumStatus {
    /// The checksum is right.
    Right,
    /// The checksum is wrong, or the length in a UDP header is impossible: a receiver discards the
    /// packet.
    Wrong,
    /// There is no checksum to verify: a protocol without a checksum over a pseudo-header, UDP over
    /// IPv4 without a checksum, a fragment, a truncated packet, or a packet that a routing header
    /// sends on to another address.
    Absent,
}

/// Returns the one's complement sum of the 16-bit words of `bytes`, not complemented.
///
/// An odd last byte is the high half of a word.
#[must_use]
pub fn sum(bytes: &[u8]) -> u16 {
    // The sum does not depend on byte order (RFC 1071 section 2 B). So words are summed as they lie
    // in memory, eight bytes at a time, in two accumulators that no slice below 16 GiB can
    // overflow.
    let (mut low, mut high) = (0u64, 0u64);
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_ne_bytes(*word);
        low += word & 0xffff_ffff;
        high += word >> 32;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = u64::from_ne_bytes(last);
    low += last & 0xffff_ffff;
    high += last >> 32;
    let mut total = low + high;
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    u16::from_be(total as u16)
}

/// Returns the one's complement sum of two words.
#[must_use]
pub const fn add(one: u16, other: u16) -> u16 {
    let (sum, carry) = one.overflowing_add(other);
    sum + carry as u16
}

/// Returns `checksum` after a 16-bit word that it covers has changed from `old` to `new` (RFC 1624,
/// equation 3).
#[must_use]
pub const fn updated(checksum: u16, old: u16, new: u16) -> u16 {
    !add(add(!checksum, !old), new)
}

/// Returns whether the checksum of an IPv4 header, given with its options and nothing else, is
/// right.
#[must_use]
pub fn is_ipv4_right(header: &[u8]) -> bool {
    header.len() >= IPV4_LEN && sum(header) == 0xffff
}

/// Writes the right checksum into an IPv4 header, given with its options and nothing else.
///
/// # Panics
/// If `header` has fewer than 20 bytes.
pub fn recompute_ipv4(header: &mut [u8]) {
    assert!(header.len() >= IPV4_LEN, "an IPv4 header has 20 bytes or more, not {}", header.len());
    write(header, IN_IPV4, 0);
    let checksum = !sum(header);
    write(header, IN_IPV4, checksum);
}

/// Sets the word at an even offset of an IPv4 header to `new`, and updates the header's checksum.
pub(crate) fn replace_ipv4_word(header: &mut [u8], at: usize, new: u16) {
    let checksum = updated(u16_at(header, IN_IPV4), u16_at(header, at), new);
    write(header, IN_IPV4, checksum);
    write(header, at, new);
}

/// Verifies the transport checksum of a packet. For the IPv4 header, use [`is_ipv4_right`].
#[must_use]
pub fn verify(bytes: &[u8], headers: &Headers) -> ChecksumStatus {
    let Some(field) = field(headers) else { return ChecksumStatus::Absent };
    let is_missing = headers.protocol() == UDP && u16_at(bytes, field) == 0;
    if is_missing && headers.is_ipv4() {
        return ChecksumStatus::Absent;
    }
    match covered(bytes, headers) {
        // UDP over IPv6 must have a checksum (RFC 8200 section 8.1).
        Covered::Range(range) if !is_missing && total(bytes, headers, &range) == 0xffff => {
            ChecksumStatus::Right
        }
        Covered::Range(_) | Covered::Impossible => ChecksumStatus::Wrong,
        Covered::Unknown => ChecksumStatus::Absent,
    }
}

/// Makes the TCP or UDP checksum wrong and changes nothing else; returns false if there is none
/// that could be made wrong (TL-13).
///
/// The thesis overwrites the field with 0. But in one of 65 535 segments 0 is the right checksum,
/// and its complement, 0xffff, is the same number to a receiver (ambiguity 9). So:
///
/// * TCP: the field becomes 0, or 1 if 0 would be right.
/// * UDP: the field becomes 1, or 2 if 1 would be right; 0 would mean that there is no checksum. A
///   datagram over IPv4 that was sent without a checksum gets a wrong one.
///
/// A packet that was already damaged stays damaged: the right checksum is computed from its bytes,
/// not taken from the field. If it cannot be computed (a first fragment, a truncated packet, a
/// routing header), the field is assumed to be right, and a UDP header without a checksum is left
/// alone.
#[must_use]
pub fn spoil(bytes: &mut [u8], headers: &Headers) -> bool {
    let Some(field) = field(headers) else { return false };
    let candidates = match headers.protocol() {
        TCP => [0, 1],
        UDP => [1, 2],
        _ => return false,
    };
    let present = u16_at(bytes, field);
    // One's complement of the right checksum, apart from the two representations of zero.
    let others = match covered(bytes, headers) {
        Covered::Range(range) => add(total(bytes, headers, &range), !present),
        Covered::Unknown | Covered::Impossible if headers.protocol() == UDP && present == 0 => return false,
        Covered::Unknown | Covered::Impossible => !present,
    };
    let wrong = if matches!(add(others, candidates[0]), 0 | 0xffff) { candidates[1] } else { candidates[0] };
    write(bytes, field, wrong);
    true
}

/// Completes a partial checksum, as described by virtio's `csum_start` and `csum_offset`.
///
/// The field at `start + offset` holds the sum of the pseudo-header, and the checksum covers
/// everything from `start` to the end of `bytes`. Returns false without any change if the field
/// lies outside `bytes`. If a UDP checksum (one at offset 6) turns out as 0, it becomes 0xffff (RFC
/// 768).
#[must_use]
pub fn complete(bytes: &mut [u8], start: usize, offset: usize) -> bool {
    let Some(end) = start.checked_add(offset).and_then(|field| field.checked_add(2)) else { return false };
    if end > bytes.len() {
        return false;
    }
    let mut checksum = !sum(&bytes[start..]);
    if checksum == 0 && offset == IN_UDP {
        checksum = 0xffff;
    }
    write(bytes, start + offset, checksum);
    true
}

/// Returns the sum, not complemented, of the pseudo-header of a packet whose transport segment has
/// `len` bytes (RFC 9293 section 3.1, RFC 8200 section 8.1).
///
/// A partial checksum starts from this sum.
///
/// # Panics
/// If `headers` were not read from `bytes` and the addresses lie outside it.
#[must_use]
pub fn pseudo_header(bytes: &[u8], headers: &Headers, len: usize) -> u16 {
    let addresses = headers.network() + if headers.is_ipv4() { 12 } else { 8 };
    let addresses_len = if headers.is_ipv4() { 8 } else { 32 };
    let sum = sum(&bytes[addresses..addresses + addresses_len]);
    // A segment has fewer than 2^17 bytes; IPv6 sums the length as 32 bits.
    let sum = add(add(sum, len as u16), (len >> 16) as u16);
    add(sum, u16::from(headers.protocol()))
}

/// Extent of a checksum in addition to the pseudo-header.
enum Covered {
    Range(Range<usize>),
    /// Some of the covered bytes are missing.
    Unknown,
    /// The length in the UDP header contradicts that in the IP header.
    Impossible,
}

fn covered(bytes: &[u8], headers: &Headers) -> Covered {
    if !headers.is_summable() {
        return Covered::Unknown;
    }
    let mut range = headers.segment();
    if headers.protocol() == UDP {
        let len = usize::from(u16_at(bytes, range.start + 4));
        if len < 8 || len > range.len() {
            return Covered::Impossible;
        }
        range.end = range.start + len;
    }
    Covered::Range(range)
}

/// Returns the sum of everything covered, including the checksum: 0xffff if it is right.
fn total(bytes: &[u8], headers: &Headers, range: &Range<usize>) -> u16 {
    add(pseudo_header(bytes, headers, range.len()), sum(&bytes[range.clone()]))
}

/// Returns the offset of the transport checksum.
fn field(headers: &Headers) -> Option<usize> {
    let transport = headers.transport()?;
    match (headers.protocol(), headers.is_ipv4()) {
        (TCP, _) => Some(transport + IN_TCP),
        (UDP, _) => Some(transport + IN_UDP),
        (ICMPV6, false) => Some(transport + IN_ICMPV6),
        _ => None,
    }
}

pub(crate) fn write(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests;
