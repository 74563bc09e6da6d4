//! The table's writer.

use super::TableError;
use super::metadata::Aside;
use crate::columnar::cells::json;
use crate::input::Tail;
use crate::log::Record;
use crate::rows::Groups;
use crate::schema::{RunHeader, Schema};
use std::io::Write;

/// Writes rows as Parquet.
pub struct Writer<S: Schema, W: Write + Send> {
    rows: Groups<W, S>,
    header: S::Header,
    aside: Aside,
}

impl<S: Schema, W: Write + Send> Writer<S, W> {
    /// Begins a table.
    pub fn new(output: W, header: S::Header) -> Result<Self, TableError> {
        Ok(Self { rows: Groups::new(output)?, header, aside: Aside::default() })
    }

    /// Adds a record.
    pub fn add(&mut self, record: Record<S>) -> Result<(), TableError> {
        match record {
            Record::Row(row) => self.rows.add(row, &self.header)?,
            Record::Note(note) => self.aside.notes.push(note),
            Record::Link(link) => self.header.describe(link),
            Record::Lost(rows) => self.aside.lost += rows,
        }
        Ok(())
    }

    /// Returns the number of rows so far that the recorder did not get.
    pub(super) fn lost(&self) -> u64 {
        self.aside.lost
    }

    /// Writes the remaining rows and the metadata. Returns the number of rows and the output, which
    /// is not flushed.
    pub fn finish(self, tail: Tail) -> Result<(u64, W), TableError> {
        let Self { rows, header, aside } = self;
        let own = [(S::CONTENTS.key(), json(&header)?)].into_iter().chain(aside.metadata(S::ASIDE)?);
        rows.finish(&header, tail, own)
    }
}
