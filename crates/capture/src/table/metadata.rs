//! What every table of a run says beside its rows: [`describe`] writes it, [`read`] reads it.

use super::{TableError, key};
use crate::columnar::cells::{json, metadata_value};
use crate::event::{self, Note};
use crate::input::Tail;
use crate::rows::{self, Column};
use crate::senders;
use crate::time::WallTime;
use parquet::file::metadata::KeyValue;
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use serde::de::DeserializeOwned;
use std::io::Write;

/// The run, as headers have it.
pub(crate) struct Run<'a> {
    /// Schema of the table.
    schema: u16,
    /// Version of the program.
    lasthop: &'a str,
    /// Seed of the run.
    seed: u64,
    /// When it began.
    started: WallTime,
}

impl<'a> From<&'a event::Header> for Run<'a> {
    fn from(header: &'a event::Header) -> Self {
        let event::Header { schema, lasthop, seed, started, .. } = header;
        Self { schema: *schema, lasthop, seed: *seed, started: *started }
    }
}

impl<'a> From<&'a senders::Header> for Run<'a> {
    fn from(header: &'a senders::Header) -> Self {
        let senders::Header { schema, lasthop, seed, started, .. } = header;
        Self { schema: *schema, lasthop, seed: *seed, started: *started }
    }
}

/// Writes the metadata: of the run, what is the table's own, what the columns mean, and what the
/// log ended with.
pub(crate) fn describe<W: Write + Send, R, H>(
    output: &mut SerializedFileWriter<W>,
    run: &Run<'_>,
    columns: &[Column<R, H>],
    tail: Tail,
    own: impl IntoIterator<Item = (&'static str, String)>,
) -> Result<(), TableError> {
    let of_run = [
        (key::SCHEMA, run.schema.to_string()),
        (key::VERSION, run.lasthop.to_owned()),
        (key::SEED, run.seed.to_string()),
        (key::STARTED, run.started.as_nanos().to_string()),
    ];
    let end = [(key::COLUMNS, json(&rows::meanings(columns))?), (key::TAIL, tail.to_string())];
    for (key, value) in of_run.into_iter().chain(own).chain(end) {
        output.append_key_value_metadata(KeyValue::new(key.to_owned(), value));
    }
    Ok(())
}

/// What readers of a table get besides its rows.
pub(crate) struct Metadata<H> {
    /// The header.
    pub header: H,
    /// Notes, of a table that has them.
    pub notes: Vec<Note>,
    /// What the log ended with, in words.
    pub tail: String,
}

/// By what a table is known, and what is wrong with one that is not it.
pub(crate) struct Known {
    /// Key of the header.
    pub header: &'static str,
    /// Newest schema that is read.
    pub schema: u16,
    /// The file is something else.
    pub other: fn() -> TableError,
    /// It has a later schema.
    pub later: fn(u16) -> TableError,
}

/// Reads the metadata of a table. The schema comes first: of a later one nothing else can be relied
/// on.
pub(crate) fn read<C: ChunkReader + 'static, H: DeserializeOwned>(
    file: &SerializedFileReader<C>,
    known: &Known,
) -> Result<Metadata<H>, TableError> {
    let value = |key: &str| metadata_value(file, key);
    let header = value(known.header).ok_or_else(known.other)?;
    let schema = value(key::SCHEMA).and_then(|text| text.parse().ok()).ok_or_else(known.other)?;
    if schema > known.schema {
        return Err((known.later)(schema));
    }
    let header = serde_json::from_str(header).map_err(|_| (known.other)())?;
    let notes = value(key::NOTES).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let tail = value(key::TAIL).unwrap_or_default().to_owned();
    Ok(Metadata { header, notes, tail })
}
