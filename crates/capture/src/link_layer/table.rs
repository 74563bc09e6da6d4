//! The rows of a closed run as Parquet.
//!
//! In the file the rows of a group (of 100 000) stand end by end, what was received before what was
//! sent: one end does much the same every 20 ms, and rows that are alike pack eight times better
//! beside each other. [`Reader`] gives them by their times again. Another program has to sort by
//! `time_ns`.

use super::columns::{BLANK, COLUMNS};
use super::{Row, SCHEMA, Way, log};
use crate::columnar::cells::json;
use crate::event::{Direction, Header, LinkId};
use crate::input::Tail;
use crate::log::LogError;
use crate::rows::{Groups, Rows};
use crate::table::metadata::{self, Known, Metadata};
use crate::table::{TableError, left, open, remove, whole};
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Key of the header in the metadata.
const HEADER: &str = "lasthop.link-layer";

/// A log that was made a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The Parquet file.
    pub path: PathBuf,
    /// Rows in it.
    pub rows: u64,
    /// What the log ended with.
    pub tail: Tail,
}

/// Opens the table at `path`. Rows come by their times, for each end; those of one instant link by
/// link, the wireless host first, and what was received before what was sent.
///
/// # Errors
/// If it cannot be opened, or is something else.
pub fn read(path: &Path) -> Result<Reader<File>, TableError> {
    Reader::open(path)
}

/// Makes the Parquet file that a killed run did not: `path` is that file, or the log beside it. A
/// file of the same name is replaced. The run must have ended: of one that goes on, the rest would
/// be lost.
pub fn recover(path: &Path) -> Result<Converted, TableError> {
    let (log, table) = left(path)?;
    convert(&log, &table)
}

/// Makes the Parquet file `table` of `log` and removes the log.
pub fn convert(log: &Path, table: &Path) -> Result<Converted, TableError> {
    let mut reader = log::Reader::open(log)?;
    let header = reader.header().clone();
    let converted = whole(table, |output| {
        let mut writer = Writer::new(output, header)?;
        for row in reader.by_ref() {
            writer.add(row.map_err(LogError::Read)?)?;
        }
        let tail = reader.tail().unwrap_or(Tail::Complete);
        let (rows, output) = writer.finish(tail)?;
        Ok((Converted { path: table.to_owned(), rows, tail }, output))
    })?;
    remove(log)?;
    Ok(converted)
}

/// Writes rows as Parquet.
pub struct Writer<W: Write + Send> {
    rows: Groups<W, Row, Header>,
    header: Header,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table.
    pub fn new(output: W, header: Header) -> Result<Self, TableError> {
        let arrange: fn(&mut [Row]) = |rows| rows.sort_by_key(end_by_end);
        Ok(Self { rows: Groups::small(output, "link_layer", COLUMNS, arrange)?, header })
    }

    /// Adds a row.
    pub fn add(&mut self, row: Row) -> Result<(), TableError> {
        self.rows.add(row, &self.header)
    }

    /// Writes what is left and the metadata; how many rows there are, and the output, which is not
    /// flushed.
    pub fn finish(self, tail: Tail) -> Result<(u64, W), TableError> {
        let Self { rows, header } = self;
        let own = [(HEADER, json(&header)?)];
        rows.finish(&header, &(&header).into(), tail, own)
    }
}

fn end_by_end(row: &Row) -> (LinkId, Direction, bool) {
    (row.link, row.end, row.way == Way::Sent)
}

fn by_time(rows: &mut [Row]) {
    rows.sort_by_key(|row| (row.time_ns, end_by_end(row)));
}

/// Iterates over the rows. Columns are found by their names; one that is not known is passed over,
/// and one that is missing, or holds something else than it should, leaves its field as in an empty
/// row.
pub struct Reader<R: ChunkReader> {
    rows: Rows<R, Row, Header>,
    header: Header,
    tail: String,
}

const KNOWN: Known = Known {
    header: HEADER,
    schema: SCHEMA,
    other: || TableError::NotOfLinkLayer,
    later: TableError::LinkLayerSchema,
};

impl Reader<File> {
    /// Opens the table at `path`.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let doing = "cannot open the link layer's records";
        Self::new(open(path, doing)?)
    }
}

impl<R: ChunkReader + 'static> Reader<R> {
    /// Reads the metadata of the table in `source`.
    pub fn new(source: R) -> Result<Self, TableError> {
        let file = SerializedFileReader::new(source)?;
        let Metadata { header, tail, .. } = metadata::read(&file, &KNOWN)?;
        Ok(Self { rows: Rows::new(file, COLUMNS, BLANK).arranged(by_time), header, tail })
    }

    /// The header: the run, and its links.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the log ended with that this was made of, in words; `complete` if the run was closed.
    #[must_use]
    pub fn tail(&self) -> &str {
        &self.tail
    }
}

impl<R: ChunkReader + 'static> Iterator for Reader<R> {
    type Item = Result<Row, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}
