//! Recording of packets: calls for the emulator's thread, and a thread that writes.
//!
//! The calls copy into a chunk of memory and return. Chunks go to the writing thread when they are
//! full or their first record is older than [`RecorderOptions::age`]; empty ones come back. If as
//! many chunks are queued as [`RecorderOptions::memory`] allows, a call blocks until one comes
//! back. So a recording is always complete; the run is late instead, and [`Stalls`] counts it. Once
//! every chunk has its memory, the emulator's side allocates none.
//!
//! The only use of a clock is to measure stalls. `age` is in the times that the caller passes, so a
//! recorder works in virtual time as in real time, and blocks when there is nothing to do.

mod chunk;
mod error;
mod link_layers;
mod live;
mod options;
mod writing;

pub use error::{CloseError, RecordError};
pub use live::Live;
pub use options::{CaptureTo, RecorderOptions};

use crate::event::{EndedPacket, Header, LinkInfo};
use crate::link_layer::Row;
use crate::link_layer::blocks::Block;
use crate::pcapng::OrderReport;
use crate::summary::Summary;
use crate::table::Converted;
use crate::units::Time;
use chunk::{Chunk, Entry};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vocabulary::{Direction, LinkId};
use writing::Writing;

/// Records events on links. See the [module](self), and the crate for the order of calls.
pub struct Recorder {
    chunk: Chunk,
    full: SyncSender<Chunk>,
    empty: Receiver<Chunk>,
    thread: JoinHandle<Writing>,
    live: Live,
    /// Number of chunks that may still be allocated.
    unmade: usize,
    keep: Keep,
    age_nanos: u64,
    /// The latest time that was passed in.
    now: Time,
    /// Time of the chunk's first record; [`Time::NEVER`] for an empty chunk.
    begun: Time,
    /// Whether anything was recorded since the last [`Recorder::settled`].
    unsettled: bool,
    stalls: Stalls,
    /// Whether the writing thread has ended.
    deserted: bool,
}

/// How many bytes of a packet are copied.
#[derive(Debug, Clone, Copy)]
struct Keep {
    /// Bytes of a packet that enters.
    entering: usize,
    /// Bytes of a packet that leaves changed, or of a copy.
    leaving: usize,
}

/// How often and how long the emulator had to wait for the disk. Any stall makes the run
/// overloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// Number of waits.
    pub count: u64,
    /// Sum of their lengths, on the machine's clock.
    pub waited: Duration,
}

/// The result of a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The counters.
    pub summary: Summary,
    /// Waits for the disk.
    pub stalls: Stalls,
    /// The capture, if one was completed.
    pub capture: Option<Captured>,
    /// The event log, if one was completed.
    pub events: Option<Logged>,
    /// The table of link-layer records, if one was completed.
    pub link_layer: Option<Converted>,
    /// The capture of blocks and the number of its blocks, if one was completed.
    pub blocks: Option<(PathBuf, u64)>,
}

/// A completed capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Its file; `None` if it went to a writer.
    pub path: Option<PathBuf>,
    /// Counts of its records.
    pub report: OrderReport,
}

/// A completed event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The Parquet file.
    pub path: PathBuf,
    /// Number of fates in it.
    pub fates: u64,
}

/// Bytes of a packet that include all headers.
const HEADERS: usize = 128;

