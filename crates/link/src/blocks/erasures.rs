//! Block erasure traces: for each block of a channel with forward error correction, whether it
//! could be decoded.

use super::header::{Fields, Format, Header};
use crate::stage::spec::{Line, TraceError};
use crate::units::{ByteCount, Probability, Span};
use std::fmt;

/// A block erasure trace. Blocks follow each other without a gap, one each [`BlockTrace::period`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockTrace {
    /// What the file says of it.
    pub header: Header,
    /// Time that a block takes.
    pub period: Span,
    /// Octets that a block carries, those of the link layer's header and check sum included.
    pub payload: ByteCount,
    /// Whether each block was erased.
    pub erased: Vec<bool>,
}

/// Runs of erased blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bursts {
    /// How many there are.
    pub count: usize,
    /// Blocks of the longest.
    pub longest: usize,
}

const PERIOD: &str = "must be a time above 0, such as 20ms";
/// Most octets of a block: far above any code there is, and products with block counts stay exact.
const MOST_PAYLOAD: u64 = 1 << 20;
const PAYLOAD: &str = "must be above 0 and at most 1 MiB, such as 30B";

impl BlockTrace {
    /// A block of GSM-CSD takes 20 ms (LL-06).
    pub const GSM_PERIOD: Span = Span::from_millis(20);
    /// A block of GSM-CSD carries 30 octets (240 bits; ambiguity 3 of the specification).
    pub const GSM_PAYLOAD: ByteCount = ByteCount::new(30);
    /// Blocks in a line that is written: a line is a second of GSM-CSD.
    const LINE: usize = 50;

    /// Reads a trace: the digits 0 (right) and 1 (erased) with anything of white space and commas
    /// between them. What follows a `#` in or below them means nothing. `file` is the name in
    /// errors, `period` holds where the header has no `block-period`, and a block that does not say
    /// what it carries carries [`Self::GSM_PAYLOAD`].
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

    /// Whether the header of `text` says how long a block is.
    #[must_use]
    pub fn has_period(text: &str) -> bool {
        Fields::of("", text).take("block-period").is_some()
    }

    /// How many blocks were erased.
    #[must_use]
    pub fn erasures(&self) -> usize {
        self.erased.iter().filter(|&&erased| erased).count()
    }

    /// Share of blocks that were erased (BLER); 0 without blocks.
    #[must_use]
    pub fn block_erasure_rate(&self) -> Probability {
        Probability::new(self.erasures() as f64 / self.erased.len().max(1) as f64).unwrap_or_default()
    }

    /// How long the trace lasts.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.period * self.erased.len() as u64
    }

    /// Its runs of erased blocks (Ludwig, Fig. 3-1).
    #[must_use]
    pub fn bursts(&self) -> Bursts {
        let runs = self.erased.chunk_by(|one, next| one == next).filter(|run| run[0]);
        runs.fold(Bursts::default(), |Bursts { count, longest }, run| Bursts {
            count: count + 1,
            longest: longest.max(run.len()),
        })
    }

    /// First block and length of each run of erased blocks.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let mut next = 0;
        self.erased.chunk_by(|one, next| one == next).filter_map(move |run| {
            let first = next;
            next += run.len() as u64;
            run[0].then_some((first, run.len() as u64))
        })
    }
}

/// The digits 0 and 1 of `text`, which may have comments.
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
    /// The file.
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
