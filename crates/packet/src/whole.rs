//! Segments kept whole: many packets that the kernel delivered as one, and takes back as one where
//! possible.
//!
//! A TUN device with offloads delivers up to 64 KiB of TCP (or UDP) payload behind one header. Each
//! MTU-sized packet in it has its own fate. So a [`Whole`] passes through a link as
//! [`Whole::parts`], which are lightweight views of it. Parts that leave the link together and are
//! still consecutive are joined again as a [`Run`], which is written to the device without copying
//! the payload.
//!
//! A part that is read or changed becomes the packet that the kernel's own segmentation would have
//! made (`inet_gso_segment`, `ipv6_gso_segment`, `tcp_gso_segment`, `__udp_gso_segment`). The IPv4
//! identification counts up, and the TCP sequence number advances. FIN and PSH stay with the last
//! packet, CWR with the first. Lengths and checksums are those of the packet.

mod run;

pub use run::{Pieces, Run};

use crate::checksum::{self, IN_TCP, IN_UDP, add, replace_ipv4_word};
use crate::headers::{Headers, IPV6_LEN, TCP, Tcp, UDP, Unreadable, u16_at};
use crate::virtio::{self, Checksum, SegmentProtocol, Segmentation};
use crate::{Ecn, Frame, Layer, ecn};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Several packets in one piece, as the kernel delivered them.
pub struct Whole {
    layer: Layer,
    /// Headers and payload with a partial transport checksum, and nothing after the IP packet.
    bytes: Vec<u8>,
    headers: Headers,
    /// Start of the transport header.
    transport: usize,
    /// Start of the payload.
    payload: usize,
    ecn: Ecn,
    segmentation: Segmentation,
    count: u16,
}

/// A mismatch between a packet and its virtio header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The headers cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// The checksum field lies outside the packet.
    #[error(
        "checksum field at csum_start {start} + csum_offset {offset} lies outside the {len} bytes of the packet"
    )]
    ChecksumOutside {
        /// `csum_start`.
        start: u16,
        /// `csum_offset`.
        offset: u16,
        /// Length of the packet.
        len: usize,
    },
    /// The partial checksum is not that of the protocol to be segmented, as in tunnels.
    #[error(
        "csum_start {start} + csum_offset {offset} is not the checksum of the TCP or UDP header at {transport}"
    )]
    ChecksumElsewhere {
        /// `csum_start`.
        start: u16,
        /// `csum_offset`.
        offset: u16,
        /// Start of the transport header.
        transport: usize,
    },
    /// The virtio header states another protocol than the packet, or the packet is a fragment.
    #[error("the packet (IP protocol {protocol}) is not a whole {kind:?} segment, as the virtio header says")]
    Protocol {
        /// Kind in the virtio header.
        kind: SegmentProtocol,
        /// Protocol in the IP header.
        protocol: u8,
    },
    /// The segment size is zero.
    #[error("gso_size is 0: a packet that is not to be cut has gso_type 0")]
    SizeZero,
    /// The packet is not to be segmented.
    #[error("gso_type is 0: a packet that is not to be cut is a frame by itself")]
    NotSegmented,
    /// The IP packet is longer than the bytes.
    #[error(
        "the IP packet is longer than the {0} bytes that were read: use a buffer of 65 550 bytes or more"
    )]
    Cut(usize),
    /// The headers are too long for the 16-bit fields of a virtio header.
    #[error("{0} bytes of headers are too many: a virtio header counts them in 16 bits")]
    HeadersTooLong(usize),
}

/// Returns the frames that a device with `IFF_VNET_HDR` delivered: one packet, or the parts of a
/// whole.
pub fn frames(layer: Layer, virtio: &virtio::Header, bytes: Vec<u8>) -> Result<Frames, Misfit> {
    if virtio.segmentation.is_some() {
        return Ok(Frames::Parts(Whole::new(layer, bytes, virtio)?.parts()));
    }
    let frame = match virtio.checksum {
        Checksum::Partial { start, offset } => Frame::with_partial_checksum(layer, bytes, start, offset)?,
        Checksum::Complete | Checksum::Valid => Frame::owned(layer, bytes),
    };
    Ok(Frames::One(Some(frame).into_iter()))
}

