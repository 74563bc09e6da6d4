//! Errors of reading logs.

use crate::schema::Contents;
use std::io;
use std::path::PathBuf;

/// Why a log cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be opened.
    #[error("cannot open the event log `{}`: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the event log: {0}")]
    Read(#[from] io::Error),
    /// The file has another format.
    #[error("this is not an event log of lasthop: it does not begin with `lasthop` and a version")]
    NotALog,
    /// The framing is of a later program.
    #[error("the event log has format {0}, this program reads format 1: use the lasthop that wrote it")]
    Framing(u8),
    /// The file is another kind of log.
    #[error("this is a {found}, not a {wanted}")]
    Other {
        /// The kind of log that was wanted.
        wanted: Contents,
        /// The kind of log that this is.
        found: Contents,
    },
    /// The schema is of a later program.
    #[error(
        "the {contents} has schema {found}, this program reads up to {newest}: use the lasthop that wrote it"
    )]
    Schema {
        /// Kind of the log.
        contents: Contents,
        /// Version of its schema.
        found: u16,
        /// The newest version that this program reads.
        newest: u16,
    },
    /// The log was cut off before the end of its header, or the header is invalid.
    #[error(
        "the event log ends before its header is complete: the run ended at its start, and nothing can be recovered"
    )]
    NoHeader,
}
