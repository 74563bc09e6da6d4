//! Bit error traces: for each transmitted bit, whether it arrived right.
//!
//! Bits are written as run lengths, because nearly all of them are right: the number of right bits,
//! then of wrong bits, then of right bits, and so on, separated by white space or commas. The first
//! number may be 0, for a trace that begins with a wrong bit; all others are above 0.
//!
//! ```text
//! # format: bit-errors
//! # version: 1
//! # origin: measured
//! 118340 1 22 3 40961
//! ```

use super::header::{Fields, Format, Header};
use crate::stage::spec::{Line, TraceError};
use crate::units::BitErrorRatio;
use std::fmt;

/// A bit error trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BitTrace {
    /// The header of the file.
    pub header: Header,
    /// Lengths of runs, of right and wrong bits alternately.
    runs: Vec<u64>,
    bits: u64,
}

impl BitTrace {
    /// Maximum number of blocks from [`Self::blocks`]: 248 days of GSM-CSD.
    pub const MOST_BLOCKS: u64 = 1 << 30;
    /// Runs in a written line.
    const LINE: usize = 16;

    /// Creates a trace of bits, each given as whether it was wrong.
    #[must_use]
    pub fn new(header: Header, wrong: impl IntoIterator<Item = bool>) -> Self {
        let mut trace = Self { header, runs: vec![0], bits: 0 };
        for wrong in wrong {
            // Runs at even places are of right bits.
            if wrong == trace.runs.len().is_multiple_of(2) {
                if let Some(last) = trace.runs.last_mut() {
                    *last += 1;
                }
            } else {
                trace.runs.push(1);
            }
            trace.bits += 1;
        }
        trace
    }

    /// Reads a trace; `file` is its name in errors.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let header = Fields::of(file, text).header(Format::BitErrors)?;
        let mut trace = Self { header, runs: Vec::new(), bits: 0 };
        for line in Line::of(file, text) {
            let content = line.text.split('#').next().unwrap_or("");
            for field in content.split([' ', '\t', ',']).filter(|field| !field.trim().is_empty()) {
                let first = trace.runs.is_empty();
                let run = field.trim().parse::<u64>().ok().filter(|&run| run > 0 || first);
                let run = run.ok_or_else(|| {
                    line.wrong(
                        "run",
                        field,
                        "must be a number of bits above 0 (the first one, of correct bits, may be 0)",
                    )
                })?;
                trace.bits = trace.bits.checked_add(run).ok_or_else(|| {
                    line.wrong("run", field, "is too long: the trace would have more than 2^64 bits")
                })?;
                trace.runs.push(run);
            }
        }
        if trace.runs.is_empty() {
            trace.runs.push(0);
        }
        Ok(trace)
    }

    /// Returns the number of bits.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.bits
    }

    /// Returns the number of wrong bits.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.runs.iter().skip(1).step_by(2).sum()
    }

    /// Returns the share of wrong bits (BER); 0 without bits.
    #[must_use]
    pub fn bit_error_ratio(&self) -> BitErrorRatio {
        BitErrorRatio::new(self.errors() as f64 / self.bits.max(1) as f64).unwrap_or_default()
    }

    /// Returns for each whole block of `bits` bits whether it is erased under a code that repairs
    /// up to `correctable` wrong bits in a block.
    ///
    /// Bits behind the last whole block are left out. Returns `None` if `bits` is 0, or if there
    /// would be more than [`Self::MOST_BLOCKS`] blocks.
    #[must_use]
    pub fn blocks(&self, bits: u64, correctable: u64) -> Option<Vec<bool>> {
        let count = self.bits.checked_div(bits)?;
        if count > Self::MOST_BLOCKS {
            return None;
        }
        let mut erased = Vec::with_capacity(count as usize);
        // Bits of the current block, and wrong bits among them.
        let (mut filled, mut wrong) = (0, 0);
        for (place, &run) in self.runs.iter().enumerate() {
            let is_wrong = place % 2 == 1;
            let mut left = run;
            while left > 0 {
                let part = left.min(bits - filled);
                filled += part;
                wrong += if is_wrong { part } else { 0 };
                left -= part;
                if filled == bits {
                    erased.push(wrong > correctable);
                    (filled, wrong) = (0, 0);
                }
            }
        }
        Some(erased)
    }
}

impl fmt::Display for BitTrace {
    /// Writes the file format.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header.write(f, Format::BitErrors, &[])?;
        for line in self.runs.chunks(Self::LINE) {
            let line: Vec<String> = line.iter().map(u64::to_string).collect();
            writeln!(f, "{}", line.join(" "))?;
        }
        Ok(())
    }
}
