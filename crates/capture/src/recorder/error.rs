//! Errors of recording.

use super::Recorded;
use crate::table::TableError;
use crate::units::Time;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// An error of recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be created.
    #[error("cannot create the {what} `{}`: {source}", path.display())]
    Create {
        /// `capture` or `event log`, for example.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The event log of an unfinished run has this run's log path.
    #[error(
        "`{}` is the event log of a run that was killed: recover it first (lasthop convert FILE), or remove it, or choose another file",
        path.display()
    )]
    LeftOver {
        /// The log.
        path: PathBuf,
    },
    /// Writing failed. Earlier records can be read.
    #[error(
        "cannot write the {what}{} from {at} s of the run on: {source}; the part before is readable",
        in_backticks(path.as_ref())
    )]
    Write {
        /// `capture` or `event log`, for example.
        what: &'static str,
        /// The file; `None` if the output is no file.
        path: Option<PathBuf>,
        /// Time until which records are complete.
        at: Time,
        /// The system's error.
        source: io::Error,
    },
    /// The log cannot be converted to a Parquet file. The log is kept.
    #[error("cannot create `{}` from the log `{}`, which is kept: {source}", path.display(), log.display())]
    Table {
        /// The Parquet file.
        path: PathBuf,
        /// The log.
        log: PathBuf,
        /// The error.
        source: TableError,
    },
    /// The thread cannot be started.
    #[error("cannot start the thread that writes captures: {0}")]
    Thread(io::Error),
    /// The writing thread ended early.
    #[error(
        "the thread that writes captures stopped early: this is a bug in lasthop; the part written before is readable"
    )]
    Deserted,
}

/// All errors of a recording, and the parts that were completed.
#[derive(Debug)]
pub struct CloseError {
    /// The errors; at least one.
    pub errors: Vec<RecordError>,
    /// The completed parts.
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
