//! What can go wrong with the recorder.

use capture::table::TableError;
use std::io;
use std::path::PathBuf;

/// Why there are no states of senders, or no more of them.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// This kernel does not show them, or not to this user.
    #[error("the state of TCP senders cannot be observed: {0}")]
    Unavailable(String),
    /// The log cannot be written.
    #[error("write the states of TCP senders to `{}`: {source}", path.display())]
    File {
        /// The log.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The kernel stopped giving them.
    #[error("read the states of TCP senders: {0}")]
    Source(io::Error),
    /// The log cannot be made a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// There is no thread to record.
    #[error("start the recorder of TCP senders: {0}")]
    Thread(io::Error),
    /// The recorder's thread panicked.
    #[error("the recorder of TCP senders panicked")]
    Panicked,
}
