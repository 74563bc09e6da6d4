//! A table as it is written: rows are gathered, and written a group at a time. What the table says
//! besides its rows stands behind the last of them.

use super::{Column, GROUP, begin, begin_small, write};
use crate::input::Tail;
use crate::table::TableError;
use crate::table::metadata::{Run, describe};
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// Writes rows `R` as Parquet.
pub(crate) struct Groups<W: Write + Send, R: 'static, H: 'static> {
    output: SerializedFileWriter<W>,
    columns: &'static [Column<R, H>],
    /// Rows of the group that is not full.
    rows: Vec<R>,
    written: u64,
    /// Puts a group into the order that it has in the file.
    arrange: fn(&mut [R]),
}

impl<W: Write + Send, R, H> Groups<W, R, H> {
    /// Begins a table called `name`, with rows in the order in which they come.
    pub(crate) fn new(output: W, name: &str, columns: &'static [Column<R, H>]) -> Result<Self, TableError> {
        Ok(Self::of(begin(output, name, columns)?, columns, |_| ()))
    }

    /// The same for a table that should be small rather than quickly written: `arrange` puts the
    /// rows of a group into the order in which they pack best.
    pub(crate) fn small(
        output: W,
        name: &str,
        columns: &'static [Column<R, H>],
        arrange: fn(&mut [R]),
    ) -> Result<Self, TableError> {
        Ok(Self::of(begin_small(output, name, columns)?, columns, arrange))
    }

    fn of(output: SerializedFileWriter<W>, columns: &'static [Column<R, H>], arrange: fn(&mut [R])) -> Self {
        Self { output, columns, rows: Vec::new(), written: 0, arrange }
    }

    /// Adds a row. `header` has what columns take from there.
    pub(crate) fn add(&mut self, row: R, header: &H) -> Result<(), TableError> {
        self.rows.push(row);
        if self.rows.len() == GROUP { self.write_rows(header) } else { Ok(()) }
    }

    /// Writes what is left, the metadata of the `run` and the table's `own`; how many rows there
    /// are, and the output, which is not flushed.
    pub(crate) fn finish(
        mut self,
        header: &H,
        run: &Run<'_>,
        tail: Tail,
        own: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Result<(u64, W), TableError> {
        if !self.rows.is_empty() {
            self.write_rows(header)?;
        }
        describe(&mut self.output, run, self.columns, tail, own)?;
        Ok((self.written, self.output.into_inner()?))
    }

    fn write_rows(&mut self, header: &H) -> Result<(), TableError> {
        (self.arrange)(&mut self.rows);
        write(&mut self.output, self.columns, &self.rows, header)?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}
