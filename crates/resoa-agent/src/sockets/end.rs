//! Our end of the pair whose other end a program holds; see [the crate](crate) for what each trick
//! is for.

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

/// What a packet weighs at most: one of as many pages as there can be (MAX_SKB_FRAGS), which
/// `splice` makes of octets that do not begin with a page, and its head. What is written weighs
/// 37 120.
const HEAVIEST: i32 = 17 * 4096 + 768;
/// SO_SNDBUF of a program's end, which the kernel doubles. The descriptor is writable while no more
/// than a quarter of that is used, and an octet that stays here keeps a whole packet: a writer that
/// waits is woken only when it is writable. The kernel counts one octet from the start, and one
/// more while it frees a packet and wakes.
const PROGRAMS: i32 = 2 * (HEAVIEST + 2);
/// Octets that a program's end takes, of long writes: they count for SO_SNDBUF.
pub(super) const IN_PAIR: usize = 2 * PROGRAMS as usize;
/// SO_SNDBUF of our end: what is in it is read and not counted, so it may be large.
const OURS: i32 = 2 << 20;
/// SO_SNDBUF of a listener, which nobody writes to.
const LEAST: i32 = 0;
/// Octets of one reading.
const READ: usize = 64 << 10;

/// A program that has read nothing for so long while there is more than it was shown may be waiting
/// for more than that: MSG_PEEK, FIONREAD, SO_RCVLOWAT (C29).
pub(super) const PATIENCE: Duration = Duration::from_millis(10);

/// Our end; see the [module](self).
#[derive(Debug)]
pub(super) struct End {
    fd: OwnedFd,
    /// Octets at the head of our queue that are nobody's: the primer, the filling, the last one
    /// that was forwarded.
    idle: usize,
    flight: Flight,
    /// Taken from the client and not yet written.
    rest: Vec<u8>,
    /// Memory that may be in flight so that each read is told.
    limit: usize,
    program: Program,
    /// We have said that nothing comes any more.
    is_shut: bool,
    room: Room,
    /// When the program was last seen to read.
    read_at: Duration,
}

/// What the program has done with its end, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Program {
    /// It has it, and may write.
    Open,
    /// It writes no more.
    Shut,
    /// It has closed its last descriptor.
    Closed,
    /// The same, with octets unread.
    Reset,
}

/// How much may be in flight to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// The limit, so that each read is told.
    Usual,
    /// The same, and the time runs after which the program seems to wait for more.
    Short,
    /// Four times the limit, until the program reads.
    Grown,
}

/// Makes the program's end ready for data.
pub(super) fn prepare(program: BorrowedFd) {
    sys::set_send_buffer(program, PROGRAMS);
}

/// What a program's end is filled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fill {
    /// One octet: it is connected.
    Primer,
    /// As much as it takes: it is connecting.
    Full,
    /// The same, for good: it listens.
    Listener,
}

impl End {
    /// Of a pair that is connected; `program` is a copy of the other end that the caller drops
    /// afterwards.
    pub(super) fn new(fd: OwnedFd, program: BorrowedFd, fill: Fill) -> io::Result<Self> {
        sys::set_send_buffer(&fd, OURS);
        let quarter = rustix::net::sockopt::socket_send_buffer_size(&fd)? / 4;
        // One packet more than is asked for may be in flight.
        let limit = quarter.saturating_sub(2 * CHUNK).max(1);
        let idle = filled(program, fill)?;
        Ok(Self {
            fd,
            idle,
            flight: Flight::default(),
            rest: Vec::new(),
            limit,
            program: Program::Open,
            is_shut: false,
            room: Room::Usual,
            read_at: Duration::ZERO,
        })
    }

    /// What epoll has said.
    pub(super) fn heard(&mut self, events: EventFlags, name: &SocketName) {
        let has = |flags| events.contains(flags);
        self.note(has(EventFlags::ERR), has(EventFlags::HUP), has(EventFlags::RDHUP), name);
    }

