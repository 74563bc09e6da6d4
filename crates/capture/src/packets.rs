//! Captures, read: pcapng and pcap, ours and others'.
//!
//! Every packet comes with its interface, its time in nanoseconds whatever the file counts in, and
//! its comments. What a reader need not know (other blocks, other options, an option list without
//! an end) is passed over. A file that ends or goes wrong in the middle is read up to there;
//! [`Reader::tail`] then says so.
//!
//! Formats: draft-ietf-opsawg-pcapng and draft-ietf-opsawg-pcap. The crate `pcap-file` (2.0) does
//! not serve here: it refuses a pcap of packets longer than its snap length, an option list without
//! an end and a time zone, all of which other programs write. Our tests let it read and write
//! against this.

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

/// Longest block or packet: more than any program writes, less than what a spoiled length would ask
/// for.
const LONGEST: usize = 1 << 26;

/// Iterates over the packets of a capture; [`Reader::view`] does so without copying them.
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

/// Where packets were captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name; empty if the file has none.
    pub name: String,
    /// More about it.
    pub description: String,
    /// What its packets start with: a number of the registry of link types (1 Ethernet, 101 raw
    /// IP).
    pub link_type: u16,
    /// Bytes kept of each packet; 0 if there is no limit.
    pub snap_length: u32,
    clock: Clock,
}

/// One packet of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Index into [`Reader::interfaces`].
    pub interface: usize,
    /// When; rounded down to nanoseconds, and zero if the file does not say.
    pub time: WallTime,
    /// Its length when it was captured, in bytes.
    pub length: u32,
    /// What was kept of it.
    pub bytes: Vec<u8>,
    /// Its comments, in their order.
    pub comments: Vec<String>,
    /// Whether it came to the machine that captured (`true`) or from it (`false`); `None` if the
    /// file does not say.
    pub inbound: Option<bool>,
}

/// Where a packet lies in the current record.
struct Found {
    interface: usize,
    time: WallTime,
    length: u32,
    bytes: Range<usize>,
    /// The list of options, and its byte order.
    options: Option<(endian::Endian, Range<usize>)>,
}

/// What an interface counts time in.
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

/// A capture that cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be opened.
    #[error("cannot open the capture `{}`: {source}", path.display())]
    Open {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Reading failed.
    #[error("cannot read the capture: {0}")]
    Read(#[from] io::Error),
    /// It is something else.
    #[error("this is neither pcapng nor pcap: it begins with the bytes {0:02x?}")]
    NotACapture(Vec<u8>),
    /// It was cut off too early, or is damaged at once.
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

    /// The interfaces described so far. Those of another section of a pcapng file replace the ones
    /// before.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        match &self.format {
            Format::Pcap(header) => std::slice::from_ref(&header.interface),
            Format::Pcapng(section) => &section.interfaces,
        }
    }

    /// What the capture ends with; `None` as long as the end was not reached.
    #[must_use]
    pub fn tail(&self) -> Option<Tail> {
        self.tail
    }
}

impl<R: Read> Reader<R> {
    /// The next packet, in the reader's memory until the one after it is asked for.
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

    /// Where in the file the packet read last starts, in bytes.
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
    /// Where `count` units of this clock lie on the wall.
    fn time(self, count: u64) -> WallTime {
        let count = u128::from(count);
        let nanos = match self.unit {
            Unit::Decimal(power @ 0..=9) => count * 10_u128.pow(u32::from(9 - power)),
            // A power too great to be reckoned with makes every time less than a nanosecond.
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
