//! The log's writer.

use super::framing::Frames;
use super::kind;
use super::row::Row;
use crate::event::{Ended, Fate, Flow, Header, LinkInfo, Note};
use std::io::{self, Write};

/// Appends records to `W`, which should be buffered. A record is in the file once [`Writer::flush`]
/// has returned.
pub struct Writer<W> {
    frames: Frames<W>,
}

impl<W: Write> Writer<W> {
    /// Begins a log with its header.
    pub fn new(output: W, header: &Header) -> io::Result<Self> {
        let mut frames = Frames::begin(output)?;
        frames.json(kind::HEADER, header)?;
        Ok(Self { frames })
    }

    /// Appends the end of a packet's way without an intermediate [`Fate`].
    pub fn ended(&mut self, ended: &Ended, stage: Option<&str>, flow: Option<Flow>) -> io::Result<()> {
        self.frames.postcard(kind::FATE, &Row::of(ended, stage, flow))
    }

    /// Appends a fate.
    pub fn fate(&mut self, fate: &Fate) -> io::Result<()> {
        self.frames.postcard(kind::FATE, &Row::of_fate(fate))
    }

    /// Appends a note.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        self.frames.json(kind::NOTE, note)
    }

    /// From here on `link` describes the link with its number.
    pub fn link(&mut self, link: &LinkInfo) -> io::Result<()> {
        self.frames.json(kind::LINK, link)
    }

    /// Hands everything to the system.
    pub fn flush(&mut self) -> io::Result<()> {
        self.frames.flush()
    }

    /// What is written to.
    pub fn get_ref(&self) -> &W {
        self.frames.get_ref()
    }
}
