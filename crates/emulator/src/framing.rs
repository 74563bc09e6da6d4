//! The form in which packets cross between a device and a link: one by one, or as whole segments
//! behind a virtio header.

use crate::kernel::buffers::Buffers;
use borsh::{BorshDeserialize, BorshSerialize};
use packet::virtio;
use packet::whole::{Run, frames};
use packet::{Frame, Layer};

/// How the kernel hands over segments. This is a property of the device (TUNSETOFFLOAD,
/// IFF_VNET_HDR).
#[derive(Debug, Clone, Copy, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Segments {
    /// One MTU-sized packet a read, with complete checksums.
    Split,
    /// Up to 64 KiB of a TCP stream in one piece, behind a virtio header and with checksums left to
    /// compute.
    Whole,
}

/// Conversion between a device's bytes and frames, in both directions of one port.
#[derive(Debug)]
pub(crate) struct Framing {
    pub layer: Layer,
    pub segments: Segments,
    /// Packets that leave together and are not sent yet.
    run: Option<Run>,
    /// Memory for rewritten headers.
    pub header: Vec<u8>,
    /// Number of packets dropped because they cannot be cut into MTU-sized packets.
    pub unusable: u64,
}

impl Framing {
    pub fn new(layer: Layer, segments: Segments) -> Self {
        Self { layer, segments, run: None, header: Vec::new(), unusable: 0 }
    }

    /// Appends the packets in the bytes of one read to `into`.
    pub fn parse(&mut self, read: &[u8], buffers: &mut Buffers, into: &mut Vec<Frame>) {
        let (header, packet) = match self.segments {
            Segments::Split => (None, read),
            Segments::Whole => match read.split_first_chunk::<{ virtio::LEN }>() {
                Some((header, packet)) => (Some(header), packet),
                None => return self.unusable += 1,
            },
        };
        let mut bytes = buffers.fitting(packet.len());
        bytes.extend_from_slice(packet);
        match header {
            None => into.push(Frame::owned(self.layer, bytes)),
            Some(header) => self.cut(header, bytes, into),
        }
    }

    /// Cuts a read with a virtio header into packets.
    pub fn cut(&mut self, header: &[u8; virtio::LEN], bytes: Vec<u8>, into: &mut Vec<Frame>) {
        let header = virtio::Header::decode(header);
        match header.ok().and_then(|header| frames(self.layer, &header, bytes).ok()) {
            Some(frames) => into.extend(frames),
            None => self.unusable += 1,
        }
    }

    /// Keeps a packet until the next one shows whether both can leave together. Returns the packets
    /// kept before that must leave first, if they cannot.
    pub fn join(&mut self, frame: Frame) -> Option<Run> {
        let frame = match &mut self.run {
            None => frame,
            Some(run) => match run.push(frame) {
                Ok(()) => return None,
                Err(frame) => frame,
            },
        };
        self.run.replace(Run::new(frame))
    }

    /// Returns whether packets are kept.
    pub fn has_kept(&self) -> bool {
        self.run.is_some()
    }

    /// Returns the packets that were kept.
    pub fn take_kept(&mut self) -> Option<Run> {
        self.run.take()
    }
}
