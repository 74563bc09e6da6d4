//! Reuse of packet memory: in steady state, the drivers allocate none.

use packet::Frame;

/// Room for the longest IP packet with an Ethernet header and two VLAN tags.
pub(super) const LONG: usize = 65_535 + 14 + 2 * 4;

/// Packets up to this many bytes go into short buffers. An acknowledgement must not occupy 64 KiB.
pub(super) const WORTH_COPYING: usize = 2048;

/// Maximum numbers of free buffers: 64 MiB of long ones, and enough short ones for a long fat pipe.
const KEPT_LONG: usize = 1024;
const KEPT_SHORT: usize = 65_536;

/// Free buffers.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    short: Vec<Vec<u8>>,
    /// Each has room for [`LONG`] bytes.
    long: Vec<Vec<u8>>,
}

impl Buffers {
    /// Returns an empty buffer with room for `size` bytes.
    pub fn short(&mut self, size: usize) -> Vec<u8> {
        let mut bytes = self.short.pop().unwrap_or_default();
        bytes.clear();
        bytes.reserve(size);
        bytes
    }

    /// Returns an empty buffer with room for `size` bytes, short or long.
    pub fn fitting(&mut self, size: usize) -> Vec<u8> {
        if size <= WORTH_COPYING {
            return self.short(WORTH_COPYING);
        }
        let mut bytes = self.long.pop().unwrap_or_else(|| Vec::with_capacity(LONG));
        bytes.clear();
        bytes
    }

    /// Returns a buffer of [`LONG`] bytes of any content.
    pub fn long(&mut self) -> Vec<u8> {
        let Some(mut bytes) = self.long.pop() else { return vec![0; LONG] };
        // Zeroed here and not in `put`: buffers that are filled from the start need no zeros, and
        // writing 64 KiB of them takes as long as a system call on a host.
        bytes.resize(LONG, 0);
        bytes
    }

    /// Takes a buffer for reuse.
    pub fn put(&mut self, bytes: Vec<u8>) {
        if bytes.capacity() >= LONG {
            if self.long.len() < KEPT_LONG {
                self.long.push(bytes);
            }
        } else if self.short.len() < KEPT_SHORT {
            self.short.push(bytes);
        }
    }

    /// Takes back the memory of a frame, unless another frame shares it.
    pub fn take_back(&mut self, frame: Frame) {
        if let Some(bytes) = frame.into_buffer() {
            self.put(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Layer;

    #[test]
    fn a_buffer_comes_back_as_what_it_was() {
        let mut buffers = Buffers::default();
        let mut long = buffers.long();
        let place = long.as_ptr();
        long.truncate(20_000);
        buffers.put(long);
        let again = buffers.long();
        assert_eq!((again.as_ptr(), again.len()), (place, LONG));

        buffers.put(again);
        let fitting = buffers.fitting(20_000);
        assert_eq!((fitting.as_ptr(), fitting.len()), (place, 0));

        let short = buffers.short(1522);
        let place = short.as_ptr();
        buffers.take_back(Frame::owned(Layer::Ip, short));
        let again = buffers.short(1522);
        assert_eq!((again.as_ptr(), again.len()), (place, 0));
    }
}
