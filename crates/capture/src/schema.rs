//! Common parts of the three kinds of event logs. A [`Schema`] describes the rows of a log and of
//! its table, and how both are written and read.

use crate::column::Column;
use crate::event::{self, LinkInfo};
use crate::senders;
use crate::units::WallTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// A row of an event log, with the layout of the log and of the table made from it.
pub trait Schema: Clone + Serialize + DeserializeOwned + 'static {
    /// Header of a log of such rows.
    type Header: RunHeader;
    /// Kind of the log.
    const CONTENTS: Contents;
    /// Newest version of the schema. This program writes it and reads all versions up to it.
    const VERSION: u16;
    /// Columns of the table, in order.
    const COLUMNS: &'static [Column<Self>];
    /// Keys of the table's metadata beside the header: [`crate::table::NOTES`],
    /// [`crate::table::LOST`].
    const ASIDE: &'static [&'static str];
    /// Whether to prefer a small table to fast writing.
    const SMALL: bool = false;

    /// Returns a row before any column was read.
    fn blank() -> Self;

    /// Sorts the rows of a group so that they compress best.
    fn pack(_rows: &mut [Self]) {}

    /// Sorts the rows of a group for readers.
    fn unpack(_rows: &mut [Self]) {}
}

/// Header of a log and of its table.
pub trait RunHeader: Clone + Serialize + DeserializeOwned {
    /// Returns the run.
    fn run(&self) -> Run<'_>;

    /// Replaces the description of the link with the same number, or adds the link. Does nothing
    /// for headers without links.
    fn describe(&mut self, _link: LinkInfo) {}
}

/// Information about a run that every header has.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Version of the schema.
    pub schema: u16,
    /// Version of the program.
    pub lasthop: &'a str,
    /// Seed of the run.
    pub seed: u64,
    /// When the run began.
    pub started: WallTime,
}

/// Subject of an event log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// Fates of packets.
    Fates,
    /// States of TCP senders.
    Senders,
    /// Records of link layers.
    LinkLayer,
}

impl Contents {
    /// All kinds of logs.
    pub(crate) const ALL: [Self; 3] = [Self::Fates, Self::Senders, Self::LinkLayer];

    /// Returns the kinds of a log's records: of the header and of the rows.
    pub(crate) const fn kinds(self) -> [u8; 2] {
        match self {
            Self::Fates => [1, 2],
            Self::Senders => [5, 6],
            Self::LinkLayer => [8, 9],
        }
    }

    /// Returns the key of the header in the table's metadata.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Fates => "lasthop.header",
            Self::Senders => "lasthop.senders",
            Self::LinkLayer => "lasthop.link-layer",
        }
    }

    /// Returns the name of the table's Parquet schema.
    pub(crate) const fn table(self) -> &'static str {
        match self {
            Self::Fates => "fates",
            Self::Senders => "senders",
            Self::LinkLayer => "link_layer",
        }
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Fates => "packet event log",
            Self::Senders => "log of TCP sender states",
            Self::LinkLayer => "link-layer log",
        })
    }
}

impl RunHeader for event::Header {
    fn run(&self) -> Run<'_> {
        Run { schema: self.schema, lasthop: &self.lasthop, seed: self.seed, started: self.started }
    }

    fn describe(&mut self, link: LinkInfo) {
        Self::describe(self, link);
    }
}

impl RunHeader for senders::Header {
    fn run(&self) -> Run<'_> {
        Run { schema: self.schema, lasthop: &self.lasthop, seed: self.seed, started: self.started }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A log of one kind is never taken for another.
    #[test]
    fn contents_are_told_apart() {
        let kinds: BTreeSet<u8> = Contents::ALL.into_iter().flat_map(Contents::kinds).collect();
        assert_eq!(kinds, [1, 2, 5, 6, 8, 9].into(), "3, 4 and 7 are those of every log");
        assert_eq!(
            Contents::ALL.map(Contents::key),
            ["lasthop.header", "lasthop.senders", "lasthop.link-layer"]
        );
        let names: BTreeSet<_> = Contents::ALL.into_iter().map(Contents::table).collect();
        assert_eq!(names.len(), Contents::ALL.len());
    }
}
