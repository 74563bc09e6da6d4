//! Where each cell of a campaign stops.

use super::{Precision, PrecisionError};
use crate::requirement::values::{Outcome, outcomes, ratios};
use crate::statistics::{Looks, StudentEnds};
use crate::{Besides, Cell, Directory, selection};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The number of repetitions at which a cell, or a pair of cells, stopped.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stop {
    /// Number of the cell.
    pub cell: u32,
    /// Number of the cell that it is compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<u32>,
    /// Repetitions at the look that decided, or at the last one.
    pub repetitions: u32,
    /// Repetitions that have a value.
    pub values: u32,
    /// Mean of the metric in its unit, or of the ratios; `None` without values.
    pub mean: Option<f64>,
    /// Lower end of the interval; `None` with fewer than two values.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Whether the interval is as narrow as the rule says. If not, the largest number of
    /// repetitions stopped the cell, or the campaign goes on.
    pub reached: bool,
    /// Remarks for the reader: runs without a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Stop {
    /// Returns the distance of the ends from the mean as a share of the mean.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        let half = (self.high? - self.low?) / 2.0;
        // A mean of 0 is exact or as far as can be.
        Some(if half > 0.0 { half / self.mean?.abs() } else { 0.0 })
    }

    /// Returns the cells that are repeated.
    pub fn cells(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.cell).chain(self.reference)
    }
}

/// Returns where each selected cell stops with the runs that there are, in the order of the cells.
///
/// Overloaded runs and those with a dropped call count as `besides` says.
///
/// # Errors
/// If the campaign has no such workload, or a cell has no cell to compare with, or several.
pub fn stops(
    directory: &Directory,
    rule: &Precision,
    looks: &Looks,
    besides: Besides,
) -> Result<Vec<Stop>, PrecisionError> {
    let workload = selection::workload(directory, rule.workload.as_deref())?;
    let pairs = rule.pairs(&directory.manifest.cells)?;
    let ends = rule.ends(looks);
    let values = |cell: &Cell| outcomes(directory, cell.number, rule.metric, workload, besides);
    let stop = |(cell, reference): (&Cell, Option<&Cell>)| {
        let of_cell = match reference {
            None => values(cell),
            Some(reference) => ratios(values(cell), values(reference)),
        };
        let stop = stop(rule.within, looks, &ends, &of_cell);
        Stop { cell: cell.number, reference: reference.map(|cell| cell.number), ..stop }
    };
    Ok(pairs.into_iter().map(stop).collect())
}

/// Returns the numbers of the cells that need more repetitions.
#[must_use]
pub fn cells_open(stops: &[Stop]) -> BTreeSet<u32> {
    stops.iter().filter(|stop| !stop.reached).flat_map(Stop::cells).collect()
}

/// Returns the first look at which the interval is within this share of the mean, or the last one
/// for which there are outcomes.
pub(super) fn stop(within: f64, looks: &Looks, ends: &StudentEnds, outcomes: &[Outcome]) -> Stop {
    let mut stop = at(outcomes, ends, None);
    for (look, repetitions) in looks.repetitions().iter().enumerate() {
        let Some(so_far) = outcomes.get(..*repetitions as usize) else { break };
        stop = at(so_far, ends, Some(look));
        stop.reached = stop.half_width().is_some_and(|half| half <= within);
        if stop.reached {
            break;
        }
    }
    stop
}

/// Returns the stop with these outcomes; its interval is that of a look.
fn at(outcomes: &[Outcome], ends: &StudentEnds, look: Option<usize>) -> Stop {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    let mut values = Vec::new();
    for outcome in outcomes {
        match outcome {
            Outcome::Value(value) => values.push(*value),
            Outcome::Unknown(why) | Outcome::Failed(why) => *reasons.entry(why).or_default() += 1,
        }
    }
    let all = outcomes.len();
    let note = |(why, count): (&str, usize)| format!("{count} of {all} without a value: {why}");
    let interval = look.and_then(|look| ends.at(look, &values));
    Stop {
        cell: 0,
        reference: None,
        repetitions: all as u32,
        values: values.len() as u32,
        mean: (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        reached: false,
        notes: reasons.into_iter().map(note).collect(),
    }
}
