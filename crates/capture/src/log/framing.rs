//! Framing of logs: a sequence of records, each with a kind, a length and a checksum. See the
//! [module](super).

use super::{FRAME, LONGEST, LogError, MAGIC};
use crate::input::{End, Input, Tail};
use crate::schema::Contents;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;

/// Appends records to `W`.
pub(super) struct Frames<W> {
    output: W,
    /// The record being built; kept to reuse its memory.
    record: Vec<u8>,
}

impl<W: Write> Frames<W> {
    /// Begins a log.
    pub(super) fn begin(mut output: W) -> io::Result<Self> {
        output.write_all(MAGIC)?;
        Ok(Self { output, record: Vec::new() })
    }

    /// Appends a record with a JSON body.
    pub(super) fn json(&mut self, kind: u8, body: &impl Serialize) -> io::Result<()> {
        let mut record = self.start(kind);
        serde_json::to_writer(&mut record, body)?;
        self.record = record;
        self.end()
    }

    /// Appends a record with a body in postcard's format.
    pub(super) fn postcard(&mut self, kind: u8, body: &impl Serialize) -> io::Result<()> {
        let begun = self.start(kind);
        self.record = postcard::to_extend(body, begun).map_err(io::Error::other)?;
        self.end()
    }

    /// Flushes the output.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// Returns the output.
    pub(super) fn get_ref(&self) -> &W {
        &self.output
    }

    fn start(&mut self, kind: u8) -> Vec<u8> {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.resize(FRAME - 1, 0);
        record.push(kind);
        record
    }

    fn end(&mut self) -> io::Result<()> {
        let length = self.record.len() - FRAME;
        if length > LONGEST {
            return Err(io::Error::other(format!(
                "a record of {length} bytes is too long for the event log"
            )));
        }
        let crc = crc32fast::hash(&self.record[FRAME - 1..]);
        self.record[..4].copy_from_slice(&(length as u32).to_le_bytes());
        self.record[4..8].copy_from_slice(&crc.to_le_bytes());
        self.output.write_all(&self.record)
    }
}

/// Opens the log at `path` for buffered reading.
pub(super) fn open(path: &Path) -> Result<BufReader<File>, LogError> {
    let file = File::open(path).map_err(|source| LogError::Open { path: path.to_owned(), source })?;
    Ok(BufReader::with_capacity(1 << 18, file))
}

/// Reads the records of a log after its header, up to the last complete one.
pub(super) struct Records<R> {
    input: Input<R>,
    tail: Option<Tail>,
    passed_over: u64,
}

/// Result of decoding a record.
pub(super) enum Decoded<T> {
    /// The record.
    Record(T),
    /// The kind is unknown: the record is of a later program.
    Unknown,
    /// The kind is known, but the record is invalid.
    Wrong,
}

impl<T> From<Option<T>> for Decoded<T> {
    fn from(record: Option<T>) -> Self {
        record.map_or(Self::Wrong, Self::Record)
    }
}

impl<R: Read> Records<R> {
    /// Reads the header of a log. It must be of kind `wanted` and have a schema up to `newest`.
    pub(super) fn begin<H: DeserializeOwned>(
        source: R,
        wanted: Contents,
        newest: u16,
    ) -> Result<(H, Self), LogError> {
        let mut input = Input::new(source);
        magic(&mut input)?;
        let header = match frame(&mut input) {
            Ok((kind, body)) => {
                match Contents::ALL.into_iter().find(|contents| contents.kinds()[0] == kind) {
                    Some(found) if found == wanted => header(body, wanted, newest)?,
                    Some(found) => return Err(LogError::Other { wanted, found }),
                    None => return Err(LogError::NoHeader),
                }
            }
            Err(End::Tail(_)) => return Err(LogError::NoHeader),
            Err(End::Failed(error)) => return Err(LogError::Read(error)),
        };
        Ok((header, Self { input, tail: None, passed_over: 0 }))
    }

    /// Returns how the log ends; `None` until the end is reached.
    pub(super) const fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// Returns the number of skipped records of unknown kinds.
    pub(super) const fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// Returns the next record that `decode` knows.
    pub(super) fn next<T>(&mut self, decode: impl Fn(u8, &[u8]) -> Decoded<T>) -> Option<io::Result<T>> {
        while self.tail.is_none() {
            match frame(&mut self.input).map(|(kind, body)| decode(kind, body)) {
                Ok(Decoded::Record(record)) => return Some(Ok(record)),
                Ok(Decoded::Unknown) => self.passed_over += 1,
                Ok(Decoded::Wrong) => self.tail = Some(self.input.damaged()),
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

/// Reads the next record and returns its kind and its body.
fn frame<R: Read>(input: &mut Input<R>) -> Result<(u8, &[u8]), End> {
    let frame = input.begin(FRAME)?;
    let word = |at: usize| u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]]);
    let (length, crc) = (word(0) as usize, word(4));
    if length > LONGEST {
        return Err(End::Tail(input.damaged()));
    }
    input.more(length)?;
    // The checksum covers kind and body.
    if crc32fast::hash(&input.record()[FRAME - 1..]) != crc {
        return Err(End::Tail(input.damaged()));
    }
    let record = input.record();
    Ok((record[FRAME - 1], &record[FRAME..]))
}

/// Checks the magic bytes of a log.
fn magic<R: Read>(input: &mut Input<R>) -> Result<(), LogError> {
    let (name, framing) = MAGIC.split_at(MAGIC.len() - 1);
    let begun = input.begin(MAGIC.len()).map(|_| ());
    match (begun, input.record()) {
        (Err(End::Failed(error)), _) => Err(LogError::Read(error)),
        (Ok(()), magic) if !magic.starts_with(name) => Err(LogError::NotALog),
        (Ok(()), magic) if !magic.ends_with(framing) => Err(LogError::Framing(magic[name.len()])),
        (Ok(()), _) => Ok(()),
        (Err(End::Tail(_)), magic) if MAGIC.starts_with(magic) => Err(LogError::NoHeader),
        (Err(End::Tail(_)), _) => Err(LogError::NotALog),
    }
}

/// Parses the JSON header of a log with schema `newest` or an earlier one.
fn header<H: DeserializeOwned>(body: &[u8], contents: Contents, newest: u16) -> Result<H, LogError> {
    /// Parsed first: no other field of a later schema can be relied on.
    #[derive(Deserialize)]
    struct Version {
        schema: u16,
    }
    let Version { schema: found } = serde_json::from_slice(body).map_err(|_| LogError::NoHeader)?;
    if found > newest {
        return Err(LogError::Schema { contents, found, newest });
    }
    serde_json::from_slice(body).map_err(|_| LogError::NoHeader)
}
