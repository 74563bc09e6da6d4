//! The table's reader.

use super::columns::{COLUMNS, blank};
use super::metadata::{self, Known, Metadata};
use super::{TableError, key, open};
use crate::event::{Fate, Header, Note, SCHEMA};
use crate::rows::Rows;
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use std::fs::File;
use std::path::Path;

/// Iterates over the fates. Columns are found by their names; one that is not known is passed over,
/// and one that is missing, or holds something else than it should, leaves its field empty.
pub struct Reader<R: ChunkReader> {
    rows: Rows<R, Fate, Header>,
    header: Header,
    notes: Vec<Note>,
    tail: String,
}

const KNOWN: Known =
    Known { header: key::HEADER, schema: SCHEMA, other: || TableError::NotALog, later: TableError::Schema };

impl Reader<File> {
    /// Opens the table at `path`.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let doing = "cannot open the event log";
        Self::new(open(path, doing)?)
    }
}

impl<R: ChunkReader + 'static> Reader<R> {
    /// Reads the metadata of the table in `source`.
    pub fn new(source: R) -> Result<Self, TableError> {
        let file = SerializedFileReader::new(source)?;
        let Metadata { header, notes, tail } = metadata::read(&file, &KNOWN)?;
        Ok(Self { rows: Rows::new(file, COLUMNS, blank()), header, notes, tail })
    }

    /// The header, with the links as they were at the end.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The notes, in their order.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What the log ended with that this was made of, in words; `complete` if the run was closed.
    #[must_use]
    pub fn tail(&self) -> &str {
        &self.tail
    }
}

impl<R: ChunkReader + 'static> Iterator for Reader<R> {
    type Item = Result<Fate, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}