    /// Asks whether the last descriptor is gone. Both halves shut look the same from here, but then
    /// the program's end still has its name.
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
        self.program = self.program.max(found);
        if self.program == Program::Closed && self.is_shut && is_held(name, SocketType::STREAM) {
            self.program = Program::Shut;
        }
    }

    /// Returns whether the program has closed its last descriptor.
    pub(super) fn is_closed(&self) -> bool {
        self.program >= Program::Closed
    }

    /// Returns whether the program writes no more, and all that it has written was taken.
    pub(super) fn is_at_end(&self) -> bool {
        self.program >= Program::Shut && self.waiting() == 0
    }

    /// Octets of the program that were not taken yet.
    pub(super) fn waiting(&self) -> usize {
        let queued = ioctl_fionread(&self.fd).unwrap_or(0) as usize;
        queued.saturating_sub(self.idle)
    }

    /// Takes octets of the program, at most so many at a time; and whether it is one that is
    /// urgent.
    pub(super) fn take(&mut self, most: usize) -> (Vec<u8>, bool) {
        let mut count = self.waiting().min(most).min(READ);
        if count == 0 {
            return (Vec::new(), false);
        }
        // Reading ends in front of an urgent octet, and would pass over it the next time.
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
        // The octets that are nobody's, and all new ones but the last, which is looked at and
        // stays.
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

    /// The filling is read again, but for one octet: the program may write.
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

    /// Octets that the program has read since this was last asked.
    pub(super) fn consumed(&mut self, name: &SocketName, now: Duration) -> usize {
        if self.flight.is_empty() || self.program == Program::Reset {
            return 0;
        }
        let left = sys::outstanding(&self.fd).unwrap_or(0);
        if left >= self.flight.weight() {
            return 0;
        }
        // What was unread when the program closed has left, too.
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

    /// Octets that may be written now.
    pub(super) fn room(&self) -> usize {
        let limit = if self.room == Room::Grown { 4 * self.limit } else { self.limit };
        if !self.rest.is_empty() || self.flight.weight() >= limit { 0 } else { CHUNK }
    }

    /// There is more for the program than there is room for. Returns whether it may
    /// [grow](Self::grow) after [`PATIENCE`]; not if that was said before, and not beyond what it
    /// has grown to.
    pub(super) fn is_short(&mut self) -> bool {
        let is_new = self.room == Room::Usual;
        if is_new {
            self.room = Room::Short;
        }
        is_new
    }

    /// More may be in flight if the program reads nothing meanwhile. Returns whether it is so.
    pub(super) fn grow(&mut self, now: Duration) -> bool {
        let is_waiting = self.read_at + PATIENCE <= now;
        if is_waiting {
            self.room = Room::Grown;
        }
        is_waiting
    }

    /// Whether nothing that was taken for the program waits here.
    pub(super) fn is_written(&self) -> bool {
        self.rest.is_empty()
    }

    /// Writes octets to the program, at most [`CHUNK`]; what does not go stays here.
    pub(super) fn write(&mut self, bytes: Vec<u8>, weights: &mut Weights) -> io::Result<()> {
        debug_assert!(self.rest.is_empty(), "one after the other");
        self.rest = bytes;
        self.flush(weights)
    }

    /// Writes what is here.
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
            // Nobody reads any more; the end of it is told by epoll.
            Err(Errno::AGAIN | Errno::PIPE | Errno::CONNRESET) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// An urgent octet.
    pub(super) fn write_urgent(&mut self, octet: u8, weights: &mut Weights) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | SendFlags::OOB;
        if send(&self.fd, &[octet], flags).is_ok() {
            self.flight.add(1, weights.of(1)?);
        }
        Ok(())
    }

    /// An octet for a connection that waits at a listener.
    pub(super) fn announce(&self) -> bool {
        send(&self.fd, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Ok(1)
    }

    /// Octets of [`announce`](Self::announce) that the program has not read.
    pub(super) fn announcements(&self, weights: &mut Weights) -> usize {
        let left = sys::outstanding(&self.fd).unwrap_or(0);
        weights.of(1).map_or(0, |weight| left / weight)
    }

    /// Nothing comes any more: the program reads to the end, and then nothing.
    pub(super) fn shut(&mut self) {
        if !self.is_shut {
            self.is_shut = true;
            let _ = shutdown(&self.fd, Shutdown::Write);
        }
    }

    /// The program may write no more (EPIPE), though it may read what is there.
    pub(super) fn refuse(&self) {
        let _ = shutdown(&self.fd, Shutdown::Read);
    }
}

impl AsFd for End {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Writes octets to us in the program's name. How many.
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
        // Who writes to it all the same is told EPIPE, as by TCP, and does not wait for ever.
        shutdown(program, Shutdown::Write)?;
    }
    Ok(count)
}
