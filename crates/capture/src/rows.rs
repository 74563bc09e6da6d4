//! Rows of one type as a Parquet file: columns by name, each with a meaning and with the way into
//! the row and out of it.
//!
//! An event log of any kind is such a table; what is in its rows is said by a list of [`Column`]s.
//! Readers find columns by their names: one that is not known is passed over, and one that is
//! missing, or holds something else than it should, leaves its field as it was.

mod groups;

pub(crate) use groups::Groups;

use crate::columnar::cells::{properties, read_values, write_values};
use crate::table::TableError;
use crate::time::Time;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::file::properties::WriterPropertiesBuilder;
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

/// Rows that are written together.
const GROUP: usize = 100_000;

/// One column of a table of rows `R`; what a row alone does not say is in a header `H`.
#[derive(Debug)]
pub struct Column<R: 'static, H: 'static> {
    /// Its name. A unit stands behind an underscore.
    pub name: &'static str,
    /// What is in it.
    pub meaning: &'static str,
    pub(crate) kind: Kind,
    /// Whether a row may have nothing here.
    pub(crate) optional: bool,
    pub(crate) get: for<'a> fn(&'a R, &'a H) -> Cell<'a>,
    /// Puts a value, which is not null, into a row.
    pub(crate) set: fn(&mut R, Cell<'_>),
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    /// An unsigned number of so many bits.
    Bits(u8),
    /// Like `Bits(64)`, and near the one in the row before.
    Rising,
    Text,
}

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// None.
    Null,
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(u64),
    /// A text.
    Text(Cow<'a, str>),
}

impl<R, H> Column<R, H> {
    /// The row's cell.
    #[must_use]
    pub fn cell<'a>(&self, row: &'a R, header: &'a H) -> Cell<'a> {
        (self.get)(row, header)
    }
}

/// Columns in their order: name, kind, whether it may be empty, meaning, way out of a row, way into
/// it.
macro_rules! columns {
    ($($name:literal, $kind:expr, $optional:literal, $meaning:literal, $get:expr, $set:expr;)*) => {
        &[$($crate::rows::Column {
            name: $name, meaning: $meaning, kind: $kind, optional: $optional, get: $get, set: $set
        }),*]
    };
}
pub(crate) use columns;

/// Meanings of all columns by their names.
pub(crate) fn meanings<R, H>(columns: &[Column<R, H>]) -> BTreeMap<&'static str, &'static str> {
    columns.iter().map(|column| (column.name, column.meaning)).collect()
}

/// Begins a table called `name`.
fn begin<R, H, W: Write + Send>(
    output: W,
    name: &str,
    columns: &[Column<R, H>],
) -> Result<SerializedFileWriter<W>, TableError> {
    begin_as(properties(), output, name, columns)
}

/// The same for a table that should be small rather than quickly written.
fn begin_small<R, H, W: Write + Send>(
    output: W,
    name: &str,
    columns: &[Column<R, H>],
) -> Result<SerializedFileWriter<W>, TableError> {
    let small = Compression::ZSTD(ZstdLevel::try_new(SMALL)?);
    begin_as(properties().set_compression(small), output, name, columns)
}

/// zstd's level for [`begin_small`]: a tenth smaller than by its usual one.
const SMALL: i32 = 9;

fn begin_as<R, H, W: Write + Send>(
    mut properties: WriterPropertiesBuilder,
    output: W,
    name: &str,
    columns: &[Column<R, H>],
) -> Result<SerializedFileWriter<W>, TableError> {
    for column in columns.iter().filter(|column| column.kind == Kind::Rising) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    let schema = schema(name, columns)?;
    Ok(SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties.build()))?)
}

/// Writes rows as a group of their own.
fn write<R, H, W: Write + Send>(
    output: &mut SerializedFileWriter<W>,
    columns: &[Column<R, H>],
    rows: &[R],
    header: &H,
) -> Result<(), TableError> {
    let mut group = output.next_row_group()?;
    for column in columns {
        let writer = group.next_column()?.expect("the schema has every column");
        write_column(column.kind, column.optional, writer, rows.iter().map(|row| (column.get)(row, header)))?;
    }
    group.close()?;
    Ok(())
}

/// Reads a group of rows into copies of `blank`.
fn read<R: Clone, H, C: ChunkReader + 'static>(
    file: &SerializedFileReader<C>,
    place: usize,
    columns: &[Column<R, H>],
    blank: &R,
) -> Result<Vec<R>, TableError> {
    let group = file.get_row_group(place)?;
    let count = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let mut rows = vec![blank.clone(); count];
    for (index, description) in group.metadata().schema_descr().columns().iter().enumerate() {
        let Some(column) = columns.iter().find(|column| column.name == description.name()) else {
            continue;
        };
        // A list is none of our columns, whatever its name.
        if description.max_rep_level() == 0 {
            read_column(column, group.get_column_reader(index)?, description.max_def_level(), &mut rows)?;
        }
    }
    Ok(rows)
}

