//! A TUN or TAP descriptor as a port.

use super::buffers::{Buffers, WORTH_COPYING};
use crate::framing::{Framing, Segments};
use packet::virtio;
use packet::whole::Run;
use packet::{Frame, Layer};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read, readv, write, writev};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Room that a packet needs beyond the MTU: an Ethernet header and two VLAN tags.
const BEYOND_MTU: usize = 14 + 2 * 4;

/// A descriptor that packets are read from and written to.
#[derive(Debug)]
pub struct Port {
    fd: OwnedFd,
    framing: Framing,
    /// Longest packet with [`Segments::Split`], in bytes.
    longest: usize,
}

impl Port {
    /// Creates a port on `fd`, which must be non-blocking. `mtu` is the MTU of its interface, in
    /// bytes.
    #[must_use]
    pub fn new(fd: OwnedFd, layer: Layer, segments: Segments, mtu: usize) -> Self {
        Self { fd, framing: Framing::new(layer, segments), longest: mtu + BEYOND_MTU }
    }

    /// Returns the number of packets dropped because the kernel handed them over in a form that
    /// cannot be cut into MTU-sized packets.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.framing.unusable
    }

    pub(super) fn has_kept(&self) -> bool {
        self.framing.has_kept()
    }

    /// Appends the next packet, or the packets of the next segment, to `into`. Returns false if
    /// there is none.
    pub(super) fn receive(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> io::Result<bool> {
        let received = match self.framing.segments {
            Segments::Split => self.receive_packet(buffers, into),
            Segments::Whole => self.receive_segment(buffers, into),
        };
        match received {
            Ok(()) => Ok(true),
            Err(Errno::AGAIN | Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn receive_packet(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> Result<(), Errno> {
        let mut bytes = buffers.short(self.longest);
        match read(&self.fd, spare_capacity(&mut bytes)) {
            Ok(_) => {
                into.push(Frame::owned(self.framing.layer, bytes));
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
        self.framing.cut(&header, bytes, into);
        Ok(())
    }

    /// Sends a packet, or keeps it until the next one shows whether both can leave together.
    pub(super) fn send(&mut self, frame: Frame, buffers: &mut Buffers) -> io::Result<()> {
        if self.framing.segments == Segments::Split {
            let sent = write(&self.fd, &frame.to_bytes());
            buffers.take_back(frame);
            return sent.map(drop).map_err(io::Error::from);
        }
        self.framing.join(frame).map_or(Ok(()), |run| self.write(run, buffers))
    }

    /// Writes the packets that [`Port::send`] has kept.
    pub(super) fn flush(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        self.framing.take_kept().map_or(Ok(()), |run| self.write(run, buffers))
    }

    fn write(&mut self, run: Run, buffers: &mut Buffers) -> io::Result<()> {
        let pieces = run.pieces(&mut self.framing.header);
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
