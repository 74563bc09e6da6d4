//! The log's reader.

use super::row::Row;
use super::{FRAME, LONGEST, MAGIC, kind};
use crate::event::{Header, LinkInfo, Note, Record, SCHEMA};
use std::fmt;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// Iterates over the records behind the header. It ends at the last complete record; [`Reader::tail`] then says what is
/// behind that.
pub struct Reader<R> {
    input: R,
    header: Header,
    /// Bytes read so far that belong to complete records.
    offset: u64,
    /// The record being read; kept for its memory.
    record: Vec<u8>,
    passed_over: u64,
    tail: Option<Tail>,
}

/// What a log ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The last record is complete.
    Complete,
    /// It was cut off: `spare` bytes of an incomplete record start at byte `at`.
    Truncated {
        /// Where the incomplete record starts.
        at: u64,
        /// How many bytes there are of it.
        spare: u64,
    },
    /// What starts at byte `at` is no record: its length, its check sum or its contents are wrong. Nothing behind it can
    /// be trusted.
    Damaged {
        /// Where it starts.
        at: u64,
    },
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
    /// It was cut off too early.
    #[error(
        "the event log ends before its header is complete: the run ended as it began, nothing can be recovered"
    )]
    NoHeader,
}

/// A record's kind and where its body is; `None` where no more complete record follows.
type Framed = Option<u8>;

impl Reader<BufReader<File>> {
    /// Opens the log at `path`.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let file = File::open(path).map_err(|source| LogError::Open { path: path.to_owned(), source })?;
        Self::new(BufReader::with_capacity(1 << 18, file))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the header of the log in `input`, which should be buffered.
    pub fn new(mut input: R) -> Result<Self, LogError> {
        let mut magic = [0; MAGIC.len()];
        let got = fill(&mut input, &mut magic)?;
        let name = MAGIC.len() - 1;
        if magic[..got.min(name)] != MAGIC[..got.min(name)] {
            return Err(LogError::NotALog);
        }
        if got < MAGIC.len() {
            return Err(LogError::NoHeader);
        }
        if magic[name] != MAGIC[name] {
            return Err(LogError::Framing(magic[name]));
        }
        let empty = Header::new("", crate::WallTime::default(), 0, Vec::new());
        let offset = MAGIC.len() as u64;
        let mut reader =
            Self { input, header: empty, offset, record: Vec::new(), passed_over: 0, tail: None };
        if reader.frame()? != Some(kind::HEADER) {
            return Err(LogError::NoHeader);
        }
        // The schema first: of a later one nothing else can be relied on.
        #[derive(serde::Deserialize)]
        struct Version {
            schema: u16,
        }
        let body = &reader.record[1..];
        let version: Version = serde_json::from_slice(body).map_err(|_| LogError::NoHeader)?;
        if version.schema > SCHEMA {
            return Err(LogError::Schema(version.schema));
        }
        reader.header = serde_json::from_slice(body).map_err(|_| LogError::NoHeader)?;
        reader.offset += (FRAME - 1 + reader.record.len()) as u64;
        Ok(reader)
    }

    /// The header, with the links as they are described up to the record read last.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the log ends with; `None` as long as the end was not reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Records of kinds that this version does not know.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Reads the next record into `self.record` (kind and body).
    fn frame(&mut self) -> io::Result<Framed> {
        let mut frame = [0; FRAME - 1];
        let got = fill(&mut self.input, &mut frame)?;
        if got < frame.len() {
            let spare = got as u64;
            self.tail =
                Some(if spare == 0 { Tail::Complete } else { Tail::Truncated { at: self.offset, spare } });
            return Ok(None);
        }
        let word = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
        let (length, crc) = (word(0) as usize + 1, word(4));
        if length > LONGEST + 1 {
            return Ok(self.damaged());
        }
        // By way of `take`: a spoiled length costs no memory that the file does not fill.
        self.record.clear();
        let got = (&mut self.input).take(length as u64).read_to_end(&mut self.record)?;
        if got < length {
            self.tail = Some(Tail::Truncated { at: self.offset, spare: (frame.len() + got) as u64 });
            return Ok(None);
        }
        if crc32fast::hash(&self.record) != crc {
            return Ok(self.damaged());
        }
        Ok(Some(self.record[0]))
    }

    fn damaged(&mut self) -> Framed {
        self.tail = Some(Tail::Damaged { at: self.offset });
        None
    }

    /// The record in `self.record`; `None` if its contents are wrong. The inner one is `None` for an unknown kind.
    fn decode(&mut self, kind: u8) -> Option<Option<Record>> {
        let body = &self.record[1..];
        Some(match kind {
            kind::FATE => Some(Record::Fate(postcard::take_from_bytes::<Row<'_>>(body).ok()?.0.fate())),
            kind::NOTE => Some(Record::Note(serde_json::from_slice::<Note>(body).ok()?)),
            kind::LINK => {
                let link: LinkInfo = serde_json::from_slice(body).ok()?;
                self.header.describe(link.clone());
                Some(Record::Link(link))
            }
            _ => None,
        })
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.tail.is_none() {
            let kind = match self.frame() {
                Ok(kind) => kind?,
                Err(error) => {
                    self.damaged();
                    return Some(Err(error));
                }
            };
            let Some(record) = self.decode(kind) else {
                self.damaged();
                return None;
            };
            self.offset += (FRAME - 1 + self.record.len()) as u64;
            match record {
                Some(record) => return Some(Ok(record)),
                None => self.passed_over += 1,
            }
        }
        None
    }
}

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("complete"),
            Self::Truncated { at, spare } => {
                write!(f, "cut off in the middle of a record: {spare} bytes from byte {at} on were left out")
            }
            Self::Damaged { at } => write!(f, "damaged: what lies from byte {at} on was left out"),
        }
    }
}

/// Reads until `buffer` is full or the input ends; how much it got.
fn fill(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(more) => got += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}
