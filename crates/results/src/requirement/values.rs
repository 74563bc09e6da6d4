//! What each repetition of a cell contributes to a requirement.

use crate::{Besides, Directory, Metric, RunVerdict};

/// What a repetition contributes.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// A value, or a ratio of two.
    Value(f64),
    /// Nothing, and this is why; the value could be any.
    Unknown(String),
    /// The run failed, for this reason.
    Failed(String),
}

impl Outcome {
    /// Divides by the outcome of the cell to compare with.
    fn over(self, reference: Self) -> Self {
        match (self, reference) {
            (Self::Failed(why), _) => Self::Failed(why),
            (_, Self::Failed(why)) => Self::Failed(format!("in the cell to compare with: {why}")),
            (Self::Unknown(why), _) => Self::Unknown(why),
            (_, Self::Unknown(why)) => Self::Unknown(format!("in the cell to compare with: {why}")),
            (Self::Value(_), Self::Value(0.0)) => {
                Self::Unknown("the value in the cell to compare with is 0".to_owned())
            }
            (Self::Value(one), Self::Value(other)) => Self::Value(one / other),
        }
    }
}

/// Returns the outcomes of the repetitions of a cell, from the first one up to the first one that
/// has not ended.
pub fn outcomes(
    directory: &Directory,
    cell: u32,
    metric: Metric,
    workload: &str,
    besides: Besides,
) -> Vec<Outcome> {
    let of_cell = directory.runs().filter(|(run, _)| run.cell == cell);
    // Runs are in the order of cell and repetition.
    let consecutive = (0..).zip(of_cell).take_while(|(number, (run, _))| run.repetition == *number);
    let outcome = |(_, (run, connections)): (u32, (&crate::RunRecord, &[crate::Connection]))| {
        let reasons = || run.reasons.join("; ");
        match run.verdict {
            RunVerdict::Failed => Outcome::Failed(reasons()),
            verdict if !besides.counts(verdict) => Outcome::Unknown(match verdict {
                RunVerdict::DroppedCall => "dropped call".to_owned(),
                _ => "overloaded".to_owned(),
            }),
            _ => match metric.of_run(run, connections, workload).filter(|value| value.is_finite()) {
                Some(value) => Outcome::Value(value),
                None => Outcome::Unknown(format!("no value of {metric}")),
            },
        }
    };
    consecutive.map(outcome).collect()
}

/// Divides outcomes by those of the cell to compare with, repetition by repetition.
pub fn ratios(of: Vec<Outcome>, against: Vec<Outcome>) -> Vec<Outcome> {
    of.into_iter().zip(against).map(|(one, other)| one.over(other)).collect()
}
