//! What every table of a run says beside its rows.

use super::{TableError, key};
use crate::columnar::cells::json;
use crate::input::Tail;
use crate::rows::{self, Column};
use crate::time::WallTime;
use parquet::file::metadata::KeyValue;
use parquet::file::writer::SerializedFileWriter;
use std::io::Write;

/// The run, as headers have it.
pub(crate) struct Run<'a> {
    /// Schema of the table.
    pub schema: u16,
    /// Version of the program.
    pub lasthop: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// When it began.
    pub started: WallTime,
}

/// Writes the metadata: of the run, what is the table's own, what the columns mean, and what the log ended with.
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
