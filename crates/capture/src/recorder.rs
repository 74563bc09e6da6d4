//! What the emulator's thread calls for every packet, and the thread that writes.
//!
//! The calls copy into a chunk of memory and return. Full chunks go to the writing thread, and so
//! do those whose first record is older than [`Options::age`]; empty ones come back. When as many
//! chunks are on the way as [`Options::memory`] allows, a call blocks until one comes back: nothing
//! is left out of a recording, the run gets late instead, and [`Stalls`] counts it. Once every
//! chunk has its memory, nothing is allocated on the emulator's side.
//!
//! Nothing here looks at a clock but to measure a stall: `age` is reckoned in the times that the
//! caller gives, so that a recorder runs in virtual time as it does in real time, and blocks when
//! there is nothing to do.

mod chunk;
mod error;
mod link_layers;
mod options;
mod writing;

pub use error::{CloseError, RecordError};
pub use options::{CaptureTo, Options};

use crate::event::{Ended, Header, LinkInfo};
use crate::link_layer::Row;
use crate::link_layer::blocks::Block;
use crate::pcapng::OrderReport;
use crate::summary::Summary;
use crate::table::Converted;
use crate::units::Time;
use chunk::{Chunk, Entry};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use vocabulary::{Direction, LinkId};
use writing::Writing;

/// Records what happens on links; see the [module](self) and the crate for the order of calls.
pub struct Recorder {
    chunk: Chunk,
    full: SyncSender<Chunk>,
    empty: Receiver<Chunk>,
    thread: JoinHandle<Writing>,
    live: Live,
    /// Chunks that may still be made.
    unmade: usize,
    keep: Keep,
    age_nanos: u64,
    /// The latest time that was heard of.
    now: Time,
    /// When the first record of the chunk was made; [`Time::NEVER`] of an empty chunk.
    begun: Time,
    /// Whether anything was recorded since the last [`Recorder::settled`].
    unsettled: bool,
    stalls: Stalls,
    /// Whether there is no thread any more to write.
    deserted: bool,
}

/// How much of a packet is copied.
#[derive(Debug, Clone, Copy)]
struct Keep {
    /// Bytes of a packet that enters.
    entering: usize,
    /// Bytes of a packet that leaves otherwise than it came.
    leaving: usize,
}

/// A view of the counters while the run goes on. They follow what was recorded with a delay of
/// [`Options::age`].
#[derive(Debug, Clone, Default)]
pub struct Live(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    summary: Mutex<Summary>,
    stalls: AtomicU64,
}

/// How often and how long the emulator had to wait for the disk. Any stall makes the run
/// overloaded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stalls {
    /// How often.
    pub count: u64,
    /// How long in all, on the clock of the machine.
    pub waited: Duration,
}

/// What was recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// The counters.
    pub summary: Summary,
    /// Waits for the disk.
    pub stalls: Stalls,
    /// The capture, if one was written to its end.
    pub capture: Option<Captured>,
    /// The event log, if one was written to its end.
    pub events: Option<Logged>,
    /// The records of link layers, if they were.
    pub link_layer: Option<Converted>,
    /// The capture of blocks, and how many are in it, if it was.
    pub blocks: Option<(PathBuf, u64)>,
}

/// A capture that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Where to; `None` if it went to a writer.
    pub path: Option<PathBuf>,
    /// What is in it.
    pub report: OrderReport,
}

/// An event log that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// The Parquet file.
    pub path: PathBuf,
    /// Fates in it.
    pub fates: u64,
}

/// Bytes of a packet that are enough for all headers.
const HEADERS: usize = 128;

impl Recorder {
    /// Opens the files that `options` asks for and starts the thread that writes.
    pub fn start(header: Header, options: Options) -> Result<Self, RecordError> {
        let snap_length = options.snap_length as usize;
        let keep = match (&options.capture, &options.events) {
            (Some(_), _) => Keep { entering: snap_length.max(HEADERS), leaving: snap_length.max(HEADERS) },
            (None, Some(_)) => Keep { entering: HEADERS, leaving: HEADERS },
            (None, None) => Keep { entering: 0, leaving: 0 },
        };
        let limit = chunk::BYTES / 2;
        let keep = Keep { entering: keep.entering.min(limit), leaving: keep.leaving.min(limit) };
        // Half of the memory is for chunks, half for what is inside the links; two chunks at least:
        // one to fill, one to write.
        let chunks = (options.memory / 2 / chunk::memory()).max(2);
        let age_nanos = options.age.as_nanos();
        let live = Live::default();
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

    /// A packet comes to a link. `length` is that of the packet; `bytes` are its first ones, as
    /// many as there are.
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
        let bytes = &bytes[..bytes.len().min(self.keep.entering)];
        self.record(at, bytes, |bytes| Entry::Entered { link, direction, number, at, length, bytes });
    }

