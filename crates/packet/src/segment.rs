//! A TCP segment as a capture contains it, possibly truncated.
//!
//! [`Headers`] requires complete headers, because a link has whole packets. An analyser of captures
//! has to work with what the snap length left. [`Segment::read`] reads the first 20 bytes of TCP
//! and as many options as there are, and computes the payload's length from the length that IP
//! states.

use crate::headers::{Headers, TCP, Tcp, Unreadable, u16_at, u32_at};
use crate::{Ecn, Layer, ecn};
use etherparse::{TcpOptionElement, TcpOptionsIterator};
use std::net::IpAddr;

/// Length of a TCP header without options in bytes.
const FIXED: usize = 20;

/// Largest number of SACK blocks in a segment's options (RFC 2018 section 3).
pub const SACK_BLOCKS: usize = 4;

/// Header fields and options of one TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Sequence number, acknowledgment number and flags.
    pub tcp: Tcp,
    /// The window field, not scaled.
    pub window: u16,
    /// Length of the payload in bytes, captured or not.
    pub payload: u32,
    /// Number of bytes at the end of the packet that were not captured: of the payload, and also of
    /// the options if those were truncated.
    pub missing: u32,
    /// The urgent pointer; valid only with [`Tcp::URG`].
    pub urgent: u16,
    /// The ECN codepoint of the IP header.
    pub ecn: Ecn,
    /// Identification of the IPv4 header; `None` in IPv6.
    pub identification: Option<u16>,
    /// The options, as far as they were captured.
    pub options: TcpOptions,
}

/// The TCP options that matter to an analyser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpOptions {
    /// Maximum segment size in bytes (RFC 9293).
    pub maximum_segment: Option<u16>,
    /// Shift count of the window scale option (RFC 7323).
    pub window_scale: Option<u8>,
    /// SACK permitted (RFC 2018).
    pub sack_permitted: bool,
    /// `TSval` and `TSecr` (RFC 7323).
    pub timestamps: Option<(u32, u32)>,
    /// Left and right edges of SACK blocks; see [`TcpOptions::sacks`].
    blocks: [(u32, u32); SACK_BLOCKS],
    count: u8,
}

/// Contents of an IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "it is looked at once and never stored")]
pub enum Content {
    /// A TCP segment, or the first fragment of one.
    Tcp(Segment),
    /// TCP, of which less than the fixed header was captured, or whose header contradicts itself.
    Cut,
    /// A fragment other than the first: it has no header of its own.
    LaterFragment,
    /// Another protocol.
    Other,
}

impl Segment {
    /// Reads the IP packet at the start of `bytes`.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Content, Unreadable> {
        let headers = Headers::parse(Layer::Ip, bytes)?;
        if headers.protocol() != TCP {
            return Ok(Content::Other);
        }
        if headers.is_later_fragment() {
            return Ok(Content::LaterFragment);
        }
        let range = headers.segment();
        let segment = &bytes[range.clone()];
        let Some(header) = segment.first_chunk::<FIXED>() else { return Ok(Content::Cut) };
        let length = usize::from(header[12] >> 4) * 4;
        if length < FIXED {
            return Ok(Content::Cut);
        }
        let ipv4 = headers.is_ipv4();
        // The length that IP states: the frame may be padded, and the capture truncated.
        let end = if ipv4 { usize::from(u16_at(bytes, 2)) } else { 40 + usize::from(u16_at(bytes, 4)) };
        let (source, destination) = headers.addresses();
        Ok(Content::Tcp(Self {
            source,
            destination,
            source_port: u16_at(header, 0),
            destination_port: u16_at(header, 2),
            tcp: Tcp { sequence: u32_at(header, 4), acknowledgment: u32_at(header, 8), flags: header[13] },
            window: u16_at(header, 14),
            payload: end.saturating_sub(range.start + length) as u32,
            missing: end.saturating_sub(range.end) as u32,
            urgent: u16_at(header, 18),
            ecn: ecn::read(Layer::Ip, bytes),
            identification: ipv4.then(|| u16_at(bytes, 4)),
            options: TcpOptions::read(&segment[FIXED..segment.len().min(length)]),
        }))
    }

    /// Returns its length in the sequence space: the payload, and one each for SYN and FIN (RFC
    /// 9293 section 3.4).
    #[must_use]
    pub const fn sequence_length(&self) -> u32 {
        self.payload + self.tcp.has(Tcp::SYN) as u32 + self.tcp.has(Tcp::FIN) as u32
    }
}

impl TcpOptions {
    /// Reads options up to the first that is truncated or invalid.
    #[inline]
    fn read(bytes: &[u8]) -> Self {
        let mut options = Self::default();
        // Fast path for the options of nearly every segment: two bytes of padding and time stamps.
        if let [1, 1, 8, 10, rest @ ..] = bytes
            && rest.len() == 8
        {
            options.timestamps = Some((u32_at(rest, 0), u32_at(rest, 4)));
            return options;
        }
        for option in TcpOptionsIterator::from_slice(bytes).map_while(Result::ok) {
            match option {
                TcpOptionElement::MaximumSegmentSize(size) => options.maximum_segment = Some(size),
                TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift),
                TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
                TcpOptionElement::SelectiveAcknowledgement(first, more) => {
                    options.count = 0;
                    for block in std::iter::once(first).chain(more.into_iter().flatten()) {
                        options.blocks[usize::from(options.count)] = block;
                        options.count += 1;
                    }
                }
                TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some((value, echo)),
                TcpOptionElement::Noop => {}
            }
        }
        options
    }

    /// Returns the SACK blocks in their order: left edge, and the first sequence number after the
    /// block.
    #[must_use]
    pub fn sacks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.count)]
    }
}

#[cfg(test)]
mod tests;
