//! Writes of packets, several in one system call by io_uring, or one by one where the kernel or a
//! container forbids io_uring.

use super::buffers::Buffers;
use io_uring::types::Fd;
use io_uring::{IoUring, opcode};
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Number of writes of a batch. In a longer one, the first packet would wait for the last.
const BATCH: usize = 16;

/// First Linux that writes to TUN devices without a thread of the kernel, and therefore in order
/// (`FMODE_NOWAIT`).
const LINUX: (u32, u32) = (6, 2);

/// Writes that are made together; see the [module](self).
pub(super) struct Batch {
    // Dropped first: the kernel must stop using the memory below before it is freed.
    uring: Option<Box<IoUring>>,
    queued: Vec<(RawFd, Vec<u8>)>,
    refused: VecDeque<io::Error>,
}

impl Batch {
    /// Creates a batch, by io_uring if that is permitted.
    pub fn new() -> Self {
        let has_ring = release().is_some_and(|release| release >= LINUX);
        Self {
            uring: has_ring.then(|| IoUring::new(BATCH as u32).ok()).flatten().map(Box::new),
            ..Self::one_by_one()
        }
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

    /// Writes `bytes` to `fd`, or queues them until [`submit`](Self::submit), or until the batch is
    /// full. Errors of queued writes come from [`refused`](Self::refused).
    pub fn write(&mut self, fd: BorrowedFd<'_>, bytes: Vec<u8>, buffers: &mut Buffers) -> io::Result<()> {
        if self.uring.is_none() {
            let written = rustix::io::write(fd, &bytes);
            buffers.put(bytes);
            return Ok(written.map(drop)?);
        }
        self.queued.push((fd.as_raw_fd(), bytes));
        if self.queued.len() >= BATCH { self.submit(buffers) } else { Ok(()) }
    }

    /// Makes the queued writes. The descriptors must still be open.
    pub fn submit(&mut self, buffers: &mut Buffers) -> io::Result<()> {
        let Some(uring) = &mut self.uring else { return Ok(()) };
        let mut left = self.queued.len();
        if let [(fd, bytes)] = self.queued.as_slice() {
            // SAFETY: the caller keeps it open.
            let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
            // For one packet, this is faster than a ring.
            self.refused.extend(rustix::io::write(fd, bytes).err().map(io::Error::from));
            left = 0;
        }
        for (fd, bytes) in self.queued.iter().take(left) {
            // A TUN device has no file position. NOWAIT: the write completes at once, or fails.
            let write = opcode::Write::new(Fd(*fd), bytes.as_ptr(), bytes.len() as u32);
            let write = write.offset(u64::MAX).rw_flags(libc::RWF_NOWAIT).build();
            // SAFETY: the bytes are kept until the writes have completed. The queue has room for a
            // whole batch.
            unsafe { uring.submission().push(&write) }.map_err(io::Error::other)?;
        }
        while left > 0 {
            if let Err(error) = uring.submit_and_wait(left)
                && error.raw_os_error() != Some(libc::EINTR)
            {
                // The kernel may still read these bytes.
                std::mem::forget(std::mem::take(&mut self.queued));
                return Err(error);
            }
            for completion in uring.completion() {
                left -= 1;
                if completion.result() < 0 {
                    self.refused.push_back(io::Error::from_raw_os_error(-completion.result()));
                }
            }
        }
        self.queued.drain(..).for_each(|(_, bytes)| buffers.put(bytes));
        Ok(())
    }

    /// Returns the error of a queued write, one a call.
    pub fn refused(&mut self) -> Option<io::Error> {
        self.refused.pop_front()
    }
}

/// Returns the first two numbers of the kernel's release.
fn release() -> Option<(u32, u32)> {
    let uname = rustix::system::uname();
    let mut numbers = uname.release().to_str().ok()?.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}
