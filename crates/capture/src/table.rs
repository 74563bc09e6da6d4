//! An event log as Parquet: the result of a closed run, for pandas, polars, DuckDB and lasthop.
//!
//! Each row is a row of the log. The columns are those of its [`Schema`]; the file also has their
//! meanings with units. Everything else in the log is in the file's key-value metadata:
//!
//! * `lasthop.schema`, `lasthop.version`, `lasthop.seed`, `lasthop.started_unix_ns`
//! * the header as JSON: `lasthop.header` of fates, `lasthop.senders`, `lasthop.link-layer`
//! * `lasthop.notes`: notes as JSON (fates and senders)
//! * `lasthop.lost`: number of states that the recorder did not get (senders)
//! * `lasthop.columns`: meanings of the columns as JSON
//! * `lasthop.tail`: `complete` unless the log was cut off
//!
//! The file appears under its name only once it is complete. Then the log is removed.

pub(crate) mod metadata;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;

use crate::input::Tail;
use crate::log::{self, LogError};
use crate::output::Pending;
use crate::schema::{Contents, Schema};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

/// Key of the notes in the metadata, as JSON.
pub const NOTES: &str = "lasthop.notes";

/// Key of the number of rows that the recorder did not get.
pub const LOST: &str = "lasthop.lost";

/// Keys that the metadata of every table has.
pub(crate) mod key {
    pub const SCHEMA: &str = "lasthop.schema";
    pub const VERSION: &str = "lasthop.version";
    pub const SEED: &str = "lasthop.seed";
    pub const STARTED: &str = "lasthop.started_unix_ns";
    pub const COLUMNS: &str = crate::columnar::MEANINGS;
    pub const TAIL: &str = "lasthop.tail";
}

/// A log that was converted to a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The Parquet file.
    pub path: PathBuf,
    /// Number of its rows.
    pub rows: u64,
    /// Number of rows that the recorder did not get.
    pub lost: u64,
    /// How the log ended.
    pub tail: Tail,
}

/// Why a Parquet file cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The log to convert cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file cannot be opened, written or moved.
    #[error("{doing} `{}`: {source}", path.display())]
    File {
        /// What failed, such as "cannot open".
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The Parquet library reported an error.
    #[error("Parquet: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The file is Parquet, but not this kind of table.
    #[error("this Parquet file is not a {_0}: its metadata has no `{}`", _0.key())]
    Other(Contents),
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
    /// There is no log to recover from.
    #[error("there is no event log `{}` to recover: it exists only during a run, or after a run was killed", .0.display())]
    NothingLeft(PathBuf),
}

/// Returns the path of the log from which the Parquet file `table` is made: `FILE.parquet.log`.
#[must_use]
pub fn log_path(table: &Path) -> PathBuf {
    with_suffix(table, ".log")
}

/// Makes the Parquet file that a killed run did not make. `path` is that file, or the log beside
/// it. Replaces a file of the same name.
///
/// The run must have ended; otherwise the rest of its log would be lost.
pub fn recover<S: Schema>(path: &Path) -> Result<Converted, TableError> {
    let (log, table) = left(path)?;
    convert::<S>(&log, &table)
}

/// Makes the Parquet file `table` from `log` and removes the log.
pub fn convert<S: Schema>(log: &Path, table: &Path) -> Result<Converted, TableError> {
    let mut reader = log::Reader::<S, _>::open(log)?;
    let header = reader.header().clone();
    let converted = whole(table, |output| {
        let mut writer = Writer::new(output, header)?;
        for record in reader.by_ref() {
            writer.add(record.map_err(LogError::Read)?)?;
        }
        let tail = reader.tail().unwrap_or(Tail::Complete);
        let lost = writer.lost();
        let (rows, output) = writer.finish(tail)?;
        Ok((Converted { path: table.to_owned(), rows, lost, tail }, output))
    })?;
    fs::remove_file(log).map_err(|source| TableError::File {
        doing: "cannot remove",
        path: log.to_owned(),
        source,
    })?;
    Ok(converted)
}

/// Returns the log that a killed run left, and the Parquet file to make from it. `path` is one of
/// the two.
fn left(path: &Path) -> Result<(PathBuf, PathBuf), TableError> {
    let is_log = path.extension().is_some_and(|extension| extension == "log");
    let (log, table) =
        if is_log { (path.to_owned(), path.with_extension("")) } else { (log_path(path), path.to_owned()) };
    if log.exists() { Ok((log, table)) } else { Err(TableError::NothingLeft(log)) }
}

/// Opens a table.
fn open(path: &Path) -> Result<File, TableError> {
    let failed = |source| TableError::File { doing: "cannot open", path: path.to_owned(), source };
    File::open(path).map_err(failed)
}

/// Writes the file at `path` whole or not at all. `write` writes it under another name and returns
/// the output; the file gets its name once it is on the disk. Replaces a file of the same name.
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
    // A pipe cannot be synced to a disk.
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
