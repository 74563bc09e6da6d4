//! The log's writer.

use super::framing::Frames;
use super::{Lost, Record, kind};
use crate::event::{LinkInfo, Note};
use crate::schema::Schema;
use std::io::{self, Write};
use std::marker::PhantomData;

/// Appends records to `W`, which should be buffered. [`Writer::flush`] writes them to the file.
pub struct Writer<S, W> {
    frames: Frames<W>,
    rows: PhantomData<fn(S)>,
}

impl<S: Schema, W: Write> Writer<S, W> {
    /// Begins a log with its header.
    pub fn new(output: W, header: &S::Header) -> io::Result<Self> {
        let mut frames = Frames::begin(output)?;
        let [kind, _] = S::CONTENTS.kinds();
        frames.json(kind, header)?;
        Ok(Self { frames, rows: PhantomData })
    }

    /// Appends a record.
    pub fn add(&mut self, record: &Record<S>) -> io::Result<()> {
        match record {
            Record::Row(row) => self.row(row),
            Record::Note(note) => self.note(note),
            Record::Link(link) => self.link(link),
            Record::Lost(states) => self.frames.json(kind::LOST, &Lost { states: *states }),
        }
    }

    /// Appends a row.
    pub fn row(&mut self, row: &S) -> io::Result<()> {
        let [_, kind] = S::CONTENTS.kinds();
        self.frames.postcard(kind, row)
    }

    /// Appends a note.
    pub fn note(&mut self, note: &Note) -> io::Result<()> {
        self.frames.json(kind::NOTE, note)
    }

    /// Appends a new description of the link with this number.
    pub fn link(&mut self, link: &LinkInfo) -> io::Result<()> {
        self.frames.json(kind::LINK, link)
    }

    /// Flushes the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.frames.flush()
    }

    /// Returns the output.
    pub fn get_ref(&self) -> &W {
        self.frames.get_ref()
    }
}
