//! The table's writer.

use super::columns::COLUMNS;
use super::{TableError, key};
use crate::columnar::cells::json;
use crate::event::{Fate, Header, Note};
use crate::input::Tail;
use crate::rows::Groups;
use std::io::Write;

/// Writes fates as Parquet.
pub struct Writer<W: Write + Send> {
    rows: Groups<W, Fate, Header>,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table.
    pub fn new(output: W) -> Result<Self, TableError> {
        Ok(Self { rows: Groups::new(output, "fates", COLUMNS)? })
    }

    /// Adds a row. `header` names the links.
    pub fn add(&mut self, fate: Fate, header: &Header) -> Result<(), TableError> {
        self.rows.add(fate, header)
    }

    /// Writes what is left and the metadata; how many rows there are, and the output, which is not
    /// flushed.
    pub fn finish(self, header: &Header, notes: &[Note], tail: Tail) -> Result<(u64, W), TableError> {
        let own = [(key::HEADER, json(header)?), (key::NOTES, json(notes)?)];
        self.rows.finish(header, &header.into(), tail, own)
    }
}
