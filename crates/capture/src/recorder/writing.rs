//! The writing thread: it takes chunks apart and feeds counters, capture and event log.
//!
//! If a file cannot be written any more, the thread stops writing it and keeps the error for the
//! end. The other files and the counters go on.

use super::chunk::{Chunk, Entry};
use super::link_layers::LinkLayers;
use super::live::SNAP_LENGTH;
use super::{CaptureTo, Captured, Live, Logged, RecordError, Recorded, RecorderOptions};
use crate::event::{EndedPacket, Fate, Flow, Header, LinkInfo, Note};
use crate::fates::LogWriter;
use crate::output;
use crate::pcapng::Order;
use crate::table;
use crate::units::Time;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender};
use vocabulary::{Direction, LinkId};

/// Bytes that are buffered before a system call.
pub(super) const BUFFER: usize = 256 * 1024;

/// Minimum memory for packets inside the links, in bytes, however little memory the options allow.
const LEAST_INSIDE: usize = 1024 * 1024;

pub(super) type Output = BufWriter<Box<dyn Write + Send>>;

/// State of the writing thread.
pub(super) struct Writing {
    header: Header,
    live: Live,
    capture: Option<Capture>,
    events: Option<Events>,
    link_layers: LinkLayers,
    errors: Vec<RecordError>,
    /// Time until which everything was recorded.
    settled: Time,
}

/// A capture that is being written.
pub(super) struct Capture {
    path: Option<PathBuf>,
    order: Order<Output>,
    /// Links that are captured; `None` means all.
    links: Option<Vec<LinkId>>,
    /// Whether packets that were recorded with fewer bytes are left out: those before the capture.
    of_whole_packets: bool,
}

struct Events {
    path: PathBuf,
    log: PathBuf,
    writer: LogWriter<Output>,
    fates: u64,
    /// Flows of the packets inside, read when they entered. Damage may have hit the headers since.
    flows: HashMap<(LinkId, Direction, u64), Option<Flow>>,
}

impl Writing {
    pub(super) fn open(header: Header, options: RecorderOptions, live: Live) -> Result<Self, RecordError> {
        // The logs first: if one is refused, no capture must have been replaced.
        let events = options.events.map(|path| Events::open(path, &header)).transpose()?;
        let link_layers = LinkLayers::open(options.link_layer, options.blocks, &header)?;
        let limit = (options.memory / 2).max(LEAST_INSIDE);
        let capture =
            options.capture.map(|to| Capture::open(to, &header, options.snap_length, limit)).transpose()?;
        let capture = capture.map(|capture| Capture { links: options.capture_links, ..capture });
        Ok(Self { header, live, capture, events, link_layers, errors: Vec::new(), settled: Time::ZERO })
    }

    /// Writes chunks until no more can come.
    pub(super) fn run(mut self, to_write: &Receiver<Chunk>, written: &SyncSender<Chunk>) -> Self {
        while let Ok(mut chunk) = to_write.recv() {
            self.write(&chunk);
            self.live.wrote();
            chunk.clear();
            // There is room for every chunk. If the recorder is being closed, nothing receives it,
            // which does not matter.
            drop(written.send(chunk));
        }
        self
    }

    /// Completes the files.
    pub(super) fn close(mut self, recorded: &mut Recorded, errors: &mut Vec<RecordError>) {
        errors.append(&mut self.errors);
        match self.capture.map(Capture::finish).transpose() {
            Ok(captured) => recorded.capture = captured,
            Err(error) => errors.push(error),
        }
        errors.extend(self.live.stop().err());
        self.link_layers.close(self.settled, recorded, errors);
        if let Some(events) = self.events {
            match events.close(self.settled) {
                Ok(logged) => recorded.events = Some(logged),
                Err(error) => errors.push(error),
            }
        }
    }

    fn write(&mut self, chunk: &Chunk) {
        self.count(chunk);
        self.watch(chunk);
        self.feed_captures(chunk);
        self.feed_events(chunk);
        self.link_layers.feed(chunk, self.settled, &mut self.errors);
        for entry in chunk.entries() {
            match entry {
                Entry::Settled(now) => self.settled = self.settled.max(*now),
                Entry::Link(link) => {
                    self.header.describe((**link).clone());
                    self.live.header().clone_from(&self.header);
                }
                _ => {}
            }
        }
    }

