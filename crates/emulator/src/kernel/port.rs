//! A TUN or TAP descriptor as a port.

use super::batch::Batch;
use super::buffers::{Buffers, WORTH_COPYING};
use crate::framing::{Framing, Segments};
use packet::virtio;
use packet::whole::Run;
use packet::{Frame, Layer};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read, readv, writev};
use std::io::{self, IoSlice, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Room that a packet needs beyond the MTU: an Ethernet header and two VLAN tags.
const BEYOND_MTU: usize = 14 + 2 * 4;

/// Maximum number of reads before the loop handles the packets. They get one time of arrival, which
/// is after the last read. So a packet that comes alone is handled after one read, and the number
/// doubles as long as more packets wait.
const READS_TOGETHER: usize = 8;

/// Number of bytes after which no further segment is read before the loop handles the packets:
/// segments of up to 64 KiB take longer to read.
const BYTES_TOGETHER: usize = 8 * 1500;

/// A descriptor that packets are read from and written to.
#[derive(Debug)]
pub struct Port {
    fd: OwnedFd,
    framing: Framing,
    /// Longest packet with [`Segments::Split`], in bytes.
    longest: usize,
    /// Number of reads in the next call of [`Port::receive`].
    reads: usize,
}

impl Port {
    /// Creates a port on `fd`, which must be non-blocking. `mtu` is the MTU of its interface, in
    /// bytes.
    #[must_use]
    pub fn new(fd: OwnedFd, layer: Layer, segments: Segments, mtu: usize) -> Self {
        Self { fd, framing: Framing::new(layer, segments), longest: mtu + BEYOND_MTU, reads: 1 }
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

    /// Appends the next packets or segments to `into`. Returns false if no more are left.
    pub(super) fn receive(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> io::Result<bool> {
        let mut bytes = 0;
        for _ in 0..self.reads {
            let read = match self.framing.segments {
                Segments::Split => self.receive_packet(buffers, into),
                Segments::Whole => self.receive_segment(buffers, into),
            };
            match read {
                Ok(length) => bytes += length,
                Err(Errno::AGAIN) => {
                    self.reads = 1;
                    return Ok(false);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if bytes >= BYTES_TOGETHER {
                break;
            }
        }
        self.reads = READS_TOGETHER.min(2 * self.reads);
        Ok(true)
    }

    /// Reads a packet; returns its length in bytes.
    fn receive_packet(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> Result<usize, Errno> {
        let mut bytes = buffers.short(self.longest);
        match read(&self.fd, spare_capacity(&mut bytes)) {
            Ok(length) => {
                into.push(Frame::owned(self.framing.layer, bytes));
                Ok(length)
            }
            Err(error) => {
                buffers.put(bytes);
                Err(error)
            }
        }
    }

    /// Reads a segment; returns its length in bytes.
    fn receive_segment(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> Result<usize, Errno> {
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
        Ok(read)
    }

    /// Sends a packet, or keeps it until the next one shows whether both can leave together.
    pub(super) fn send(
        &mut self,
        mut frame: Frame,
        buffers: &mut Buffers,
        batch: &mut Batch,
    ) -> io::Result<()> {
        if self.framing.segments == Segments::Split {
            // This completes checksums and makes the bytes the frame's own.
            frame.bytes_mut();
            batch.write(self.fd.as_fd(), frame.into_buffer().unwrap_or_default(), buffers);
            return Ok(());
        }
        self.framing.join(frame).map_or(Ok(()), |run| self.write(run, buffers, batch))
    }

    /// Writes the packets that [`Port::send`] has kept.
    pub(super) fn flush(&mut self, buffers: &mut Buffers, batch: &mut Batch) -> io::Result<()> {
        self.framing.take_kept().map_or(Ok(()), |run| self.write(run, buffers, batch))
    }

    fn write(&mut self, run: Run, buffers: &mut Buffers, batch: &mut Batch) -> io::Result<()> {
        let pieces = run.pieces(&mut self.framing.header);
        let slices = [&pieces.virtio, pieces.header, pieces.payload];
        let length: usize = slices.iter().map(|slice| slice.len()).sum();
        let sent = if length <= WORTH_COPYING {
            let mut bytes = buffers.short(WORTH_COPYING);
            for slice in slices {
                bytes.extend_from_slice(slice);
            }
            batch.write(self.fd.as_fd(), bytes, buffers);
            Ok(())
        } else {
            // Packets leave in their order.
            batch.submit(buffers);
            writev(&self.fd, &slices.map(IoSlice::new)).map(drop).map_err(io::Error::from)
        };
        if let Some(bytes) = run.into_buffer() {
            buffers.put(bytes);
        }
        sent
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
