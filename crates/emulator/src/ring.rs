//! The driver for virtual time. One system call submits all packets to send and waits.
//!
//! In User-Mode Linux a system call costs about 7 us of the host's time, and everything else almost
//! none. So the number of calls determines how fast virtual time passes (docs/performance.md). Here
//! `io_uring_enter` is the only call of a wake-up. It submits the packets to send and the time of
//! the next event. Then it waits for that time or for packets, which the kernel writes to memory
//! that it was given beforehand ([`slots`]).
//!
//! [`Ring::now`] returns the clock as read when the last wait ended. Our kernel reads it without a
//! system call (`kernel/patches/06`), and no virtual time passes while the loop works. For the real
//! clock there is [`crate::kernel::Kernel`].
//!
//! The driver keeps the guarantees of [`crate::driver`]. No packet leaves early, since packets are
//! sent only after the kernel's absolute timer has fired. Packets get their times after they have
//! arrived. An error of a write is known one wait later.

mod slots;

use crate::control::{Bell, Controls};
use crate::driver::{Driver, PortId};
use crate::kernel::Port;
use crate::kernel::buffers::Buffers;
use io_uring::types::{CancelBuilder, Fd, SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{EnterFlags, IoUring, cqueue, opcode, squeue};
use link::units::Time;
use packet::Frame;
use slots::Slots;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Entries of the submission queue. More packets at once take one more system call.
const SUBMISSIONS: u32 = 512;

/// Entries of the completion queue. The kernel stores completions beyond these, at some cost.
const COMPLETIONS: u32 = 4096;

/// User data of completions: one of these constants, the number of a write, or the number of a port
/// plus [`PORT`].
const TIMER: u64 = u64::MAX;
const RETIMED: u64 = u64::MAX - 1;
const BELL: u64 = u64::MAX - 2;
const PORT: u64 = 1 << 32;

/// The io_uring driver; see the [module](self).
pub struct Ring {
    // Dropped first: the kernel must stop using the memory below before it is freed.
    uring: IoUring,
    /// Whether the waiting thread has enabled the ring for itself.
    enabled: bool,
    bell: Bell,
    bell_is_watched: bool,
    /// The monotonic clock at the start of the run, in nanoseconds.
    origin: u64,
    now: Time,
    ends: Vec<End>,
    buffers: Buffers,
    writes: Writes,
    /// The time that the timer is set to.
    timer: Option<Time>,
    /// The same for the kernel, which reads it during the system call.
    timespec: Box<Timespec>,
    /// Number of outstanding completions that come at once in any case: of writes and of timer
    /// updates. A wait asks for these in addition to the one that it waits for.
    chores: usize,
    refused: VecDeque<io::Error>,
}

/// A port, and the packets that it has received.
struct End {
    port: Port,
    slots: Slots,
    /// Whether a multishot read is active.
    reading: bool,
    frames: VecDeque<Frame>,
}

/// Packets whose writes have not completed. The kernel may still read their bytes.
#[derive(Default)]
struct Writes {
    bytes: Vec<Option<Vec<u8>>>,
    free: Vec<usize>,
}

impl Writes {
    /// Keeps `bytes` until the write has completed. Returns the number of the write.
    fn keep(&mut self, bytes: Vec<u8>) -> usize {
        let place = self.free.pop().unwrap_or_else(|| {
            self.bytes.push(None);
            self.bytes.len() - 1
        });
        self.bytes[place] = Some(bytes);
        place
    }

    fn ended(&mut self, place: usize) -> Option<Vec<u8>> {
        self.free.push(place);
        self.bytes.get_mut(place)?.take()
    }
}

impl Ring {
    /// Creates a driver without ports. Its time starts now.
    ///
    /// # Errors
    /// If io_uring is forbidden, or lacks multishot reads (before Linux 6.7).
    pub fn new(controls: &Controls) -> io::Result<Self> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_r_disabled()
            .setup_submit_all()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        let mut probe = io_uring::Probe::new();
        uring.submitter().register_probe(&mut probe)?;
        if !probe.is_supported(opcode::ReadMulti::CODE) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "io_uring has no multishot read here: use Linux 6.7 or later",
            ));
        }
        Ok(Self {
            uring,
            enabled: false,
            bell: controls.bell(),
            bell_is_watched: false,
            origin: monotonic(),
            now: Time::ZERO,
            ends: Vec::new(),
            buffers: Buffers::default(),
            writes: Writes::default(),
            timer: None,
            timespec: Box::default(),
            chores: 0,
            refused: VecDeque::new(),
        })
    }

    /// Adds a port.
    ///
    /// # Errors
    /// If the kernel does not accept the memory to read into, or if there are 65 536 ports already.
    pub fn add(&mut self, port: Port) -> io::Result<PortId> {
        let id = PortId(self.ends.len());
        let group = u16::try_from(id.0).map_err(|_| io::Error::other("a ring has at most 65 536 ports"))?;
        let slots = Slots::register(&self.uring.submitter(), group, port.longest_read())?;
        self.ends.push(End { port, slots, reading: false, frames: VecDeque::new() });
        Ok(id)
    }

    /// Returns the number of packets dropped because the kernel handed them over in a form that
    /// cannot be cut into MTU-sized packets.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.ends.iter().map(|end| end.port.unusable()).sum()
    }

    /// Puts an operation into the submission queue. If the queue is full, submits it first.
    ///
    /// # Safety
    /// The memory that `entry` points to must stay valid until its completion has come.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: the caller keeps the memory valid, see above.
        while unsafe { self.uring.submission().push(entry) }.is_err() {
            self.enable()?;
            self.enter(0)?;
            self.reap()?;
        }
        Ok(())
    }

    /// Makes the calling thread the one that uses the ring.
    fn enable(&mut self) -> io::Result<()> {
        if !self.enabled {
            self.uring.submitter().register_enable_rings()?;
            self.enabled = true;
        }
        Ok(())
    }

    /// Starts reading every port and polling the bell, wherever this has ended or not begun.
    fn listen(&mut self) -> io::Result<()> {
        for place in 0..self.ends.len() {
            if !self.ends[place].reading {
                let fd = Fd(self.ends[place].port.as_fd().as_raw_fd());
                let read = opcode::ReadMulti::new(fd, 0, place as u16).offset(u64::MAX);
                // SAFETY: it reads into the slots, which live as long as the ring.
                unsafe { self.push(&read.build().user_data(PORT + place as u64))? };
                self.ends[place].reading = true;
            }
        }
        if !self.bell_is_watched {
            let poll =
                opcode::PollAdd::new(Fd(self.bell.as_fd().as_raw_fd()), libc::POLLIN as u32).multi(true);
            // SAFETY: it points to no memory.
            unsafe { self.push(&poll.build().user_data(BELL))? };
            self.bell_is_watched = true;
        }
        Ok(())
    }

    /// Sets the timer to `until`, unless it is set to that already.
    fn set_timer(&mut self, until: Time) -> io::Result<()> {
        if until == Time::NEVER || self.timer == Some(until) {
            // A timer that is still set wakes the loop once without need.
            return Ok(());
        }
        let at = self.origin.saturating_add(until.as_nanos());
        *self.timespec = Timespec::new().sec(at / 1_000_000_000).nsec((at % 1_000_000_000) as u32);
        let timespec: *const Timespec = &raw const *self.timespec;
        let entry = if self.timer.is_some() {
            self.chores += 1;
            opcode::TimeoutUpdate::new(TIMER, timespec).flags(TimeoutFlags::ABS).build().user_data(RETIMED)
        } else {
            opcode::Timeout::new(timespec).flags(TimeoutFlags::ABS).build().user_data(TIMER)
        };
        self.timer = Some(until);
        // SAFETY: the timespec is on the heap and belongs to the ring; the kernel reads it during
        // the system call.
        unsafe { self.push(&entry) }
    }

    /// Submits the queue and waits until `want` completions are there.
    fn enter(&mut self, want: usize) -> io::Result<()> {
        let submit = self.uring.submission().len() as u32;
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: memory that queue entries point to is kept until their completions, as `push`
        // requires; there is no argument.
        match unsafe { self.uring.submitter().enter::<SubmitArgs<'_, '_>>(submit, want as u32, flags, None) }
        {
            Ok(_) => Ok(()),
            // A signal, or completions that have to be reaped first.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Handles all completions.
    fn reap(&mut self) -> io::Result<()> {
        // Each completion is copied out, so that its handling can use the rest of the ring.
        while let Some(completion) = { self.uring.completion().next() } {
            let (result, flags) = (completion.result(), completion.flags());
            match completion.user_data() {
                TIMER => self.timer = None,
                // If the timer had fired before the update, its own completion says so.
                RETIMED => self.chores -= 1,
                BELL => {
                    self.bell.hush();
                    self.bell_is_watched = cqueue::more(flags);
                }
                port if port >= PORT => {
                    self.received((port - PORT) as usize, result, flags)?;
                }
                write => {
                    self.chores -= 1;
                    if let Some(bytes) = self.writes.ended(write as usize) {
                        self.buffers.put(bytes);
                    }
                    if result < 0 {
                        self.refused.push_back(io::Error::from_raw_os_error(-result));
                    }
                }
            }
        }
        Ok(())
    }

    /// Handles the end of a read from this port. `result` is a number of bytes, or a negated error.
    fn received(&mut self, place: usize, result: i32, flags: u32) -> io::Result<()> {
        let End { port, slots, reading, frames } = &mut self.ends[place];
        *reading = cqueue::more(flags);
        let slot = cqueue::buffer_select(flags);
        if let (Ok(length), Some(slot)) = (usize::try_from(result), slot) {
            let mut parsed = Vec::new();
            port.parse(slots.bytes(slot, length), &mut self.buffers, &mut parsed);
            frames.extend(parsed);
        }
        if let Some(slot) = slot {
            slots.give_back(slot);
        }
        match -result {
            // ENOBUFS: no slot was left. The next wait starts the read again.
            libc::ENOBUFS | libc::EAGAIN | libc::EINTR | libc::ECANCELED => Ok(()),
            error if error > 0 => Err(io::Error::from_raw_os_error(error)),
            _ => Ok(()),
        }
    }

    /// Queues the write of a packet.
    fn write(&mut self, port: PortId, bytes: Vec<u8>) -> io::Result<()> {
        let fd = Fd(self.ends[port.0].port.as_fd().as_raw_fd());
        let (start, length) = (bytes.as_ptr(), bytes.len() as u32);
        let place = self.writes.keep(bytes);
        self.chores += 1;
        // A TUN descriptor has no file position.
        let write = opcode::Write::new(fd, start, length).offset(u64::MAX).build().user_data(place as u64);
        // SAFETY: the bytes are kept until the write has completed; moving their `Vec` does not
        // move them.
        unsafe { self.push(&write) }
    }
}

/// Reads the monotonic clock, in nanoseconds. rustix would read it only through the vDSO, and
/// User-Mode Linux has no vDSO that rustix knows.
fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that may be written.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(read, 0, "every Linux has CLOCK_MONOTONIC");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Driver for Ring {
    /// Returns the time at which the last wait ended.
    fn now(&mut self) -> Time {
        self.now
    }

    fn wait(&mut self, until: Time, ready: &mut Vec<PortId>) -> io::Result<bool> {
        self.enable()?;
        self.listen()?;
        let left_over = self.ends.iter().any(|end| !end.frames.is_empty());
        let blocks = until > self.now && !left_over;
        if blocks {
            self.set_timer(until)?;
        }
        self.enter(self.chores + usize::from(blocks))?;
        self.reap()?;
        self.now = Time::from_nanos(monotonic().saturating_sub(self.origin));
        let has_frames = self.ends.iter().enumerate().filter(|(_, end)| !end.frames.is_empty());
        ready.extend(has_frames.map(|(place, _)| PortId(place)));
        Ok(true)
    }

    fn receive(&mut self, port: PortId, into: &mut Vec<Frame>) -> io::Result<bool> {
        let frames = &mut self.ends[port.0].frames;
        into.extend(frames.pop_front());
        Ok(!frames.is_empty())
    }

    fn send(&mut self, port: PortId, frame: Frame) -> io::Result<()> {
        let packed = self.ends[port.0].port.pack(frame, &mut self.buffers);
        packed.map_or(Ok(()), |bytes| self.write(port, bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        for place in 0..self.ends.len() {
            if let Some(bytes) = self.ends[place].port.pack_kept(&mut self.buffers) {
                self.write(PortId(place), bytes)?;
            }
        }
        self.refused.pop_front().map_or(Ok(()), Err)
    }

    fn recycle(&mut self, frame: Frame) {
        self.buffers.take_back(frame);
    }

    fn finish(&mut self) -> io::Result<()> {
        self.enable()?;
        self.enter(self.chores)?;
        self.reap()?;
        // Makes the kernel release the slots. The error is ignored: operations that have ended
        // cannot be cancelled.
        let _ = self.uring.submitter().register_sync_cancel(None, CancelBuilder::any());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
