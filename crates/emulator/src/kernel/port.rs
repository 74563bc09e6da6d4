//! A TUN or TAP descriptor as a port.

use super::buffers::{Buffers, LONG, WORTH_COPYING};
use packet::virtio;
use packet::whole::{Run, frames};
use packet::{Frame, Layer};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read, readv, write, writev};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How the kernel hands over segments. This is a property of the descriptor (TUNSETOFFLOAD,
/// IFF_VNET_HDR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segments {
    /// One MTU-sized packet a read, with complete checksums.
    Split,
    /// Up to 64 KiB of a TCP stream in one piece, behind a virtio header and with checksums left to
    /// compute.
    Whole,
}

/// Room that a packet needs beyond the MTU: an Ethernet header and two VLAN tags.
const BEYOND_MTU: usize = 14 + 2 * 4;

/// A descriptor that packets are read from and written to.
#[derive(Debug)]
pub struct Port {
    fd: OwnedFd,
    layer: Layer,
    segments: Segments,
    /// Longest packet with [`Segments::Split`], in bytes.
    longest: usize,
    /// Packets that leave together and are not written yet.
    run: Option<Run>,
    /// Memory for rewritten headers.
    header: Vec<u8>,
    unusable: u64,
}

impl Port {
    /// Creates a port on `fd`, which must be non-blocking. `mtu` is the MTU of its interface, in
    /// bytes.
    #[must_use]
    pub fn new(fd: OwnedFd, layer: Layer, segments: Segments, mtu: usize) -> Self {
        Self { fd, layer, segments, longest: mtu + BEYOND_MTU, run: None, header: Vec::new(), unusable: 0 }
    }

    /// Returns the number of packets dropped because the kernel handed them over in a form that
    /// cannot be cut into MTU-sized packets.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.unusable
    }

    pub(super) fn has_kept(&self) -> bool {
        self.run.is_some()
    }

    /// Appends the next packet, or the packets of the next segment, to `into`. Returns false if
    /// there is none.
    pub(super) fn receive(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> io::Result<bool> {
        let received = match self.segments {
            Segments::Split => self.receive_packet(buffers, into),
            Segments::Whole => self.receive_segment(buffers, into),
        };
        match received {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the room that a read of the descriptor needs, in bytes.
    pub(crate) fn longest_read(&self) -> usize {
        match self.segments {
            Segments::Split => self.longest,
            Segments::Whole => virtio::LEN + LONG,
        }
    }

    /// Parses the bytes of one read that the caller has done.
    pub(crate) fn parse(&mut self, read: &[u8], buffers: &mut Buffers, into: &mut Vec<Frame>) {
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

    /// Adds a packet to send. Returns the bytes that the caller has to write now, in one call. They
    /// may be of earlier packets; [`Port::pack_kept`] returns the last ones.
    pub(crate) fn pack(&mut self, frame: Frame, buffers: &mut Buffers) -> Option<Vec<u8>> {
        if self.segments == Segments::Split {
            let mut bytes = buffers.fitting(frame.len());
            frame.write_into(&mut bytes);
            buffers.take_back(frame);
            return Some(bytes);
        }
        let frame = match &mut self.run {
            None => frame,
            Some(run) => match run.push(frame) {
                Ok(()) => return None,
                Err(frame) => frame,
            },
        };
        let packed = self.pack_kept(buffers);
        self.run = Some(Run::new(frame));
        packed
    }

    /// Returns the bytes to write for the packets that were kept, if any.
    pub(crate) fn pack_kept(&mut self, buffers: &mut Buffers) -> Option<Vec<u8>> {
        let run = self.run.take()?;
        let pieces = run.pieces(&mut self.header);
        let mut bytes = buffers.fitting(virtio::LEN + pieces.header.len() + pieces.payload.len());
        bytes.extend_from_slice(&pieces.virtio);
        bytes.extend_from_slice(pieces.header);
        bytes.extend_from_slice(pieces.payload);
        if let Some(whole) = run.into_buffer() {
            buffers.put(whole);
        }
        Some(bytes)
    }

    /// Cuts a read with a virtio header into packets.
    fn cut(&mut self, header: &[u8; virtio::LEN], bytes: Vec<u8>, into: &mut Vec<Frame>) {
        let header = virtio::Header::decode(header);
        match header.ok().and_then(|header| frames(self.layer, &header, bytes).ok()) {
            Some(frames) => into.extend(frames),
            None => self.unusable += 1,
        }
    }

    fn receive_packet(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> Result<(), Errno> {
        let mut bytes = buffers.short(self.longest);
        match read(&self.fd, spare_capacity(&mut bytes)) {
            Ok(_) => {
                into.push(Frame::owned(self.layer, bytes));
                Ok(())
            }
            Err(error) => {
                buffers.put(bytes);
                Err(error)
            }
        }
    }

    fn receive_segment(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> Result<(), Errno> {
        let mut bytes = buffers.long();
        let mut header = [0; virtio::LEN];
        let mut pieces = [IoSliceMut::new(&mut header), IoSliceMut::new(&mut bytes)];
        let read = match readv(&self.fd, &mut pieces) {
            Ok(read) => read.saturating_sub(virtio::LEN),
            Err(error) => {
                buffers.put(bytes);
                return Err(error);
            }
        };
        if read <= WORTH_COPYING {
            let mut copy = buffers.short(WORTH_COPYING);
            copy.extend_from_slice(&bytes[..read]);
            buffers.put(bytes);
            bytes = copy;
        } else {
            bytes.truncate(read);
        }
        self.cut(&header, bytes, into);
        Ok(())
    }

    /// Sends a packet, or keeps it until the next one shows whether both can leave together.
    pub(super) fn send(&mut self, frame: Frame, buffers: &mut Buffers) -> io::Result<()> {
        if self.segments == Segments::Split {
            let sent = write(&self.fd, &frame.to_bytes());
            buffers.take_back(frame);
            return sent.map(drop).map_err(io::Error::from);
        }
        let frame = match &mut self.run {
            None => frame,
            Some(run) => match run.push(frame) {
                Ok(()) => return Ok(()),
                Err(frame) => frame,
            },
        };
        let flushed = self.flush(buffers);
        self.run = Some(Run::new(frame));
        flushed
    }

    /// Writes the packets that [`Port::send`] has kept.
    pub(super) fn flush(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        let Some(run) = self.run.take() else { return Ok(()) };
        let pieces = run.pieces(&mut self.header);
        let slices =
            [IoSlice::new(&pieces.virtio), IoSlice::new(pieces.header), IoSlice::new(pieces.payload)];
        let sent = writev(&self.fd, &slices);
        if let Some(bytes) = run.into_buffer() {
            buffers.put(bytes);
        }
        sent.map(drop).map_err(io::Error::from)
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
