//! Packets that leave a link together, joined for one write to a device with `IFF_VNET_HDR`.

use super::{Whole, checksum_offset};
use crate::Frame;
use crate::frame::Body;
use crate::virtio::{self, Checksum, Segmentation};
use std::sync::Arc;

/// A packet, or several of one [`Whole`] that follow one another.
#[derive(Debug)]
pub struct Run {
    first: Frame,
    count: u16,
}

/// What to write for a run, in this order and in one `writev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces<'a> {
    /// The virtio header.
    pub virtio: [u8; virtio::LEN],
    /// Headers made for the run; empty if the packet goes out as it came.
    pub header: &'a [u8],
    /// The rest, which nobody copied.
    pub payload: &'a [u8],
}

impl Run {
    /// A run of one frame of any kind.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self { first: frame, count: 1 }
    }

    /// Adds the packet behind the run's last one; gives it back if it is not the next part of the
    /// same whole, or is marked CE where the run is not, or the other way round.
    pub fn push(&mut self, frame: Frame) -> Result<(), Frame> {
        match (self.first.body(), frame.body()) {
            (
                Body::Part { whole, index, ce },
                Body::Part { whole: next_whole, index: next_index, ce: next_ce },
            ) if index + self.count == *next_index && ce == next_ce && Arc::ptr_eq(whole, next_whole) => {
                self.count += 1;
                Ok(())
            }
            _ => Err(frame),
        }
    }

    /// Number of packets in the run.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a run has one packet or more")]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// What to write. `header` is a buffer for the headers, whose contents are replaced; it can be
    /// used for run after run.
    ///
    /// Checksums that came partial go out partial, for the kernel to complete or to trust. A frame
    /// with complete checksums goes out to be verified, so that damage in it is found.
    #[must_use]
    pub fn pieces<'a>(&'a self, header: &'a mut Vec<u8>) -> Pieces<'a> {
        header.clear();
        let alone = virtio::Header::default();
        let (virtio, payload) = match self.first.body() {
            Body::Complete(bytes) => (alone, bytes.as_slice()),
            Body::Partial { bytes, start, offset } => {
                let checksum = Checksum::Partial { start: *start, offset: *offset };
                (virtio::Header { checksum, ..alone }, bytes.as_slice())
            }
            Body::Part { whole, index, ce } => {
                let payload = if self.count == whole.count && !ce {
                    &whole.bytes[..]
                } else {
                    whole.write_header(*index, self.count, *ce, header);
                    &whole.bytes[whole.payload_of(*index, self.count)]
                };
                (whole.virtio(*index, self.count), payload)
            }
        };
        Pieces { virtio: virtio.encode(), header, payload }
    }

    /// Gives a buffer back for reuse, as [`Frame::into_buffer`] does.
    #[must_use]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        self.first.into_buffer()
    }
}

impl Whole {
    /// The virtio header for `count` packets from `first` on.
    fn virtio(&self, first: u16, count: u16) -> virtio::Header {
        let Segmentation { kind, ecn, size } = self.segmentation;
        virtio::Header {
            checksum: Checksum::Partial {
                start: self.transport as u16,
                offset: checksum_offset(kind) as u16,
            },
            segmentation: (count > 1).then_some(Segmentation { kind, ecn: ecn && first == 0, size }),
            header_len: self.payload as u16,
        }
    }
}
