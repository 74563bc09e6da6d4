//! The log of a link layer as it is written during a run. Its framing, and what can be read after a
//! crash, is that of [`crate::log`].

use super::{Row, SCHEMA};
use crate::event::Header;
use crate::input::Tail;
use crate::log::framing::{self, Decoded, Frames, Records};
use crate::log::{LogError, kind};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Appends rows to `W`, which should be buffered. A row is in the file once [`Writer::flush`] has
/// returned.
pub struct Writer<W> {
    frames: Frames<W>,
}

impl<W: Write> Writer<W> {
    /// Begins a log with the header of the run.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut frames = Frames::begin(output)?;
        frames.json(kind::LINK_LAYER, &Header { schema: SCHEMA, ..header.clone() })?;
        Ok(Self { frames })
    }

    /// Appends a row.
    pub fn add(&mut self, row: &Row) -> io::Result<()> {
        self.frames.postcard(kind::LINK_LAYER_ROW, row)
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.frames.flush()
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        self.frames.get_ref()
    }
}

/// Iterates over the rows. It ends at the last complete one; [`Reader::tail`] then says what is
/// behind that.
pub struct Reader<R> {
    records: Records<R>,
    header: Header,
}

impl Reader<BufReader<File>> {
    /// Opens the log at `path`.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        Self::new(framing::open(path)?)
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header of the log in `source`, which should be buffered.
    pub fn new(source: R) -> Result<Self, LogError> {
        let (header, records) = Records::begin(source, kind::LINK_LAYER, SCHEMA, LogError::LinkLayerSchema)?;
        Ok(Self { records, header })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the log ends with; `None` as long as the end was not reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.records.tail()
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        self.records.next(|kind, body| match kind {
            kind::LINK_LAYER_ROW => postcard::take_from_bytes(body).ok().map(|(row, _)| row).into(),
            _ => Decoded::Unknown,
        })
    }
}
