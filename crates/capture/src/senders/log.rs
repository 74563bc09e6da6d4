//! The log of senders' states as it is written during a run. Its framing, and what can be read
//! after a crash, is that of [`crate::log`].

use super::{Header, SCHEMA, SenderState};
use crate::event::Note;
use crate::input::Tail;
use crate::log::framing::{self, Decoded, Frames, Records};
use crate::log::{LogError, kind};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// One record behind the header.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all records are states, one after the other, and none is kept"
)]
pub enum Record {
    /// A state.
    State(SenderState),
    /// Something happened to the recording.
    Note(Note),
    /// So many states more are missing: the recorder was too slow, or the kernel did not run it.
    Lost(u64),
}

/// States that were lost, as they lie in the log.
#[derive(Serialize, Deserialize)]
struct Lost {
    states: u64,
}

/// Appends records to `W`, which should be buffered. A record is in the file once [`Writer::flush`]
/// has returned.
pub struct Writer<W> {
    frames: Frames<W>,
}

impl<W: Write> Writer<W> {
    /// Begins a log with its header.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut frames = Frames::begin(output)?;
        frames.json(kind::SENDERS, header)?;
        Ok(Self { frames })
    }

    /// Appends a record.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::State(state) => self.state(state),
            Record::Note(note) => self.frames.json(kind::NOTE, note),
            Record::Lost(states) => self.frames.json(kind::SENDERS_LOST, &Lost { states: *states }),
        }
    }

    /// Appends a state.
    pub fn state(&mut self, state: &SenderState) -> io::Result<()> {
        self.frames.postcard(kind::SENDER, state)
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

/// Iterates over the records behind the header. It ends at the last complete record;
/// [`Reader::tail`] then says what is behind that.
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
        let (header, records) = Records::begin(source, kind::SENDERS, SCHEMA, LogError::SendersSchema)?;
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
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        self.records.next(|kind, body| match kind {
            kind::SENDER => {
                postcard::take_from_bytes(body).ok().map(|(state, _)| Record::State(state)).into()
            }
            kind::NOTE => serde_json::from_slice(body).ok().map(Record::Note).into(),
            kind::SENDERS_LOST => {
                serde_json::from_slice(body).ok().map(|Lost { states }| Record::Lost(states)).into()
            }
            _ => Decoded::Unknown,
        })
    }
}
