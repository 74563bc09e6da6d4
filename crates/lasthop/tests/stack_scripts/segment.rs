//! The TCP header of a packet: as a script states it, and as a capture shows it.

use packet::Tcp;
use packet::segment::Segment;
use std::fmt;

/// What a line states about the TCP header. Numbers are relative, as in packetdrill: a SYN has 0,
/// and the first byte of data has 1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stated {
    pub syn: bool,
    pub fin: bool,
    /// First byte of the data, and the first after it.
    pub sequence: Option<(u32, u32)>,
    pub acknowledgment: Option<u32>,
    /// SACK blocks in their order.
    pub blocks: Option<Vec<(u32, u32)>>,
}

/// A TCP header in a capture, with numbers relative to the SYNs of the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    pub syn: bool,
    pub fin: bool,
    pub sequence: (u32, u32),
    pub acknowledgment: Option<u32>,
    pub blocks: Vec<(u32, u32)>,
}

impl Stated {
    /// Parses `syn`, `fin`, `seq FIRST:END`, `ack NUMBER` and `sack FIRST:END,FIRST:END`, each of
    /// which may be missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut stated = Self::default();
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}`: a number is missing behind it"));
            match word {
                "syn" => stated.syn = true,
                "fin" => stated.fin = true,
                "seq" => stated.sequence = Some(range(value()?)?),
                "ack" => stated.acknowledgment = Some(number(value()?)?),
                "sack" => stated.blocks = Some(value()?.split(',').map(range).collect::<Result<_, _>>()?),
                other => {
                    let known = "syn, fin, seq FIRST:END, ack NUMBER, sack FIRST:END,...";
                    return Err(format!("`{other}`: write what TCP it is with {known}"));
                }
            }
        }
        Ok(stated)
    }

    /// Tells whether `shown` is as stated. SYN and FIN must be stated; what else is not stated can
    /// be anything.
    pub fn is(&self, shown: &Shown) -> bool {
        self.syn == shown.syn
            && self.fin == shown.fin
            && self.sequence.is_none_or(|its| its == shown.sequence)
            && self.acknowledgment.is_none_or(|its| Some(its) == shown.acknowledgment)
            && self.blocks.as_ref().is_none_or(|its| *its == shown.blocks)
    }
}

impl Shown {
    /// Converts a segment; `own` and `peer` are the sequence numbers of the SYNs of its sender and
    /// of the other host.
    pub fn new(segment: &Segment, own: u32, peer: u32) -> Self {
        let Tcp { sequence, acknowledgment, .. } = segment.tcp;
        let first = sequence.wrapping_sub(own);
        let block = |&(first, end): &(u32, u32)| (first.wrapping_sub(peer), end.wrapping_sub(peer));
        Self {
            syn: segment.tcp.has(Tcp::SYN),
            fin: segment.tcp.has(Tcp::FIN),
            sequence: (first, first + segment.payload),
            acknowledgment: segment.tcp.has(Tcp::ACK).then(|| acknowledgment.wrapping_sub(peer)),
            blocks: segment.options.sacks().iter().map(block).collect(),
        }
    }

    /// Returns everything, in the form in which a script states it.
    fn stated(&self) -> Stated {
        let (first, end) = self.sequence;
        Stated {
            syn: self.syn,
            fin: self.fin,
            sequence: (first < end).then_some(self.sequence),
            acknowledgment: self.acknowledgment,
            blocks: (!self.blocks.is_empty()).then(|| self.blocks.clone()),
        }
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no sequence number"))
}

fn range(text: &str) -> Result<(u32, u32), String> {
    let parts = text.split_once(':').ok_or_else(|| format!("`{text}`: write FIRST:END, such as 1:1001"))?;
    let (first, end) = (number(parts.0)?, number(parts.1)?);
    if first < end { Ok((first, end)) } else { Err(format!("`{text}`: the end is before the first")) }
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (word, _) in [("syn", self.syn), ("fin", self.fin)].iter().filter(|(_, is)| *is) {
            write!(f, " {word}")?;
        }
        if let Some((first, end)) = self.sequence {
            write!(f, " seq {first}:{end}")?;
        }
        if let Some(acknowledgment) = self.acknowledgment {
            write!(f, " ack {acknowledgment}")?;
        }
        let blocks = self.blocks.iter().flatten().map(|(first, end)| format!("{first}:{end}"));
        let blocks = blocks.collect::<Vec<_>>().join(",");
        if blocks.is_empty() { Ok(()) } else { write!(f, " sack {blocks}") }
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.stated().fmt(f)
    }
}
