//! The table's reader.

use super::columns::{COLUMNS, Cell, Column, blank};
use super::{TableError, key};
use crate::event::{Fate, Header, Note, SCHEMA};
use parquet::column::reader::{ColumnReader, ColumnReaderImpl};
use parquet::data_type::{ByteArray, DataType};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use std::borrow::Cow;
use std::fs::File;
use std::path::Path;

/// Iterates over the fates. Columns are found by their names; one that is not known is passed over, and one that is
/// missing, or holds something else than it should, leaves its field empty.
pub struct Reader<R: ChunkReader> {
    file: SerializedFileReader<R>,
    header: Header,
    notes: Vec<Note>,
    tail: String,
    next_group: usize,
    rows: std::vec::IntoIter<Fate>,
}

impl Reader<File> {
    /// Opens the table at `path`.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let doing = "cannot open the event log";
        let file =
            File::open(path).map_err(|source| TableError::File { doing, path: path.to_owned(), source })?;
        Self::new(file)
    }
}

impl<R: ChunkReader + 'static> Reader<R> {
    /// Reads the metadata of the table in `source`.
    pub fn new(source: R) -> Result<Self, TableError> {
        let file = SerializedFileReader::new_with_options(source, ReadOptionsBuilder::new().build())?;
        let metadata = file.metadata().file_metadata().key_value_metadata();
        let value = |key: &str| {
            let pair = metadata?.iter().find(|pair| pair.key == key)?;
            pair.value.as_deref()
        };
        let schema: u16 = value(key::SCHEMA).and_then(|text| text.parse().ok()).ok_or(TableError::NotALog)?;
        if schema > SCHEMA {
            return Err(TableError::Schema(schema));
        }
        let header =
            value(key::HEADER).and_then(|text| serde_json::from_str(text).ok()).ok_or(TableError::NotALog)?;
        let notes = value(key::NOTES).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let tail = value(key::TAIL).unwrap_or_default().to_owned();
        Ok(Self { file, header, notes, tail, next_group: 0, rows: Vec::new().into_iter() })
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

    fn read_group(&self, place: usize) -> Result<Vec<Fate>, TableError> {
        let group = self.file.get_row_group(place)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        let mut rows = vec![blank(); count];
        for (index, description) in group.metadata().schema_descr().columns().iter().enumerate() {
            let Some(column) = COLUMNS.iter().find(|column| column.name == description.name()) else {
                continue;
            };
            // A list is none of our columns, whatever its name.
            if description.max_rep_level() == 0 {
                read_column(column, group.get_column_reader(index)?, description.max_def_level(), &mut rows)?;
            }
        }
        Ok(rows)
    }
}

impl<R: ChunkReader + 'static> Iterator for Reader<R> {
    type Item = Result<Fate, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(fate) = self.rows.next() {
                return Some(Ok(fate));
            }
            if self.next_group >= self.file.num_row_groups() {
                return None;
            }
            let rows = self.read_group(self.next_group);
            self.next_group += 1;
            match rows {
                Ok(rows) => self.rows = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn read_column(
    column: &Column,
    reader: ColumnReader,
    deepest: i16,
    rows: &mut [Fate],
) -> Result<(), TableError> {
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            read_cells(reader, deepest, rows, |fate, &value| (column.set)(fate, Cell::Bool(value)))
        }
        ColumnReader::Int32ColumnReader(reader) => read_cells(reader, deepest, rows, |fate, &value: &i32| {
            (column.set)(fate, Cell::Number(u64::from(value.cast_unsigned())));
        }),
        ColumnReader::Int64ColumnReader(reader) => read_cells(reader, deepest, rows, |fate, &value: &i64| {
            (column.set)(fate, Cell::Number(value.cast_unsigned()));
        }),
        ColumnReader::ByteArrayColumnReader(reader) => {
            read_cells(reader, deepest, rows, |fate, value: &ByteArray| {
                let text = String::from_utf8_lossy(value.data());
                (column.set)(fate, Cell::Text(Cow::Borrowed(&text)));
            })
        }
        _ => Ok(()),
    }
}

/// Puts the column's values into the rows that have one: those whose level is the `deepest`.
fn read_cells<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    deepest: i16,
    rows: &mut [Fate],
    set: impl Fn(&mut Fate, &T::T),
) -> Result<(), TableError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    reader.read_records(rows.len(), (deepest > 0).then_some(&mut levels), None, &mut values)?;
    if deepest == 0 {
        levels = vec![0; rows.len()];
    }
    let there = rows.iter_mut().zip(levels).filter(|(_, level)| *level == deepest).map(|(fate, _)| fate);
    for (fate, value) in there.zip(&values) {
        set(fate, value);
    }
    Ok(())
}
