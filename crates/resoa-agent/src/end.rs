//! Our end of the pair whose other end a program holds; see [the crate](crate) for what each trick
//! is for.

use crate::flight::{CHUNK, Flight, Weights};
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
pub(crate) const IN_PAIR: usize = 2 * PROGRAMS as usize;
/// SO_SNDBUF of our end: what is in it is read and not counted, so it may be large.
const OURS: i32 = 2 << 20;
/// SO_SNDBUF of a listener, which nobody writes to.
const LEAST: i32 = 0;
/// Octets of one reading.
const READ: usize = 64 << 10;

/// Our end; see the [module](self).
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "what the kernel has said and what we have, each for itself"
)]
pub(crate) struct End {
    fd: OwnedFd,
    /// Octets at the head of our queue that are nobody's: the primer, the filling, the last one
    /// that was forwarded.
    idle: usize,
    flight: Flight,
    /// Taken from the client and not yet written.
    rest: Vec<u8>,
    /// Memory that may be in flight so that each read is told.
    limit: usize,
    /// The program has closed its last descriptor, or has shut down writing.
    pub(crate) hung_up: bool,
    pub(crate) read_hung_up: bool,
    /// It has closed with octets unread.
    reset: bool,
    /// We have said that nothing comes any more.
    pub(crate) is_shut: bool,
    /// More than the limit is in flight, since the program seems to wait for more.
    pub(crate) is_grown: bool,
    /// It is in the line of those that may be.
    pub(crate) is_slow: bool,
    /// When the program was last seen to read.
    pub(crate) read_at: Duration,
}

/// Makes the program's end ready for data.
pub(crate) fn prepare(program: BorrowedFd) {
    sys::set_send_buffer(program, PROGRAMS);
}

/// What a program's end is filled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fill {
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
    pub(crate) fn new(fd: OwnedFd, program: BorrowedFd, fill: Fill) -> io::Result<Self> {
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
            hung_up: false,
            read_hung_up: false,
            reset: false,
            is_shut: false,
            is_grown: false,
            is_slow: false,
            read_at: Duration::ZERO,
        })
    }

    /// What epoll has said.
    pub(crate) fn heard(&mut self, events: EventFlags) {
        self.read_hung_up |= events.intersects(EventFlags::RDHUP | EventFlags::HUP);
        self.hung_up |= events.contains(EventFlags::HUP);
        self.reset |= events.contains(EventFlags::ERR);
    }

    /// Asks whether the last descriptor is gone. Both halves shut look the same from here, but then
    /// the program's end still has its name.
    pub(crate) fn look(&mut self, name: &SocketName) {
        let mut polled = [PollFd::new(&self.fd, PollFlags::RDHUP)];
        if poll(&mut polled, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })).is_ok() {
            let found = polled[0].revents();
            self.reset |= found.contains(PollFlags::ERR);
            self.read_hung_up |= found.intersects(PollFlags::RDHUP | PollFlags::HUP);
            self.hung_up = found.contains(PollFlags::HUP);
        }
        self.settle_hang_up(name);
    }

    /// See [`look`](Self::look), after [`heard`](Self::heard).
    pub(crate) fn settle_hang_up(&mut self, name: &SocketName) {
        if self.hung_up && self.is_shut {
            self.hung_up = !crate::sweep::is_held(name, SocketType::STREAM);
        }
    }

    /// Octets of the program that were not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        let queued = ioctl_fionread(&self.fd).unwrap_or(0) as usize;
        queued.saturating_sub(self.idle)
    }

    /// Takes octets of the program, at most so many at a time; and whether it is one that is
    /// urgent.
    pub(crate) fn take(&mut self, most: usize) -> (Vec<u8>, bool) {
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
    pub(crate) fn empty(&mut self) {
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
    pub(crate) fn consumed(&mut self, name: &SocketName, now: Duration) -> usize {
        if self.flight.is_empty() || self.reset {
            return 0;
        }
        let left = sys::outstanding(&self.fd).unwrap_or(0);
        if left >= self.flight.weight() {
            return 0;
        }
        // What was unread when the program closed has left, too.
        self.look(name);
        if self.reset {
            return 0;
        }
        let read = self.flight.left(left);
        if read > 0 {
            self.is_grown = false;
            self.read_at = now;
        }
        read
    }

    /// Octets that may be written now.
    pub(crate) fn room(&self) -> usize {
        let limit = if self.is_grown { 4 * self.limit } else { self.limit };
        if !self.rest.is_empty() || self.flight.weight() >= limit { 0 } else { CHUNK }
    }

    /// Whether nothing that was taken for the program waits here.
    pub(crate) fn is_written(&self) -> bool {
        self.rest.is_empty()
    }

    /// Writes octets to the program, at most [`CHUNK`]; what does not go stays here.
    pub(crate) fn write(&mut self, bytes: Vec<u8>, weights: &mut Weights) -> io::Result<()> {
        debug_assert!(self.rest.is_empty(), "one after the other");
        self.rest = bytes;
        self.flush(weights)
    }

    /// Writes what is here.
    pub(crate) fn flush(&mut self, weights: &mut Weights) -> io::Result<()> {
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
    pub(crate) fn write_urgent(&mut self, octet: u8, weights: &mut Weights) -> io::Result<()> {
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL | SendFlags::OOB;
        if send(&self.fd, &[octet], flags).is_ok() {
            self.flight.add(1, weights.of(1)?);
        }
        Ok(())
    }

    /// An octet for a connection that waits at a listener.
    pub(crate) fn announce(&self) -> bool {
        send(&self.fd, &[1], SendFlags::DONTWAIT | SendFlags::NOSIGNAL) == Ok(1)
    }

    /// Octets of [`announce`](Self::announce) that the program has not read.
    pub(crate) fn announcements(&self, weights: &mut Weights) -> usize {
        let left = sys::outstanding(&self.fd).unwrap_or(0);
        weights.of(1).map_or(0, |weight| left / weight)
    }

    /// Nothing comes any more: the program reads to the end, and then nothing.
    pub(crate) fn shut(&mut self) {
        if !self.is_shut {
            self.is_shut = true;
            let _ = shutdown(&self.fd, Shutdown::Write);
        }
    }

    /// The program may write no more (EPIPE), though it may read what is there.
    pub(crate) fn refuse(&self) {
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
