//! Reading of records from a file that may end, or be damaged, anywhere.
//!
//! The reader reads ahead. A record lies in that memory in one piece, so reading one copies and
//! allocates nothing.

use std::fmt;
use std::io::{self, Read};

/// How a file of records ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// The last record is complete.
    Complete,
    /// The last record was cut off: `spare` bytes of it start at byte `at`.
    Truncated {
        /// Offset of the incomplete record.
        at: u64,
        /// Number of its bytes that are present.
        spare: u64,
    },
    /// The bytes from `at` on are no valid record. Nothing behind them can be trusted.
    Damaged {
        /// Offset of the damage.
        at: u64,
    },
}

/// Bytes to read at a time.
const READ_AHEAD: usize = 1 << 18;

/// Reads one record after the other, each in parts of known length.
pub(crate) struct Input<R> {
    source: R,
    /// Offset of the current record in the file.
    at: u64,
    /// Bytes that were read and are still needed, and room for more.
    buffer: Vec<u8>,
    /// How many bytes of the buffer were read.
    filled: usize,
    /// The requested part of the current record in the buffer.
    start: usize,
    end: usize,
}

/// Why there is no record.
pub(crate) enum End {
    Tail(Tail),
    Failed(io::Error),
}

impl<R: Read> Input<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, at: 0, buffer: Vec::new(), filled: 0, start: 0, end: 0 }
    }

    /// Begins the next record with its first `length` bytes.
    pub(crate) fn begin(&mut self, length: usize) -> Result<&[u8], End> {
        self.at += (self.end - self.start) as u64;
        self.start = self.end;
        self.more(length)
    }

    /// Extends the record by `length` bytes and returns all of it.
    #[inline]
    pub(crate) fn more(&mut self, length: usize) -> Result<&[u8], End> {
        while self.filled - self.end < length {
            if self.fill().map_err(End::Failed)? == 0 {
                self.end = self.filled;
                let spare = (self.end - self.start) as u64;
                let tail = if spare == 0 { Tail::Complete } else { Tail::Truncated { at: self.at, spare } };
                return Err(End::Tail(tail));
            }
        }
        self.end += length;
        Ok(self.record())
    }

    /// Returns the current record, as far as it was read.
    #[inline]
    pub(crate) fn record(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Reports that the current record is invalid.
    pub(crate) fn damaged(&self) -> Tail {
        Tail::Damaged { at: self.at }
    }

    /// Returns the offset of the current record in the file.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Reads once more from the source and returns the number of bytes. The buffer grows only when
    /// it is full, so a wrong length field allocates no more memory than the file fills.
    #[cold]
    fn fill(&mut self) -> io::Result<usize> {
        self.buffer.copy_within(self.start..self.filled, 0);
        self.filled -= self.start;
        self.end -= self.start;
        self.start = 0;
        if self.filled == self.buffer.len() {
            self.buffer.resize((self.buffer.len() * 2).max(READ_AHEAD), 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.filled..]) {
                Ok(count) => {
                    self.filled += count;
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what is in it in this many bytes at a time; an empty piece is a call that a signal
    /// interrupted.
    struct Pieces {
        pieces: Vec<Vec<u8>>,
        /// What comes behind the last piece.
        end: Option<io::ErrorKind>,
    }

    impl Read for Pieces {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.pieces.is_empty() {
                return self.end.map_or(Ok(0), |kind| Err(kind.into()));
            }
            let piece = self.pieces.remove(0);
            if piece.is_empty() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            assert!(buffer.len() >= piece.len(), "there is always room");
            buffer[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    fn pieces(pieces: &[&[u8]], end: Option<io::ErrorKind>) -> Input<Pieces> {
        Input::new(Pieces { pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), end })
    }

    fn tail<T>(result: &Result<T, End>) -> Option<Tail> {
        match result {
            Err(End::Tail(tail)) => Some(*tail),
            _ => None,
        }
    }

    #[test]
    fn records_come_whole_however_the_source_gives_them() {
        let mut input = pieces(&[b"ab", b"", b"c", b"defgh", b"i"], None);
        assert_eq!(input.begin(3).ok(), Some(&b"abc"[..]));
        assert_eq!((input.at(), input.more(1).ok()), (0, Some(&b"abcd"[..])));
        assert_eq!(input.begin(2).ok(), Some(&b"ef"[..]));
        assert_eq!((input.at(), input.record()), (4, &b"ef"[..]));
        assert_eq!(input.damaged(), Tail::Damaged { at: 4 });
        assert_eq!(tail(&input.begin(4)), Some(Tail::Truncated { at: 6, spare: 3 }));
        assert_eq!(input.record(), b"ghi", "what there is of it");
    }

    #[test]
    fn a_source_ends_behind_a_record_or_in_it() {
        let mut input = pieces(&[b"abcd"], None);
        assert!(input.begin(4).is_ok());
        assert_eq!(tail(&input.begin(1)), Some(Tail::Complete));
        let mut input = pieces(&[b"abcd"], None);
        assert!(input.begin(2).is_ok());
        assert_eq!(tail(&input.more(3)), Some(Tail::Truncated { at: 0, spare: 4 }));
    }

    #[test]
    fn an_error_of_the_source_is_no_end() {
        let mut input = pieces(&[b"abcd"], Some(io::ErrorKind::PermissionDenied));
        assert!(input.begin(4).is_ok());
        let Err(End::Failed(error)) = input.begin(1) else { panic!("no error") };
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
    }

    /// Records longer than the memory that is read ahead, and many short ones.
    #[test]
    fn memory_grows_with_a_record_and_is_used_again() {
        let bytes: Vec<u8> = (0..3 * READ_AHEAD).map(|at| (at % 251) as u8).collect();
        let mut input = Input::new(&bytes[..]);
        let long = READ_AHEAD + 10;
        assert_eq!(input.begin(long).ok(), Some(&bytes[..long]));
        for at in (long..bytes.len() - 1000).step_by(1000) {
            assert_eq!(input.begin(1000).ok(), Some(&bytes[at..at + 1000]), "{at}");
            assert_eq!(input.at(), at as u64);
        }
        assert!(input.buffer.len() <= 4 * READ_AHEAD, "{}", input.buffer.len());
    }
}