    fn count(&self, chunk: &Chunk) {
        let mut summary = self.live.counters();
        for entry in chunk.entries() {
            match entry {
                Entry::Entered { link, direction, length, .. } => summary.entered(*link, *direction, *length),
                Entry::Ended { ended, .. } => summary.ended(ended),
                _ => {}
            }
        }
    }

    /// Counts flows, if somebody looks at them.
    fn watch(&self, chunk: &Chunk) {
        let Some(mut watched) = self.live.flows() else { return };
        let described = Described::new(&self.header);
        for entry in chunk.entries() {
            match entry {
                Entry::Entered { link, direction, number, at, length, bytes } => {
                    let flow = described.flow(*link, chunk.bytes(*bytes), *length);
                    watched.entered(*link, *direction, *number, *at, *length, flow);
                }
                Entry::Ended { ended, .. } => watched.ended(ended),
                _ => {}
            }
        }
    }

    fn feed_captures(&mut self, chunk: &Chunk) {
        for capture in [&mut self.capture, &mut *self.live.running()] {
            let Some(Err(source)) = capture.as_mut().map(|capture| capture.write(chunk, &self.header)) else {
                continue;
            };
            let path = capture.take().and_then(|capture| capture.path);
            self.errors.push(RecordError::Write { what: "capture", path, at: self.settled, source });
        }
    }

    fn feed_events(&mut self, chunk: &Chunk) {
        let Some(events) = &mut self.events else { return };
        if let Err(source) = events.write(chunk, &self.header) {
            let path = Some(std::mem::take(&mut events.log));
            self.errors.push(RecordError::Write { what: "event log", path, at: self.settled, source });
            self.events = None;
        }
    }
}

impl Capture {
    pub(super) fn open(
        to: CaptureTo,
        header: &Header,
        snap_length: u32,
        limit: usize,
    ) -> Result<Self, RecordError> {
        let (path, output): (_, Box<dyn Write + Send>) = match to {
            CaptureTo::Writer(output) => (None, output),
            CaptureTo::Path(path) => {
                let file = create("capture", &path)?;
                (Some(path), Box::new(file))
            }
        };
        let output = BufWriter::with_capacity(BUFFER, output);
        match Order::new(output, header, snap_length, limit) {
            Ok(order) => Ok(Self { path, order, links: None, of_whole_packets: false }),
            Err(source) => Err(RecordError::Write { what: "capture", path, at: Time::ZERO, source }),
        }
    }

    /// Leaves out packets that entered before the capture, which are in the same chunk as later
    /// ones.
    pub(super) fn of_whole_packets(self) -> Self {
        Self { of_whole_packets: true, ..self }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Writes what the buffer has.
    pub(super) fn flush(&mut self) -> Result<(), RecordError> {
        let at = self.order.known_until();
        let path = &self.path;
        let failed = |source| RecordError::Write { what: "capture", path: path.clone(), at, source };
        self.order.flush().map_err(failed)
    }

    /// Writes what is left.
    pub(super) fn finish(self) -> Result<Captured, RecordError> {
        let Self { path, order, .. } = self;
        let at = order.known_until();
        match order.finish() {
            Ok((report, _)) => Ok(Captured { path, report }),
            Err(source) => Err(RecordError::Write { what: "capture", path, at, source }),
        }
    }

    fn write(&mut self, chunk: &Chunk, header: &Header) -> io::Result<()> {
        let mut described = Described::new(header);
        for entry in chunk.entries() {
            if let Entry::Entered { link, .. } | Entry::Ended { ended: EndedPacket { link, .. }, .. } = entry
                && self.links.as_ref().is_some_and(|links| !links.contains(link))
            {
                continue;
            }
            match entry {
                Entry::Entered { length, bytes, .. }
                    if self.of_whole_packets
                        && chunk.bytes(*bytes).len() < (*length).min(SNAP_LENGTH) as usize => {}
                Entry::Entered { link, direction, number, at, length, bytes } => {
                    self.order.entered(*link, *direction, *number, *at, *length, chunk.bytes(*bytes));
                    self.order.write_ready()?;
                }
                Entry::Ended { ended, bytes } => {
                    let bytes = (!ended.is_unchanged() || ended.copy).then(|| chunk.bytes(*bytes));
                    self.order.ended(ended, described.stage(ended), bytes);
                }
                Entry::Settled(now) => self.order.settled(*now)?,
                Entry::Link(link) => {
                    self.order.link(link)?;
                    described.add(link);
                }
                Entry::Note { .. } | Entry::LinkLayer(_) | Entry::Block { .. } => {}
            }
        }
        self.order.flush()
    }
}

impl Events {
    fn open(path: PathBuf, header: &Header) -> Result<Self, RecordError> {
        let (log, output) = create_log("event log", &path)?;
        let started = LogWriter::new(output, header).and_then(|mut writer| writer.flush().map(|()| writer));
        match started {
            Ok(writer) => Ok(Self { path, log, writer, fates: 0, flows: HashMap::new() }),
            Err(source) => {
                let path = Some(log);
                Err(RecordError::Write { what: "event log", path, at: Time::ZERO, source })
            }
        }
    }

