//! The table's reader.

use super::metadata::{self, Aside, Metadata};
use super::{TableError, open};
use crate::event::Note;
use crate::rows::Rows;
use crate::schema::Schema;
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use std::fs::File;
use std::path::Path;

/// Iterates over the rows. The reader finds columns by name and skips unknown ones. If a column is
/// missing or has an unexpected type, its field keeps the value of an empty row.
pub struct Reader<S: Schema, R: ChunkReader> {
    rows: Rows<R, S>,
    header: S::Header,
    aside: Aside,
    tail: String,
}

impl<S: Schema> Reader<S, File> {
    /// Opens the table at `path`.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        Self::new(open(path)?)
    }
}

impl<S: Schema, R: ChunkReader + 'static> Reader<S, R> {
    /// Reads the metadata of the table in `source`.
    pub fn new(source: R) -> Result<Self, TableError> {
        let file = SerializedFileReader::new(source)?;
        let Metadata { header, aside, tail } = metadata::read::<S, R>(&file)?;
        Ok(Self { rows: Rows::new(file), header, aside, tail })
    }

    /// Returns the header, with the links as they were at the end.
    #[must_use]
    pub fn header(&self) -> &S::Header {
        &self.header
    }

    /// Returns the notes, in order.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.aside.notes
    }

    /// Returns the number of rows that the recorder did not get.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.aside.lost
    }

    /// Returns how the log of this table ended, as text: `complete` if the run was closed.
    #[must_use]
    pub fn tail(&self) -> &str {
        &self.tail
    }
}

impl<S: Schema, R: ChunkReader + 'static> Iterator for Reader<S, R> {
    type Item = Result<S, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}
