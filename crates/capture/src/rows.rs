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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Fate;
    use crate::{LinkId, example, fates, link_layer, senders};
    use parquet::file::metadata::KeyValue;
    use parquet::file::properties::WriterProperties;
    use parquet::schema::printer::print_schema;

    /// Other programs read these files: types and names of version 1 of each schema stay.
    #[test]
    fn the_types_of_all_columns() {
        let mut text = Vec::new();
        print_schema(&mut text, &schema::<Fate>().expect("a schema"));
        print_schema(&mut text, &schema::<senders::SenderState>().expect("a schema"));
        print_schema(&mut text, &schema::<link_layer::Row>().expect("a schema"));
        insta::assert_snapshot!(String::from_utf8(text).expect("text"));
    }

    /// Columns of the right name and another type leave their fields as they are, and numbers that
    /// have no room become the greatest.
    #[test]
    fn columns_of_other_types() {
        let schema = "message x { required binary length (STRING); required int64 link_id; required double number;
            required boolean copy; repeated int32 bits_flipped; optional group flow { required binary src (STRING); } }";
        let schema = parse_message_type(schema).expect("a schema");
        let mut writer = SerializedFileWriter::new(Vec::new(), schema.into(), WriterProperties::new().into())
            .expect("a table");
        let mut group = writer.next_row_group().expect("a group");
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        for place in 0..6 {
            let mut column = group.next_column().expect("a column").expect("there is one more");
            match place {
                0 => column.typed::<ByteArrayType>().write_batch(&[text("7"), text("8")], None, None),
                1 => column.typed::<Int64Type>().write_batch(&[3, 70_000], None, None),
                2 => column.typed::<parquet::data_type::DoubleType>().write_batch(&[1.0, 2.0], None, None),
                3 => column.typed::<BoolType>().write_batch(&[true, false], None, None),
                4 => column.typed::<Int32Type>().write_batch(&[1, 2, 3], Some(&[1, 1, 1]), Some(&[0, 1, 0])),
                _ => column.typed::<ByteArrayType>().write_batch(&[text("10.0.0.1")], Some(&[0, 1]), None),
            }
            .expect("values");
            column.close().expect("closed");
        }
        group.close().expect("closed");
        let header = serde_json::to_string(&example::header()).expect("JSON");
        for (key, value) in [("lasthop.schema", "1"), ("lasthop.header", header.as_str())] {
            writer.append_key_value_metadata(KeyValue::new(key.to_owned(), value.to_owned()));
        }
        let bytes = bytes::Bytes::from(writer.into_inner().expect("bytes"));
        let rows: Vec<_> =
            fates::Reader::new(bytes).expect("a table").map(|fate| fate.expect("a fate")).collect();
        let blank = Fate::blank();
        let first = Fate { link: LinkId(3), copy: true, ..blank.clone() };
        let source = [10, 0, 0, 1].into();
        let flow = Some(crate::Flow { source, ..crate::Flow::UNKNOWN });
        assert_eq!(rows, [first, Fate { link: LinkId(u16::MAX), flow, ..blank }]);
    }
}
