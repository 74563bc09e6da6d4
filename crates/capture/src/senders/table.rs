//! The states of a closed run as Parquet.

use super::columns::{COLUMNS, blank};
use super::log::{self, Record};
use super::{Header, SCHEMA, SenderState};
use crate::columnar::cells::{json, metadata_value};
use crate::event::Note;
use crate::input::Tail;
use crate::log::LogError;
use crate::rows::{Groups, Rows};
use crate::table::metadata::{self, Known, Metadata};
use crate::table::{TableError, key, left, open, remove, whole};
use parquet::file::reader::{ChunkReader, SerializedFileReader};
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

/// Makes the Parquet file that a killed run did not: `path` is that file, or the log beside it. A
/// file of the same name is replaced.
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
    rows: Groups<W, SenderState, Header>,
    header: Header,
    aside: Aside,
}

impl<W: Write + Send> Writer<W> {
    /// Begins a table.
    pub fn new(output: W, header: Header) -> Result<Self, TableError> {
        Ok(Self { rows: Groups::new(output, "senders", COLUMNS)?, header, aside: Aside::default() })
    }

    /// Adds a record.
    pub fn add(&mut self, record: Record) -> Result<(), TableError> {
        match record {
            Record::Note(note) => self.aside.notes.push(note),
            Record::Lost(states) => self.aside.lost += states,
            Record::State(state) => self.rows.add(state, &self.header)?,
        }
        Ok(())
    }

    /// Writes what is left and the metadata; how many rows there are, and the output, which is not
    /// flushed.
    pub fn finish(self, tail: Tail) -> Result<(u64, W), TableError> {
        let Self { rows, header, aside } = self;
        let own =
            [(SENDERS, json(&header)?), (key::NOTES, json(&aside.notes)?), (LOST, aside.lost.to_string())];
        rows.finish(&header, &(&header).into(), tail, own)
    }
}

/// Iterates over the states. Columns are found by their names; one that is not known is passed
/// over, and one that is missing, or holds something else than it should, leaves its field empty.
pub struct Reader<R: ChunkReader> {
    rows: Rows<R, SenderState, Header>,
    header: Header,
    aside: Aside,
    tail: String,
}

const KNOWN: Known = Known {
    header: SENDERS,
    schema: SCHEMA,
    other: || TableError::NotOfSenders,
    later: TableError::SendersSchema,
};

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
        let Metadata { header, notes, tail } = metadata::read(&file, &KNOWN)?;
        let lost = metadata_value(&file, LOST).and_then(|text| text.parse().ok()).unwrap_or_default();
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