/// Iterator that [`frames`] returns.
#[derive(Debug)]
pub enum Frames {
    /// A single packet.
    One(std::option::IntoIter<Frame>),
    /// Parts of a whole.
    Parts(Parts),
}

impl Iterator for Frames {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        match self {
            Self::One(frame) => frame.next(),
            Self::Parts(parts) => parts.next(),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match self {
            Self::One(frame) => frame.size_hint(),
            Self::Parts(parts) => parts.size_hint(),
        }
    }
}

impl ExactSizeIterator for Frames {}

/// Iterator that [`Whole::parts`] returns, in stream order.
#[derive(Debug)]
pub struct Parts {
    whole: Arc<Whole>,
    rest: Range<u16>,
}

impl Iterator for Parts {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        self.rest.next().map(|index| Frame::part(Arc::clone(&self.whole), index))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for Parts {}

impl Whole {
    /// Wraps the packets that the kernel delivered with the header `virtio`.
    ///
    /// A transport checksum that is already complete is made partial, and so will be recomputed
    /// from the bytes: a kernel that merged packets has verified them.
    pub fn new(layer: Layer, mut bytes: Vec<u8>, virtio: &virtio::Header) -> Result<Arc<Self>, Misfit> {
        let segmentation = virtio.segmentation.ok_or(Misfit::NotSegmented)?;
        let Segmentation { kind, size, .. } = segmentation;
        if size == 0 {
            return Err(Misfit::SizeZero);
        }
        let headers = Headers::parse(layer, &bytes)?;
        if headers.is_cut() {
            return Err(Misfit::Cut(bytes.len()));
        }
        let protocol = headers.protocol();
        let fits = match kind {
            SegmentProtocol::Tcp4 => protocol == TCP && headers.is_ipv4(),
            SegmentProtocol::Tcp6 => protocol == TCP && !headers.is_ipv4(),
            SegmentProtocol::Udp => protocol == UDP,
        };
        let (Some(transport), Some(payload), true) =
            (headers.transport(), headers.payload(), fits && !headers.is_fragment())
        else {
            return Err(Misfit::Protocol { kind, protocol });
        };
        if payload > usize::from(u16::MAX) {
            return Err(Misfit::HeadersTooLong(payload));
        }
        bytes.truncate(headers.end());
        let field = transport + checksum_offset(kind);
        match virtio.checksum {
            Checksum::Partial { start, offset } => {
                if usize::from(start) != transport || transport + usize::from(offset) != field {
                    return Err(Misfit::ChecksumElsewhere { start, offset, transport });
                }
            }
            Checksum::Complete | Checksum::Valid => {
                let sum = checksum::pseudo_header(&bytes, &headers, headers.end() - transport);
                checksum::write(&mut bytes, field, sum);
            }
        }
        // Without payload there is still one packet. There are at most 65 535 bytes, so 16 bits
        // hold any count.
        let count = (headers.end() - payload).div_ceil(usize::from(size)).max(1) as u16;
        let ecn = ecn::read(layer, &bytes);
        Ok(Arc::new(Self { layer, bytes, headers, transport, payload, ecn, segmentation, count }))
    }

    /// Returns the packets in it as lightweight views.
    #[must_use]
    pub fn parts(self: &Arc<Self>) -> Parts {
        Parts { whole: Arc::clone(self), rest: 0..self.count }
    }

    /// Returns the number of packets in it.
    #[must_use]
    pub fn count(&self) -> usize {
        usize::from(self.count)
    }

    pub(crate) fn layer(&self) -> Layer {
        self.layer
    }

    pub(crate) fn ecn(&self) -> Ecn {
        self.ecn
    }

