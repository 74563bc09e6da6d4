//! Long silences of a connection, with their position and with the packet that ended each (TL-25),
//! so that an outlier can be explained.

use crate::connection::{Data, Seen};
use crate::retransmission::Cause;
use serde::Serialize;

/// Maximum number of silences of one connection that are recorded; the others are only counted.
const KEPT: usize = 64;

/// One silence of both ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// Time of the last packet before it, in nanoseconds since 1970.
    pub from_ns: u64,
    /// Its length in nanoseconds.
    pub length_ns: u64,
    /// Index of the half that sent the packet that ended it: 0 or 1.
    pub ended_by: usize,
    /// Kind of that packet.
    pub ended_with: &'static str,
    /// First sequence number of that packet, relative.
    pub sequence: u64,
    /// Whether data of each end was outstanding meanwhile; if not, that end's application had
    /// nothing to send.
    pub outstanding: [bool; 2],
}

/// The silences of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Gaps {
    /// Number of silences.
    pub count: u64,
    /// Length of the longest, in nanoseconds.
    pub longest_ns: u64,
    /// The first 64 silences.
    pub gaps: Vec<Gap>,
}

impl Gaps {
    /// Adds a silence that began at `from` and that `seen` ended; see `Gap::outstanding`.
    #[cold]
    pub(crate) fn add(&mut self, from: u64, length: u64, seen: &Seen, outstanding: [bool; 2]) {
        self.count += 1;
        self.longest_ns = self.longest_ns.max(length);
        if self.gaps.len() == KEPT {
            return;
        }
        self.gaps.push(Gap {
            from_ns: from,
            length_ns: length,
            ended_by: seen.half,
            ended_with: match seen.data {
                Data::New => "new data",
                Data::OutOfOrder => "data that fills a hole",
                Data::Again(cause) => match cause {
                    Cause::Fast => "fast retransmission",
                    Cause::Rack => "retransmission by RACK",
                    Cause::Timeout => "retransmission by timeout",
                    Cause::TailProbe => "tail probe",
                    Cause::KeepAlive => "keep-alive",
                    Cause::Unknown => "retransmission",
                },
                Data::Probe => "window probe",
                Data::None => "acknowledgment",
            },
            sequence: seen.first,
            outstanding,
        });
    }
}
