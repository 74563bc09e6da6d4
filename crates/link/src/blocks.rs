//! Trace files of a channel with forward error correction: bit errors, blocks that could not be
//! decoded, and the reaction of the link layer.
//!
//! All three formats are lines of text that begin with a header (Ludwig 3.1.1, rows LL-01, LL-09,
//! LL-36):
//!
//! ```text
//! # format: block-erasures
//! # version: 1
//! # block-period: 20ms
//! # block-payload: 30B
//! # category: stationary
//! # signal-strength: 1-2
//! # start: 2001-03-04 10:15
//! # origin: measured
//! 00000000000000000000000000000000001100000000000000
//! ```
//!
//! | format | type | a line below the header |
//! |---|---|---|
//! | `block-erasures` | [`BlockTrace`] | blocks: `0` right, `1` erased |
//! | `bit-errors` | [`BitTrace`] | run lengths in bits: right, wrong, right, ... |
//! | `rlp` | [`RlpTrace`] | a record: `time_us dir event ns nr aux` |
//!
//! A header line is `# key: value` above the first line with data. Keys that no format defines are
//! kept as notes. Any other text behind a `#` is a comment. Every line of the header is optional,
//! so a bare row of digits is also a block erasure trace. The old formats of [`crate::fit`] and
//! [`crate::stage::errors`] have no header.

mod bits;
mod erasures;
mod header;
mod rlp;

pub use bits::BitTrace;
pub(crate) use erasures::digits;
pub use erasures::{BlockTrace, Bursts};
pub use header::{Format, Header, Origin, SignalStrength};
pub use rlp::{RlpRecord, RlpTrace};

#[cfg(test)]
mod tests;
