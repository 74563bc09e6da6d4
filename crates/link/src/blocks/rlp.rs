//! RLP traces: the frames that an entity of the radio link protocol sent and received (Ludwig's
//! rlpdump, 3.1.1 and 3.2.4; LL-07, LL-36).
//!
//! A record is a line of six fields, `time_us dir event ns nr aux`, separated by white space. A
//! field without a value is `-`:
//!
//! ```text
//! # format: rlp
//! # version: 1
//! # block-period: 20ms
//! 0 S DATA 0 0 24
//! 20000 R OK - 0 30
//! 40000 R ERAS - 0 30
//! 60000 S SREJ 0 0 -
//! ```

use super::erasures::BlockTrace;
use super::header::{Fields, Format, Header};
use crate::stage::spec::{Line, TraceError};
use crate::units::Span;
use std::fmt;
use vocabulary::link_layer::{Event, Way};

/// An RLP trace, with its records in the order of their times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RlpTrace {
    /// The header of the file.
    pub header: Header,
    /// Duration of a block.
    pub period: Span,
    /// The records.
    pub records: Vec<RlpRecord>,
}

/// An event of an RLP entity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RlpRecord {
    /// Time in microseconds since the start of the trace.
    pub time_us: u64,
    /// Direction of the frame.
    pub way: Way,
    /// Kind of event.
    pub event: Event,
    /// N(S), 0 to 61: the number of the frame that is sent or requested again.
    pub ns: Option<u8>,
    /// N(R), 0 to 61: the number of the next expected frame.
    pub nr: Option<u8>,
    /// Additional number. For `DATA` it is the octets of packets in the frame, for `XMIT` the
    /// number of earlier transmissions, for `OK` and `ERAS` the octets of the block.
    pub aux: Option<u64>,
}

/// Modulus of frame numbers: 62 marks a supervisory frame and 63 an unnumbered one (ambiguity 2 of
/// the specification).
const MODULUS: u8 = 62;

impl RlpTrace {
    /// Reads a trace; `file` is its name in errors. Without a `block-period` in the header, the
    /// period is that of GSM-CSD.
    pub fn parse(file: &str, text: &str) -> Result<Self, TraceError> {
        let mut fields = Fields::of(file, text);
        let period = fields.value("block-period", "must be a time above 0, such as 20ms", |text| {
            text.parse().ok().filter(|span: &Span| *span > Span::ZERO && !span.is_forever())
        })?;
        let header = fields.header(Format::Rlp)?;
        let mut records: Vec<RlpRecord> = Vec::new();
        for line in Line::of(file, text) {
            let content = line.text.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let record = RlpRecord::read(line, content)?;
            if records.last().is_some_and(|before| record.time_us < before.time_us) {
                return Err(line.wrong(
                    "time_us",
                    &record.time_us.to_string(),
                    "must not be earlier than the one above",
                ));
            }
            records.push(record);
        }
        Ok(Self { header, period: period.unwrap_or(BlockTrace::GSM_PERIOD), records })
    }

    /// Returns the block erasure trace of the received blocks: a block for each `ERAS` and `OK`, in
    /// order. The header is copied.
    #[must_use]
    pub fn blocks(&self) -> BlockTrace {
        let received = self.records.iter().filter(|record| record.way == Way::Received);
        let erased = received.filter_map(|record| match record.event {
            Event::Erased => Some(true),
            Event::Right => Some(false),
            _ => None,
        });
        BlockTrace {
            header: self.header.clone(),
            period: self.period,
            payload: BlockTrace::GSM_PAYLOAD,
            erased: erased.collect(),
        }
    }
}

impl RlpRecord {
    fn read(line: Line<'_>, content: &str) -> Result<Self, TraceError> {
        let fields: Vec<&str> = content.split_whitespace().collect();
        let &[time, way, event, ns, nr, aux] = &fields[..] else {
            return Err(line.wrong(
                "time_us dir event ns nr aux",
                content,
                "must have six fields, `-` where one has no value",
            ));
        };
        let number = |field: &'static str, text: &str| match text {
            "-" => Ok(None),
            text => match text.parse::<u8>() {
                Ok(number) if number < MODULUS => Ok(Some(number)),
                _ => Err(line.wrong(field, text, "must be a frame number, 0 to 61, or -")),
            },
        };
        Ok(Self {
            time_us: time.parse().map_err(|_| line.wrong("time_us", time, "must be whole microseconds"))?,
            way: match way {
                "S" => Way::Sent,
                "R" => Way::Received,
                other => return Err(line.wrong("dir", other, "must be S (sent) or R (received)")),
            },
            event: Event::ALL.into_iter().find(|known| known.word() == event).ok_or_else(|| {
                line.wrong("event", event, "must be DATA, XMIT, SREJ, REJ, XON, XOFF, RST, ERAS or OK")
            })?,
            ns: number("ns", ns)?,
            nr: number("nr", nr)?,
            aux: match aux {
                "-" => None,
                text => {
                    Some(text.parse().map_err(|_| line.wrong("aux", text, "must be a whole number, or -"))?)
                }
            },
        })
    }
}

impl fmt::Display for RlpRecord {
    /// Writes the record as a line, without the line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn field(f: &mut fmt::Formatter<'_>, value: Option<impl fmt::Display>) -> fmt::Result {
            match value {
                Some(value) => write!(f, " {value}"),
                None => f.write_str(" -"),
            }
        }
        write!(f, "{} {} {}", self.time_us, self.way.letter(), self.event.word())?;
        field(f, self.ns)?;
        field(f, self.nr)?;
        field(f, self.aux)
    }
}

impl fmt::Display for RlpTrace {
    /// Writes the file format.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header.write(f, Format::Rlp, &[("block-period", self.period.to_string())])?;
        self.records.iter().try_for_each(|record| writeln!(f, "{record}"))
    }
}
