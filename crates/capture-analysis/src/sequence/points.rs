//! The points of a time-sequence graph. Times in nanoseconds since the first packet of the
//! connection.

use super::thin::Point;
use crate::retransmission::Cause;
use serde::Serialize;

/// A segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SegmentPoint {
    /// When it was captured.
    pub time_ns: u64,
    /// Its first number.
    pub first: u64,
    /// The number after its last one.
    pub last: u64,
    /// Its kind.
    pub kind: PointKind,
    /// Why it was retransmitted, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Whether it has the PSH flag.
    pub push: bool,
}

/// PointKind of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointKind {
    /// Sent for the first time.
    New,
    /// Retransmitted, all or a part.
    Retransmission,
    /// Fills a hole.
    OutOfOrder,
    /// Sent into a window of zero.
    Probe,
}

/// An acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AckPoint {
    /// When it was captured.
    pub time_ns: u64,
    /// The next number expected.
    pub ack: u64,
    /// The number just after the window.
    pub edge: u64,
    /// Duplicate acknowledgments in a row including this one: 0 if it is not a duplicate, 3 for the
    /// one that triggers a fast retransmit.
    pub duplicates: u32,
}

/// A SACK block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SackPoint {
    /// When it was captured.
    pub time_ns: u64,
    /// Its left edge.
    pub first: u64,
    /// Its right edge: the number after the block.
    pub last: u64,
    /// Whether it reports data that arrived twice (RFC 2883).
    pub duplicate: bool,
}

/// An event to mark at a sequence number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MarkPoint {
    /// When it happened.
    pub time_ns: u64,
    /// Its sequence number.
    pub sequence: u64,
    /// What it is.
    pub mark: Mark,
}

/// PointKind of a marked event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mark {
    /// SYN sent.
    Syn,
    /// FIN sent.
    Fin,
    /// Reset sent.
    ResetOut,
    /// Reset came from the other end.
    ResetIn,
    /// The other end closed its window.
    ZeroWindow,
    /// The segment was marked Congestion Experienced on its way (RFC 3168).
    Ce,
    /// The sender reduced its congestion window (RFC 3168).
    Cwr,
    /// The other end echoed a congestion mark (RFC 3168).
    Ece,
    /// Urgent data.
    Urgent,
}

/// A packet that the link lost or damaged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LossPoint {
    /// When the packet left the link.
    pub time_ns: u64,
    /// Its first number.
    pub first: u64,
    /// The number after its last byte; equal to `first` if it carried no data.
    pub last: u64,
    /// Description of the loss or damage.
    pub reason: String,
    /// Name of the link.
    pub link: String,
    /// Name of the link's stage that caused it.
    pub stage: Option<String>,
}

impl Point for SegmentPoint {
    fn time(&self) -> u64 {
        self.time_ns
    }

    fn value(&self) -> u64 {
        self.last
    }

    fn matters(&self) -> bool {
        self.kind != PointKind::New
    }
}

impl Point for AckPoint {
    fn time(&self) -> u64 {
        self.time_ns
    }

    fn value(&self) -> u64 {
        self.edge
    }

    fn matters(&self) -> bool {
        self.duplicates == 3 || self.ack == self.edge
    }
}

impl Point for SackPoint {
    fn time(&self) -> u64 {
        self.time_ns
    }

    fn value(&self) -> u64 {
        self.last
    }

    fn matters(&self) -> bool {
        self.duplicate
    }
}

impl Point for MarkPoint {
    fn time(&self) -> u64 {
        self.time_ns
    }

    fn value(&self) -> u64 {
        self.sequence
    }

    fn matters(&self) -> bool {
        matches!(self.mark, Mark::Syn | Mark::Fin | Mark::ResetIn | Mark::ResetOut)
    }
}

impl Point for LossPoint {
    fn time(&self) -> u64 {
        self.time_ns
    }

    fn value(&self) -> u64 {
        self.last
    }

    fn matters(&self) -> bool {
        self.last > self.first
    }
}
