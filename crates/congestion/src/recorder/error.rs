//! Errors of the recorder.

use capture::table::TableError;
use std::io;
use std::path::PathBuf;

/// Why the states of senders cannot be recorded, or no longer.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The kernel does not show the states, or not to this user.
    #[error("cannot observe the state of TCP senders: {0}")]
    Unavailable(String),
    /// The log cannot be written.
    #[error("cannot write the states of TCP senders to `{}`: {source}", path.display())]
    File {
        /// The log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The kernel stopped delivering states.
    #[error("cannot read the states of TCP senders: {0}")]
    Source(io::Error),
    /// The log cannot be converted to a table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// The recorder's thread cannot be started.
    #[error("cannot start the recorder of TCP senders: {0}")]
    Thread(io::Error),
    /// The recorder's thread panicked.
    #[error("the recorder of TCP senders panicked")]
    Panicked,
}
