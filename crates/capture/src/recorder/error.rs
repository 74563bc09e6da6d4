//! What can go wrong while recording.

use super::Recorded;
use crate::table::TableError;
use crate::units::Time;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// One thing that went wrong.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be created.
    #[error("cannot create the {what} `{}`: {source}", path.display())]
    Create {
        /// `capture` or `event log`.
        what: &'static str,
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The event log of another run lies where this one's would.
    #[error(
        "`{}` is the event log of a run that was killed: recover it first (lasthop recover FILE), or remove it, or choose another file",
        path.display()
    )]
    LeftOver {
        /// The log.
        path: PathBuf,
    },
    /// Writing failed; what was written before can be read.
    #[error(
        "cannot write the {what}{} from {at} s of the run on: {source}; the part before is readable",
        in_backticks(path.as_ref())
    )]
    Write {
        /// `capture` or `event log`.
        what: &'static str,
        /// Which file; `None` if it is none.
        path: Option<PathBuf>,
        /// Until when records are complete.
        at: Time,
        /// What the system said.
        source: io::Error,
    },
    /// The Parquet file cannot be made of the log, which is kept.
    #[error("cannot create `{}` from the log `{}`, which is kept: {source}", path.display(), log.display())]
    Table {
        /// The Parquet file.
        path: PathBuf,
        /// The log.
        log: PathBuf,
        /// Why not.
        source: TableError,
    },
    /// There can be no thread.
    #[error("cannot start the thread that writes captures: {0}")]
    Thread(io::Error),
    /// The writing thread has died.
    #[error(
        "the thread that writes captures stopped early: this is a bug in lasthop; the part written before is readable"
    )]
    Deserted,
}

/// What went wrong, and what was recorded nevertheless.
#[derive(Debug)]
pub struct CloseError {
    /// At least one.
    pub errors: Vec<RecordError>,
    /// The rest.
    pub recorded: Box<Recorded>,
}

impl fmt::Display for CloseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, error) in self.errors.iter().enumerate() {
            if place > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl std::error::Error for CloseError {}

fn in_backticks(path: Option<&PathBuf>) -> String {
    path.map_or_else(String::new, |path| format!(" `{}`", path.display()))
}
