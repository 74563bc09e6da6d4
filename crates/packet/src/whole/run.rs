//! Packets that leave a link together, joined for one write to a device with `IFF_VNET_HDR`.

use super::{Whole, checksum_offset};
use crate::Frame;
use crate::frame::Body;
use crate::virtio::{self, Checksum, Segmentation};
use std::sync::Arc;

/// One packet, or several consecutive ones of one [`Whole`].
#[derive(Debug)]
pub struct Run {
    first: Frame,
    count: u16,
}

/// Buffers to write for a run, in this order and with one `writev`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pieces<'a> {
    /// The virtio header.
    pub virtio: [u8; virtio::LEN],
    /// Headers made for the run; empty if the packet leaves as it arrived.
    pub header: &'a [u8],
    /// The rest, without copying.
    pub payload: &'a [u8],
}

impl Run {
    /// Returns a run of one frame of any kind.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self { first: frame, count: 1 }
    }

    /// Adds a packet at the end of the run.
    ///
    /// Returns the frame as an error if it is not the next part of the same whole, or if only one
    /// of frame and run is marked CE.
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

    /// Returns the number of packets in the run.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "a run has one packet or more")]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Returns the buffers to write.
    ///
    /// `header` is a buffer for the headers, whose contents are replaced; it can be reused for
    /// other runs.
    ///
    /// Partial checksums leave as partial, for the kernel to complete or trust. Complete checksums
    /// leave for the kernel to verify, so that it detects damage.
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

    /// Returns a buffer for reuse, like [`Frame::into_buffer`].
    #[must_use]
    pub fn into_buffer(self) -> Option<Vec<u8>> {
        self.first.into_buffer()
    }
}

impl Whole {
    /// Returns the virtio header for `count` packets from `first` on.
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
