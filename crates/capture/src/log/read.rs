//! The log's reader.

use super::framing::{self, Decoded, Records};
use super::kind;
use super::row::Row;
use crate::event::{Header, LinkInfo, Note, Record, SCHEMA};
use crate::input::Tail;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Iterates over the records behind the header. It ends at the last complete record;
/// [`Reader::tail`] then says what is behind that.
pub struct Reader<R> {
    records: Records<R>,
    header: Header,
}

/// A log that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be opened.
    #[error("cannot open the event log `{}`: {source}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the event log: {0}")]
    Read(#[from] io::Error),
    /// It is something else.
    #[error("this is no event log of lasthop: it does not begin with `lasthop` and a version")]
    NotALog,
    /// The framing is of a later program.
    #[error("the event log has format {0}, this program reads format 1: use the lasthop that wrote it")]
    Framing(u8),
    /// The schema is of a later program.
    #[error("the event log has schema {0}, this program reads up to {SCHEMA}: use the lasthop that wrote it")]
    Schema(u16),
    /// It is a log of the states of TCP senders.
    #[error("this is no log of fates: it has the states of TCP senders")]
    OfSenders,
    /// It is a log of link layers.
    #[error("this is no log of fates: it has the records of link layers")]
    OfLinkLayer,
    /// The schema of a log of link layers is of a later program.
    #[error("the log of link layers has schema {0}, this program reads up to {now}: use the lasthop that wrote it", now = crate::link_layer::SCHEMA)]
    LinkLayerSchema(u16),
    /// It is a log of fates.
    #[error("it has the fates of packets, and nothing else: this is an event log")]
    OfFates,
    /// The schema of a log of senders is of a later program.
    #[error("the log of TCP senders has schema {0}, this program reads up to {now}: use the lasthop that wrote it", now = crate::senders::SCHEMA)]
    SendersSchema(u16),
    /// It was cut off too early.
    #[error(
        "the event log ends before its header is complete: the run ended as it began, nothing can be recovered"
    )]
    NoHeader,
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
        let (header, records) = Records::begin(source, kind::HEADER, SCHEMA, LogError::Schema)?;
        Ok(Self { records, header })
    }

    /// The header, with the links as they are described up to the record read last.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the log ends with; `None` as long as the end was not reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.records.tail()
    }

    /// Records of kinds that this version does not know.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.records.passed_over()
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next(decode);
        if let Some(Ok(Record::Link(link))) = &record {
            self.header.describe(link.clone());
        }
        record
    }
}

fn decode(kind: u8, body: &[u8]) -> Decoded<Record> {
    let record = match kind {
        kind::FATE => {
            postcard::take_from_bytes::<Row<'_>>(body).ok().map(|(row, _)| Record::Fate(row.fate()))
        }
        kind::NOTE => serde_json::from_slice::<Note>(body).ok().map(Record::Note),
        kind::LINK => serde_json::from_slice::<LinkInfo>(body).ok().map(Record::Link),
        _ => return Decoded::Unknown,
    };
    record.into()
}