    /// A packet's way, or a copy's, ended. `bytes` are those that it leaves with, or had when it
    /// was lost.
    #[inline]
    pub fn ended(&mut self, ended: &Ended, bytes: &[u8]) {
        // Of an unchanged packet the writing thread still has the bytes. A copy may outlive its
        // original.
        let known = ended.is_unchanged() && !ended.copy;
        let kept = if known { 0 } else { bytes.len().min(self.keep.leaving) };
        self.record(ended.left, &bytes[..kept], |bytes| Entry::Ended { ended: *ended, bytes });
    }

    /// An end of a link layer has noted something. Such records may come late
    /// ([`crate::link_layer`]).
    pub fn link_layer(&mut self, row: &Row) {
        self.record(row.record.at, &[], |_| Entry::LinkLayer(*row));
    }

    /// A block of RLP is at one end; it may come late as well.
    pub fn block(&mut self, block: &Block<'_>) {
        let Block { link, end, way, at, octets, erased } = *block;
        let octets = &octets[..octets.len().min(chunk::BYTES / 2)];
        self.record(at, octets, |octets| Entry::Block { link, end, way, at, erased, octets });
    }

    /// Something happened to the run.
    pub fn note(&mut self, at: Time, text: &str) {
        let text = &text.as_bytes()[..text.len().min(chunk::BYTES / 2)];
        self.record(at, text, |text| Entry::Note { at, text });
    }

    /// A link was added, or has other stages or parameters from here on.
    pub fn describe(&mut self, link: &LinkInfo) {
        let link = Box::new(link.clone());
        self.record(self.now, &[], |_| Entry::Link(link));
    }

    /// Everything that was due until `now` has been recorded: nothing with an earlier time will
    /// come. To be called once a turn of the event loop; records are written in the order of time
    /// as far as this says.
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

    /// When [`Recorder::settled`] should be called again at the latest, for what waits in memory to
    /// get to the disk; [`Time::NEVER`] if nothing waits.
    #[must_use]
    pub fn due(&self) -> Time {
        Time::from_nanos(self.begun.as_nanos().saturating_add(self.age_nanos))
    }

    /// A view of the counters, for any thread.
    #[must_use]
    pub fn live(&self) -> Live {
        self.live.clone()
    }

    /// Waits for the disk so far.
    #[must_use]
    pub fn stalls(&self) -> Stalls {
        self.stalls
    }

    /// Writes what is left, makes the Parquet file and waits until all is on the disk. What has no
    /// fate at `end` is shown as in flight.
    pub fn close(mut self, end: Time) -> Result<Recorded, CloseError> {
        self.unsettled = true;
        self.settled(end);
        self.hand_over();
        let Self { full, thread, live, stalls, .. } = self;
        // The thread ends when no one can send to it any more.
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

    /// Gives the chunk to the writing thread and goes on with an empty one.
    #[cold]
    fn hand_over(&mut self) {
        self.begun = Time::NEVER;
        if self.deserted || self.chunk.is_empty() {
            self.chunk.clear();
            return;
        }
        let next = self.next_chunk();
        let full = std::mem::replace(&mut self.chunk, next);
        // There is room: the channel takes as many chunks as there are.
        if self.full.send(full).is_err() {
            self.deserted = true;
        }
    }

    /// An empty chunk: one that came back, a new one, or, if there are as many as there may be, the
    /// next to come back.
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
        self.live.0.stalls.store(self.stalls.count, Ordering::Relaxed);
        let since = Instant::now();
        let chunk = self.empty.recv();
        self.stalls.waited += since.elapsed();
        chunk.unwrap_or_else(|_| {
            self.deserted = true;
            Chunk::new()
        })
    }
}

impl Live {
    /// The counters now.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.0.summary.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How often the emulator had to wait for the disk so far; it may be waiting now.
    #[must_use]
    pub fn stalls(&self) -> u64 {
        self.0.stalls.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
