//! Counts of outcomes and of damaged fields, by name: an outcome that hardly occurs is not tested.

use header_repair::SegmentVerdict;
use packet::Field;
use std::collections::BTreeMap;

/// Counts of a test.
#[derive(Default)]
pub struct Counts {
    outcomes: BTreeMap<String, u64>,
    fields: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// Counts one packet.
    pub fn note(&mut self, verdict: SegmentVerdict, hit: Vec<&'static str>) {
        *self.outcomes.entry(outcome_name(verdict)).or_default() += 1;
        for field in hit {
            *self.fields.entry(field).or_default() += 1;
        }
    }

    /// Prints the counts.
    pub fn print(&self) {
        for (name, count) in &self.outcomes {
            println!("{count:>9}  {name}");
        }
        for (name, count) in &self.fields {
            println!("{count:>9}  {name} hit");
        }
    }

    /// Asserts that an outcome occurred more than `least` times.
    pub fn assert_met(&self, name: &str, least: u64) {
        let count = self.outcomes.get(name).copied().unwrap_or_default();
        assert!(count > least, "{name} was met too seldom: {:?}", self.outcomes);
    }
}

pub fn field_name(field: Field) -> &'static str {
    match field {
        Field::SourcePort => "source port",
        Field::DestinationPort => "destination port",
        Field::Sequence => "sequence number",
        Field::Acknowledgment => "acknowledgment number",
        Field::DataOffset => "data offset",
        Field::Reserved => "reserved",
        Field::Cwr => "CWR",
        Field::Ece => "ECE",
        Field::Urg => "URG",
        Field::Ack => "ACK",
        Field::Psh => "PSH",
        Field::Rst => "RST",
        Field::Syn => "SYN",
        Field::Fin => "FIN",
        Field::Window => "window",
        Field::Checksum => "checksum",
        Field::UrgentPointer => "urgent pointer",
    }
}

/// Returns the outcome's name, which has the phases, so that each can be counted.
fn outcome_name(verdict: SegmentVerdict) -> String {
    match verdict {
        SegmentVerdict::Accept(how) => {
            let mut name = "accept".to_owned();
            for (is_so, word) in [
                (how.confirmed, " confirmed"),
                (how.approximate, " approximate"),
                (how.guess, " guess"),
                (how.out_of_order, " out-of-order"),
            ] {
                if is_so {
                    name += word;
                }
            }
            name
        }
        SegmentVerdict::Discard(reason) => format!("discard {}", reason.name()),
        other => format!("{other:?}").to_lowercase(),
    }
}
