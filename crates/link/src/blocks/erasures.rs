//! Block erasure traces: for each block of a channel with forward error correction, whether it was
//! decoded.

use super::header::{Fields, Format, Header};
use crate::stage::spec::{Line, TraceError};
use crate::units::{ByteCount, Probability, Span};
use borsh::{BorshDeserialize, BorshSerialize};
use std::fmt;

/// A block erasure trace. Blocks follow each other without gaps, one per [`BlockTrace::period`].
#[derive(Debug, Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct BlockTrace {
    /// The header of the file.
    pub header: Header,
    /// Duration of a block.
    pub period: Span,
    /// Octets in a block, including the link layer's header and checksum.
    pub payload: ByteCount,
    /// Whether each block was erased.
    pub erased: Vec<bool>,
}

/// Statistics of the runs of erased blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bursts {
    /// Number of runs.
    pub count: usize,
    /// Length of the longest run in blocks.
    pub longest: usize,
}

const PERIOD: &str = "must be a time above 0, such as 20ms";
/// Maximum octets in a block: far above any existing code, and small enough for exact products with
/// block counts.
const MOST_PAYLOAD: u64 = 1 << 20;
const PAYLOAD: &str = "must be above 0 and at most 1 MiB, such as 30B";

impl BlockTrace {
    /// Duration of a GSM-CSD block: 20 ms (LL-06).
    pub const GSM_PERIOD: Span = Span::from_millis(20);
    /// Payload of a GSM-CSD block: 30 octets (240 bits; ambiguity 3 of the specification).
    pub const GSM_PAYLOAD: ByteCount = ByteCount::new(30);
    /// Blocks in a written line: one second of GSM-CSD.
    const LINE: usize = 50;

    /// Reads a trace: the digits 0 (right) and 1 (erased), with any white space and commas between
    /// them.
    ///
    /// Text behind a `#` among the digits is a comment. `file` is the name in errors. `period`
    /// applies if the header has no `block-period`. Without a `block-payload`, the payload is
    /// [`Self::GSM_PAYLOAD`].
    ///
    /// # Errors
    /// If the header or a digit is invalid, if the period is unknown, or if `period` contradicts
    /// the header.
    pub fn parse(file: &str, text: &str, period: Option<Span>) -> Result<Self, TraceError> {
        let mut fields = Fields::of(file, text);
        let place = fields.take("block-period");
        let said = match place {
            Some((line, key, text)) => {
                let span: Option<Span> = text.parse().ok();
                let span = span.filter(|span| *span > Span::ZERO && !span.is_forever());
                let span = span.ok_or_else(|| line.wrong("block-period", text, PERIOD))?;
                if let Some((again, _, text)) = fields.take(key) {
                    return Err(again.wrong(
                        "block-period",
                        text,
                        "is already in the header: remove one of the two",
                    ));
                }
                if period.is_some_and(|asked| asked != span) {
                    return Err(line.wrong(
                        "block-period",
                        text,
                        "differs from the requested block length: remove one of the two",
                    ));
                }
                Some(span)
            }
            None => None,
        };
        let payload = fields.value("block-payload", PAYLOAD, |text| {
            text.parse().ok().filter(|payload: &ByteCount| (1..=MOST_PAYLOAD).contains(&payload.get()))
        })?;
        let header = fields.header(Format::BlockErasures)?;
        let Some(period) = said.or(period) else {
            return Err(Line { file, number: 1, text }.wrong(
                "block-period",
                "",
                "is missing: add a line `# block-period: 20ms` above the blocks",
            ));
        };
        let erased = digits(file, text)?;
        Ok(Self { header, period, payload: payload.unwrap_or(Self::GSM_PAYLOAD), erased })
    }

    /// Returns whether the header of `text` states the duration of a block.
    #[must_use]
    pub fn has_period(text: &str) -> bool {
        Fields::of("", text).take("block-period").is_some()
    }

    /// Returns the number of erased blocks.
    #[must_use]
    pub fn erasures(&self) -> usize {
        self.erased.iter().filter(|&&erased| erased).count()
    }

    /// Returns the share of erased blocks (BLER); 0 without blocks.
    #[must_use]
    pub fn block_erasure_rate(&self) -> Probability {
        Probability::new(self.erasures() as f64 / self.erased.len().max(1) as f64).unwrap_or_default()
    }

    /// Returns the duration of the trace.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.period * self.erased.len() as u64
    }

    /// Returns statistics of the runs of erased blocks (Ludwig, Fig. 3-1).
    #[must_use]
    pub fn bursts(&self) -> Bursts {
        let runs = self.erased.chunk_by(|one, next| one == next).filter(|run| run[0]);
        runs.fold(Bursts::default(), |Bursts { count, longest }, run| Bursts {
            count: count + 1,
            longest: longest.max(run.len()),
        })
    }

    /// Returns the first block and the length of each run of erased blocks.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut next = 0;
        self.erased.chunk_by(|one, next| one == next).filter_map(move |run| {
            let first = next;
            next += run.len() as u64;
            run[0].then_some((first, run.len() as u64))
        })
    }
}

/// Returns the digits 0 and 1 of `text`, which may contain comments.
pub(crate) fn digits(file: &str, text: &str) -> Result<Vec<bool>, TraceError> {
    let mut blocks = Vec::new();
    for line in Line::of(file, text) {
        let content = line.text.split('#').next().unwrap_or("");
        for digit in content.chars() {
            match digit {
                '0' | '1' => blocks.push(digit == '1'),
                ',' => {}
                space if space.is_whitespace() => {}
                other => {
                    return Err(line.wrong(
                        "block",
                        other.encode_utf8(&mut [0; 4]),
                        "must be 0 (arrived) or 1 (lost)",
                    ));
                }
            }
        }
    }
    Ok(blocks)
}

impl fmt::Display for BlockTrace {
    /// Writes the file format.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = [("block-period", self.period.to_string()), ("block-payload", self.payload.to_string())];
        self.header.write(f, Format::BlockErasures, &own)?;
        let mut text = String::with_capacity(Self::LINE);
        for line in self.erased.chunks(Self::LINE) {
            text.clear();
            text.extend(line.iter().map(|&erased| if erased { '1' } else { '0' }));
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}
