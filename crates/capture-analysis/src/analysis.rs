//! Analysis of a capture in one pass; every interface is analysed separately.
//!
//! A capture of lasthop holds both ends of a link as two interfaces, so every packet is in it
//! twice. If the interfaces were analysed together, each packet would look like a retransmission.

use crate::TraceError;
use crate::connection::Seen;
use crate::connections::Connections;
use crate::layer2::Layer2;
use capture::Tail;
use capture::packets::{CaptureError, Reader, View};
use packet::Segment;
use packet::segment::Content;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Which interfaces to analyse, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// Name or number of the interface to analyse; `None` for all.
    pub interface: Option<String>,
    /// Threshold in nanoseconds: longer silences of a connection are recorded with their position
    /// (TL-25).
    pub silence: u64,
}

/// Numbers of packets read, by what they contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Packets {
    /// All packets.
    pub seen: u64,
    /// TCP segments that were analysed.
    pub tcp: u64,
    /// IP packets of other protocols.
    pub other: u64,
    /// Packets without IP, such as ARP, or of a link type that cannot be read here.
    pub not_ip: u64,
    /// Fragments of IP packets other than the first, which have no TCP header.
    pub later_fragments: u64,
    /// Packets whose headers are damaged, or cut off by the snap length.
    pub unreadable: u64,
}

/// Result for one interface.
#[derive(Debug)]
pub struct Analysis {
    /// Its number in the file, from 0, counted over all sections.
    pub number: usize,
    /// Its name; empty if the file does not name it.
    pub name: String,
    /// Its link type, a number of the registry of link types.
    pub link_type: u16,
    /// Counts of its packets.
    pub packets: Packets,
    /// Times of its first and its last packet, in nanoseconds since 1970; `None` without packets.
    pub times: Option<(u64, u64)>,
    /// Its connections.
    pub connections: Connections,
    layer: Option<Layer2>,
    chosen: bool,
}

/// Result for a whole capture.
#[derive(Debug)]
pub struct Trace {
    /// The analysed interfaces, in the order of their numbers.
    pub interfaces: Vec<Analysis>,
    /// How the file ends: complete, truncated or damaged.
    pub tail: Tail,
}

/// Observer of the reading of a capture.
pub trait Watch {
    /// Called before [`Watch::segment`], with the captured bytes of the segment's IP packet, and
    /// the original length of that packet in bytes.
    fn packet(&mut self, ip: &[u8], length: u32) {
        let _ = (ip, length);
    }

    /// Called after a segment was added to connection `connection` (an index from 0) of
    /// `interface`.
    fn segment(
        &mut self,
        interface: &Analysis,
        connection: usize,
        segment: &Segment,
        time: u64,
        seen: &Seen,
    ) {
        let _ = (interface, connection, segment, time, seen);
    }

    /// Called for a packet of another protocol than TCP, with its captured bytes from IP on, and
    /// the original length in bytes.
    fn other(&mut self, interface: &Analysis, ip: &[u8], length: u32) {
        let _ = (interface, ip, length);
    }

    /// Called from time to time, with the numbers of bytes and packets read. `false` ends the
    /// reading.
    fn progress(&mut self, at: u64, packets: u64) -> bool {
        let _ = (at, packets);
        true
    }
}

/// Observer that ignores everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unwatched;

impl Watch for Unwatched {}

impl Default for AnalysisOptions {
    fn default() -> Self {
        Self { interface: None, silence: 5_000_000_000 }
    }
}

/// Packets between two calls of [`Watch::progress`].
const PROGRESS: u64 = 1 << 16;

/// Reads and analyses the capture at `path`; `-` is the standard input.
pub fn read(path: &Path, options: &AnalysisOptions, watch: &mut impl Watch) -> Result<Trace, TraceError> {
    let failed = |source| TraceError::Capture { path: path.to_owned(), source };
    let file: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let path = path.to_owned();
        Box::new(File::open(&path).map_err(|source| failed(CaptureError::Open { path, source }))?)
    };
    let reader = Reader::new(file).map_err(failed)?;
    analyse(reader, path, options, watch)
}

