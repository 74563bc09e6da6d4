//! Reading a connection in few system calls, with the times of its arrivals.
//!
//! In virtual time a system call costs as much of the host's time as a packet. A receiver that reads
//! whenever data has arrived makes one for each packet. With MSG_WAITALL, one call copies data as
//! it arrives until the buffer is full. Windows and acknowledgements are those of a receiver that
//! reads each arrival at once (`tests/reading.rs`). With SO_RCVLOWAT they would not be, because
//! data then waits in the socket.
//!
//! Such a call hides the times of its arrivals. Two of them are measured:
//!
//! * The longest time without an arrival. A call ends (SO_RCVTIMEO) before it could contain a
//!   longer one than the longest so far.
//! * The time of the last arrival, by the kernel's time stamp (SO_TIMESTAMPNS).

use super::end::RunClock;
use super::payload::PIECE;
use netlab::tcp;
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Arrivals in a row without a gap before calls wait for more than one.
const DENSE: u32 = 16;
/// Shortest limit of a call. The kernel's timers count milliseconds.
const LEAST: Duration = Duration::from_millis(4);
/// Time by which the kernel may exceed a limit.
const LATE: Duration = Duration::from_millis(2);

/// A connection that is read, and the times of what has arrived; see the [module](self).
#[derive(Debug)]
pub(super) struct Arrivals<'a> {
    connection: &'a TcpStream,
    clock: RunClock,
    /// Time of the last arrival in nanoseconds since the start of the run; of the first call before
    /// it.
    pub(super) last: u64,
    /// Longest time between two arrivals, or before the first, in nanoseconds.
    pub(super) idle_max: u64,
    /// Bytes that have arrived.
    pub(super) bytes: u64,
    mode: Mode,
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// One arrival. So many came without a gap before.
    Each(u32),
    /// A full buffer, for at most the time that is set at the socket.
    Many {
        /// Bytes of data in a segment. A call reads whole segments, because the rest of one would
        /// take room from the window.
        segment: u64,
    },
}

impl<'a> Arrivals<'a> {
    /// Begins to read a connection.
    pub(super) fn new(connection: &'a TcpStream, clock: RunClock) -> Self {
        // Without time stamps, as on remote sockets, calls wait for each arrival.
        let _ = setsockopt(connection, ReceiveTimestampns, &true);
        Self { connection, clock, last: clock.now(), idle_max: 0, bytes: 0, mode: Mode::Each(0) }
    }

    /// Reads into the buffer. Returns the number of bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// Those of `recv`.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = match self.mode {
                Mode::Each(dense) => Some(self.read_each(buffer, dense)?),
                Mode::Many { segment } => self.read_many(buffer, segment)?,
            };
            if let Some(count) = count {
                self.bytes += count as u64;
                return Ok(count);
            }
        }
    }

    /// Reads this many bytes and discards them.
    ///
    /// # Errors
    /// Those of `recv`, or that the stream has ended before.
    pub(super) fn read_all(&mut self, count: u64) -> io::Result<()> {
        let mut buffer = vec![0; PIECE];
        while self.bytes < count {
            let room = (count - self.bytes).min(PIECE as u64) as usize;
            if self.read(&mut buffer[..room])? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(())
    }

    fn read_each(&mut self, buffer: &mut [u8], dense: u32) -> io::Result<usize> {
        let (count, stamp) = receive(self.connection, buffer, MsgFlags::empty())?;
        if count == 0 {
            return Ok(0);
        }
        let now = self.clock.now();
        let gap = now.saturating_sub(self.last);
        self.idle_max = self.idle_max.max(gap);
        self.last = now;
        let dense = if stamp.is_some() && gap <= self.dense_gap() { dense + 1 } else { 0 };
        self.mode = Mode::Each(dense);
        if dense >= DENSE
            && let Some(limit) = self.limit()
        {
            self.connection.set_read_timeout(Some(limit))?;
            let segment = tcp::info(self.connection).map_or(0, |info| info.received_segment);
            self.mode = Mode::Many { segment: segment.max(1).into() };
        }
        Ok(count)
    }

    /// Returns `None` if nothing has arrived within the limit.
    fn read_many(&mut self, buffer: &mut [u8], segment: u64) -> io::Result<Option<usize>> {
        let rest = ((self.bytes + buffer.len() as u64) % segment) as usize;
        let room = if rest < buffer.len() { buffer.len() - rest } else { buffer.len() };
        let (count, stamp) = match receive(self.connection, &mut buffer[..room], MsgFlags::MSG_WAITALL) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.wait_for_each()?;
                return Ok(None);
            }
            received => received?,
        };
        if count == room {
            self.last = self.clock.now();
            return Ok(Some(count));
        }
        // The limit, or the end of the stream.
        if let Some(arrived) = stamp.map(|stamp| self.clock.at_real_time(stamp)) {
            self.last = self.last.max(arrived);
        }
        if self.clock.now().saturating_sub(self.last) > self.dense_gap() {
            self.wait_for_each()?;
        }
        Ok(Some(count))
    }

    fn wait_for_each(&mut self) -> io::Result<()> {
        self.mode = Mode::Each(0);
        self.connection.set_read_timeout(None)
    }

    /// Longest time between two arrivals that are no gap, in nanoseconds.
    fn dense_gap(&self) -> u64 {
        self.idle_max / 8
    }

    /// How long a call may last. Together with the time since the arrival before it, which is no
    /// gap, it is shorter than the longest gap.
    fn limit(&self) -> Option<Duration> {
        let limit = Duration::from_nanos(self.idle_max / 4 * 3).checked_sub(LATE)?;
        (limit >= LEAST).then_some(limit)
    }
}

/// Returns the number of bytes received, and the time of their last arrival by CLOCK_REALTIME.
fn receive(
    connection: &TcpStream,
    buffer: &mut [u8],
    flags: MsgFlags,
) -> io::Result<(usize, Option<Duration>)> {
    let mut space = nix::cmsg_space!(TimeSpec);
    let mut buffers = [IoSliceMut::new(buffer)];
    let message = loop {
        match recvmsg::<()>(connection.as_raw_fd(), &mut buffers, Some(&mut space), flags) {
            Err(Errno::EINTR) => {}
            received => break received?,
        }
    };
    let stamp = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::ScmTimestampns(time) => Some(Duration::from(time)),
        _ => None,
    });
    Ok((message.bytes, stamp))
}
