//! Writes of packets: several in one system call by io_uring, or one by one where the kernel or a
//! container forbids io_uring.

use super::buffers::Buffers;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Maximum number of writes in a batch. In a longer one, the first packet would wait for the last.
const BATCH: usize = 16;

/// Writes that are made together; see the [module](self).
pub(super) struct Batch {
    // Dropped first: the kernel must stop using the memory below before it is freed.
    uring: Option<Box<IoUring>>,
    queued: Vec<Write>,
    refused: VecDeque<io::Error>,
}

struct Write {
    fd: RawFd,
    bytes: Vec<u8>,
    is_done: bool,
}

impl Batch {
    /// Creates a batch, by io_uring if that is permitted.
    pub fn new() -> Self {
        Self { uring: IoUring::new(BATCH as u32).ok().map(Box::new), ..Self::one_by_one() }
    }

    /// Creates a batch that makes each write at once.
    pub fn one_by_one() -> Self {
        Self { uring: None, queued: Vec::new(), refused: VecDeque::new() }
    }

    /// Returns whether writes are made together.
    #[cfg(test)]
    pub fn has_ring(&self) -> bool {
        self.uring.is_some()
    }

    /// Writes `bytes` to `fd` at the next [`submit`](Self::submit), or when the batch is full.
    /// Errors come from [`refused`](Self::refused).
    pub fn write(&mut self, fd: BorrowedFd<'_>, bytes: Vec<u8>, buffers: &mut Buffers) {
        self.queued.push(Write { fd: fd.as_raw_fd(), bytes, is_done: false });
        if self.uring.is_none() || self.queued.len() >= BATCH {
            self.submit(buffers);
        }
    }

    /// Makes the queued writes. The descriptors must still be open.
    pub fn submit(&mut self, buffers: &mut Buffers) {
        // One packet is faster without the ring (docs/performance.md).
        if self.queued.len() > 1 {
            self.write_together();
        }
        for Write { fd, bytes, is_done } in self.queued.drain(..) {
            if !is_done {
                // SAFETY: the caller keeps it open.
                let fd = unsafe { BorrowedFd::borrow_raw(fd) };
                self.refused.extend(rustix::io::write(fd, &bytes).err().map(io::Error::from));
            }
            buffers.put(bytes);
        }
    }

    /// Makes the queued writes by the ring, except those that it does not support.
    fn write_together(&mut self) {
        let Some(uring) = &mut self.uring else { return };
        let mut left = 0;
        for (place, Write { fd, bytes, .. }) in self.queued.iter().enumerate() {
            let entry = opcode::Write::new(Fd(*fd), bytes.as_ptr(), bytes.len() as u32)
                // A TUN device has no file position.
                .offset(u64::MAX)
                // The write completes or fails at once. Otherwise a kernel that does not support
                // this for TUN devices would leave it to threads, which write in any order.
                .rw_flags(libc::RWF_NOWAIT)
                .build()
                .user_data(place as u64);
            // SAFETY: the bytes are kept until the write has completed.
            if unsafe { uring.submission().push(&entry) }.is_err() {
                break;
            }
            left += 1;
        }
        let mut is_supported = true;
        while left > 0 {
            if let Err(error) = uring.submit_and_wait(left)
                && error.raw_os_error() != Some(libc::EINTR)
            {
                // The kernel may still read these bytes.
                std::mem::forget(std::mem::take(&mut self.queued));
                self.refused.push_back(error);
                self.uring = None;
                return;
            }
            for completion in uring.completion() {
                left -= 1;
                let result = completion.result();
                if result == -libc::EOPNOTSUPP {
                    is_supported = false;
                    continue;
                }
                self.queued[completion.user_data() as usize].is_done = true;
                if result < 0 {
                    self.refused.push_back(io::Error::from_raw_os_error(-result));
                }
            }
        }
        if !is_supported {
            self.uring = None;
        }
    }

    /// Returns the error of a write, one a call.
    pub fn refused(&mut self) -> Option<io::Error> {
        self.refused.pop_front()
    }
}
