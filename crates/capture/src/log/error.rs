//! Logs that cannot be read.

use crate::schema::Contents;
use std::io;
use std::path::PathBuf;

/// A log that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be opened.
    #[error("cannot open the event log `{}`: {source}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the event log: {0}")]
    Read(#[from] io::Error),
    /// It is something else.
    #[error("this is not an event log of lasthop: it does not begin with `lasthop` and a version")]
    NotALog,
    /// The framing is of a later program.
    #[error("the event log has format {0}, this program reads format 1: use the lasthop that wrote it")]
    Framing(u8),
    /// It is another of the logs.
    #[error("this is a {found}, not a {wanted}")]
    Other {
        /// The log that was wanted.
        wanted: Contents,
        /// The log that this is.
        found: Contents,
    },
    /// The schema is of a later program.
    #[error(
        "the {contents} has schema {found}, this program reads up to {newest}: use the lasthop that wrote it"
    )]
    Schema {
        /// Which log.
        contents: Contents,
        /// Its schema.
        found: u16,
        /// The newest one that is read.
        newest: u16,
    },
    /// It was cut off too early.
    #[error(
        "the event log ends before its header is complete: the run ended at its start, and nothing can be recovered"
    )]
    NoHeader,
}
