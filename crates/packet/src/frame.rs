//! One packet on its way through a link, with its own bytes or as a part of a larger segment.

use crate::headers::{Headers, Unreadable};
use crate::whole::{Misfit, Whole};
use crate::{Ecn, checksum, ecn};
use borsh::{BorshDeserialize, BorshSerialize};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// The layer of a frame's first byte: TUN devices deliver IP, TAP devices Ethernet.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BorshSerialize, BorshDeserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The frame starts with an IPv4 or IPv6 header.
    Ip,
    /// The frame starts with an Ethernet header (14 bytes, no frame check sequence).
    Ethernet,
}

/// One MTU-sized packet.
///
/// It has bytes of its own, or it is a part of a [`Whole`]. Cloning a part only costs a reference
/// count, and its bytes are made only when they are read or changed.
#[derive(Debug, Clone)]
pub struct Frame {
    layer: Layer,
    body: Body,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// All checksums are complete.
    Complete(Vec<u8>),
    /// One checksum covers everything from `start` on, and its field at `start + offset` holds only
    /// the pseudo-header's sum. [`Frame::with_partial_checksum`] has checked that the field lies
    /// inside.
    Partial { bytes: Vec<u8>, start: u16, offset: u16 },
    /// One packet of a whole.
    Part { whole: Arc<Whole>, index: u16, ce: bool },
}

impl Frame {
    /// Returns a frame that owns its bytes, in which all checksums are complete.
    #[must_use]
    pub fn owned(layer: Layer, bytes: Vec<u8>) -> Self {
        Self { layer, body: Body::Complete(bytes) }
    }

    /// Returns a frame that owns its bytes and has a partial checksum.
    ///
    /// The checksum covers everything from `start` on, and its field is at `start + offset` (virtio
    /// `VIRTIO_NET_HDR_F_NEEDS_CSUM`).
    pub fn with_partial_checksum(
        layer: Layer,
        bytes: Vec<u8>,
        start: u16,
        offset: u16,
    ) -> Result<Self, Misfit> {
        if usize::from(start) + usize::from(offset) + 2 > bytes.len() {
            return Err(Misfit::ChecksumOutside { start, offset, len: bytes.len() });
        }
        Ok(Self { layer, body: Body::Partial { bytes, start, offset } })
    }

    /// Returns the part of `whole` with this index.
    pub(crate) fn part(whole: Arc<Whole>, index: u16) -> Self {
        Self { layer: whole.layer(), body: Body::Part { whole, index, ce: false } }
    }

    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// Returns the layer of the first byte.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Returns the length in bytes of this one packet at its [`Layer`], as on the wire.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a frame is never empty: it has at least a header")]
    pub fn len(&self) -> usize {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => bytes.len(),
            Body::Part { whole, index, .. } => whole.part_len(*index),
        }
    }

    /// Returns the packet's first bytes, enough to read every header.
    ///
    /// They may not be the whole packet, and checksums in them may be incomplete. For a part of a
    /// whole, these are the headers of the whole: its lengths, its sequence number, its TCP flags,
    /// its ECN field. [`Frame::headers`] and [`Frame::ecn`] return those of this packet, and
    /// [`Frame::to_bytes`] its bytes.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => bytes,
            Body::Part { whole, .. } => whole.header(),
        }
    }

    /// Reads the headers of this one packet.
    pub fn headers(&self) -> Result<Headers, Unreadable> {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => Headers::parse(self.layer, bytes),
            Body::Part { whole, index, .. } => Ok(whole.part_headers(*index)),
        }
    }

    /// Returns the ECN codepoint; [`Ecn::NotEct`] if this is not an IP packet.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => ecn::read(self.layer, bytes),
            Body::Part { ce: true, .. } => Ecn::Ce,
            Body::Part { whole, .. } => whole.ecn(),
        }
    }

    /// Sets the ECN field to CE (RFC 3168), without copying.
    ///
    /// Returns false without any change if the endpoints do not use ECN.
    #[must_use]
    pub fn mark_ce(&mut self) -> bool {
        match &mut self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => ecn::mark_ce(self.layer, bytes),
            Body::Part { whole, ce, .. } => {
                // A whole that arrived with CE needs no flag: all its parts have CE.
                *ce |= matches!(whole.ecn(), Ecn::Ect0 | Ecn::Ect1);
                whole.ecn().is_capable()
            }
        }
    }

    /// Returns the packet's bytes for changing, with all checksums complete.
    ///
    /// A part of a whole segment first becomes a packet of its own, which copies it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if !matches!(self.body, Body::Complete(_)) {
            let bytes = match std::mem::replace(&mut self.body, Body::Complete(Vec::new())) {
                Body::Complete(bytes) => bytes,
                Body::Partial { mut bytes, start, offset } => {
                    complete(&mut bytes, start, offset);
                    bytes
                }
                Body::Part { whole, index, ce } => {
                    let mut bytes = Vec::with_capacity(whole.part_len(index));
                    whole.write_part(index, ce, &mut bytes);
                    bytes
                }
            };
            self.body = Body::Complete(bytes);
        }
        match &mut self.body {
            Body::Complete(bytes) => bytes,
            Body::Partial { .. } | Body::Part { .. } => unreachable!("it was completed above"),
        }
    }

    /// Returns the packet as on the wire, with all checksums complete; borrowed if it already is.
    #[must_use]
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        if let Body::Complete(bytes) = &self.body {
            return Cow::Borrowed(bytes);
        }
        let mut bytes = Vec::with_capacity(self.len());
        self.write_into(&mut bytes);
        Cow::Owned(bytes)
    }

    /// Appends the packet as on the wire, with all checksums complete.
    pub fn write_into(&self, out: &mut Vec<u8>) {
        match &self.body {
            Body::Complete(bytes) => out.extend_from_slice(bytes),
            Body::Partial { bytes, start, offset } => {
                let from = out.len();
                out.extend_from_slice(bytes);
                complete(&mut out[from..], *start, *offset);
            }
            Body::Part { whole, index, ce } => whole.write_part(*index, *ce, out),
        }
    }

    /// Returns the buffer for reuse.
    ///
    /// It is the frame's own, or that of its whole if this is the last frame that holds it;
    /// otherwise `None`.
    #[must_use]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        match self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => Some(bytes),
            Body::Part { whole, .. } => Arc::into_inner(whole).map(Whole::into_buffer),
        }
    }
}

fn complete(bytes: &mut [u8], start: u16, offset: u16) {
    let done = checksum::complete(bytes, usize::from(start), usize::from(offset));
    debug_assert!(done, "the field lies inside: the constructor has looked");
}

#[cfg(test)]
mod tests;
