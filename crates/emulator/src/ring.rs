//! The driver for virtual time: everything that waits and everything that is sent goes to the
//! kernel in one system call.
//!
//! In a User-Mode Linux a system call costs about 7 us of the host's time and everything else next
//! to nothing, so the number of calls decides how fast virtual time goes (docs/performance.md).
//! Here `io_uring_enter` is the only call of a wake-up: it submits the packets to be sent and the
//! time of the next event, then waits for that time or for packets, which the kernel puts into
//! memory that it was given beforehand ([`slots`]). [`Ring::now`] is the clock as it was read when
//! the last wait ended, which takes no system call in our kernel (`kernel/patches/06`): while the
//! loop works no virtual time passes. For the real clock there is [`crate::kernel::Kernel`].
//!
//! The promises of [`crate::driver`] hold: nothing leaves early, since the absolute timer of the
//! kernel has fired before what it was for is sent, and packets are timed after they have come.
//! What could not be sent is known one wait later.

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

/// Entries of the submission queue; more packets to send at once take one system call more.
const SUBMISSIONS: u32 = 512;

/// Entries of the completion queue. The kernel keeps what has no room, at some cost.
const COMPLETIONS: u32 = 4096;

/// What a completion is about: these, or the number of a write, or that of a port beyond [`PORT`].
const TIMER: u64 = u64::MAX;
const RETIMED: u64 = u64::MAX - 1;
const BELL: u64 = u64::MAX - 2;
const PORT: u64 = 1 << 32;

/// The driver; see the [module](self).
pub struct Ring {
    // Dropped first: the kernel must have let go of the memory below.
    uring: IoUring,
    /// Whether the thread that waits has taken possession of the ring.
    enabled: bool,
    bell: Bell,
    bell_is_watched: bool,
    /// The monotonic clock at the start of the run, in nanoseconds.
    origin: u64,
    now: Time,
    ends: Vec<End>,
    buffers: Buffers,
    writes: Writes,
    /// What the timer is set to.
    timer: Option<Time>,
    /// The same as the kernel wants it. It is read when the call is made.
    timespec: Box<Timespec>,
    /// Completions that are sure to come at once, and that nobody waits for: of writes and changes
    /// of the timer.
    chores: usize,
    refused: VecDeque<io::Error>,
}

/// A port, and what has come from it.
struct End {
    port: Port,
    slots: Slots,
    /// Whether the kernel reads on.
    reading: bool,
    frames: VecDeque<Frame>,
}

/// Packets that the kernel has not told to be sent yet: it may still read their bytes.
#[derive(Default)]
struct Writes {
    bytes: Vec<Option<Vec<u8>>>,
    free: Vec<usize>,
}

impl Writes {
    /// Keeps `bytes` until the write with the number that is returned has ended.
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
    /// A driver without ports. Its time starts now.
    ///
    /// # Errors
    /// If this kernel has no io_uring that can do what is needed (Linux 6.7), or does not allow it.
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
    /// If the kernel does not take the memory to read into.
    pub fn add(&mut self, port: Port) -> io::Result<PortId> {
        let id = PortId(self.ends.len());
        let group = u16::try_from(id.0).map_err(|_| io::Error::other("a ring has at most 65 536 ports"))?;
        let slots = Slots::register(&self.uring.submitter(), group, port.longest_read())?;
        self.ends.push(End { port, slots, reading: false, frames: VecDeque::new() });
        Ok(id)
    }

    /// Packets that the kernel handed over in a form that cannot be cut into MTU-sized ones; they
    /// were dropped.
    #[must_use]
    pub fn unusable(&self) -> u64 {
        self.ends.iter().map(|end| end.port.unusable()).sum()
    }

    /// Puts an operation into the queue, and the queue to the kernel if it is full.
    ///
    /// # Safety
    /// What `entry` points at must stay until its completion has come.
    unsafe fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        // SAFETY: as the caller promises.
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

    /// Has every port read and the bell watched, where that has ended or has not begun.
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
            // SAFETY: it points at nothing.
            unsafe { self.push(&poll.build().user_data(BELL))? };
            self.bell_is_watched = true;
        }
        Ok(())
    }

    /// Sets the timer to `until`, if it is not already.
    fn set_timer(&mut self, until: Time) -> io::Result<()> {
        if until == Time::NEVER || self.timer == Some(until) {
            // A timer that is still set wakes the loop for nothing, once.
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
        // SAFETY: the timespec is on the heap and belongs to the ring; the kernel reads it when the
        // call is made.
        unsafe { self.push(&entry) }
    }

    /// Submits what is in the queue and waits until `want` completions are there.
    fn enter(&mut self, want: usize) -> io::Result<()> {
        let submit = self.uring.submission().len() as u32;
        let flags = EnterFlags::GETEVENTS.bits();
        // SAFETY: what the queue points at is kept until its completion, as `push` asks; there is
        // no argument.
        match unsafe { self.uring.submitter().enter::<SubmitArgs<'_, '_>>(submit, want as u32, flags, None) }
        {
            Ok(_) => Ok(()),
            // A signal, or completions that have to be taken first.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EBUSY | libc::EAGAIN)) => {
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Takes in what has happened.
    fn reap(&mut self) -> io::Result<()> {
        // Each is copied out, so that its handling can use the rest of the ring.
        while let Some(completion) = { self.uring.completion().next() } {
            let (result, flags) = (completion.result(), completion.flags());
            match completion.user_data() {
                TIMER => self.timer = None,
                // If it had fired before, its own completion tells.
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

    /// A read of this port has ended with `result`: bytes, or an error.
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
            // No slot was left: the kernel is asked to read on with the next wait.
            libc::ENOBUFS | libc::EAGAIN | libc::EINTR | libc::ECANCELED => Ok(()),
            error if error > 0 => Err(io::Error::from_raw_os_error(error)),
            _ => Ok(()),
        }
    }

    /// Puts a packet into the queue.
    fn write(&mut self, port: PortId, bytes: Vec<u8>) -> io::Result<()> {
        let fd = Fd(self.ends[port.0].port.as_fd().as_raw_fd());
        let (start, length) = (bytes.as_ptr(), bytes.len() as u32);
        let place = self.writes.keep(bytes);
        self.chores += 1;
        // A TUN descriptor has no position.
        let write = opcode::Write::new(fd, start, length).offset(u64::MAX).build().user_data(place as u64);
        // SAFETY: the bytes are kept until the write has ended; moving their `Vec` does not move
        // them.
        unsafe { self.push(&write) }
    }
}

/// The monotonic clock, in nanoseconds. (rustix reads it by the vDSO alone, and a User-Mode Linux
/// has none that it knows.)
fn monotonic() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that may be written.
    let read = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    assert_eq!(read, 0, "every Linux has CLOCK_MONOTONIC");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

impl Driver for Ring {
    /// The time at which the last wait ended.
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
        // So that the kernel lets go of the slots; what has ended already cannot be ended.
        let _ = self.uring.submitter().register_sync_cancel(None, CancelBuilder::any());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
