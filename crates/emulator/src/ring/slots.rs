//! Memory that the kernel reads packets into: a ring of provided buffers
//! (`io_uring_register_buf_ring(3)`).

use io_uring::Submitter;
use io_uring::types::BufRingEntry;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

/// Number of slots of a port, a power of two. More packets at once take one more system call.
const COUNT: u16 = 64;

/// The same for slots of 64 KiB. There are fewer, since a burst is then one segment.
const COUNT_LONG: u16 = 16;

/// Size in bytes from which a slot counts as long.
const LONG: usize = 16 * 1024;

/// The kernel requires the ring to begin on a page.
const PAGE: usize = 4096;

/// Slots of one port, numbered by position.
pub(super) struct Slots {
    entries: NonNull<BufRingEntry>,
    /// Number of slots given to the kernel so far. It wraps at 16 bits, as the kernel's counter
    /// does.
    given: u16,
    count: u16,
    size: usize,
    bytes: Box<[u8]>,
}

// SAFETY: only this value and the kernel use the memory.
unsafe impl Send for Slots {}

/// Memory layout of a ring of `count` slots.
const fn layout(count: u16) -> Layout {
    match Layout::from_size_align(count as usize * size_of::<BufRingEntry>(), PAGE) {
        Ok(layout) => layout,
        Err(_) => panic!("a page is a power of two"),
    }
}

impl Slots {
    /// Registers slots of `size` bytes each for reads of this buffer group. They must live until
    /// the ring is dropped.
    pub fn register(submitter: &Submitter<'_>, group: u16, size: usize) -> io::Result<Self> {
        let count = if size < LONG { COUNT } else { COUNT_LONG };
        // SAFETY: the layout has a nonzero size.
        let memory = unsafe { alloc_zeroed(layout(count)) };
        #[expect(clippy::cast_ptr_alignment, reason = "it is aligned to a page")]
        let Some(entries) = NonNull::new(memory.cast::<BufRingEntry>()) else {
            handle_alloc_error(layout(count))
        };
        let bytes = vec![0; size * usize::from(count)].into_boxed_slice();
        let mut slots = Self { entries, given: 0, count, size, bytes };
        // SAFETY: the memory holds `count` entries and is aligned to a page. It lives as long as
        // the ring, whose owner owns it.
        unsafe { submitter.register_buf_ring_with_flags(entries.as_ptr() as u64, count, group, 0)? };
        for slot in 0..count {
            slots.give_back(slot);
        }
        Ok(slots)
    }

    /// Returns the first `length` bytes of a slot that the kernel has filled.
    pub fn bytes(&self, slot: u16, length: usize) -> &[u8] {
        let start = usize::from(slot) * self.size;
        &self.bytes[start..start + length.min(self.size)]
    }

    /// Gives a slot to the kernel.
    pub fn give_back(&mut self, slot: u16) {
        let start = self.bytes.as_mut_ptr().wrapping_add(usize::from(slot) * self.size);
        // SAFETY: the index is below the number of entries. The kernel does not read an entry
        // beyond the tail.
        let entry = unsafe { self.entries.add(usize::from(self.given % self.count)).as_mut() };
        entry.set_addr(start as u64);
        entry.set_len(self.size as u32);
        entry.set_bid(slot);
        self.given = self.given.wrapping_add(1);
        // SAFETY: the tail lies in the first entry, where `set_*` does not write. It is aligned,
        // and the kernel only reads it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.given, Ordering::Release);
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout, and the ring that used it is gone.
        unsafe { dealloc(self.entries.as_ptr().cast(), layout(self.count)) };
    }
}
