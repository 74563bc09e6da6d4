//! The states of a closed run as Parquet.

use super::columns::{COLUMNS, blank};
use super::log::{self, Record};
use super::{Header, SCHEMA, SenderState};
use crate::columnar::cells::{json, metadata_value};
use crate::event::Note;
use crate::input::Tail;
use crate::log::LogError;
use crate::rows::{self, Rows};
use crate::table::metadata::{Run, describe};
use crate::table::{TableError, key, left, open, remove, whole};
use parquet::file::reader::{ChunkReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Keys of the metadata besides those of event logs of fates.
const SENDERS: &str = "lasthop.senders";
const LOST: &str = "lasthop.lost";

/// A log that was made a Parquet file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converted {
    /// The Parquet file.
    pub path: PathBuf,
    /// States in it.
    pub states: u64,
    /// States that the recorder did not get.
    pub lost: u64,
    /// What the log ended with.
    pub tail: Tail,
}

/// What a table says besides its rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Aside {
    notes: Vec<Note>,
    lost: u64,
}

/// Makes the Parquet file that a killed run did not: `path` is that file, or the log beside it. A file of the same name
/// is replaced.
///
/// The run must have ended: of one that goes on, the rest would be lost.
pub fn recover(path: &Path) -> Result<Converted, TableError> {
    let (log, table) = left(path)?;
    convert(&log, &table)
}

/// Makes the Parquet file `table` of `log` and removes the log.
pub fn convert(log: &Path, table: &Path) -> Result<Converted, TableError> {
    let mut reader = log::Reader::open(log)?;
    let header = reader.header().clone();
    let converted = whole(table, |output| {
        let mut writer = Writer::new(output, header)?;
        for record in reader.by_ref() {
            writer.add(record.map_err(LogError::Read)?)?;
        }
        let tail = reader.tail().unwrap_or(Tail::Complete);
        let lost = writer.aside.lost;
        let (states, output) = writer.finish(tail)?;
        Ok((Converted { path: table.to_owned(), states, lost, tail }, output))
    })?;
    remove(log)?;
    Ok(converted)
}

/// Writes states as Parquet.
pub struct Writer<W: Write + Send> {
    output: SerializedFileWriter<W>,
    header: Header,
    aside: Aside,
    rows: Vec<SenderState>,
    written: u64,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table.
    pub fn new(output: W, header: Header) -> Result<Self, TableError> {
        let output = rows::begin(output, "senders", COLUMNS)?;
        Ok(Self { output, header, aside: Aside::default(), rows: Vec::new(), written: 0 })
    }

    /// Adds a record.
    pub fn add(&mut self, record: Record) -> Result<(), TableError> {
        match record {
            Record::Note(note) => self.aside.notes.push(note),
            Record::Lost(states) => self.aside.lost += states,
            Record::State(state) => {
                self.rows.push(state);
                if self.rows.len() == rows::GROUP {
                    self.write_rows()?;
                }
            }
        }
        Ok(())
    }

    /// Writes what is left and the metadata; how many rows there are, and the output, which is not flushed.
    pub fn finish(mut self, tail: Tail) -> Result<(u64, W), TableError> {
        if !self.rows.is_empty() {
            self.write_rows()?;
        }
        let header = &self.header;
        let metadata = [
            (SENDERS, json(header)?),
            (key::NOTES, json(&self.aside.notes)?),
            (LOST, self.aside.lost.to_string()),
        ];
        let run = Run {
            schema: header.schema,
            lasthop: &header.lasthop,
            seed: header.seed,
            started: header.started,
        };
        describe(&mut self.output, &run, COLUMNS, tail, metadata)?;
        Ok((self.written, self.output.into_inner()?))
    }

    fn write_rows(&mut self) -> Result<(), TableError> {
        rows::write(&mut self.output, COLUMNS, &self.rows, &self.header)?;
        self.written += self.rows.len() as u64;
        self.rows.clear();
        Ok(())
    }
}

/// Iterates over the states. Columns are found by their names; one that is not known is passed over, and one that is
/// missing, or holds something else than it should, leaves its field empty.
pub struct Reader<R: ChunkReader> {
    rows: Rows<R, SenderState, Header>,
    header: Header,
    aside: Aside,
    tail: String,
}

impl Reader<File> {
    /// Opens the table at `path`.
    pub fn open(path: &Path) -> Result<Self, TableError> {
        let doing = "cannot open the senders' states";
        Self::new(open(path, doing)?)
    }
}

impl<R: ChunkReader + 'static> Reader<R> {
    /// Reads the metadata of the table in `source`.
    pub fn new(source: R) -> Result<Self, TableError> {
        let file = SerializedFileReader::new(source)?;
        let value = |key: &str| metadata_value(&file, key);
        let header = value(SENDERS).ok_or(TableError::NotOfSenders)?;
        let schema: u16 =
            value(key::SCHEMA).and_then(|text| text.parse().ok()).ok_or(TableError::NotOfSenders)?;
        if schema > SCHEMA {
            return Err(TableError::SendersSchema(schema));
        }
        let header = serde_json::from_str(header).map_err(|_| TableError::NotOfSenders)?;
        let notes = value(key::NOTES).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let lost = value(LOST).and_then(|text| text.parse().ok()).unwrap_or_default();
        let tail = value(key::TAIL).unwrap_or_default().to_owned();
        let aside = Aside { notes, lost };
        Ok(Self { rows: Rows::new(file, COLUMNS, blank()), header, aside, tail })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The notes, in their order.
    #[must_use]
    pub fn notes(&self) -> &[Note] {
        &self.aside.notes
    }

    /// States that the recorder did not get.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.aside.lost
    }

    /// What the log ended with that this was made of, in words; `complete` if the run was closed.
    #[must_use]
    pub fn tail(&self) -> &str {
        &self.tail
    }
}

impl<R: ChunkReader + 'static> Iterator for Reader<R> {
    type Item = Result<SenderState, TableError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}
