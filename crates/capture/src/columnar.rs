//! Tables with columns of any names, entirely in memory, as Parquet. For tables that are small
//! compared with an event log, such as a campaign's results.
//!
//! Each column has a name, a meaning (with its unit) and a kind. Every cell may be empty. The
//! meanings are in the file's key-value metadata under [`MEANINGS`] as JSON, as in an event log,
//! beside the writer's own metadata. A file appears under its name only once it is complete.

pub(crate) mod cells;

use crate::table::{TableError, whole};
use cells::{json, metadata_value, properties, read_values, write_values};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::{ColumnDescriptor, Type};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Key of the meanings in the metadata: a JSON object from column names to meanings.
pub const MEANINGS: &str = "lasthop.columns";

/// Columns of equal length, with metadata.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The columns, in order.
    pub columns: Vec<Column>,
    /// Key-value metadata, without [`MEANINGS`].
    pub metadata: BTreeMap<String, String>,
}

/// A column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name: any text, unique in the table. A unit follows an underscore.
    pub name: String,
    /// Meaning of its cells, with the unit.
    pub meaning: String,
    /// Its cells.
    pub values: Values,
}

/// Cells of one kind; `None` is an empty cell.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// True or false.
    Bool(Vec<Option<bool>>),
    /// Unsigned numbers.
    Number(Vec<Option<u64>>),
    /// Floating-point numbers.
    Real(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

impl Values {
    /// Returns the number of cells, including empty ones.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Real(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }

    /// Tells whether there are no cells.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the cell of a row as text. Numbers get the shortest text that reads back as the same
    /// number. `None` if the cell is empty or does not exist.
    #[must_use]
    pub fn text(&self, row: usize) -> Option<String> {
        match self {
            Self::Bool(cells) => cells.get(row)?.map(|value| value.to_string()),
            Self::Number(cells) => cells.get(row)?.map(|value| value.to_string()),
            Self::Real(cells) => cells.get(row)?.map(|value| value.to_string()),
            Self::Text(cells) => cells.get(row)?.clone(),
        }
    }
}

impl Table {
    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Returns the column with this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Writes the table to `path`, whole or not at all. Replaces a file of the same name.
    ///
    /// # Errors
    /// If the table has no columns, or columns of different lengths or of the same name, or if the
    /// file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), TableError> {
        self.check()?;
        whole(path, |output| Ok(((), self.write_to(output)?)))
    }

    fn check(&self) -> Result<(), TableError> {
        let wrong = |what: String| Err(TableError::Parquet(ParquetError::General(what)));
        if self.columns.is_empty() {
            return wrong("a table needs a column".into());
        }
        let rows = self.rows();
        let mut names = BTreeSet::new();
        for Column { name, values, .. } in &self.columns {
            if values.len() != rows {
                return wrong(format!("column `{name}` has {} rows, the first column {rows}", values.len()));
            }
            if !names.insert(name) {
                return wrong(format!("there are two columns `{name}`"));
            }
        }
        Ok(())
    }

    fn write_to<W: Write + Send>(&self, output: W) -> Result<W, TableError> {
        let fields = self.columns.iter().map(field).collect::<Result<_, _>>()?;
        let schema = Type::group_type_builder("rows").with_fields(fields).build()?;
        let mut writer = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties().build()))?;
        let mut group = writer.next_row_group()?;
        for column in &self.columns {
            write_column(&column.values, group.next_column()?.expect("the schema has every column"))?;
        }
        group.close()?;
        let meanings: BTreeMap<_, _> =
            self.columns.iter().map(|column| (&column.name, &column.meaning)).collect();
        writer.append_key_value_metadata(KeyValue::new(MEANINGS.to_owned(), json(&meanings)?));
        for (key, value) in &self.metadata {
            writer.append_key_value_metadata(KeyValue::new(key.clone(), value.clone()));
        }
        Ok(writer.into_inner()?)
    }

    /// Reads the table at `path`. Skips columns of kinds that [`Values`] does not have. A column
    /// without a known meaning gets an empty one.
    pub fn read(path: &Path) -> Result<Self, TableError> {
        let failed = |source| TableError::File { doing: "cannot open", path: path.to_owned(), source };
        let file = SerializedFileReader::new(File::open(path).map_err(failed)?)?;
        let meanings: BTreeMap<String, String> = metadata_value(&file, MEANINGS)
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let mut columns = Vec::new();
        for (index, description) in
            file.metadata().file_metadata().schema_descr().columns().iter().enumerate()
        {
            if let Some(values) = read_column(&file, index, description)? {
                let name = description.name().to_owned();
                let meaning = meanings.get(&name).cloned().unwrap_or_default();
                columns.push(Column { name, meaning, values });
            }
        }
        let pairs = file.metadata().file_metadata().key_value_metadata().into_iter().flatten();
        let metadata = pairs
            .filter(|pair| pair.key != MEANINGS)
            .map(|pair| (pair.key.clone(), pair.value.clone().unwrap_or_default()))
            .collect();
        Ok(Self { columns, metadata })
    }
}

