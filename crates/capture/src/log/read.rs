//! The log's reader.

use super::framing::{self, Decoded, Records};
use super::{LogError, Lost, Record, kind};
use crate::input::Tail;
use crate::schema::{RunHeader, Schema};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::marker::PhantomData;
use std::path::Path;

/// Iterates over the records after the header. It ends at the last complete record;
/// [`Reader::tail`] then reports what follows it.
pub struct Reader<S: Schema, R> {
    records: Records<R>,
    header: S::Header,
    rows: PhantomData<fn() -> S>,
}

impl<S: Schema> Reader<S, BufReader<File>> {
    /// Opens the log at `path`.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        Self::new(framing::open(path)?)
    }
}

impl<S: Schema, R: Read> Reader<S, R> {
    /// Reads the header of the log in `source`, which should be buffered.
    pub fn new(source: R) -> Result<Self, LogError> {
        let (header, records) = Records::begin(source, S::CONTENTS, S::VERSION)?;
        Ok(Self { records, header, rows: PhantomData })
    }

    /// Returns the header, with the links as described up to the last record read.
    #[must_use]
    pub fn header(&self) -> &S::Header {
        &self.header
    }

    /// Returns how the log ends; `None` until the end is reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.records.tail()
    }

    /// Returns the number of skipped records of unknown kinds.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.records.passed_over()
    }
}

impl<S: Schema, R: Read> Iterator for Reader<S, R> {
    type Item = io::Result<Record<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next(decode);
        if let Some(Ok(Record::Link(link))) = &record {
            self.header.describe(link.clone());
        }
        record
    }
}

fn decode<S: Schema>(kind: u8, body: &[u8]) -> Decoded<Record<S>> {
    let [_, row] = S::CONTENTS.kinds();
    let record = match kind {
        kind if kind == row => postcard::take_from_bytes(body).ok().map(|(row, _)| Record::Row(row)),
        kind::NOTE => serde_json::from_slice(body).ok().map(Record::Note),
        kind::LINK => serde_json::from_slice(body).ok().map(Record::Link),
        kind::LOST => serde_json::from_slice(body).ok().map(|Lost { states }| Record::Lost(states)),
        _ => return Decoded::Unknown,
    };
    record.into()
}