/// Analyses the capture in `reader`; `path` is used only in error messages.
pub fn analyse<R: Read>(
    mut reader: Reader<R>,
    path: &Path,
    options: &AnalysisOptions,
    watch: &mut impl Watch,
) -> Result<Trace, TraceError> {
    let mut trace = Trace { interfaces: Vec::new(), tail: Tail::Complete };
    // Index in `trace.interfaces` of each interface of the file.
    let mut places: Vec<Option<usize>> = Vec::new();
    let mut packets = 0;
    loop {
        let at = reader.position();
        let Some(view) = reader.view() else { break };
        let view = view.map_err(|source| TraceError::Read { path: path.to_owned(), at, source })?;
        packets += 1;
        if packets % PROGRESS == 0 && !watch.progress(at, packets) {
            break;
        }
        let place = if let Some(&Some(place)) = places.get(view.number) {
            place
        } else {
            let place = trace.interfaces.len();
            trace.interfaces.push(Analysis::new(&view, options));
            places.resize(places.len().max(view.number + 1), None);
            places[view.number] = Some(place);
            place
        };
        let analysis = &mut trace.interfaces[place];
        if analysis.chosen {
            analysis.take(&view, watch);
        }
    }
    trace.tail = reader.tail().unwrap_or(Tail::Complete);
    trace.interfaces.sort_by_key(|analysis| analysis.number);
    if let Some(wanted) = &options.interface
        && !trace.interfaces.iter().any(|analysis| analysis.chosen)
    {
        let there = trace.interfaces.iter().map(Analysis::title).collect();
        return Err(TraceError::NoInterface { path: path.to_owned(), wanted: wanted.clone(), there });
    }
    trace.interfaces.retain(|analysis| analysis.chosen);
    Ok(trace)
}

impl Analysis {
    fn new(view: &View<'_>, options: &AnalysisOptions) -> Self {
        let interface = view.captured_at;
        let chosen = options.interface.as_ref().is_none_or(|wanted| {
            *wanted == interface.name || wanted.parse().is_ok_and(|number: usize| number == view.number)
        });
        Self {
            number: view.number,
            name: interface.name.clone(),
            link_type: interface.link_type,
            packets: Packets::default(),
            times: None,
            connections: Connections::new(options.silence),
            layer: Layer2::of(interface.link_type),
            chosen,
        }
    }

    /// Returns number and name.
    #[must_use]
    pub fn title(&self) -> String {
        if self.name.is_empty() {
            self.number.to_string()
        } else {
            format!("{} ({})", self.number, self.name)
        }
    }

    /// Returns whether the link type of this interface can be read.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.layer.is_some()
    }

    #[inline]
    fn take(&mut self, view: &View<'_>, watch: &mut impl Watch) {
        let (bytes, time) = (view.bytes, view.time.as_nanos());
        self.packets.seen += 1;
        let (first, last) = self.times.unwrap_or((time, time));
        self.times = Some((first, last.max(time)));
        let Some(ip) = self.layer.and_then(|layer| layer.ip(bytes)) else {
            self.packets.not_ip += 1;
            return;
        };
        let length = view.length.saturating_sub((bytes.len() - ip.len()) as u32);
        match Segment::read(ip) {
            Ok(Content::Tcp(segment)) => {
                self.packets.tcp += 1;
                watch.packet(ip, length);
                let (connection, seen) = self.connections.add(&segment, time);
                watch.segment(self, connection, &segment, time, &seen);
            }
            Ok(Content::Other) => {
                self.packets.other += 1;
                watch.other(self, ip, length);
            }
            Ok(Content::LaterFragment) => self.packets.later_fragments += 1,
            Ok(Content::Cut) | Err(_) => self.packets.unreadable += 1,
        }
    }
}