/// Describes a column to Parquet. Every column may have empty cells, so that files of different
/// campaigns have the same schema.
fn field(column: &Column) -> Result<Arc<Type>, ParquetError> {
    let (physical, logical) = match column.values {
        Values::Bool(_) => (Physical::BOOLEAN, None),
        Values::Number(_) => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Values::Real(_) => (Physical::DOUBLE, None),
        Values::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
    };
    let builder = Type::primitive_type_builder(&column.name, physical);
    builder.with_repetition(Repetition::OPTIONAL).with_logical_type(logical).build().map(Arc::new)
}

fn write_column(values: &Values, mut writer: SerializedColumnWriter<'_>) -> Result<(), TableError> {
    match values {
        Values::Bool(cells) => write_values::<BoolType>(&mut writer, true, cells.iter().copied())?,
        // Parquet stores an unsigned number as the signed number of the same bits.
        Values::Number(cells) => {
            let signed = cells.iter().map(|cell| cell.map(u64::cast_signed));
            write_values::<Int64Type>(&mut writer, true, signed)?;
        }
        Values::Real(cells) => write_values::<DoubleType>(&mut writer, true, cells.iter().copied())?,
        Values::Text(cells) => {
            let bytes = |text: &String| ByteArray::from(text.as_bytes().to_vec());
            write_values::<ByteArrayType>(
                &mut writer,
                true,
                cells.iter().map(|cell| cell.as_ref().map(bytes)),
            )?;
        }
    }
    writer.close()?;
    Ok(())
}

/// Reads a column's cells from all row groups. `None` for a kind that [`Values`] does not have.
fn read_column(
    file: &SerializedFileReader<File>,
    index: usize,
    description: &ColumnDescriptor,
) -> Result<Option<Values>, TableError> {
    let unsigned = || description.logical_type_ref() == Some(&LogicalType::integer(64, false));
    let mut values = match description.physical_type() {
        // Our tables have no list columns.
        _ if description.max_rep_level() > 0 => return Ok(None),
        Physical::BOOLEAN => Values::Bool(Vec::new()),
        Physical::INT64 if unsigned() => Values::Number(Vec::new()),
        Physical::DOUBLE => Values::Real(Vec::new()),
        Physical::BYTE_ARRAY => Values::Text(Vec::new()),
        _ => return Ok(None),
    };
    let deepest = description.max_def_level();
    for place in 0..file.num_row_groups() {
        let group = file.get_row_group(place)?;
        let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
        match (group.get_column_reader(index)?, &mut values) {
            (ColumnReader::BoolColumnReader(reader), Values::Bool(cells)) => {
                cells.extend(read_values(reader, deepest, count)?);
            }
            (ColumnReader::Int64ColumnReader(reader), Values::Number(cells)) => {
                let signed = read_values(reader, deepest, count)?;
                cells.extend(signed.into_iter().map(|cell| cell.map(i64::cast_unsigned)));
            }
            (ColumnReader::DoubleColumnReader(reader), Values::Real(cells)) => {
                cells.extend(read_values(reader, deepest, count)?);
            }
            (ColumnReader::ByteArrayColumnReader(reader), Values::Text(cells)) => {
                let text = |bytes: ByteArray| String::from_utf8_lossy(bytes.data()).into_owned();
                cells.extend(read_values(reader, deepest, count)?.into_iter().map(|cell| cell.map(text)));
            }
            _ => {}
        }
    }
    Ok(Some(values))
}

#[cfg(test)]
mod tests;
