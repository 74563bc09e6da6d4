//! The per-ACK recorder: logs the state of every TCP sender of a run at every segment that reaches
//! it, for every congestion control.
//!
//! [`capture::senders`] documents the rows. They come from the kernel's tracepoint `tcp_probe`, in
//! one of two ways:
//!
//! * `ebpf`: a program at the tracepoint. It is the way on a host, and needs a kernel with BTF
//!   (`/sys/kernel/btf/vmlinux`) and the right to load programs (root, or CAP_BPF and CAP_PERFMON).
//!   The program sees the whole machine, and records what is in the network namespaces of the run.
//! * `tracefs`: the kernel's own events `tcp/*` with the clock `mono`. It is the way in the
//!   virtual-time kernel, which has no BTF. Events show addresses but no namespaces, so the run
//!   must be the only one in its kernel.
//!
//! Two kinds of states are counted as lost: those that did not fit into the buffer, and segments
//! for which the kernel skipped the program because it was already running. Under load, Linux 6.18
//! also skipped it without counting, for about 1 in 1000 of the acknowledgements that a timer had
//! sent (delayed ones). The cause is unknown. The events miss none.
//!
//! Both ways use CLOCK_MONOTONIC, as [`Instant`] does, so rows have the time of the run. Nothing is
//! pinned: the recorder's thread holds programs and trace buffers by file descriptors, and the
//! kernel frees them when the thread closes these.
//!
//! A run calls [`Recorder::start`] before the traffic and [`Recorder::stop`] after it. Meanwhile a
//! thread appends to `FILE.parquet.log`, which is converted to the Parquet file at the end.

mod ebpf;
mod error;
mod live;
mod source;
mod tracefs;

pub use error::RecorderError;
pub use live::watch;

use capture::Converted;
use capture::senders::{Header, LogWriter as Writer, Record, SCHEMA, SenderState};
use capture::table::{convert, log_path};
use capture::{Time, WallTime};
use nix::time::{ClockId, clock_gettime};
use rustix::event::EventfdFlags;
use source::Source;
use std::fs::File;
use std::io::{self, BufWriter};
use std::mem::MaybeUninit;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Instant;

/// A node of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its addresses, which no other node has.
    pub addresses: Vec<IpAddr>,
    /// Cookie of its network namespace (`SO_NETNS_COOKIE`).
    pub cookie: u64,
}

/// What to record, and where to.
#[derive(Debug, Clone)]
pub struct Options {
    /// The Parquet file; during the run, rows are in `FILE.parquet.log`.
    pub table: PathBuf,
    /// Version of lasthop, for the header.
    pub lasthop: String,
    /// The campaign's seed, for the header.
    pub seed: u64,
    /// Wall-clock time of the start of the run, for the header.
    pub started: WallTime,
    /// The nodes, in the order of their numbers.
    pub nodes: Vec<Node>,
    /// The start of the run: time zero of all rows.
    pub origin: Instant,
}

/// How the recorder reads the tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Ebpf,
    Tracefs,
}

impl Way {
    /// Returns the way that this kernel offers.
    fn here() -> Self {
        if ebpf::may_work() { Self::Ebpf } else { Self::Tracefs }
    }
}

/// A running recorder; see the [module](self).
#[must_use = "it records until it is stopped"]
pub struct Recorder {
    stop: Arc<OwnedFd>,
    thread: JoinHandle<Result<Converted, RecorderError>>,
    source: &'static str,
}

impl Recorder {
    /// Starts recording. Everything after the return of this function is recorded.
    ///
    /// # Errors
    /// [`RecorderError::Unavailable`] if this kernel does not show the states, or not to this user:
    /// a run can continue without the recorder. Other errors if the log cannot be written.
    pub fn start(options: Options) -> Result<Self, RecorderError> {
        Self::start_by(options, Way::here())
    }

    fn start_by(options: Options, way: Way) -> Result<Self, RecorderError> {
        let stop = rustix::event::eventfd(0, EventfdFlags::CLOEXEC).map_err(io::Error::from);
        let stop = Arc::new(stop.map_err(RecorderError::Thread)?);
        let (ready, began) = sync_channel(1);
        let to_stop = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name("senders".to_owned())
            .spawn(move || work(&options, way, to_stop.as_fd(), &ready))
            .map_err(RecorderError::Thread)?;
        match began.recv() {
            Ok(source) => Ok(Self { stop, thread, source }),
            // The thread ended before it was ready.
            Err(_) => Err(finished(thread).err().unwrap_or(RecorderError::Panicked)),
        }
    }

    /// Returns the source of the rows, as in the header.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Ends recording and makes the Parquet file. Returns how many states it has and how many were
    /// lost.
    ///
    /// # Errors
    /// If the log or the file could not be written. The log is then kept.
    pub fn stop(self) -> Result<Converted, RecorderError> {
        let told = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        debug_assert!(told.is_ok(), "a counter from 0 takes 1");
        finished(self.thread)
    }
}

fn finished(thread: JoinHandle<Result<Converted, RecorderError>>) -> Result<Converted, RecorderError> {
    thread.join().unwrap_or(Err(RecorderError::Panicked))
}

/// Runs in the recorder's thread.
fn work(
    options: &Options,
    way: Way,
    stop: BorrowedFd<'_>,
    ready: &SyncSender<&'static str>,
) -> Result<Converted, RecorderError> {
    let mut object = MaybeUninit::uninit();
    let mut source: Box<dyn Source + '_> = match way {
        Way::Ebpf => Box::new(ebpf::Probe::attach(&mut object, &options.nodes)?),
        Way::Tracefs => Box::new(tracefs::Trace::open(&options.nodes)?),
    };
    let log = log_path(&options.table);
    let failed = |source| RecorderError::File { path: log.clone(), source };
    let file = File::create_new(&log).map_err(failed)?;
    let header = Header {
        schema: SCHEMA,
        lasthop: options.lasthop.clone(),
        started: options.started,
        seed: options.seed,
        source: source.name().to_owned(),
        nodes: options.nodes.iter().map(|node| node.name.clone()).collect(),
    };
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, file), &header).map_err(failed)?;
    writer.flush().map_err(failed)?;
    let origin = on_monotonic_clock(options.origin).map_err(RecorderError::Source)?;
    // The error means that the caller no longer waits.
    let _ = ready.send(source.name());

    let mut states = Vec::new();
    let mut append = |states: &mut Vec<SenderState>| -> Result<(), RecorderError> {
        for mut state in states.drain(..) {
            state.at = Time::from_nanos(state.at.as_nanos().saturating_sub(origin));
            writer.row(&state).map_err(failed)?;
        }
        writer.flush().map_err(failed)
    };
    while !source.wait(stop).map_err(RecorderError::Source)? {
        source.collect(&mut states).map_err(RecorderError::Source)?;
        append(&mut states)?;
    }
    let lost = source.finish(&mut states).map_err(RecorderError::Source)?;
    append(&mut states)?;
    if lost > 0 {
        writer.add(&Record::Lost(lost)).map_err(failed)?;
        writer.flush().map_err(failed)?;
    }
    drop(writer);
    Ok(convert::<SenderState>(&log, &options.table)?)
}

/// Converts a past instant to nanoseconds of CLOCK_MONOTONIC.
///
/// Uses the C library: rustix panics where the vDSO lacks functions, as in User-Mode Linux.
fn on_monotonic_clock(instant: Instant) -> io::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    let passed = instant.elapsed().as_nanos() as u64;
    Ok((now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64).saturating_sub(passed))
}

#[cfg(test)]
mod tests;
