//! The writing thread's part for link layers: the log of records and the capture of blocks.

use super::chunk::{Chunk, Entry};
use super::writing::{BUFFER, Output, create, create_log};
use super::{RecordError, Recorded};
use crate::event::Header;
use crate::link_layer::blocks::{self, Block};
use crate::link_layer::{LogWriter, Row, SCHEMA};
use crate::table::convert;
use crate::units::Time;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

const LOG: &str = "log of link layers";
const BLOCKS: &str = "capture of blocks";

/// Writers of both. Either may be missing. If one cannot be written any more, the other continues.
pub(super) struct LinkLayers {
    log: Option<Records>,
    blocks: Option<Blocks>,
}

struct Records {
    /// The table that will be made.
    path: PathBuf,
    log: PathBuf,
    writer: LogWriter<Output>,
}

struct Blocks {
    path: PathBuf,
    writer: blocks::Writer<Output>,
    written: u64,
}

impl LinkLayers {
    pub(super) fn open(
        log: Option<PathBuf>,
        blocks: Option<PathBuf>,
        header: &Header,
    ) -> Result<Self, RecordError> {
        let log = log.map(|path| Records::open(path, header)).transpose()?;
        let blocks = blocks.map(|path| Blocks::open(path, header)).transpose()?;
        Ok(Self { log, blocks })
    }

    pub(super) fn feed(&mut self, chunk: &Chunk, at: Time, errors: &mut Vec<RecordError>) {
        if let Some(log) = &mut self.log
            && let Err(source) = log.write(chunk)
        {
            errors.push(failed(LOG, &log.log, at, source));
            self.log = None;
        }
        if let Some(blocks) = &mut self.blocks
            && let Err(source) = blocks.write(chunk)
        {
            errors.push(failed(BLOCKS, &blocks.path, at, source));
            self.blocks = None;
        }
    }

    pub(super) fn close(self, at: Time, recorded: &mut Recorded, errors: &mut Vec<RecordError>) {
        if let Some(Records { path, log, mut writer }) = self.log {
            let flushed = writer.flush();
            drop(writer);
            match flushed.map(|()| convert::<Row>(&log, &path)) {
                Ok(Ok(converted)) => recorded.link_layer = Some(converted),
                Ok(Err(source)) => errors.push(RecordError::Table { path, log, source }),
                Err(source) => errors.push(failed(LOG, &log, at, source)),
            }
        }
        if let Some(Blocks { path, mut writer, written }) = self.blocks {
            match writer.flush() {
                Ok(()) => recorded.blocks = Some((path, written)),
                Err(source) => errors.push(failed(BLOCKS, &path, at, source)),
            }
        }
    }
}

impl Records {
    fn open(path: PathBuf, header: &Header) -> Result<Self, RecordError> {
        let (log, output) = create_log(LOG, &path)?;
        let header = Header { schema: SCHEMA, ..header.clone() };
        let begun = LogWriter::new(output, &header).and_then(|mut writer| writer.flush().map(|()| writer));
        match begun {
            Ok(writer) => Ok(Self { path, log, writer }),
            Err(source) => Err(failed(LOG, &log, Time::ZERO, source)),
        }
    }

    fn write(&mut self, chunk: &Chunk) -> io::Result<()> {
        for entry in chunk.entries() {
            if let Entry::LinkLayer(row) = entry {
                self.writer.row(row)?;
            }
        }
        self.writer.flush()
    }
}

impl Blocks {
    fn open(path: PathBuf, header: &Header) -> Result<Self, RecordError> {
        let output: Output = BufWriter::with_capacity(BUFFER, Box::new(create(BLOCKS, &path)?));
        match blocks::Writer::new(output, header.clone()) {
            Ok(writer) => Ok(Self { path, writer, written: 0 }),
            Err(source) => Err(failed(BLOCKS, &path, Time::ZERO, source)),
        }
    }

    fn write(&mut self, chunk: &Chunk) -> io::Result<()> {
        for entry in chunk.entries() {
            if let Entry::Block { link, end, way, at, erased, octets } = *entry {
                let octets = chunk.bytes(octets);
                self.writer.add(&Block { link, end, way, at, octets, erased })?;
                self.written += 1;
            }
        }
        self.writer.flush()
    }
}

fn failed(what: &'static str, path: &Path, at: Time, source: io::Error) -> RecordError {
    RecordError::Write { what, path: Some(path.to_owned()), at, source }
}
