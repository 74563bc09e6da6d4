//! What can keep a capture from being analysed.

use capture::packets::CaptureError;
use capture::table::TableError;
use std::io;
use std::path::{Path, PathBuf};

/// A capture that cannot be analysed, or something that is not in it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TraceError {
    /// It cannot be read at all.
    #[error("{}: {source}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: CaptureError,
    },
    /// Reading it failed in the middle.
    #[error("{}: reading failed behind byte {at}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Where the last packet starts that could be read.
        at: u64,
        /// What the system said.
        source: io::Error,
    },
    /// There is no such interface.
    #[error("{}: no packets of an interface `{wanted}`; there are some of: {}", path.display(), there.join(", "))]
    NoInterface {
        /// The file.
        path: PathBuf,
        /// The name or number asked for.
        wanted: String,
        /// Number and name of those that packets were captured at.
        there: Vec<String>,
    },
    /// There is no such connection.
    #[error("{}: no connection {wanted}: there are {there}, counted from 1", path.display())]
    NoConnection {
        /// The file.
        path: PathBuf,
        /// The number asked for.
        wanted: usize,
        /// How many there are.
        there: usize,
    },
    /// The event log cannot be read.
    #[error("{}: {source}", path.display())]
    Events {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: TableError,
    },
    /// The senders' states cannot be read.
    #[error("{}: {source}", path.display())]
    Senders {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: TableError,
    },
    /// A file cannot be written.
    #[error("cannot write `{}`: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A table cannot be written.
    #[error("{}: {source}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: TableError,
    },
}

impl TraceError {
    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }
}
