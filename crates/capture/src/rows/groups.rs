//! Writing of a table: rows are collected and written one row group at a time. The metadata follows
//! the last row.

use super::{GROUP, begin, write};
use crate::input::Tail;
use crate::schema::Schema;
use crate::table::TableError;
use crate::table::metadata::describe;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// Writes rows `S` as Parquet.
pub(crate) struct Groups<W: Write + Send, S> {
    output: SerializedFileWriter<W>,
    /// Rows of the group that is not full yet.
    rows: Vec<S>,
    written: u64,
}

impl<W: Write + Send, S: Schema> Groups<W, S> {
    /// Begins a table.
    pub(crate) fn new(output: W) -> Result<Self, TableError> {
        Ok(Self { output: begin::<S, W>(output)?, rows: Vec::new(), written: 0 })
    }

    /// Adds a row. Columns may take values from `header`.
    pub(crate) fn add(&mut self, row: S, header: &S::Header) -> Result<(), TableError> {
        self.rows.push(row);
        if self.rows.len() == GROUP { self.write_rows(header) } else { Ok(()) }
    }

    /// Writes the remaining rows, the metadata of the run and the table's `own` metadata. Returns
    /// the number of rows and the output, which is not flushed.
    pub(crate) fn finish(
        mut self,
        header: &S::Header,
        tail: Tail,
        own: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<(u64, W), TableError> {
        if !self.rows.is_empty() {
            self.write_rows(header)?;
        }
        describe::<S, W>(&mut self.output, header, tail, own)?;
        Ok((self.written, self.output.into_inner()?))
    }

    fn write_rows(&mut self, header: &S::Header) -> Result<(), TableError> {
        S::pack(&mut self.rows);
        write(&mut self.output, &self.rows, header)?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}
