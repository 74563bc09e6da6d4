//! How often each outcome was met and each field hit, by name: a test that meets something too
//! seldom says nothing of it.

use packet::Field;
use recovery::Verdict;
use std::collections::BTreeMap;

/// What a test met.
#[derive(Default)]
pub struct Counts {
    outcomes: BTreeMap<String, u64>,
    fields: BTreeMap<&'static str, u64>,
}

impl Counts {
    /// One packet more.
    pub fn note(&mut self, verdict: Verdict, hit: Vec<&'static str>) {
        *self.outcomes.entry(outcome_name(verdict)).or_default() += 1;
        for field in hit {
            *self.fields.entry(field).or_default() += 1;
        }
    }

    /// Prints them.
    pub fn print(&self) {
        for (name, count) in &self.outcomes {
            println!("{count:>9}  {name}");
        }
        for (name, count) in &self.fields {
            println!("{count:>9}  {name} hit");
        }
    }

    /// Demands that an outcome was met more than `least` times.
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

/// Phases in the outcome's name, so that each is known to have been met often.
fn outcome_name(verdict: Verdict) -> String {
    match verdict {
        Verdict::Accept(how) => {
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
        Verdict::Discard(reason) => format!("discard {}", reason.name()),
        other => format!("{other:?}").to_lowercase(),
    }
}
