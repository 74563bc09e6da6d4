//! Time-sequence plots: what of which runs is drawn, and how it is packed.
//!
//! A capture has hundreds of thousands of packets and the page is one file, so that of each cell the first good run with a
//! capture is drawn, and all plots share a budget of points. Columns hold differences where those are small: a segment is
//! some ten characters.

use results::Directory;
use serde::Serialize;

/// The time-sequence plots of a page.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequences {
    plots: Vec<Sequence>,
    /// What was left out and what could not be read, in sentences.
    notes: Vec<String>,
}

/// One connection. Times are in microseconds since its first packet, each as the difference from the one before; sequence
/// numbers are in bytes from the start of the stream.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Sequence {
    /// Place of the run.
    run: usize,
    /// Both ends, for people.
    connection: String,
    /// What was left out of it, in a sentence; empty if nothing was.
    thinned: String,
    segments: Segments,
    acks: Acks,
    sacks: Sacks,
    losses: Losses,
}

/// Segments with data.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Segments {
    time: Vec<u64>,
    /// First byte, as the difference from the end of the segment before.
    first: Vec<i64>,
    length: Vec<u64>,
    /// A letter each: [`Kind::letter`].
    kind: String,
}

/// Acknowledgements that came back to the sender.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Acks {
    time: Vec<u64>,
    /// The number acknowledged, as the difference from the one before.
    ack: Vec<i64>,
    /// End of the receive window, as the difference from the number.
    window: Vec<u64>,
}

/// Blocks of selective acknowledgements.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Sacks {
    time: Vec<u64>,
    first: Vec<u64>,
    length: Vec<u64>,
}

/// Segments that a link lost, by its event log.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Losses {
    time: Vec<u64>,
    first: Vec<u64>,
    length: Vec<u64>,
    /// Place in `reasons`.
    reason: Vec<usize>,
    reasons: Vec<String>,
}

/// The plots of a campaign.
pub(crate) fn all(_directory: &Directory, _points: usize) -> Sequences {
    Sequences::default()
}
