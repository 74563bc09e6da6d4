//! The per-ACK recorder: the state of every TCP sender of a run at every segment that reaches it,
//! for every congestion control, into an event log of its own.
//!
//! What a row means is said in [`capture::senders`]. Rows come from the kernel's tracepoint
//! `tcp_probe`, in one of two ways:
//!
//! * `ebpf`: a program at the tracepoint, where the kernel describes itself
//!   (`/sys/kernel/btf/vmlinux`) and lets us load it (root, or CAP_BPF and CAP_PERFMON). The
//!   program sees the whole machine and takes what is in the network namespaces of the run. This is
//!   the way on a host.
//! * `tracefs`: the kernel's own events `tcp/*` with the clock `mono`, where there is no such
//!   description: in the virtual-time kernel. It knows no namespaces but addresses, and so must be
//!   the only run in its kernel.
//!
//! States for which there was no room, and segments for which the kernel did not run the program
//! since it was running already, are counted as lost. Under load, Linux 6.18 did not run it, and
//! did not say so, for some 1 in 1000 of the acknowledgements that a timer had sent (delayed ones);
//! the cause is not known. The events miss none.
//!
//! Both stamp with CLOCK_MONOTONIC, which is what [`Instant`] is, so that rows have the time of the
//! run. Nothing is pinned: programs and trace buffers are held by descriptors of the recorder's
//! thread, and the kernel takes them back with it.
//!
//! A run's thread calls [`Recorder::start`] before the traffic and [`Recorder::stop`] after it. In
//! between a thread appends to `FILE.parquet.log`; the Parquet file is made of it at the end.

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
    /// Its addresses; no other node has them.
    pub addresses: Vec<IpAddr>,
    /// Cookie of its network namespace (`SO_NETNS_COOKIE`).
    pub cookie: u64,
}

/// What is recorded, and where to.
#[derive(Debug, Clone)]
pub struct Options {
    /// The Parquet file; during the run there is `FILE.parquet.log`.
    pub table: PathBuf,
    /// Version of the program, for the header.
    pub lasthop: String,
    /// The campaign's seed, for the header.
    pub seed: u64,
    /// The start of the run on the wall, for the header.
    pub started: WallTime,
    /// The nodes, in the order of their numbers.
    pub nodes: Vec<Node>,
    /// The start of the run: time zero of all rows.
    pub origin: Instant,
}

/// One of the two ways to the tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Ebpf,
    Tracefs,
}

impl Way {
    /// The one that this kernel has.
    fn here() -> Self {
        if ebpf::may_work() { Self::Ebpf } else { Self::Tracefs }
    }
}

/// A recorder that runs; see the [module](self).
#[must_use = "it records until it is stopped"]
pub struct Recorder {
    stop: Arc<OwnedFd>,
    thread: JoinHandle<Result<Converted, RecorderError>>,
    source: &'static str,
}

impl Recorder {
    /// Starts recording: what happens after this has returned is recorded.
    ///
    /// # Errors
    /// [`RecorderError::Unavailable`] where this kernel does not show the states, or not to this
    /// user: a run can go on without. Others if the log cannot be written.
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
            // It ended before it began.
            Err(_) => Err(finished(thread).err().unwrap_or(RecorderError::Panicked)),
        }
    }

    /// What the rows come from, as the header says it.
    #[must_use]
    pub fn source(&self) -> &'static str {
        self.source
    }

    /// Ends recording and makes the Parquet file; says how many states are in it and how many are
    /// not.
    ///
    /// # Errors
    /// If the log or the file could not be written. What is in the log then is left.
    pub fn stop(self) -> Result<Converted, RecorderError> {
        let told = rustix::io::write(&*self.stop, &1_u64.to_ne_bytes());
        debug_assert!(told.is_ok(), "a counter from 0 takes 1");
        finished(self.thread)
    }
}

fn finished(thread: JoinHandle<Result<Converted, RecorderError>>) -> Result<Converted, RecorderError> {
    thread.join().unwrap_or(Err(RecorderError::Panicked))
}

/// The recorder's thread.
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
    // Whoever waited for this has it, or has gone.
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

/// Nanoseconds of CLOCK_MONOTONIC at an instant that has passed.
///
/// By the C library: rustix panics where the vDSO has not all its functions, as in User-Mode Linux.
fn on_monotonic_clock(instant: Instant) -> io::Result<u64> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)?;
    let passed = instant.elapsed().as_nanos() as u64;
    Ok((now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64).saturating_sub(passed))
}

#[cfg(test)]
mod tests;