/// Iterates over the rows of a table, group by group.
pub(crate) struct Rows<C: ChunkReader, R: 'static, H: 'static> {
    file: SerializedFileReader<C>,
    columns: &'static [Column<R, H>],
    blank: R,
    next_group: usize,
    group: std::vec::IntoIter<R>,
    /// Puts a group into the order in which it is given.
    arrange: fn(&mut [R]),
}

impl<C: ChunkReader + 'static, R: Clone, H> Rows<C, R, H> {
    /// From the first on; what a row does not say is as in `blank`.
    pub(crate) fn new(file: SerializedFileReader<C>, columns: &'static [Column<R, H>], blank: R) -> Self {
        Self { file, columns, blank, next_group: 0, group: Vec::new().into_iter(), arrange: |_| () }
    }

    /// The same, where the rows of a group have another order in the file.
    pub(crate) fn arranged(self, arrange: fn(&mut [R])) -> Self {
        Self { arrange, ..self }
    }
}

impl<C: ChunkReader + 'static, R: Clone, H> Iterator for Rows<C, R, H> {
    type Item = Result<R, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(row) = self.group.next() {
                return Some(Ok(row));
            }
            if self.next_group >= self.file.num_row_groups() {
                return None;
            }
            let group = read(&self.file, self.next_group, self.columns, &self.blank);
            self.next_group += 1;
            match group {
                Ok(mut rows) => {
                    (self.arrange)(&mut rows);
                    self.group = rows.into_iter();
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn write_column<'a>(
    kind: Kind,
    optional: bool,
    mut writer: SerializedColumnWriter<'_>,
    cells: impl Iterator<Item = Cell<'a>>,
) -> Result<(), TableError> {
    match kind {
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

fn schema<R, H>(name: &str, columns: &[Column<R, H>]) -> Result<Type, TableError> {
    let fields: Vec<String> = columns.iter().map(field).collect();
    Ok(parse_message_type(&format!("message {name} {{ {} }}", fields.join(" ")))?)
}

fn field<R, H>(column: &Column<R, H>) -> String {
    let there = if column.optional { "optional" } else { "required" };
    let name = column.name;
    match column.kind {
        Kind::Bool => format!("{there} boolean {name};"),
        Kind::Text => format!("{there} binary {name} (STRING);"),
        Kind::Bits(64) | Kind::Rising => format!("{there} int64 {name} (INTEGER(64,false));"),
        Kind::Bits(bits) => format!("{there} int32 {name} (INTEGER({bits},false));"),
    }
}

fn read_column<R, H>(
    column: &Column<R, H>,
    reader: ColumnReader,
    deepest: i16,
    rows: &mut [R],
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

/// Puts the column's values into the rows that have one.
fn put<R, H, T>(column: &Column<R, H>, rows: &mut [R], values: &[Option<T>], cell: impl Fn(&T) -> Cell<'_>) {
    for (row, value) in rows.iter_mut().zip(values) {
        if let Some(value) = value {
            (column.set)(row, cell(value));
        }
    }
}

impl<'a> Cell<'a> {
    pub(crate) fn text(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, |text| Self::Text(Cow::Borrowed(text)))
    }

    pub(crate) fn address(address: Option<IpAddr>) -> Self {
        address.map_or(Self::Null, |address| Self::Text(Cow::Owned(address.to_string())))
    }

    pub(crate) fn number(number: impl Into<u64>) -> Self {
        Self::Number(number.into())
    }

    pub(crate) fn maybe(number: Option<impl Into<u64>>) -> Self {
        number.map_or(Self::Null, Self::number)
    }

    pub(crate) fn time(time: Time) -> Self {
        Self::Number(time.as_nanos())
    }

    /// The number, or the greatest that there is room for.
    pub(crate) fn int<N: TryFrom<u64> + Bounded>(&self) -> N {
        match *self {
            Self::Number(number) => N::try_from(number).unwrap_or(N::MAX),
            _ => N::MIN,
        }
    }

    pub(crate) fn bool(&self) -> bool {
        *self == Self::Bool(true)
    }

    pub(crate) fn instant(&self) -> Time {
        Time::from_nanos(self.int())
    }

    pub(crate) fn str(&self) -> &str {
        match self {
            Self::Text(text) => text,
            _ => "",
        }
    }

    /// The value that the text stands for, if it does.
    pub(crate) fn parsed<T: FromStr>(&self) -> Option<T> {
        self.str().parse().ok()
    }

    /// As text, for tables of text; `None` of an empty cell.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::Null => None,
            Self::Bool(value) => Some(value.to_string()),
            Self::Number(number) => Some(number.to_string()),
            Self::Text(text) => Some(text.to_string()),
        }
    }
}

/// Least and greatest of a type of number.
pub(crate) trait Bounded {
    const MIN: Self;
    const MAX: Self;
}

macro_rules! bounded {
    ($($number:ty)*) => {
        $(impl Bounded for $number {
            const MIN: Self = <$number>::MIN;
            const MAX: Self = <$number>::MAX;
        })*
    };
}

bounded!(u8 u16 u32 u64);