    /// Returns all headers before the payload, as the kernel delivered them.
    pub(crate) fn header(&self) -> &[u8] {
        &self.bytes[..self.payload]
    }

    pub(crate) fn into_buffer(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn part_len(&self, index: u16) -> usize {
        self.payload + self.payload_of(index, 1).len()
    }

    pub(crate) fn part_headers(&self, index: u16) -> Headers {
        self.headers.of_part(self.part_len(index), self.tcp_of(index, 1))
    }

    /// Appends one packet with complete checksums.
    pub(crate) fn write_part(&self, index: u16, ce: bool, out: &mut Vec<u8>) {
        let from = out.len();
        self.write_header(index, 1, ce, out);
        out.extend_from_slice(&self.bytes[self.payload_of(index, 1)]);
        let done =
            checksum::complete(&mut out[from..], self.transport, checksum_offset(self.segmentation.kind));
        debug_assert!(done, "the transport header is there in full");
    }

    /// Returns the payload of `count` packets from `first` on, as a range of the bytes.
    fn payload_of(&self, first: u16, count: u16) -> Range<usize> {
        let end = self.bytes.len();
        let size = usize::from(self.segmentation.size);
        let start = self.payload + usize::from(first) * size;
        start..(start + usize::from(count) * size).min(end)
    }

    /// Returns the TCP fields of `count` packets from `first` on, sent as one.
    fn tcp_of(&self, first: u16, count: u16) -> Option<Tcp> {
        self.headers.tcp().map(|mut tcp| {
            tcp.sequence = tcp.sequence.wrapping_add(u32::from(first) * u32::from(self.segmentation.size));
            if first + count != self.count {
                tcp.flags &= !(Tcp::FIN | Tcp::PSH);
            }
            if first != 0 {
                tcp.flags &= !Tcp::CWR;
            }
            tcp
        })
    }

    /// Appends the headers of `count` packets from `first` on, sent as one, with a partial
    /// transport checksum.
    fn write_header(&self, first: u16, count: u16, ce: bool, out: &mut Vec<u8>) {
        let from = out.len();
        out.extend_from_slice(self.header());
        let header = &mut out[from..];
        let end = self.payload + self.payload_of(first, count).len();
        let network = self.headers.network();
        if self.headers.is_ipv4() {
            let ip = &mut header[network..self.transport];
            replace_ipv4_word(ip, 2, (end - network) as u16);
            let identification = u16_at(ip, 4).wrapping_add(first);
            replace_ipv4_word(ip, 4, identification);
        } else {
            checksum::write(header, network + 4, (end - network - IPV6_LEN) as u16);
        }
        if ce {
            let marked = ecn::mark_ce(self.layer, header);
            debug_assert!(marked, "a frame has the flag only if it may be marked");
        }
        let transport = &mut header[self.transport..];
        let len = (end - self.transport) as u16;
        if let Some(tcp) = self.tcp_of(first, count) {
            transport[4..8].copy_from_slice(&tcp.sequence.to_be_bytes());
            transport[13] = tcp.flags;
        } else {
            checksum::write(transport, 4, len);
        }
        // In the pseudo-header's sum, only the length changes. The sum is not computed anew,
        // because with a routing header it covers another destination than that of the IP header.
        let field = checksum_offset(self.segmentation.kind);
        let old_len = (self.bytes.len() - self.transport) as u16;
        let sum = add(add(u16_at(transport, field), !old_len), len);
        checksum::write(transport, field, sum);
    }
}

const fn checksum_offset(kind: SegmentProtocol) -> usize {
    match kind {
        SegmentProtocol::Tcp4 | SegmentProtocol::Tcp6 => IN_TCP,
        SegmentProtocol::Udp => IN_UDP,
    }
}

impl fmt::Debug for Whole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Whole")
            .field("len", &self.bytes.len())
            .field("count", &self.count)
            .field("headers", &self.headers)
            .field("segmentation", &self.segmentation)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