    fn write(&mut self, chunk: &Chunk, header: &Header) -> io::Result<()> {
        let mut described = Described::new(header);
        for entry in chunk.entries() {
            match entry {
                Entry::Entered { link, direction, number, length, bytes, .. } => {
                    let flow = described.flow(*link, chunk.bytes(*bytes), *length);
                    self.flows.insert((*link, *direction, *number), flow);
                }
                Entry::Ended { ended, bytes } => {
                    let key = (ended.link, ended.direction, ended.number);
                    let known =
                        if ended.copy { self.flows.get(&key).copied() } else { self.flows.remove(&key) };
                    let flow = known
                        .unwrap_or_else(|| described.flow(ended.link, chunk.bytes(*bytes), ended.length));
                    self.writer.row(&ended.fate(described.stage(ended), flow))?;
                    self.fates += 1;
                }
                Entry::Note { at, text } => {
                    let text = String::from_utf8_lossy(chunk.bytes(*text)).into_owned();
                    self.writer.note(&Note { at: *at, text })?;
                }
                Entry::Link(link) => {
                    self.writer.link(link)?;
                    described.add(link);
                }
                Entry::Settled(_) | Entry::LinkLayer(_) | Entry::Block { .. } => {}
            }
        }
        self.writer.flush()
    }

    /// Makes the Parquet file.
    fn close(mut self, at: Time) -> Result<Logged, RecordError> {
        let Self { path, log, fates, .. } = &mut self;
        let (path, log, fates) = (std::mem::take(path), std::mem::take(log), *fates);
        if let Err(source) = self.writer.flush() {
            return Err(RecordError::Write { what: "event log", path: Some(log), at, source });
        }
        drop(self.writer);
        match table::convert::<Fate>(&log, &path) {
            Ok(_) => Ok(Logged { path, fates }),
            Err(source) => Err(RecordError::Table { path, log, source }),
        }
    }
}

/// Descriptions of the links at a position in a chunk.
struct Described<'a> {
    header: &'a Header,
    newer: Vec<&'a LinkInfo>,
}

impl<'a> Described<'a> {
    fn new(header: &'a Header) -> Self {
        Self { header, newer: Vec::new() }
    }

    fn add(&mut self, link: &'a LinkInfo) {
        self.newer.push(link);
    }

    fn link(&self, id: LinkId) -> Option<&'a LinkInfo> {
        self.newer.iter().rev().find(|link| link.id == id).copied().or_else(|| self.header.link(id))
    }

    fn stage(&self, ended: &EndedPacket) -> Option<&'a str> {
        self.link(ended.link)?.stage(ended.direction, ended.stage?)
    }

    fn flow(&self, link: LinkId, bytes: &[u8], length: u32) -> Option<Flow> {
        Flow::of(self.link(link)?.layer, bytes, length)
    }
}

/// Creates the log beside the table at `path`. Returns the log's path and the output.
pub(super) fn create_log(what: &'static str, path: &Path) -> Result<(PathBuf, Output), RecordError> {
    let log = table::log_path(path);
    let file = File::create_new(&log).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => RecordError::LeftOver { path: log.clone() },
        _ => RecordError::Create { what, path: log.clone(), source },
    })?;
    Ok((log, BufWriter::with_capacity(BUFFER, Box::new(file))))
}

pub(super) fn create(what: &'static str, path: &Path) -> Result<File, RecordError> {
    output::create(path).map_err(|source| RecordError::Create { what, path: path.to_owned(), source })
}
