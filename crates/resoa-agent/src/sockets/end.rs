//! Our end of a pair whose other end a program holds. [The crate](crate) explains the reasons for
//! each technique.

use super::flight::{CHUNK, Flight, Weights};
use super::loose::is_held;
use crate::sys;
use resoa_calls::SocketName;
use rustix::event::epoll::EventFlags;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, ioctl_fionread};
use rustix::net::{RecvFlags, SendFlags, Shutdown, SocketType, recv, send, shutdown};
use std::io;
use std::time::Duration;

/// Maximum weight of a packet: its head, and as many pages as it can have (MAX_SKB_FRAGS). `splice`
/// makes such packets of data that does not begin at a page. Packets of `write` weigh 37 120.
const HEAVIEST: i32 = 17 * 4096 + 768;
/// SO_SNDBUF of a program's end, which the kernel doubles.
///
/// The descriptor is writable while at most a quarter of that is used. A byte that stays in our
/// queue keeps a whole packet, and a waiting writer is woken only when the descriptor is writable.
/// So a quarter must hold one packet. The kernel counts one byte from the start, and one more while
/// it frees a packet and wakes the writer.
const PROGRAMS: i32 = 2 * (HEAVIEST + 2);
/// Number of bytes that a program's end holds if writes are long. They count for SO_SNDBUF.
pub(super) const IN_PAIR: usize = 2 * PROGRAMS as usize;
/// SO_SNDBUF of our end. It may be large: data in it counts as unread until the program reads it,
/// so it does not enlarge the far host's window.
const OURS: i32 = 2 << 20;
/// SO_SNDBUF of a listener, which nobody writes to.
const LEAST: i32 = 0;
/// Maximum number of bytes of a read.
const READ: usize = 64 << 10;

/// Time after which a program that has read nothing may be waiting for more data than it was given,
/// if there is more: MSG_PEEK, FIONREAD, SO_RCVLOWAT (C29).
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

/// Our end; see the [module](self).
#[derive(Debug)]
pub(super) struct End {
    fd: OwnedFd,
    /// Bytes at the head of our queue that are not data: the primer, the filling, or the last byte
    /// that was forwarded.
    idle: usize,
    flight: Flight,
    /// Data taken from the client and not written yet.
    rest: Vec<u8>,
    /// Maximum weight in flight with which the kernel reports each read.
    limit: usize,
    program: Program,
    /// The program may have written since its queue was last seen empty. An event of epoll or a
    /// change of its state says so.
    may_have_written: bool,
    /// Whether we have shut down our sending direction.
    is_shut: bool,
    room: Room,
    /// When the program was last seen to read.
    read_at: Duration,
}

/// State of the program's end, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Program {
    /// It is open and may write.
    Open,
    /// It has shut down its sending direction.
    Shut,
    /// Its last descriptor is closed.
    Closed,
    /// Its last descriptor is closed, with unread data.
    Reset,
}

/// Limit of the data in flight to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// The limit with which each read is reported.
    Usual,
    /// The same limit; a timer runs, after which the program seems to wait for more.
    Short,
    /// Four times the limit, until the program reads.
    Grown,
}

/// Prepares the program's end for data.
pub(super) fn prepare(program: BorrowedFd) {
    sys::set_send_buffer(program, PROGRAMS);
}

/// How a program's end is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// One byte: it is connected.
    Primer,
    /// Completely: it is connecting.
    Full,
    /// Completely and permanently: it listens.
    Listener,
}

impl End {
    /// Creates our end of a connected pair. `program` is a copy of the other end, which the caller
    /// drops afterwards.
    pub(super) fn new(fd: OwnedFd, program: BorrowedFd, fill: Fill) -> io::Result<Self> {
        sys::set_send_buffer(&fd, OURS);
        let quarter = rustix::net::sockopt::socket_send_buffer_size(&fd)? / 4;
        // One packet more than the limit may be in flight.
        let limit = quarter.saturating_sub(2 * CHUNK).max(1);
        let idle = filled(program, fill)?;
        Ok(Self {
            fd,
            idle,
            flight: Flight::default(),
            rest: Vec::new(),
            limit,
            program: Program::Open,
            may_have_written: true,
            is_shut: false,
            room: Room::Usual,
            read_at: Duration::ZERO,
        })
    }

