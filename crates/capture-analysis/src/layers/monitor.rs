//! Records of a protocol monitor at one end of a link layer (Ludwig's rlpdump, 3.1.1), as far as a
//! multi-layer view needs them.
//!
//! Every reader, of a run's log or of text, converts its input to these records: with times on the
//! clock of the captures, and with user octets. Blocks that arrived undamaged have no record: there
//! are fifty per second, and they are not drawn.

use serde::Serialize;

/// Number of RLP frame numbers: 0 to 61, since 62 and 63 mark frames without a number (ambiguity 2
/// of the specification).
pub const RLP_NUMBERS: u16 = 62;
/// Maximum number of outstanding RLP frames (GSM 04.22).
pub const RLP_WINDOW: u16 = 61;
/// User octets in a full RLP frame, for monitors that do not record lengths.
pub const RLP_OCTETS: u32 = 24;
/// Time that an RLP frame takes on the circuit at full rate, in nanoseconds.
pub const RLP_PERIOD_NS: u64 = 20_000_000;

/// One record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// Time in nanoseconds since 1970.
    pub time: u64,
    /// Whether this end sent it; otherwise it received it.
    pub sent: bool,
    /// What happened.
    pub event: Event,
    /// Number of the frame that is sent or requested; 0 if there is none.
    pub number: u16,
    /// User octets in the frame for [`Event::Data`]; otherwise 0.
    pub octets: u32,
}

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A frame was sent for the first time.
    Data,
    /// A frame was retransmitted.
    Again,
    /// Frames were requested again, one or all from a number on.
    Reject,
    /// Flow control: go on.
    XOn,
    /// Flow control: stop.
    XOff,
    /// The link was reset: both ends begin again with number 0.
    Reset,
    /// A block could not be decoded.
    Erased,
}

/// The records of one end of a link layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// Names the file, and the end in it.
    pub title: String,
    /// Time that a frame takes on the circuit, in nanoseconds; 0 if frames take different times, so
    /// that gaps between them cannot be recognised.
    pub period_ns: u64,
    /// Its records, in the order of time.
    pub records: Vec<Record>,
}

impl Event {
    /// Returns the event for a word of RLP traces; `None` for words without a record (`OK`) and
    /// unknown ones.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "DATA" => Some(Self::Data),
            "XMIT" => Some(Self::Again),
            "SREJ" | "REJ" => Some(Self::Reject),
            "XON" => Some(Self::XOn),
            "XOFF" => Some(Self::XOff),
            "RST" => Some(Self::Reset),
            "ERAS" => Some(Self::Erased),
            _ => None,
        }
    }
}

impl End {
    /// Returns the user octets that it sent for the first time between two instants.
    #[must_use]
    pub fn octets(&self, from: u64, to: u64) -> u64 {
        let those =
            self.records.iter().filter(|record| record.is_new() && (from..=to).contains(&record.time));
        those.map(|record| u64::from(record.octets)).sum()
    }

    /// Returns the end that sends most between two instants: the one at the sender of a download.
    ///
    /// `None` if no end sends anything.
    #[must_use]
    pub fn busiest(ends: &[Self], from: u64, to: u64) -> Option<&Self> {
        let sending = ends.iter().map(|end| (end.octets(from, to), end)).filter(|(octets, _)| *octets > 0);
        sending.max_by_key(|(octets, _)| *octets).map(|(_, end)| end)
    }
}

impl Record {
    /// Returns whether it is a frame with user octets that this end sent for the first time.
    #[must_use]
    pub const fn is_new(&self) -> bool {
        self.sent && matches!(self.event, Event::Data) && self.octets > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(time: u64, octets: u32) -> Record {
        Record { time, sent: true, event: Event::Data, number: 0, octets }
    }

    #[test]
    fn the_end_that_sends_most_is_the_one_at_the_sender() {
        let end = |records: &[Record]| End {
            title: String::new(),
            period_ns: RLP_PERIOD_NS,
            records: records.to_vec(),
        };
        let acks = end(&[sent(5, 24), sent(20, 9)]);
        let data = end(&[sent(0, 24), sent(10, 24), sent(20, 24)]);
        let ends = [acks.clone(), data.clone()];
        assert_eq!(End::busiest(&ends, 0, 100), Some(&data));
        assert_eq!(End::busiest(&ends, 1, 9), Some(&acks));
        assert_eq!(End::busiest(&ends, 30, 100), None);
        assert_eq!((data.octets(10, 20), data.octets(11, 19)), (48, 0));
        let received = Record { sent: false, ..sent(1, 24) };
        let retransmitted = Record { event: Event::Again, ..sent(1, 24) };
        let status = sent(1, 0);
        assert_eq!(end(&[received, retransmitted, status]).octets(0, 9), 0);
        assert_eq!([received, retransmitted, status].map(|record| record.is_new()), [false; 3]);
    }

    #[test]
    fn every_word_of_a_trace_is_an_event_or_means_nothing_here() {
        use Event::{Again, Data, Erased, Reject, Reset, XOff, XOn};
        let words = ["DATA", "XMIT", "SREJ", "REJ", "XON", "XOFF", "RST", "ERAS", "OK", "data"];
        let events = words.map(Event::from_word);
        let some = [Data, Again, Reject, Reject, XOn, XOff, Reset, Erased].map(Some);
        assert_eq!(events[..8], some);
        assert_eq!(events[8..], [None, None]);
    }
}
