//! Erasure traces: the losses in a sequence of blocks or packets.

use crate::blocks::{BlockTrace, digits};
use crate::stage::errors::{fields, nanos};
use crate::stage::spec::{Line, TraceError};
use crate::units::{Span, Time};

/// The losses in a sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErasureTrace {
    /// Blocks that follow each other without gaps, such as the slots of a constant flow of packets,
    /// or the frames of a link layer.
    Blocks {
        /// Whether each block was lost.
        lost: Vec<bool>,
        /// Duration of a block.
        block: Span,
    },
    /// Packets in order: the instant at which each was judged, and whether it was lost.
    Packets(Vec<(Time, bool)>),
}

impl ErasureTrace {
    /// Reads blocks: the digits 0 (arrived) and 1 (lost), with any white space and commas between
    /// them.
    ///
    /// Text behind a `#` is a comment, including a header ([`crate::blocks`]). `file` is the name
    /// in errors.
    pub fn parse_blocks(file: &str, text: &str, block: Span) -> Result<Self, TraceError> {
        let lost = digits(file, text)?;
        Ok(Self::Blocks { lost, block })
    }

    /// Reads packets: a time and 0 (arrived) or 1 (lost) in each line, separated by a comma, a
    /// semicolon or white space.
    ///
    /// A bare time is in milliseconds. Empty lines and text behind a `#` are ignored. `file` is the
    /// name in errors.
    pub fn parse_packets(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut packets: Vec<(Time, bool)> = Vec::new();
        for line in Line::of(file, text) {
            let content = content(line);
            if content.is_empty() {
                continue;
            }
            let fields = fields(content);
            let &[time, lost] = &fields[..] else {
                return Err(line.wrong("time,lost", content, "must have two fields: a time, and 0 or 1"));
            };
            let at = nanos(time).ok_or_else(|| {
                line.wrong("time", time, "must be a time such as 120.5 (milliseconds), 120ms or 1.5s")
            })?;
            let at = Time::from_nanos(at);
            if packets.last().is_some_and(|before| at < before.0) {
                return Err(line.wrong("time", time, "must not be earlier than the one above"));
            }
            let lost = match lost {
                "0" => false,
                "1" => true,
                other => return Err(line.wrong("lost", other, "must be 0 (arrived) or 1 (lost)")),
            };
            packets.push((at, lost));
        }
        Ok(Self::Packets(packets))
    }
}

impl From<BlockTrace> for ErasureTrace {
    fn from(trace: BlockTrace) -> Self {
        Self::Blocks { lost: trace.erased, block: trace.period }
    }
}

fn content(line: Line<'_>) -> &str {
    line.text.split('#').next().unwrap_or("").trim()
}
