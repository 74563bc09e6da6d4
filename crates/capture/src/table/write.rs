//! The table's writer.

use super::columns::{COLUMNS, Cell, Column, Kind};
use super::{TableError, key};
use crate::columnar::cells::{json, properties, write_values};
use crate::event::{Fate, Header, Note};
use crate::input::Tail;
use parquet::basic::Encoding;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::metadata::KeyValue;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Rows that are written together.
const ROW_GROUP: usize = 100_000;

/// Writes fates as Parquet.
pub struct Writer<W: Write + Send> {
    output: SerializedFileWriter<W>,
    rows: Vec<Fate>,
    written: u64,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table.
    pub fn new(output: W) -> Result<Self, TableError> {
        let mut properties = properties();
        for column in COLUMNS.iter().filter(|column| column.kind == Kind::Rising) {
            let path = ColumnPath::from(column.name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let output = SerializedFileWriter::new(output, Arc::new(schema()?), Arc::new(properties.build()))?;
        Ok(Self { output, rows: Vec::new(), written: 0 })
    }

    /// Adds a row. `header` names the links.
    pub fn add(&mut self, fate: Fate, header: &Header) -> Result<(), TableError> {
        self.rows.push(fate);
        if self.rows.len() == ROW_GROUP { self.write_rows(header) } else { Ok(()) }
    }

    /// Writes what is left and the metadata; how many rows there are, and the output, which is not flushed.
    pub fn finish(mut self, header: &Header, notes: &[Note], tail: Tail) -> Result<(u64, W), TableError> {
        if !self.rows.is_empty() {
            self.write_rows(header)?;
        }
        let columns: BTreeMap<_, _> = COLUMNS.iter().map(|column| (column.name, column.meaning)).collect();
        let metadata = [
            (key::SCHEMA, header.schema.to_string()),
            (key::VERSION, header.lasthop.clone()),
            (key::SEED, header.seed.to_string()),
            (key::STARTED, header.started.as_nanos().to_string()),
            (key::HEADER, json(header)?),
            (key::NOTES, json(notes)?),
            (key::COLUMNS, json(&columns)?),
            (key::TAIL, tail.to_string()),
        ];
        for (key, value) in metadata {
            self.output.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
        }
        Ok((self.written, self.output.into_inner()?))
    }

    fn write_rows(&mut self, header: &Header) -> Result<(), TableError> {
        let mut group = self.output.next_row_group()?;
        for column in COLUMNS {
            let writer = group.next_column()?.expect("the schema has every column");
            write_column(column, writer, self.rows.iter().map(|fate| (column.get)(fate, header)))?;
        }
        group.close()?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}

fn write_column<'a>(
    column: &Column,
    mut writer: SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), TableError> {
    let optional = column.optional;
    match column.kind {
        Kind::Bool => write_values::<BoolType>(
            &mut writer,
            optional,
            cells.map(|cell| match cell {
                Cell::Bool(value) => Some(value),
                _ => None,
            }),
        )?,
        // Parquet keeps unsigned numbers as the signed ones of the same bits.
        Kind::Bits(64) | Kind::Rising => {
            let values = cells.map(|cell| number(&cell).map(u64::cast_signed));
            write_values::<Int64Type>(&mut writer, optional, values)?;
        }
        Kind::Bits(_) => {
            let values = cells.map(|cell| number(&cell).map(|number| (number as u32).cast_signed()));
            write_values::<Int32Type>(&mut writer, optional, values)?;
        }
        Kind::Text => write_values::<ByteArrayType>(
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

fn schema() -> Result<Type, TableError> {
    let fields: Vec<String> = COLUMNS.iter().map(field).collect();
    Ok(parse_message_type(&format!("message fates {{ {} }}", fields.join(" ")))?)
}

fn field(column: &Column) -> String {
    let there = if column.optional { "optional" } else { "required" };
    let name = column.name;
    match column.kind {
        Kind::Bool => format!("{there} boolean {name};"),
        Kind::Text => format!("{there} binary {name} (STRING);"),
        Kind::Bits(64) | Kind::Rising => format!("{there} int64 {name} (INTEGER(64,false));"),
        Kind::Bits(bits) => format!("{there} int32 {name} (INTEGER({bits},false));"),
    }
}
