//! How often each kind of evidence, alone and combined, agrees with what the link did.

use capture_analysis::spurious::{Evidence, Examined, Score, SpuriousVerdict};
use serde::Serialize;
use std::fmt;

/// Combinations of evidence: a name, and the kinds left out.
const TOGETHER: [(&str, &[Evidence]); 4] = [
    (
        "one capture, without time stamps and dsack",
        &[Evidence::Arrivals, Evidence::Timestamps, Evidence::DuplicateSack],
    ),
    ("one capture, without time stamps", &[Evidence::Arrivals, Evidence::Timestamps]),
    ("one capture", &[Evidence::Arrivals]),
    ("all", &[]),
];

/// Scores of each kind of evidence and of each combination.
#[derive(Debug, Clone, Default)]
pub struct Scores {
    alone: [Score; Evidence::ALL.len()],
    together: [Score; TOGETHER.len()],
}

/// A row of the table.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Row {
    evidence: &'static str,
    recall: Option<f64>,
    precision: Option<f64>,
    #[serde(flatten)]
    score: Score,
}

impl Scores {
    /// Adds the retransmissions of one direction of a connection.
    pub fn add(&mut self, examined: &Examined, truth: &[SpuriousVerdict]) {
        for (score, evidence) in self.alone.iter_mut().zip(Evidence::ALL) {
            score.add_all(examined, truth, |other| other == evidence);
        }
        for (score, (_, without)) in self.together.iter_mut().zip(TOGETHER) {
            score.add_all(examined, truth, |evidence| !without.contains(&evidence));
        }
    }

    /// Returns a row for each kind of evidence and each combination.
    pub fn rows(&self) -> impl Iterator<Item = Row> + use<'_> {
        let alone = Evidence::ALL.map(Evidence::name).into_iter().zip(&self.alone);
        let together = TOGETHER.map(|(name, _)| name).into_iter().zip(&self.together);
        alone.chain(together).map(|(evidence, score)| Row {
            evidence,
            recall: score.recall(),
            precision: score.precision(),
            score: *score,
        })
    }
}

impl fmt::Display for Scores {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(to, "Evidence compared with what the link did:")?;
        writeln!(to, "{:44}{:>27}{:>27}", "", "truly spurious, called", "truly necessary, called")?;
        writeln!(
            to,
            "  {:<42}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}",
            "evidence",
            "spurious",
            "necess.",
            "unknown",
            "spurious",
            "necess.",
            "unknown",
            "recall",
            "precision"
        )?;
        for row in self.rows() {
            let share = |share: Option<f64>| share.map_or("-".to_owned(), |share| format!("{share:.3}"));
            let Score { found, mistaken, missed, false_alarms, confirmed, open } = row.score;
            writeln!(
                to,
                "  {:<42}{found:>9}{mistaken:>9}{missed:>9}{false_alarms:>9}{confirmed:>9}{open:>9}{:>9}{:>10}",
                row.evidence,
                share(row.recall),
                share(row.precision)
            )?;
        }
        Ok(())
    }
}
