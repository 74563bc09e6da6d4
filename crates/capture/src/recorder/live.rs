//! A recording while it goes on, for other threads: its counters and flows, and captures of a part
//! of the run.

use super::writing::Capture;
use super::{CaptureTo, Captured, HEADERS, RecordError};
use crate::event::Header;
use crate::flows::Watched;
use crate::summary::Summary;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes kept of each packet in a capture that begins during the run: all.
pub(super) const SNAP_LENGTH: u32 = 65_535;
/// Memory of such a capture for packets inside the links, in bytes.
const MEMORY: usize = 32 * 1024 * 1024;

/// A view of the counters during the run. They lag behind the records by up to
/// [`super::RecorderOptions::age`], or are those of the last [`super::Recorder::flush`].
#[derive(Clone)]
pub struct Live(Arc<Shared>);

struct Shared {
    summary: Mutex<Summary>,
    /// Empty until somebody looks, because the recorder then copies the headers of each packet.
    watched: Mutex<Watched>,
    is_watched: AtomicBool,
    /// The links at present.
    header: Mutex<Header>,
    /// A capture that began during the run.
    capture: Mutex<Option<Capture>>,
    /// Bytes of each packet that this capture needs.
    captured: AtomicUsize,
    /// Chunks that the writing thread was given, and those that it has written.
    given: AtomicU64,
    written: AtomicU64,
    stalls: AtomicU64,
}

impl Live {
    pub(super) fn new(header: Header) -> Self {
        Self(Arc::new(Shared {
            summary: Mutex::default(),
            watched: Mutex::default(),
            is_watched: AtomicBool::default(),
            header: Mutex::new(header),
            capture: Mutex::default(),
            captured: AtomicUsize::default(),
            given: AtomicU64::default(),
            written: AtomicU64::default(),
            stalls: AtomicU64::default(),
        }))
    }

    /// Returns the current counters.
    #[must_use]
    pub fn summary(&self) -> Summary {
        self.counters().clone()
    }

    /// Reads the flows and channels. They are counted from the first call on.
    pub fn watched<T>(&self, read: impl FnOnce(&Watched) -> T) -> T {
        self.0.is_watched.store(true, Ordering::Relaxed);
        read(&self.0.watched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn is_watched(&self) -> bool {
        self.0.is_watched.load(Ordering::Relaxed)
    }

    /// Returns the counters, to count in them.
    pub(super) fn counters(&self) -> MutexGuard<'_, Summary> {
        self.0.summary.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the flows, to count in them, if somebody looks at them.
    pub(super) fn flows(&self) -> Option<MutexGuard<'_, Watched>> {
        self.is_watched().then(|| self.0.watched.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that the writing thread was given a chunk.
    pub(super) fn gave(&self) {
        self.0.given.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes that the writing thread has written a chunk.
    pub(super) fn wrote(&self) {
        self.0.written.fetch_add(1, Ordering::Release);
    }

    /// Notes how often the emulator has had to wait for the disk.
    pub(super) fn stalled(&self, count: u64) {
        self.0.stalls.store(count, Ordering::Relaxed);
    }

    /// Begins a capture of all links. An earlier one of this kind ends. The capture has the packets
    /// that enter from now on, and nothing of those before.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn capture(&self, path: &Path) -> Result<(), RecordError> {
        self.stop()?;
        let to = CaptureTo::Path(path.to_owned());
        let mut capture = Capture::open(to, &self.header(), SNAP_LENGTH, MEMORY)?.of_whole_packets();
        // A reader that follows the file sees at once which links it captures.
        capture.flush()?;
        *self.running() = Some(capture);
        self.0.captured.store(SNAP_LENGTH as usize, Ordering::Relaxed);
        Ok(())
    }

    /// Ends the capture that began during the run; `None` if there is none.
    ///
    /// # Errors
    /// If its last records cannot be written.
    pub fn stop(&self) -> Result<Option<Captured>, RecordError> {
        self.0.captured.store(0, Ordering::Relaxed);
        let capture = self.running().take();
        capture.map(Capture::finish).transpose()
    }

    /// Returns the file of the capture that began during the run, while it goes on.
    #[must_use]
    pub fn captures_to(&self) -> Option<PathBuf> {
        self.running().as_ref().and_then(Capture::path).map(Path::to_owned)
    }

    pub(super) fn header(&self) -> MutexGuard<'_, Header> {
        self.0.header.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn running(&self) -> MutexGuard<'_, Option<Capture>> {
        self.0.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn captured(&self) -> usize {
        self.0.captured.load(Ordering::Relaxed)
    }

    /// Returns how many bytes of a packet that enters are needed besides those for the recorder's
    /// own files.
    pub(super) fn wants(&self) -> usize {
        self.captured().max(if self.is_watched() { HEADERS } else { 0 })
    }

    /// Waits until the writing thread has written what was given to it, for one second at most.
    ///
    /// After a [`super::Recorder::flush`], counters and captures then have everything that was
    /// recorded.
    pub fn catch_up(&self) {
        let given = self.0.given.load(Ordering::Relaxed);
        let until = Instant::now() + Duration::from_secs(1);
        while self.0.written.load(Ordering::Acquire) < given && Instant::now() < until {
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Returns how often the emulator has had to wait for the disk so far, including a wait that is
    /// going on.
    #[must_use]
    pub fn stalls(&self) -> u64 {
        self.0.stalls.load(Ordering::Relaxed)
    }
}
