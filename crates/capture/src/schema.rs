//! What the three kinds of event logs have in common: a [`Schema`] says what rows a log and its
//! table have, and both are written and read by it.

use crate::column::Column;
use crate::event::{self, LinkInfo};
use crate::senders;
use crate::units::WallTime;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// A row of an event log: how a log of such rows and the table made of it lie in files.
pub trait Schema: Clone + Serialize + DeserializeOwned + 'static {
    /// What a log of such rows begins with.
    type Header: RunHeader;
    /// Which of the logs this is.
    const CONTENTS: Contents;
    /// Newest version of the schema, which this program writes. It reads all versions up to this.
    const VERSION: u16;
    /// The columns of the table, in their order.
    const COLUMNS: &'static [Column<Self>];
    /// Keys of what the table's metadata has beside the header: [`crate::table::NOTES`],
    /// [`crate::table::LOST`].
    const ASIDE: &'static [&'static str];
    /// Whether the table should rather be small than quickly written.
    const SMALL: bool = false;

    /// A row of which no column was read.
    fn blank() -> Self;

    /// Puts the rows of a group into the order in which they pack best.
    fn pack(_rows: &mut [Self]) {}

    /// Puts the rows of a group into the order in which a reader gives them.
    fn unpack(_rows: &mut [Self]) {}
}

/// The header of a log and of its table.
pub trait RunHeader: Clone + Serialize + DeserializeOwned {
    /// The run.
    fn run(&self) -> Run<'_>;

    /// From here on `link` describes the link with its number. Only some headers have links.
    fn describe(&mut self, _link: LinkInfo) {}
}

/// The run, as every header has it.
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

/// What an event log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// The fates of packets.
    Fates,
    /// The states of TCP senders.
    Senders,
    /// What the ends of link layers noted.
    LinkLayer,
}

impl Contents {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Fates, Self::Senders, Self::LinkLayer];

    /// The kinds of a log's records: the header's and the rows'.
    pub(crate) const fn kinds(self) -> [u8; 2] {
        match self {
            Self::Fates => [1, 2],
            Self::Senders => [5, 6],
            Self::LinkLayer => [8, 9],
        }
    }

    /// Key of the header in the table's metadata.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Fates => "lasthop.header",
            Self::Senders => "lasthop.senders",
            Self::LinkLayer => "lasthop.link-layer",
        }
    }

    /// Name of the table's schema in Parquet.
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
