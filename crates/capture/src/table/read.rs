//! The table's reader.

use super::columns::{COLUMNS, blank};
use super::{TableError, key, open};
use crate::columnar::cells::metadata_value;
use crate::event::{Fate, Header, Note, SCHEMA};
use crate::rows::Rows;
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use std::fs::File;
use std::path::Path;

/// Iterates over the fates. Columns are found by their names; one that is not known is passed over, and one that is
/// missing, or holds something else than it should, leaves its field empty.
pub struct Reader<R: ChunkReader> {
    rows: Rows<R, Fate, Header>,
    header: Header,
    notes: Vec<Note>,
    tail: String,
}

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
        let file = SerializedFileReader::new_with_options(source, ReadOptionsBuilder::new().build())?;
        let value = |key: &str| metadata_value(&file, key);
        let schema: u16 = value(key::SCHEMA).and_then(|text| text.parse().ok()).ok_or(TableError::NotALog)?;
        if schema > SCHEMA {
            return Err(TableError::Schema(schema));
        }
        let header =
            value(key::HEADER).and_then(|text| serde_json::from_str(text).ok()).ok_or(TableError::NotALog)?;
        let notes = value(key::NOTES).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let tail = value(key::TAIL).unwrap_or_default().to_owned();
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
