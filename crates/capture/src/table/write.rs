//! The table's writer.

use super::columns::COLUMNS;
use super::metadata::{Run, describe};
use super::{TableError, key};
use crate::columnar::cells::json;
use crate::event::{Fate, Header, Note};
use crate::input::Tail;
use crate::rows;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// Writes fates as Parquet.
pub struct Writer<W: Write + Send> {
    output: SerializedFileWriter<W>,
    rows: Vec<Fate>,
    written: u64,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table.
    pub fn new(output: W) -> Result<Self, TableError> {
        let output = rows::begin(output, "fates", COLUMNS)?;
        Ok(Self { output, rows: Vec::new(), written: 0 })
    }

    /// Adds a row. `header` names the links.
    pub fn add(&mut self, fate: Fate, header: &Header) -> Result<(), TableError> {
        self.rows.push(fate);
        if self.rows.len() == rows::GROUP { self.write_rows(header) } else { Ok(()) }
    }

    /// Writes what is left and the metadata; how many rows there are, and the output, which is not flushed.
    pub fn finish(mut self, header: &Header, notes: &[Note], tail: Tail) -> Result<(u64, W), TableError> {
        if !self.rows.is_empty() {
            self.write_rows(header)?;
        }
        let metadata = [(key::HEADER, json(header)?), (key::NOTES, json(notes)?)];
        let run = Run {
            schema: header.schema,
            lasthop: &header.lasthop,
            seed: header.seed,
            started: header.started,
        };
        describe(&mut self.output, &run, COLUMNS, tail, metadata)?;
        Ok((self.written, self.output.into_inner()?))
    }

    fn write_rows(&mut self, header: &Header) -> Result<(), TableError> {
        rows::write(&mut self.output, COLUMNS, &self.rows, header)?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}
