//! The event log as Parquet: what a closed run leaves, for pandas, polars, DuckDB and ours.
//!
//! One row a fate; the columns are in [`columns`], and their meaning with units is in the file as
//! well. What the log says besides is in the file's key-value metadata: `lasthop.schema`,
//! `lasthop.version`, `lasthop.seed`, `lasthop.started_unix_ns`, `lasthop.header` (all of it),
//! `lasthop.notes`, `lasthop.columns` (the last three as JSON) and `lasthop.tail`, which is
//! `complete` unless the log was cut off.
//!
//! The file appears under its name when it is complete, never before; the log is removed then.

pub mod columns;
pub(crate) mod metadata;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

use crate::event::{Note, Record};
use crate::input::Tail;
use crate::log::{self, LogError};
use crate::output::Pending;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Keys of the metadata.
pub(crate) mod key {
    pub const SCHEMA: &str = "lasthop.schema";
    pub const VERSION: &str = "lasthop.version";
    pub const SEED: &str = "lasthop.seed";
    pub const STARTED: &str = "lasthop.started_unix_ns";
    pub const HEADER: &str = "lasthop.header";
    pub const NOTES: &str = "lasthop.notes";
    pub const COLUMNS: &str = crate::columnar::MEANINGS;
    pub const TAIL: &str = "lasthop.tail";
}

/// A log that was made a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The Parquet file.
    pub path: PathBuf,
    /// Fates in it.
    pub fates: u64,
    /// What the log ended with.
    pub tail: Tail,
}

/// A Parquet file that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The log it would be made of cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file cannot be opened, written or moved.
    #[error("{doing} `{}`: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// Which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The Parquet library found something wrong.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// It is Parquet, and something else.
    #[error("this Parquet file has no `lasthop.header`: it is no event log of lasthop")]
    NotALog,
    /// The schema is of a later program.
    #[error("the event log has schema {0}, this program reads up to {now}: use the lasthop that wrote it", now = crate::event::SCHEMA)]
    Schema(u16),
    /// It is Parquet, and something else than states of senders.
    #[error("this Parquet file has no `lasthop.senders`: it has no states of TCP senders")]
    NotOfSenders,
    /// It is Parquet, and something else than records of link layers.
    #[error("this Parquet file has no `lasthop.link-layer`: it has no records of a link layer")]
    NotOfLinkLayer,
    /// The schema of the link layers' records is of a later program.
    #[error("the link layers' records have schema {0}, this program reads up to {now}: use the lasthop that wrote it", now = crate::link_layer::SCHEMA)]
    LinkLayerSchema(u16),
    /// The schema of the senders' states is of a later program.
    #[error("the senders' states have schema {0}, this program reads up to {now}: use the lasthop that wrote it", now = crate::senders::SCHEMA)]
    SendersSchema(u16),
    /// There is neither the file nor its log.
    #[error("there is no event log `{}` to recover: it is there only while a run goes on or after it was killed", .0.display())]
    NothingLeft(PathBuf),
}

/// Where the log of a run lies that will leave the Parquet file `table`: `FILE.parquet.log`.
#[must_use]
pub fn log_path(table: &Path) -> PathBuf {
    with_suffix(table, ".log")
}

/// Makes the Parquet file that a killed run did not: `path` is that file, or the log beside it. A
/// file of the same name is replaced.
///
/// The run must have ended: of one that goes on, the rest would be lost.
pub fn recover(path: &Path) -> Result<Converted, TableError> {
    let (log, table) = left(path)?;
    convert(&log, &table)
}

/// The log that a killed run left and the Parquet file to make of it; `path` is one of the two.
pub(crate) fn left(path: &Path) -> Result<(PathBuf, PathBuf), TableError> {
    let is_log = path.extension().is_some_and(|extension| extension == "log");
    let (log, table) =
        if is_log { (path.to_owned(), path.with_extension("")) } else { (log_path(path), path.to_owned()) };
    if log.exists() { Ok((log, table)) } else { Err(TableError::NothingLeft(log)) }
}

/// Removes a log of which a table was made.
pub(crate) fn remove(log: &Path) -> Result<(), TableError> {
    fs::remove_file(log).map_err(|source| TableError::File {
        doing: "cannot remove",
        path: log.to_owned(),
        source,
    })
}

/// Opens a table; `doing` says what cannot be done if not.
pub(crate) fn open(path: &Path, doing: &'static str) -> Result<File, TableError> {
    File::open(path).map_err(|source| TableError::File { doing, path: path.to_owned(), source })
}

/// Makes the Parquet file `table` of `log` and removes the log.
pub(crate) fn convert(log: &Path, table: &Path) -> Result<Converted, TableError> {
    let mut reader = log::Reader::open(log)?;
    let (fates, tail) = whole(table, |output| {
        let mut writer = Writer::new(output)?;
        let mut notes: Vec<Note> = Vec::new();
        while let Some(record) = reader.next() {
            match record.map_err(LogError::Read)? {
                Record::Fate(fate) => writer.add(fate, reader.header())?,
                Record::Note(note) => notes.push(note),
                Record::Link(_) => {}
            }
        }
        let tail = reader.tail().unwrap_or(Tail::Complete);
        let (fates, output) = writer.finish(reader.header(), &notes, tail)?;
        Ok(((fates, tail), output))
    })?;
    remove(log)?;
    Ok(Converted { path: table.to_owned(), fates, tail })
}

/// Writes the file at `path` whole or not at all: `write` writes it under another name and gives
/// back the output, and it gets its own when it is on the disk. A file of the same name is
/// replaced.
pub(crate) fn whole<T>(
    path: &Path,
    write: impl FnOnce(BufWriter<File>) -> Result<(T, BufWriter<File>), TableError>,
) -> Result<T, TableError> {
    let failed = |doing| {
        let path = path.to_owned();
        move |source| TableError::File { doing, path, source }
    };
    let pending = Pending::begin(path).map_err(failed("cannot create"))?;
    let file = pending.file().map_err(failed("cannot create"))?;
    let (result, output) = write(BufWriter::with_capacity(1 << 18, file))?;
    let file = output.into_inner().map_err(|error| failed("cannot write")(error.into_error()))?;
    // A pipe has no disk to be on.
    if file.metadata().is_ok_and(|about| about.is_file()) {
        file.sync_all().map_err(failed("cannot write"))?;
    }
    pending.finish().map_err(failed("cannot rename to"))?;
    Ok(result)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests;
