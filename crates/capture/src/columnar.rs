//! Tables of any columns, whole in memory, as Parquet: for what is small beside an event log, such
//! as a campaign's results.
//!
//! Each column has a name, a meaning (with its unit) and a kind; every cell may be empty. The
//! meanings are in the file's key-value metadata under [`MEANINGS`] as JSON, as in an event log,
//! beside whatever else the writer says there. A file appears under its name when it is complete,
//! never before.

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

/// Key of the meanings in the metadata: a JSON object from the columns' names to what is in them.
pub const MEANINGS: &str = "lasthop.columns";

/// Columns of the same length, and what is to be known besides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// The columns in their order.
    pub columns: Vec<Column>,
    /// Key-value metadata, without [`MEANINGS`].
    pub metadata: BTreeMap<String, String>,
}

/// One column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Its name; any text, unique in the table. A unit stands behind an underscore.
    pub name: String,
    /// What is in it, with its unit.
    pub meaning: String,
    /// Its cells.
    pub values: Values,
}

/// Cells of one kind; `None` is an empty one.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Yes or no.
    Bool(Vec<Option<bool>>),
    /// Unsigned numbers.
    Number(Vec<Option<u64>>),
    /// Floating-point numbers.
    Real(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Option<String>>),
}

impl Values {
    /// How many cells there are, empty ones included.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Bool(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Real(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The cell of a row as text: the shortest that reads back as the same number; `None` if it is
    /// empty or there is none.
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
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Writes the table to `path`, whole or not at all; a file of the same name is replaced. An
    /// error if it has no columns, or columns of different lengths or the same name.
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

    /// Reads the table at `path`. Columns of kinds that are not ours are left out; a column without
    /// a known meaning has an empty one.
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

/// Every column may have empty cells, so that files of different campaigns have the same schema.
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
        // Parquet keeps unsigned numbers as the signed ones of the same bits.
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

/// The column's cells in all row groups; `None` if it is of no kind of ours.
fn read_column(
    file: &SerializedFileReader<File>,
    index: usize,
    description: &ColumnDescriptor,
) -> Result<Option<Values>, TableError> {
    let unsigned = || description.logical_type_ref() == Some(&LogicalType::integer(64, false));
    let mut values = match description.physical_type() {
        // A list is none of our columns.
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
