//! The log's writer.

use super::row::Row;
use super::{FRAME, LONGEST, MAGIC, kind};
use crate::event::{Ended, Fate, Flow, Header, LinkInfo, Note};
use serde::Serialize;
use std::io::{self, Write};

/// Appends records to `W`, which should be buffered. A record is in the file once [`Writer::flush`] has returned.
pub struct Writer<W> {
    output: W,
    /// The record being made; kept for its memory.
    record: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a log with its header.
    pub fn new(mut output: W, header: &Header) -> io::Result<Self> {
        output.write_all(MAGIC)?;
        let mut writer = Self { output, record: Vec::new() };
        writer.json(kind::HEADER, header)?;
        Ok(writer)
    }

    /// Appends the end of a packet's way without an intermediate [`Fate`].
    pub fn ended(&mut self, ended: &Ended, stage: Option<&str>, flow: Option<Flow>) -> io::Result<()> {
        self.row(&Row::of(ended, stage, flow))
    }

    /// Appends a fate.
    pub fn fate(&mut self, fate: &Fate) -> io::Result<()> {
        self.row(&Row::of_fate(fate))
    }

    /// Appends a note.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        self.json(kind::NOTE, note)
    }

    /// From here on `link` describes the link with its number.
    pub fn link(&mut self, link: &LinkInfo) -> io::Result<()> {
        self.json(kind::LINK, link)
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        &self.output
    }

    fn row(&mut self, row: &Row<'_>) -> io::Result<()> {
        let begun = self.begin(kind::FATE);
        self.record = postcard::to_extend(row, begun).map_err(io::Error::other)?;
        self.end()
    }

    fn json(&mut self, kind: u8, body: &impl Serialize) -> io::Result<()> {
        let mut record = self.begin(kind);
        serde_json::to_writer(&mut record, body)?;
        self.record = record;
        self.end()
    }

    fn begin(&mut self, kind: u8) -> Vec<u8> {
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
