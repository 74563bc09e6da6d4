//! One packet on its way through a link.

/// What the first byte of a frame belongs to: a TUN device hands over IP, a TAP device Ethernet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// The frame starts with an IPv4 or IPv6 header.
    Ip,
    /// The frame starts with an Ethernet header (14 bytes, no frame check sequence).
    Ethernet,
}

/// One MTU-sized packet.
#[derive(Debug, Clone)]
pub struct Frame {
    layer: Layer,
    bytes: Vec<u8>,
}

impl Frame {
    /// A frame that owns its bytes, every checksum in them complete.
    #[must_use]
    pub fn owned(layer: Layer, bytes: Vec<u8>) -> Self {
        Self { layer, bytes }
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
        self.bytes.len()
    }

    /// The packet's bytes for changing, with every checksum complete.
    ///
    /// A part of a whole segment becomes a packet of its own first, which copies it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The packet's first bytes, enough to read every header; may be a part only and its checksums may be incomplete.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.bytes
    }
}
