//! Metadata of the tables of a run: [`describe`] writes it, [`read`] reads it.

use super::{LOST, NOTES, TableError, key};
use crate::column::meanings;
use crate::columnar::cells::{json, metadata_value};
use crate::event::Note;
use crate::input::Tail;
use crate::schema::{Run, RunHeader, Schema};
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// Writes the metadata: information about the run, the table's `own` entries, the meanings of the
/// columns, and how the log ended.
pub(crate) fn describe<S: Schema, W: Write + Send>(
    output: &mut SerializedFileWriter<W>,
    header: &S::Header,
    tail: Tail,
    own: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<(), TableError> {
    let Run { schema, lasthop, seed, started } = header.run();
    let of_run = [
        (key::SCHEMA, schema.to_string()),
        (key::VERSION, lasthop.to_owned()),
        (key::SEED, seed.to_string()),
        (key::STARTED, started.as_nanos().to_string()),
    ];
    let end = [(key::COLUMNS, json(&meanings::<S>())?), (key::TAIL, tail.to_string())];
    for (key, value) in of_run.into_iter().chain(own).chain(end) {
        output.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }
    Ok(())
}

/// Records of a log that are not rows of its table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Aside {
    /// The notes of the log.
    pub notes: Vec<Note>,
    /// Number of rows that the recorder did not get.
    pub lost: u64,
}

impl Aside {
    /// Returns metadata entries for these `keys`.
    pub(crate) fn metadata(&self, keys: &[&'static str]) -> Result<Vec<(&'static str, String)>, TableError> {
        let value = |key| match key {
            NOTES => json(&self.notes),
            _ => Ok(self.lost.to_string()),
        };
        keys.iter().map(|&key| Ok((key, value(key)?))).collect()
    }
}

/// Metadata of a table for its readers.
pub(crate) struct Metadata<H> {
    /// The header.
    pub header: H,
    /// Notes, and the number of missing rows.
    pub aside: Aside,
    /// How the log ended, as text.
    pub tail: String,
}

/// Reads the metadata of a table of `S`. The schema's version comes first: no other entry of a
/// later schema can be relied on.
pub(crate) fn read<S: Schema, C: ChunkReader + 'static>(
    file: &SerializedFileReader<C>,
) -> Result<Metadata<S::Header>, TableError> {
    let value = |key: &str| metadata_value(file, key);
    let other = || TableError::Other(S::CONTENTS);
    let header = value(S::CONTENTS.key()).ok_or_else(other)?;
    let found = value(key::SCHEMA).and_then(|text| text.parse().ok()).ok_or_else(other)?;
    if found > S::VERSION {
        return Err(TableError::Schema { contents: S::CONTENTS, found, newest: S::VERSION });
    }
    let header = serde_json::from_str(header).map_err(|_| other())?;
    let notes = value(NOTES).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let lost = value(LOST).and_then(|text| text.parse().ok()).unwrap_or_default();
    let tail = value(key::TAIL).unwrap_or_default().to_owned();
    Ok(Metadata { header, aside: Aside { notes, lost }, tail })
}