    /// Processes an event of epoll.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        self.may_have_written = true;
        let has = |flags| events.contains(flags);
        self.note(has(EventFlags::ERR), has(EventFlags::HUP), has(EventFlags::RDHUP), name);
    }

    /// Checks whether the last descriptor is closed. If both directions are shut down, our end
    /// polls the same, but then the program's end still has its name.
    pub(super) fn look(&mut self, name: &SocketName) {
        let mut polled = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        if poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok() {
            let events = polled[0].revents();
            let has = |flags| events.contains(flags);
            self.note(has(PollFlags::ERR), has(PollFlags::HUP), has(PollFlags::RDHUP), name);
        }
    }

    fn note(&mut self, error: bool, hang_up: bool, read_hang_up: bool, name: &SocketName) {
        let found = match (error, hang_up, read_hang_up) {
            (true, ..) => Program::Reset,
            (_, true, _) => Program::Closed,
            (_, _, true) => Program::Shut,
            _ => Program::Open,
        };
        self.may_have_written |= found > self.program;
        self.program = self.program.max(found);
        if self.program == Program::Closed && self.is_shut && is_held(name, SocketType::STREAM) {
            self.program = Program::Shut;
        }
    }

    /// Returns whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.program >= Program::Closed
    }

    /// Returns whether the program has finished sending, and all of its data was taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.program >= Program::Shut && self.waiting() == 0
    }

    /// Returns the number of bytes from the program that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        let queued = ioctl_fionread(&self.fd).unwrap_or(0) as usize;
        queued.saturating_sub(self.idle)
    }

    /// Takes bytes from the program, at most `most`. Returns them, and whether they are one urgent
    /// byte.
    pub(super) fn take(&mut self, most: usize) -> (Vec<u8>, bool) {
        let waiting = if self.may_have_written { self.waiting() } else { 0 };
        self.may_have_written = waiting > 0;
        let mut count = waiting.min(most).min(READ);
        if count == 0 {
            return (Vec::new(), false);
        }
        // A read ends in front of an urgent byte, and the next read would skip it.
        let mut urgent = [0];
        if recv(&self.fd, &mut urgent[..], RecvFlags::OOB | RecvFlags::PEEK | RecvFlags::DONTWAIT).is_ok() {
            let mut seen = vec![0; self.idle + count];
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            let before = recv(&self.fd, &mut seen[..], flags).map_or(0, |seen| seen.0);
            count = count.min(before.saturating_sub(self.idle));
            if count == 0 {
                let flags = RecvFlags::OOB | RecvFlags::DONTWAIT;
                let is_taken = recv(&self.fd, &mut urgent[..], flags).is_ok();
                return (if is_taken { urgent.to_vec() } else { Vec::new() }, is_taken);
            }
        }
        // Read the bytes that are not data, and all new ones except the last, which is only peeked
        // at.
        let mut bytes = vec![0; self.idle + count];
        let last = bytes.len() - 1;
        let mut read = self.read(&mut bytes[..last]);
        if read == last {
            read += recv(&self.fd, &mut bytes[last..], RecvFlags::PEEK | RecvFlags::DONTWAIT)
                .map_or(0, |count| count.0);
        }
        bytes.truncate(read);
        let idle = std::mem::replace(&mut self.idle, usize::from(read > last));
        (bytes.split_off(idle.min(read)), false)
    }

    fn read(&self, into: &mut [u8]) -> usize {
        let mut read = 0;
        while read < into.len() {
            match recv(&self.fd, &mut into[read..], RecvFlags::DONTWAIT) {
                Ok((0, _)) | Err(_) => break,
                Ok((count, _)) => read += count,
            }
        }
        read
    }

    /// Reads the filling again, except for one byte, so that the program may write.
    pub(super) fn empty(&mut self) {
        let mut scratch = [0; 16 << 10];
        while self.idle > 1 {
            let most = scratch.len().min(self.idle - 1);
            let read = self.read(&mut scratch[..most]);
            if read == 0 {
                return;
            }
            self.idle -= read;
        }
    }

    /// Returns the number of bytes that the program has read since the last call.
    pub(super) fn consumed(&mut self, name: &SocketName, now: Duration) -> usize {
        if self.flight.is_empty() || self.program == Program::Reset {
            return 0;
        }
        let left = sys::outstanding(&self.fd).unwrap_or(0);
        if left >= self.flight.weight() {
            return 0;
        }
        // Data that was unread when the program closed has left the queue, too.
        self.look(name);
        if self.program == Program::Reset {
            return 0;
        }
        let read = self.flight.left(left);
        if read > 0 {
            if self.room == Room::Grown {
                self.room = Room::Usual;
            }
            self.read_at = now;
        }
        read
    }

    /// Returns the number of bytes that may be written now.
    pub(super) fn room(&self) -> usize {
        let limit = if self.room == Room::Grown { 4 * self.limit } else { self.limit };
        if !self.rest.is_empty() || self.flight.weight() >= limit { 0 } else { CHUNK }
    }

    /// Notes that there is more data than room. Returns whether the limit may [grow](Self::grow)
    /// after [`PATIENCE`]. This is false if the timer already runs or the limit has already grown.
    pub(super) fn is_short(&mut self) -> bool {
        let is_new = self.room == Room::Usual;
        if is_new {
            self.room = Room::Short;
        }
        is_new
    }

    /// Raises the limit if the program has read nothing for [`PATIENCE`]. Returns whether it did.
    pub(super) fn grow(&mut self, now: Duration) -> bool {
        let is_waiting = self.read_at + PATIENCE <= now;
        if is_waiting {
            self.room = Room::Grown;
        }
        is_waiting
    }

    /// Returns whether all data taken for the program is written.
    pub(super) fn is_written(&self) -> bool {
        self.rest.is_empty()
    }

    /// Writes bytes to the program, at most [`CHUNK`]; those without room stay here.
    pub(super) fn write(&mut self, bytes: Vec<u8>, weights: &mut Weights) -> io::Result<()> {
        debug_assert!(self.rest.is_empty(), "one after the other");
        self.rest = bytes;
        self.flush(weights)
    }

    /// Writes the remaining bytes.
    pub(super) fn flush(&mut self, weights: &mut Weights) -> io::Result<()> {
        if self.rest.is_empty() {
            return Ok(());
        }
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        match send(&self.fd, &self.rest, flags) {
            Ok(count) => {
                self.flight.add(count, weights.of(count)?);
                self.rest.drain(..count);
                Ok(())
            }
            // Nobody reads any more; epoll reports the end.
            Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes an urgent byte.
    pub(super) fn write_urgent(&mut self, octet: u8, weights: &mut Weights) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | SendFlags::OOB;
        if send(&self.fd, &[octet], flags).is_ok() {
            self.flight.add(1, weights.of(1)?);
        }
        Ok(())
    }

    /// Writes a byte for a connection that waits at a listener.
    pub(super) fn announce(&self) -> bool {
        send(&self.fd, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Ok(1)
    }

    /// Returns the number of bytes of [`announce`](Self::announce) that the program has not read.
    pub(super) fn announcements(&self, weights: &mut Weights) -> usize {
        let left = sys::outstanding(&self.fd).unwrap_or(0);
        weights.of(1).map_or(0, |weight| left / weight)
    }

    /// Shuts down our sending direction: the program reads to the end of the stream.
    pub(super) fn shut(&mut self) {
        if !self.is_shut {
            self.is_shut = true;
            let _ = shutdown(&self.fd, Shutdown::Write);
        }
    }

    /// Makes the program's writes fail (EPIPE). It may still read the data that is there.
    pub(super) fn refuse(&self) {
        let _ = shutdown(&self.fd, Shutdown::Read);
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Writes bytes to our end on the program's behalf. Returns their number.
fn filled(program: BorrowedFd, fill: Fill) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if fill == Fill::Primer {
        return Ok(send(program, &[0], flags)?);
    }
    if fill == Fill::Listener {
        sys::set_send_buffer(program, LEAST);
    }
    let octets = vec![0; READ];
    let mut count = 0;
    loop {
        match send(program, &octets, flags) {
            Ok(sent) => count += sent,
            Err(Errno::AGAIN) => break,
            Err(error) => return Err(error.into()),
        }
    }
    if fill == Fill::Listener {
        // A program that writes to it nevertheless gets EPIPE, as with TCP, and does not wait
        // forever.
        shutdown(program, Shutdown::Write)?;
    }
    Ok(count)
}
