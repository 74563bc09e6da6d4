//! What to record, and with how much memory.

use crate::units::Span;
use std::fmt;
use std::io::Write;
use std::path::PathBuf;
use vocabulary::LinkId;

/// What to record. Nothing by default but the counters.
#[derive(Debug)]
pub struct Options {
    /// Where to write a capture.
    pub capture: Option<CaptureTo>,
    /// The links whose packets are captured; all if `None`. Fates and counters are of all links in
    /// any case.
    pub capture_links: Option<Vec<LinkId>>,
    /// Bytes kept of each packet in the capture.
    pub snap_length: u32,
    /// The Parquet file to write the fates to. `FILE.log` stands beside it until the run is closed.
    pub events: Option<PathBuf>,
    /// The Parquet file to write the records of link layers to; a log beside it, likewise.
    pub link_layer: Option<PathBuf>,
    /// Where to write the blocks of RLP as a capture ([`crate::link_layer::blocks`]).
    pub blocks: Option<PathBuf>,
    /// Bytes of memory: half for records on their way to the disk, half for packets inside the
    /// links, whose record in the capture waits for their fate.
    pub memory: usize,
    /// How long records may wait in memory before they go to the disk, in the time of the run.
    pub age: Span,
}

/// Where a capture goes.
pub enum CaptureTo {
    /// To a file, replaced if there is one.
    Path(PathBuf),
    /// To anything else. It is buffered before.
    Writer(Box<dyn Write + Send>),
}

impl Default for Options {
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
