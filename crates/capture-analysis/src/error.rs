//! Errors in the analysis of captures.

use capture::packets::CaptureError;
use capture::table::TableError;
use std::io;
use std::path::{Path, PathBuf};

/// Error while reading captures or logs, or while writing results.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// The capture cannot be read at all.
    #[error("{}{source}", prefix(path, matches!(source, CaptureError::Open { .. })))]
    Capture {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: CaptureError,
    },
    /// Reading the capture failed after it had begun.
    #[error("{}: cannot read the capture beyond byte {at}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Byte in the file at which the last readable packet starts.
        at: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The capture has no packets of the requested interface.
    #[error("{}: no packets of interface `{wanted}`; the interfaces with packets are: {}", path.display(), there.join(", "))]
    NoInterface {
        /// The file.
        path: PathBuf,
        /// The requested name or number.
        wanted: String,
        /// Number and name of each interface that has packets.
        there: Vec<String>,
    },
    /// There is no connection with this number.
    #[error("{}: no connection {wanted}: the capture has {there}, counted from 1", path.display())]
    NoConnection {
        /// The file.
        path: PathBuf,
        /// The requested number, from 1.
        wanted: usize,
        /// Number of connections that there are.
        there: usize,
    },
    /// The event log cannot be read.
    #[error("{}{source}", prefix(path, matches!(source, TableError::File { .. })))]
    Events {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: TableError,
    },
    /// The log of TCP senders' states cannot be read.
    #[error("{}{source}", prefix(path, matches!(source, TableError::File { .. })))]
    Senders {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: TableError,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error("{}{source}", prefix(path, matches!(source, TableError::File { .. })))]
    Table {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: TableError,
    },
}

impl TraceError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}

/// Returns the start of a message about `path`; empty if the rest of the message names the file.
fn prefix(path: &Path, is_named: bool) -> String {
    if is_named { String::new() } else { format!("{}: ", path.display()) }
}
