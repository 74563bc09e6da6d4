//! Records from a file that may end, or go wrong, anywhere.

use std::fmt;
use std::io::{self, Read};

/// What a file of records ends with.
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
    /// What starts at byte `at` is no record that makes sense. Nothing behind it can be trusted.
    Damaged {
        /// Where it starts.
        at: u64,
    },
}

/// Reads one record after the other, each in parts of known length.
pub(crate) struct Input<R> {
    source: R,
    /// Where the current record starts.
    at: u64,
    /// The current record as far as it was read.
    record: Vec<u8>,
}

/// Why there is no record.
pub(crate) enum End {
    Tail(Tail),
    Failed(io::Error),
}

impl<R: Read> Input<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, at: 0, record: Vec::new() }
    }

    /// Begins the next record with its first `length` bytes.
    pub(crate) fn begin(&mut self, length: usize) -> Result<&[u8], End> {
        self.at += self.record.len() as u64;
        self.record.clear();
        self.more(length)
    }

    /// Reads on until the record has `length` bytes more; all of it.
    pub(crate) fn more(&mut self, length: usize) -> Result<&[u8], End> {
        // By way of `take`: a wrong length costs no memory that the file does not fill.
        let got =
            (&mut self.source).take(length as u64).read_to_end(&mut self.record).map_err(End::Failed)?;
        if got == length {
            return Ok(&self.record);
        }
        let spare = self.record.len() as u64;
        Err(End::Tail(if spare == 0 { Tail::Complete } else { Tail::Truncated { at: self.at, spare } }))
    }

    /// The current record as far as it was read.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }

    /// The current record makes no sense.
    pub(crate) fn damaged(&self) -> Tail {
        Tail::Damaged { at: self.at }
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
