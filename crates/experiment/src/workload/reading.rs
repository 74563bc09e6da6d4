//! Reading a connection in few system calls, with the times of its arrivals.
//!
//! In virtual time a system call costs as much of the host's time as a packet. A receiver that
//! reads whenever data has arrived makes one for each packet. With MSG_WAITALL, one call copies
//! data as it arrives until the buffer is full. Windows and acknowledgements are those of a
//! receiver that reads each arrival at once (`tests/reading.rs`). With SO_RCVLOWAT they would not
//! be, because data then waits in the socket.
//!
//! Such a call hides the times of its arrivals. Two of them are measured:
//!
//! * *The last arrival.* The last call ends with the last byte, if their number is known. Otherwise
//!   the last calls wait for one arrival each.
//! * *The longest time without an arrival.* A call ends (SO_RCVTIMEO) before it could contain a
//!   longer one than the longest so far. The time of its last arrival is then the kernel's time
//!   stamp (SO_TIMESTAMPNS). The stamp is too early for a segment that came out of order and waited
//!   for an earlier one. So calls wait for one arrival each while segments come out of order, and
//!   none of the others lasts long enough for a retransmission.

use super::Amount;
use super::end::RunClock;
use super::payload::PIECE;
use netlab::tcp::{self, Info};
use nix::errno::Errno;
use nix::sys::socket::sockopt::ReceiveTimestampns;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt};
use nix::sys::time::TimeSpec;
use std::io::{self, ErrorKind, IoSliceMut};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Arrivals in a row without a gap, and in order, before calls wait for more than one.
const DENSE: u32 = 32;
/// Shortest limit of a call. The kernel's timers count milliseconds.
const LEAST: Duration = Duration::from_millis(4);
/// Time by which the kernel may exceed a limit.
const LATE: Duration = Duration::from_millis(2);

/// A connection that is read, and the times of its arrivals; see the [module](self).
#[derive(Debug)]
pub(super) struct Reading<'a> {
    connection: &'a TcpStream,
    clock: RunClock,
    end: End,
    /// Time of the last arrival in nanoseconds since the start of the run; of the first call before
    /// it.
    pub(super) last: u64,
    /// Longest time between two arrivals, or before the first, in nanoseconds.
    pub(super) idle_max: u64,
    /// Bytes that have arrived.
    pub(super) bytes: u64,
    mode: Mode,
    /// Segments that had come out of order when there was last a look.
    out_of_order: u32,
}

/// Earliest end of the stream.
#[derive(Debug, Clone, Copy)]
enum End {
    /// Its length in bytes.
    Bytes(u64),
    /// It does not end before this time.
    Time(u64),
}

/// Number of arrivals that a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// One arrival, after this many without a gap.
    Each(u32),
    /// Many arrivals.
    Many(Many),
}

/// Calls that wait for a full buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Many {
    /// How long a call waits, in nanoseconds. It is set at the socket.
    limit: u64,
    /// Bytes of data in a segment. A call reads whole segments, because the rest of one would take
    /// room from the window.
    segment: u64,
}

impl<'a> Reading<'a> {
    /// Begins to read a connection that carries this much, and whose sender began no later.
    pub(super) fn new(connection: &'a TcpStream, clock: RunClock, amount: Amount) -> Self {
        // Without time stamps, as on remote sockets, calls wait for each arrival.
        let _ = setsockopt(connection, ReceiveTimestampns, &true);
        let last = clock.now();
        let end = match amount {
            Amount::Bytes(bytes) => End::Bytes(bytes.get()),
            Amount::Time(time) => End::Time(last + time.as_nanos()),
        };
        Self { connection, clock, end, last, idle_max: 0, bytes: 0, mode: Mode::Each(0), out_of_order: 0 }
    }

    /// Reads into the buffer. Returns the number of bytes; 0 at the end of the stream.
    ///
    /// # Errors
    /// Those of `recv`.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = match self.mode {
                Mode::Each(dense) => Some(self.read_each(buffer, dense)?),
                Mode::Many(many) => self.read_many(buffer, many)?,
            };
            if let Some(count) = count {
                self.bytes += count as u64;
                return Ok(count);
            }
        }
    }

    /// Reads the amount that the connection carries, and discards it.
    ///
    /// # Errors
    /// Those of `recv`, or that the stream has ended before.
    pub(super) fn discard(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; PIECE];
        while matches!(self.end, End::Bytes(length) if self.bytes < length) {
            if self.read(&mut buffer)? == 0 {
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
        if dense >= DENSE {
            self.wait_for_many()?;
        }
        Ok(count)
    }

    /// Returns `None` if nothing was received.
    fn read_many(&mut self, buffer: &mut [u8], many: Many) -> io::Result<Option<usize>> {
        let room = match self.end {
            End::Bytes(bytes) => buffer.len().min(bytes.saturating_sub(self.bytes) as usize),
            End::Time(end) if self.clock.now() + many.limit + LATE.as_nanos() as u64 > end => 0,
            End::Time(_) => buffer.len(),
        };
        if room == 0 {
            self.wait_for_each()?;
            return Ok(None);
        }
        let rest = ((self.bytes + room as u64) % many.segment) as usize;
        let is_last = room < buffer.len();
        let room = if rest < room && !is_last { room - rest } else { room };
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
        // The limit, or an end that came too early.
        if let Some(stamp) = stamp {
            self.last = self.last.max(self.clock.at_real_time(stamp));
        }
        let is_gap = self.clock.now().saturating_sub(self.last) > self.dense_gap();
        if is_gap || !self.is_in_order(&self.info()) {
            self.wait_for_each()?;
        }
        Ok(Some(count))
    }

    /// Lets calls wait for many arrivals, unless some were out of order.
    fn wait_for_many(&mut self) -> io::Result<()> {
        let info = self.info();
        let is_in_order = self.is_in_order(&info);
        self.out_of_order = info.out_of_order;
        self.mode = Mode::Each(0);
        let most = self.idle_max.min(info.least_round_trip.as_nanos() as u64);
        // Together with the time since the arrival before it, which is no gap, a call is shorter
        // than the longest gap.
        let limit = Duration::from_nanos(most / 4 * 3).saturating_sub(LATE);
        if is_in_order && limit >= LEAST {
            self.connection.set_read_timeout(Some(limit))?;
            let segment = info.received_segment.max(1).into();
            self.mode = Mode::Many(Many { limit: limit.as_nanos() as u64, segment });
        }
        Ok(())
    }

    fn wait_for_each(&mut self) -> io::Result<()> {
        self.mode = Mode::Each(0);
        self.connection.set_read_timeout(None)
    }

    fn info(&self) -> Info {
        tcp::info(self.connection).unwrap_or_default()
    }

    /// Whether nothing came out of order since there was last a look.
    fn is_in_order(&self, info: &Info) -> bool {
        info.out_of_order == self.out_of_order
    }

    /// Longest time between two arrivals that are no gap, in nanoseconds.
    fn dense_gap(&self) -> u64 {
        self.idle_max / 8
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
