//! A TUN or TAP descriptor as a port.

use packet::{Frame, Layer};
use rustix::buffer::spare_capacity;
use rustix::io::{Errno, read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// How the kernel hands segments over, which is a property of the descriptor (TUNSETOFFLOAD, IFF_VNET_HDR).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segments {
    /// One MTU-sized packet a read, its checksums complete.
    Split,
    /// Behind a virtio header: up to 64 KiB of a TCP stream in one piece, checksums left to do.
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
    largest: usize,
}

impl Port {
    /// A port on `fd`, which must be non-blocking, whose interface has this MTU (bytes).
    #[must_use]
    pub fn new(fd: OwnedFd, layer: Layer, segments: Segments, mtu: usize) -> Self {
        Self { fd, layer, segments, largest: mtu + BEYOND_MTU }
    }

    pub(super) fn has_kept(&self) -> bool {
        false
    }

    pub(super) fn receive(&mut self, buffers: &mut Buffers, into: &mut Vec<Frame>) -> io::Result<bool> {
        let mut bytes = buffers.get(self.largest);
        match read(&self.fd, spare_capacity(&mut bytes)) {
            Ok(_) => {
                into.push(Frame::owned(self.layer, bytes));
                Ok(true)
            }
            Err(error) => {
                buffers.put(bytes);
                match error {
                    Errno::AGAIN | Errno::INTR => Ok(false),
                    other => Err(other.into()),
                }
            }
        }
    }

    pub(super) fn send(&mut self, frame: Frame, buffers: &mut Buffers) -> io::Result<()> {
        let sent = write(&self.fd, frame.head());
        buffers.take_back(frame);
        sent.map(drop).map_err(io::Error::from)
    }

    pub(super) fn flush(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        Ok(())
    }
}

impl AsFd for Port {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Memory of packets that have gone, for packets to come: in steady state nothing is allocated.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    free: Vec<Vec<u8>>,
}

impl Buffers {
    /// An empty buffer with room for `size` bytes.
    fn get(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = self.free.pop().unwrap_or_default();
        bytes.clear();
        bytes.reserve(size);
        bytes
    }

    fn put(&mut self, bytes: Vec<u8>) {
        self.free.push(bytes);
    }

    pub(super) fn take_back(&mut self, frame: Frame) {
    }
}
