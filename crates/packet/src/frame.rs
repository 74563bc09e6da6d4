//! One packet on its way through a link.

use crate::headers::{Headers, Unreadable};
use crate::whole::{Misfit, Whole};
use crate::{Ecn, checksum, ecn};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;

/// What the first byte of a frame belongs to: a TUN device hands over IP, a TAP device Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The frame starts with an IPv4 or IPv6 header.
    Ip,
    /// The frame starts with an Ethernet header (14 bytes, no frame check sequence).
    Ethernet,
}

/// One MTU-sized packet.
///
/// It has bytes of its own, or it is a part of a [`Whole`]: then a clone costs a reference count,
/// and its bytes come into being only when somebody wants to see or change them.
#[derive(Debug, Clone)]
pub struct Frame {
    layer: Layer,
    body: Body,
}

#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Every checksum is complete.
    Complete(Vec<u8>),
    /// One checksum covers everything from `start` on, and its field at `start + offset` holds only
    /// the pseudo-header's sum. The field lies inside: [`Frame::with_partial_checksum`] has looked.
    Partial { bytes: Vec<u8>, start: u16, offset: u16 },
    /// One packet of many.
    Part { whole: Arc<Whole>, index: u16, ce: bool },
}

impl Frame {
    /// A frame that owns its bytes, every checksum in them complete.
    #[must_use]
    pub fn owned(layer: Layer, bytes: Vec<u8>) -> Self {
        Self { layer, body: Body::Complete(bytes) }
    }

    /// A frame that owns its bytes, with a checksum over everything from `start` on that is still
    /// to be completed in the field at `start + offset` (virtio `VIRTIO_NET_HDR_F_NEEDS_CSUM`).
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

    /// The part of `whole` with this index.
    pub(crate) fn part(whole: Arc<Whole>, index: u16) -> Self {
        Self { layer: whole.layer(), body: Body::Part { whole, index, ce: false } }
    }

    pub(crate) fn body(&self) -> &Body {
        &self.body
    }

    /// What the first byte belongs to.
    #[must_use]
    pub fn layer(&self) -> Layer {
        self.layer
    }

    /// Length in bytes of this one packet at its [`Layer`], as it would be on the wire.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a frame is never empty: it has at least a header")]
    pub fn len(&self) -> usize {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => bytes.len(),
            Body::Part { whole, index, .. } => whole.part_len(*index),
        }
    }

    /// The packet's first bytes, enough to read every header; may be a part only and its checksums
    /// may be incomplete.
    ///
    /// For a part of a whole these are the headers of the whole: its lengths, its sequence number,
    /// its TCP flags, its ECN field. Ask [`Frame::headers`] and [`Frame::ecn`] for those of this
    /// packet, and [`Frame::to_bytes`] for its bytes.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => bytes,
            Body::Part { whole, .. } => whole.header(),
        }
    }

    /// The headers of this one packet.
    pub fn headers(&self) -> Result<Headers, Unreadable> {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => Headers::parse(self.layer, bytes),
            Body::Part { whole, index, .. } => Ok(whole.part_headers(*index)),
        }
    }

    /// The ECN codepoint; [`Ecn::NotEct`] for what is no IP packet.
    #[must_use]
    pub fn ecn(&self) -> Ecn {
        match &self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => ecn::read(self.layer, bytes),
            Body::Part { ce: true, .. } => Ecn::Ce,
            Body::Part { whole, .. } => whole.ecn(),
        }
    }

    /// Sets the ECN field to CE (RFC 3168); false, and nothing done, if the endpoints do not take
    /// part in ECN. Copies nothing.
    #[must_use]
    pub fn mark_ce(&mut self) -> bool {
        match &mut self.body {
            Body::Complete(bytes) | Body::Partial { bytes, .. } => ecn::mark_ce(self.layer, bytes),
            Body::Part { whole, ce, .. } => {
                // A whole that came with CE needs no flag: all its parts have it.
                *ce |= matches!(whole.ecn(), Ecn::Ect0 | Ecn::Ect1);
                whole.ecn().is_capable()
            }
        }
    }

    /// The packet's bytes for changing, with every checksum complete.
    ///
    /// A part of a whole segment becomes a packet of its own first, which copies it.
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

    /// The packet as it would be on the wire, with every checksum complete; borrowed if it is that
    /// already.
    #[must_use]
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        if let Body::Complete(bytes) = &self.body {
            return Cow::Borrowed(bytes);
        }
        let mut bytes = Vec::with_capacity(self.len());
        self.write_into(&mut bytes);
        Cow::Owned(bytes)
    }

    /// Appends the packet as it would be on the wire, with every checksum complete.
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

    /// Gives the buffer back for reuse: the frame's own; a whole's with the last frame that holds
    /// it; otherwise none.
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