impl Recorder {
    /// Opens the files that `options` asks for and starts the writing thread.
    pub fn start(header: Header, options: RecorderOptions) -> Result<Self, RecordError> {
        let snap_length = options.snap_length as usize;
        let keep = match (&options.capture, &options.events) {
            (Some(_), _) => Keep { entering: snap_length.max(HEADERS), leaving: snap_length.max(HEADERS) },
            (None, Some(_)) => Keep { entering: HEADERS, leaving: HEADERS },
            (None, None) => Keep { entering: 0, leaving: 0 },
        };
        let limit = chunk::BYTES / 2;
        let keep = Keep { entering: keep.entering.min(limit), leaving: keep.leaving.min(limit) };
        // Half of the memory is for chunks, half for packets inside the links. At least two chunks:
        // one to fill, one to write.
        let chunks = (options.memory / 2 / chunk::memory()).max(2);
        let age_nanos = options.age.as_nanos();
        let live = Live::new(header.clone());
        let writing = Writing::open(header, options, live.clone())?;
        let (full, to_write) = sync_channel(chunks);
        let (written, empty) = sync_channel(chunks);
        let thread = std::thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || writing.run(&to_write, &written))
            .map_err(RecordError::Thread)?;
        Ok(Self {
            chunk: Chunk::new(),
            full,
            empty,
            thread,
            live,
            unmade: chunks - 1,
            keep,
            age_nanos,
            now: Time::ZERO,
            begun: Time::NEVER,
            unsettled: false,
            stalls: Stalls::default(),
            deserted: false,
        })
    }

    /// Records that a packet entered a link. `length` is the packet's length. `bytes` are all or
    /// the first of its bytes.
    #[inline]
    pub fn entered(
        &mut self,
        link: LinkId,
        direction: Direction,
        number: u64,
        at: Time,
        length: u32,
        bytes: &[u8],
    ) {
        let bytes = &bytes[..bytes.len().min(self.keep.entering.max(self.live.wants()))];
        self.record(at, bytes, |bytes| Entry::Entered { link, direction, number, at, length, bytes });
    }

    /// Records the end of a packet or a copy. `bytes` are those with which it leaves, or had when
    /// it was lost.
    #[inline]
    pub fn ended(&mut self, ended: &EndedPacket, bytes: &[u8]) {
        // The writing thread still has the bytes of an unchanged packet, but a copy may outlive its
        // original.
        let known = ended.is_unchanged() && !ended.copy;
        let kept = if known { 0 } else { bytes.len().min(self.keep.leaving.max(self.live.captured())) };
        self.record(ended.left, &bytes[..kept], |bytes| Entry::Ended { ended: *ended, bytes });
    }

    /// Records an event at one end of a link layer. Such records may come late
    /// ([`crate::link_layer`]).
    pub fn link_layer(&mut self, row: &Row) {
        self.record(row.record.at, &[], |_| Entry::LinkLayer(*row));
    }

    /// Records an RLP block at one end. Such records may come late, too.
    pub fn block(&mut self, block: &Block<'_>) {
        let Block { link, end, way, at, octets, erased } = *block;
        let octets = &octets[..octets.len().min(chunk::BYTES / 2)];
        self.record(at, octets, |octets| Entry::Block { link, end, way, at, erased, octets });
    }

    /// Records an event of the run.
    pub fn note(&mut self, at: Time, text: &str) {
        let text = &text.as_bytes()[..text.len().min(chunk::BYTES / 2)];
        self.record(at, text, |text| Entry::Note { at, text });
    }

    /// Records that a link was added, or that its stages or parameters changed.
    pub fn describe(&mut self, link: &LinkInfo) {
        let link = Box::new(link.clone());
        self.record(self.now, &[], |_| Entry::Link(link));
    }

    /// Reports that everything due until `now` has been recorded: no earlier event will follow.
    /// Call it once a turn of the event loop. Records up to `now` can then be written in the order
    /// of time.
    #[inline]
    pub fn settled(&mut self, now: Time) {
        self.now = self.now.max(now);
        if self.unsettled {
            self.record(now, &[], |_| Entry::Settled(now));
            self.unsettled = false;
        }
        if self.due() <= self.now {
            self.hand_over();
        }
    }

    /// Hands what was recorded so far to the writing thread, so that the counters include it soon.
    pub fn flush(&mut self) {
        self.hand_over();
    }

    /// Returns when [`Recorder::settled`] should be called again at the latest, so that records in
    /// memory reach the disk. [`Time::NEVER`] if there are none.
    #[must_use]
    pub fn due(&self) -> Time {
        Time::from_nanos(self.begun.as_nanos().saturating_add(self.age_nanos))
    }

    /// Returns a view of the counters, for any thread.
    #[must_use]
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Returns whether somebody looks at the flows ([`Live::watched`]) or captures
    /// ([`Live::capture`]). Both need bytes of each packet.
    #[must_use]
    pub fn wants_bytes(&self) -> bool {
        self.live.wants() > 0
    }

    /// Returns the waits for the disk so far.
    #[must_use]
    pub fn stalls(&self) -> Stalls {
        self.stalls
    }

    /// Writes all remaining records, makes the Parquet file and waits until everything is on the
    /// disk. Packets without a fate at `end` are recorded as in flight.
    pub fn close(mut self, end: Time) -> Result<Recorded, CloseError> {
        self.unsettled = true;
        self.settled(end);
        self.hand_over();
        let Self { full, thread, live, stalls, .. } = self;
        // The thread ends when nothing can be sent to it any more.
        drop(full);
        let mut recorded = Recorded { stalls, ..Recorded::default() };
        let mut errors = Vec::new();
        match thread.join() {
            Ok(writing) => writing.close(&mut recorded, &mut errors),
            Err(_) => errors.push(RecordError::Deserted),
        }
        recorded.summary = live.summary();
        if errors.is_empty() {
            Ok(recorded)
        } else {
            Err(CloseError { errors, recorded: Box::new(recorded) })
        }
    }

    #[inline]
    fn record(&mut self, at: Time, bytes: &[u8], entry: impl FnOnce(chunk::Kept) -> Entry) {
        self.now = self.now.max(at);
        if !self.chunk.has_room(bytes.len()) {
            self.hand_over();
        }
        if self.begun == Time::NEVER {
            self.begun = self.now;
        }
        self.unsettled = true;
        self.chunk.push(bytes, entry);
    }

    /// Gives the chunk to the writing thread and continues with an empty one.
    #[cold]
    fn hand_over(&mut self) {
        self.begun = Time::NEVER;
        if self.deserted || self.chunk.is_empty() {
            self.chunk.clear();
            return;
        }
        let next = self.next_chunk();
        let full = std::mem::replace(&mut self.chunk, next);
        self.live.gave();
        // This never blocks: the channel has room for all chunks.
        if self.full.send(full).is_err() {
            self.deserted = true;
        }
    }

    /// Returns an empty chunk: one that came back, or a new one. If no more may be allocated, waits
    /// for the next to come back.
    fn next_chunk(&mut self) -> Chunk {
        match self.empty.try_recv() {
            Ok(chunk) => return chunk,
            Err(TryRecvError::Disconnected) => self.deserted = true,
            Err(TryRecvError::Empty) => {}
        }
        if self.unmade > 0 {
            self.unmade -= 1;
            return Chunk::new();
        }
        if self.deserted {
            return Chunk::new();
        }
        self.stalls.count += 1;
        self.live.stalled(self.stalls.count);
        let since = Instant::now();
        let chunk = self.empty.recv();
        self.stalls.waited += since.elapsed();
        chunk.unwrap_or_else(|_| {
            self.deserted = true;
            Chunk::new()
        })
    }
}

#[cfg(test)]
mod tests;
