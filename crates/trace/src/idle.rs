//! Long silences of a connection, with what ended them (TL-25): an outlier keeps its place in the
//! data, and gets a cause.

use crate::connection::{Data, Seen};
use crate::retransmission::Cause;
use serde::Serialize;

/// Silences of one connection that are kept with their position; the rest are counted.
const KEPT: usize = 64;

/// Silence of both ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gap {
    /// When the last packet before it came, in nanoseconds since 1970.
    pub from_ns: u64,
    /// How long it lasted, in nanoseconds.
    pub length_ns: u64,
    /// Who sent the packet that ended it: 0 or 1.
    pub ended_by: usize,
    /// What that packet was.
    pub ended_with: &'static str,
    /// Its first sequence number, relative.
    pub sequence: u64,
    /// Whether data of each end was on its way meanwhile: without it, the application had nothing
    /// to say.
    pub outstanding: [bool; 2],
}

/// The silences of one connection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Gaps {
    /// How many there were.
    pub count: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// The first 64 of them.
    pub gaps: Vec<Gap>,
}

impl Gaps {
    /// Adds one that began at `from` and that `seen` ended; whose data was on its way meanwhile.
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
