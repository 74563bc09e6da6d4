//! Rows of a [`Schema`] as a Parquet file: named columns, each with a meaning.
//!
//! Readers find columns by name and skip unknown ones. If a column is missing or has an unexpected
//! type, its field keeps the value of an empty row.

mod groups;

pub(crate) use groups::Groups;

use crate::column::{Cell, Column, ColumnType};
use crate::columnar::cells::{properties, read_values, write_values};
use crate::schema::Schema;
use crate::table::TableError;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};
use std::io::Write;
use std::sync::Arc;

/// Number of rows of a row group.
const GROUP: usize = 100_000;

/// Compression level of zstd for [`Schema::SMALL`]. Files are a tenth smaller than by default.
const SMALL: i32 = 9;

/// Begins a table.
fn begin<S: Schema, W: Write + Send>(output: W) -> Result<SerializedFileWriter<W>, TableError> {
    let mut properties = properties();
    if S::SMALL {
        properties = properties.set_compression(Compression::ZSTD(ZstdLevel::try_new(SMALL)?));
    }
    for column in S::COLUMNS.iter().filter(|column| column.kind == ColumnType::Rising) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(SerializedFileWriter::new(output, Arc::new(schema::<S>()?), Arc::new(properties.build()))?)
}

/// Writes rows as one row group.
fn write<S: Schema, W: Write + Send>(
    output: &mut SerializedFileWriter<W>,
    rows: &[S],
    header: &S::Header,
) -> Result<(), TableError> {
    let mut group = output.next_row_group()?;
    for column in S::COLUMNS {
        let writer = group.next_column()?.expect("the schema has every column");
        write_column(column.kind, column.optional, writer, rows.iter().map(|row| column.cell(row, header)))?;
    }
    group.close()?;
    Ok(())
}

/// Reads a row group.
fn read<S: Schema, C: ChunkReader + 'static>(
    file: &SerializedFileReader<C>,
    place: usize,
) -> Result<Vec<S>, TableError> {
    let group = file.get_row_group(place)?;
    let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut rows = vec![S::blank(); count];
    for (index, description) in group.metadata().schema_descr().columns().iter().enumerate() {
        let Some(column) = S::COLUMNS.iter().find(|column| column.name == description.name()) else {
            continue;
        };
        // Our tables have no list columns, so this is another column of that name.
        if description.max_rep_level() == 0 {
            read_column(column, group.get_column_reader(index)?, description.max_def_level(), &mut rows)?;
        }
    }
    S::unpack(&mut rows);
    Ok(rows)
}

/// Iterates over the rows of a table, group by group.
pub(crate) struct Rows<C: ChunkReader, S> {
    file: SerializedFileReader<C>,
    next_group: usize,
    group: std::vec::IntoIter<S>,
}

impl<C: ChunkReader + 'static, S: Schema> Rows<C, S> {
    /// Starts at the first row.
    pub(crate) fn new(file: SerializedFileReader<C>) -> Self {
        Self { file, next_group: 0, group: Vec::new().into_iter() }
    }
}

impl<C: ChunkReader + 'static, S: Schema> Iterator for Rows<C, S> {
    type Item = Result<S, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.group.next() {
                return Some(Ok(row));
            }
            if self.next_group >= self.file.num_row_groups() {
                return None;
            }
            let group = read(&self.file, self.next_group);
            self.next_group += 1;
            match group {
                Ok(rows) => self.group = rows.into_iter(),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn write_column<'a>(
    kind: ColumnType,
    optional: bool,
    mut writer: SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), TableError> {
    match kind {
        ColumnType::Bool => write_values::<BoolType>(
            &mut writer,
            optional,
            cells.map(|cell| match cell {
                Cell::Bool(value) => Some(value),
                _ => None,
            }),
        )?,
        // Parquet stores an unsigned number as the signed number of the same bits.
        ColumnType::Bits(64) | ColumnType::Rising => {
            let values = cells.map(|cell| number(&cell).map(u64::cast_signed));
            write_values::<Int64Type>(&mut writer, optional, values)?;
        }
        ColumnType::Bits(_) => {
            let values = cells.map(|cell| number(&cell).map(|number| (number as u32).cast_signed()));
            write_values::<Int32Type>(&mut writer, optional, values)?;
        }
        ColumnType::Text => write_values::<ByteArrayType>(
            &mut writer,
            optional,
            cells.map(|cell| match cell {
                Cell::Text(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
                _ => None,
            }),
        )?,
    }
    writer.close()?;
    Ok(())
}

fn number(cell: &Cell<'_>) -> Option<u64> {
    match *cell {
        Cell::Number(number) => Some(number),
        _ => None,
    }
}

fn schema<S: Schema>() -> Result<Type, TableError> {
    let fields: Vec<String> = S::COLUMNS.iter().map(field).collect();
    Ok(parse_message_type(&format!("message {} {{ {} }}", S::CONTENTS.table(), fields.join(" ")))?)
}

fn field<S: Schema>(column: &Column<S>) -> String {
    let there = if column.optional { "optional" } else { "required" };
    let name = column.name;
    match column.kind {
        ColumnType::Bool => format!("{there} boolean {name};"),
        ColumnType::Text => format!("{there} binary {name} (STRING);"),
        ColumnType::Bits(64) | ColumnType::Rising => format!("{there} int64 {name} (INTEGER(64,false));"),
        ColumnType::Bits(bits) => format!("{there} int32 {name} (INTEGER({bits},false));"),
    }
}

fn read_column<S: Schema>(
    column: &Column<S>,
    reader: ColumnReader,
    deepest: i16,
    rows: &mut [S],
) -> Result<(), TableError> {
    let count = rows.len();
    match reader {
        ColumnReader::BoolColumnReader(reader) => {
            put(column, rows, &read_values(reader, deepest, count)?, |&value| Cell::Bool(value));
        }
        ColumnReader::Int32ColumnReader(reader) => {
            put(column, rows, &read_values(reader, deepest, count)?, |value| {
                Cell::Number(u64::from(value.cast_unsigned()))
            });
        }
        ColumnReader::Int64ColumnReader(reader) => {
            put(column, rows, &read_values(reader, deepest, count)?, |value| {
                Cell::Number(value.cast_unsigned())
            });
        }
        ColumnReader::ByteArrayColumnReader(reader) => {
            put(column, rows, &read_values(reader, deepest, count)?, |value| {
                Cell::Text(String::from_utf8_lossy(value.data()))
            });
        }
        _ => {}
    }
    Ok(())
}

/// Puts the column's values, where there are any, into the rows.
fn put<S: Schema, T>(
    column: &Column<S>,
    rows: &mut [S],
    values: &[Option<T>],
    cell: impl Fn(&T) -> Cell<'_>,
) {
    for (row, value) in rows.iter_mut().zip(values) {
        if let Some(value) = value {
            (column.set)(row, cell(value));
        }
    }
}
