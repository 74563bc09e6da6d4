//! RecorderOptions: what to record, and with how much memory.

use crate::units::Span;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use vocabulary::LinkId;

/// RecorderOptions of a recording. By default, only the counters are kept.
#[derive(Debug)]
pub struct RecorderOptions {
    /// Where to write a capture.
    pub capture: Option<CaptureTo>,
    /// Links whose packets are captured; `None` means all. Fates and counters always cover all
    /// links.
    pub capture_links: Option<Vec<LinkId>>,
    /// Bytes kept of each packet in the capture.
    pub snap_length: u32,
    /// Parquet file for the fates. `FILE.log` is beside it until the run is closed.
    pub events: Option<PathBuf>,
    /// Parquet file for the records of link layers. It has a log beside it, too.
    pub link_layer: Option<PathBuf>,
    /// File for the RLP blocks, as a capture ([`crate::link_layer::blocks`]).
    pub blocks: Option<PathBuf>,
    /// Bytes of memory. Half is for records that wait for the disk, half for packets inside the
    /// links, whose records in the capture wait for their fates.
    pub memory: usize,
    /// Longest time that records wait in memory, in the time of the run.
    pub age: Span,
}

/// Destination of a capture.
pub enum CaptureTo {
    /// A file, which is replaced if it exists.
    Path(PathBuf),
    /// Any writer. Its input is buffered.
    Writer(Box<dyn Write + Send>),
}

impl Default for RecorderOptions {
    fn default() -> Self {
        Self {
            capture: None,
            capture_links: None,
            snap_length: 65_535,
            events: None,
            link_layer: None,
            blocks: None,
            memory: 256 * 1024 * 1024,
            age: Span::from_millis(200),
        }
    }
}

impl fmt::Debug for CaptureTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Writer(_) => f.write_str("Writer"),
        }
    }
}
