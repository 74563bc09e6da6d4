//! Reading of captures: pcapng and pcap, of lasthop and of other programs.
//!
//! Every packet comes with its interface, its comments, and its time in nanoseconds, whatever the
//! unit of the file. The reader skips other blocks and options, and tolerates an option list
//! without an end. A file that ends or is damaged in the middle is read up to there;
//! [`Reader::tail`] then reports it.
//!
//! Formats: draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. The crate `pcap-file` (2.0) is not
//! used because it rejects three things that other programs write: a pcap with packets longer than
//! its snap length, an option list without an end, and a time zone. Our tests use it as a second
//! reader and writer.

mod endian;
mod pcap;
mod pcapng;
mod view;

pub use view::View;

use crate::input::{End, Input, Tail};
use crate::units::WallTime;
use std::fs::File;
use std::io::{self, BufReader, Chain, Cursor, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Longest block or packet: longer than any program writes, and a limit for damaged length fields.
const LONGEST: usize = 1 << 26;

/// Iterates over the packets of a capture. [`Reader::view`] does so without copying them.
pub struct Reader<R> {
    input: Input<Chain<Cursor<Vec<u8>>, R>>,
    format: Format,
    tail: Option<Tail>,
}

/// State of reading one of the two formats.
enum Format {
    Pcap(pcap::Header),
    Pcapng(pcapng::Section),
}

/// An interface that packets were captured at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name; empty if the file has none.
    pub name: String,
    /// Its description; empty if the file has none.
    pub description: String,
    /// What its packets start with: a number of the registry of link types (1 Ethernet, 101 raw
    /// IP).
    pub link_type: u16,
    /// Bytes kept of each packet; 0 means no limit.
    pub snap_length: u32,
    clock: Clock,
}

/// A packet of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Index into [`Reader::interfaces`].
    pub interface: usize,
    /// Time of capture, rounded down to nanoseconds. Zero if the file does not say.
    pub time: WallTime,
    /// Its original length, in bytes.
    pub length: u32,
    /// The bytes that were kept.
    pub bytes: Vec<u8>,
    /// Its comments, in order.
    pub comments: Vec<String>,
    /// Whether the capturing machine received it (`true`) or sent it (`false`); `None` if the file
    /// does not say.
    pub inbound: Option<bool>,
}

/// Position of a packet in the current record.
struct Found {
    interface: usize,
    time: WallTime,
    length: u32,
    bytes: Range<usize>,
    /// The list of options, with its byte order.
    options: Option<(endian::Endian, Range<usize>)>,
}

/// How an interface counts time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Clock {
    unit: Unit,
    /// Seconds to add.
    offset: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// 10^-n s.
    Decimal(u8),
    /// 2^-n s.
    Binary(u8),
}

/// Why a capture cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("cannot open the capture `{}`: {source}", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the capture: {0}")]
    Read(#[from] io::Error),
    /// The file has another format.
    #[error("this is neither pcapng nor pcap: it begins with the bytes {0:02x?}")]
    NotACapture(Vec<u8>),
    /// The file was cut off in its first header, or is damaged there.
    #[error("the capture's first header is incomplete or damaged: nothing can be read")]
    NoHeader,
}

impl Reader<BufReader<File>> {
    /// Opens the capture at `path`.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        let file = File::open(path).map_err(|source| CaptureError::Open { path: path.to_owned(), source })?;
        Self::new(BufReader::with_capacity(1 << 18, file))
    }
}

impl<R: Read> Reader<R> {
    /// Reads the first header of the capture in `source`, which should be buffered.
    pub fn new(mut source: R) -> Result<Self, CaptureError> {
        let mut magic = Vec::new();
        (&mut source).take(4).read_to_end(&mut magic)?;
        let mut input = Input::new(Cursor::new(magic.clone()).chain(source));
        let format = if magic == pcapng::MAGIC {
            pcapng::Section::read(&mut input).map(Format::Pcapng)
        } else if let Some(form) = pcap::Form::of(&magic) {
            pcap::Header::read(&mut input, form).map(Format::Pcap)
        } else {
            return Err(CaptureError::NotACapture(magic));
        };
        let format = format.map_err(|end| match end {
            End::Tail(_) => CaptureError::NoHeader,
            End::Failed(error) => CaptureError::Read(error),
        })?;
        Ok(Self { input, format, tail: None })
    }

    /// Returns the interfaces described so far. Those of a new section of a pcapng file replace the
    /// earlier ones.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.format {
            Format::Pcap(header) => std::slice::from_ref(&header.interface),
            Format::Pcapng(section) => &section.interfaces,
        }
    }

    /// Returns how the capture ends; `None` until the end is reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }
}

impl<R: Read> Reader<R> {
    /// Returns the next packet without copying it. It stays in the reader's memory until the next
    /// call.
    #[inline]
    pub fn view(&mut self) -> Option<io::Result<View<'_>>> {
        if self.tail.is_some() {
            return None;
        }
        let found = match &mut self.format {
            Format::Pcap(header) => header.packet(&mut self.input),
            Format::Pcapng(section) => section.packet(&mut self.input),
        };
        match found {
            Ok(found) => Some(Ok(match &self.format {
                Format::Pcap(header) => View::new(self.input.record(), found, &header.interface, 0),
                Format::Pcapng(section) => {
                    let interface = &section.interfaces[found.interface];
                    View::new(self.input.record(), found, interface, section.interfaces_before)
                }
            })),
            Err(End::Tail(tail)) => {
                self.tail = Some(tail);
                None
            }
            Err(End::Failed(error)) => {
                self.tail = Some(self.input.damaged());
                Some(Err(error))
            }
        }
    }

    /// Returns the offset of the last packet in the file, in bytes.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.input.at()
    }
}

impl<R: Read> Iterator for Reader<R> {
    type Item = io::Result<Packet>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.view()?.map(|view| view.to_packet()))
    }
}

impl Clock {
    /// Converts `count` units of this clock to a time.
    fn time(self, count: u64) -> WallTime {
        let count = u128::from(count);
        let nanos = match self.unit {
            Unit::Decimal(power @ 0..=9) => count * 10_u128.pow(u32::from(9 - power)),
            // With a power beyond the range of the type, every time is below a nanosecond.
            Unit::Decimal(power) => {
                10_u128.checked_pow(u32::from(power) - 9).map_or(0, |parts| count / parts)
            }
            Unit::Binary(power) => (count * 1_000_000_000).checked_shr(u32::from(power)).unwrap_or(0),
        };
        let offset = i128::from(self.offset) * 1_000_000_000;
        let nanos = i128::try_from(nanos).unwrap_or(i128::MAX).saturating_add(offset);
        WallTime::from_nanos(u64::try_from(nanos.max(0)).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests;
