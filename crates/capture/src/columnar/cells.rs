//! Code for all Parquet files of lasthop: compression, and reading and writing of cells that may be
//! empty.

use crate::table::TableError;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::reader::ColumnReaderImpl;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::properties::{WriterProperties, WriterPropertiesBuilder};
use parquet::file::reader::{ChunkReader, FileReader, SerializedFileReader};
use parquet::file::writer::SerializedColumnWriter;
use serde::Serialize;

/// Returns the properties with which Parquet files are written.
pub fn properties() -> WriterPropertiesBuilder {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_created_by(concat!("lasthop ", env!("CARGO_PKG_VERSION")).to_owned())
}

/// Writes a column's cells. If the column is not `optional`, no cell may be empty.
pub fn write_values<T: DataType>(
    writer: &mut SerializedColumnWriter<'_>,
    optional: bool,
    cells: impl Iterator<Item = Option<T::T>>,
) -> Result<(), TableError> {
    let (mut values, mut there) = (Vec::new(), Vec::new());
    for cell in cells {
        there.push(i16::from(cell.is_some()));
        values.extend(cell);
    }
    writer.typed::<T>().write_batch(&values, optional.then_some(&there), None)?;
    Ok(())
}

/// Reads the cells of `rows` rows of a column. A cell has a value if its definition level is
/// `deepest`.
pub fn read_values<T: DataType>(
    mut reader: ColumnReaderImpl<T>,
    deepest: i16,
    rows: usize,
) -> Result<Vec<Option<T::T>>, TableError> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    reader.read_records(rows, (deepest > 0).then_some(&mut levels), None, &mut values)?;
    if deepest == 0 {
        levels = vec![0; values.len()];
    }
    let mut values = values.into_iter();
    Ok(levels.into_iter().map(|level| if level == deepest { values.next() } else { None }).collect())
}

/// Returns the value of a key in the file's metadata.
pub fn metadata_value<'a, R: ChunkReader + 'static>(
    file: &'a SerializedFileReader<R>,
    key: &str,
) -> Option<&'a str> {
    let pairs = file.metadata().file_metadata().key_value_metadata()?;
    pairs.iter().find(|pair| pair.key == key)?.value.as_deref()
}

/// Converts `value` to JSON, for a key of the metadata.
pub fn json(value: &(impl Serialize + ?Sized)) -> Result<String, TableError> {
    serde_json::to_string(value).map_err(|error| TableError::Parquet(ParquetError::External(Box::new(error))))
}
