//! The log of a link layer as it is written during a run. Its framing, and what can be read after a crash, is that of [`crate::log`].

use super::{Row, SCHEMA};
use crate::event::Header;
use crate::input::{End, Input, Tail};
use crate::log::framing::{self, Frames};
use crate::log::{LogError, kind};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Appends rows to `W`, which should be buffered. A row is in the file once [`Writer::flush`] has returned.
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

/// Iterates over the rows. It ends at the last complete one; [`Reader::tail`] then says what is behind that.
pub struct Reader<R> {
    input: Input<R>,
    header: Header,
    tail: Option<Tail>,
}

impl Reader<BufReader<File>> {
    /// Opens the log at `path`.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let file = File::open(path).map_err(|source| LogError::Open { path: path.to_owned(), source })?;
        Self::new(BufReader::with_capacity(1 << 18, file))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header of the log in `source`, which should be buffered.
    pub fn new(source: R) -> Result<Self, LogError> {
        let mut input = Input::new(source);
        framing::magic(&mut input)?;
        let header = match framing::frame(&mut input) {
            Ok((kind::LINK_LAYER, body)) => framing::header(body, SCHEMA, LogError::LinkLayerSchema)?,
            Ok((kind::HEADER, _)) => return Err(LogError::OfFates),
            Ok((kind::SENDERS, _)) => return Err(LogError::OfSenders),
            Ok(_) | Err(End::Tail(_)) => return Err(LogError::NoHeader),
            Err(End::Failed(error)) => return Err(LogError::Read(error)),
        };
        Ok(Self { input, header, tail: None })
    }

    /// The header.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the log ends with; `None` as long as the end was not reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Row>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.tail.is_none() {
            match framing::frame(&mut self.input) {
                Ok((kind::LINK_LAYER_ROW, body)) => match postcard::take_from_bytes(body) {
                    Ok((row, _)) => return Some(Ok(row)),
                    Err(_) => self.tail = Some(self.input.damaged()),
                },
                // Of a later program.
                Ok(_) => {}
                Err(End::Tail(tail)) => self.tail = Some(tail),
                Err(End::Failed(error)) => {
                    self.tail = Some(self.input.damaged());
                    return Some(Err(error));
                }
            }
        }
        None
    }
}
