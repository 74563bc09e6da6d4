//! The analysis of a design over the runs of a campaign.

use super::{CONFIDENCE, Comparison, FactorialDesign, NotAnalyzed};
use crate::manifest::Level;
use crate::statistics::{Coefficient, Interval, factorial};
use crate::{Besides, Cell, Directory, Metric, RunVerdict, selection};
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Effects on a response, the largest share first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Analysis {
    /// Name of the workload.
    pub workload: String,
    /// Unit of the effects; empty for a ratio and a logarithm.
    pub unit: &'static str,
    /// The response in words.
    pub response: String,
    /// Number of repetitions of each cell.
    pub repetitions: usize,
    /// Mean of the response, with its interval.
    pub mean: Coefficient,
    /// All factors and interactions, the largest share first.
    pub effects: Vec<Combination>,
    /// Share of the variation that the factors explain by themselves.
    pub main_share: f64,
    /// Share of the variation that interactions of factors explain.
    pub interaction_share: f64,
    /// Share of the variation between the repetitions of a cell; `None` with one repetition.
    pub error_share: Option<f64>,
    /// Remarks for the reader.
    pub notes: Vec<String>,
}

/// A factor, or an interaction of factors.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Combination {
    /// Names of the factors, in the order of the plan.
    pub factors: Vec<String>,
    /// Share of the variation that it explains, from 0 to 1.
    pub share: f64,
    /// Half of the change of the response from the first level to the second; for an interaction,
    /// of the change of that change.
    pub effect: f64,
    /// Interval of the effect; `None` with one repetition.
    pub interval: Option<Interval>,
    /// Whether the interval does not include 0; `None` without an interval.
    pub significant: Option<bool>,
    /// For a logarithm, the factor between the two levels: 10^(2·effect).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
}

/// Analyses the runs of a campaign. Good runs count, and those that `besides` includes.
///
/// # Errors
/// If a cell of the design is missing, a run of it failed or has no value, the cells have different
/// numbers of repetitions, or the response never varies.
pub fn analyze(
    directory: &Directory,
    design: &FactorialDesign,
    besides: impl Into<Besides>,
) -> Result<Analysis, NotAnalyzed> {
    let workload = selection::workload(directory, design.workload.as_deref())?;
    let responses = Responses::of(directory, design, workload, besides.into())?;
    let cells = responses.all(design)?;
    let first = cells[0][0];
    let nothing =
        || NotAnalyzed::NoVariation { response: format!("{first} {}", design.unit()).trim().to_owned() };
    let found = factorial(&cells, CONFIDENCE).ok_or_else(nothing)?;
    let mut effects: Vec<Combination> = found
        .effects
        .iter()
        .map(|effect| Combination {
            factors: design.names(effect.combination).into_iter().map(str::to_owned).collect(),
            share: effect.share,
            effect: effect.effect.value,
            interval: effect.effect.interval,
            significant: effect
                .effect
                .interval
                .map(|interval| !(interval.low..=interval.high).contains(&0.0)),
            factor: design.log.then(|| 10_f64.powf(2.0 * effect.effect.value)),
        })
        .collect();
    // Stable, so equal shares keep the order of the factors.
    effects.sort_by(|one, other| other.share.total_cmp(&one.share));
    let sum = |main: bool| {
        effects.iter().filter(|effect| (effect.factors.len() == 1) == main).map(|effect| effect.share).sum()
    };
    let repetitions = cells[0].len();
    let mut notes = Vec::new();
    if repetitions == 1 {
        notes.push("one repetition: no intervals, and errors cannot be told from interactions".to_owned());
    } else if found.error_share == Some(0.0) {
        notes.push(
            "the repetitions do not differ, so the intervals are only those of one system without chance"
                .to_owned(),
        );
    }
    Ok(Analysis {
        workload: workload.to_owned(),
        unit: design.unit(),
        response: design.response(workload),
        repetitions,
        mean: found.mean,
        main_share: sum(true),
        interaction_share: sum(false),
        effects,
        error_share: found.error_share,
        notes,
    })
}

/// Values of the metric in all cells, by the numbers of the repetitions.
struct Responses<'a> {
    metric: Metric,
    /// For each of the cells that are needed, by their levels.
    cells: BTreeMap<Vec<Level>, CellValues<'a>>,
    /// Number of runs that do not count.
    left_out: usize,
}

struct CellValues<'a> {
    cell: &'a Cell,
    /// `None` if a run has no value.
    values: BTreeMap<u32, Option<f64>>,
    left_out: usize,
}

impl<'a> Responses<'a> {
    /// Collects the values of all cells of the design.
    fn of(
        directory: &'a Directory,
        design: &FactorialDesign,
        workload: &str,
        besides: Besides,
    ) -> Result<Self, NotAnalyzed> {
        let sides: &[Option<usize>] = if design.compared.is_some() { &[Some(0), Some(1)] } else { &[None] };
        let mut cells = BTreeMap::new();
        for number in 0..design.cells() {
            for &side in sides {
                let levels = levels(design, number, side);
                let all = directory.manifest.cells.iter();
                let cell = all.clone().find(|cell| has(cell, &levels));
                let cell = cell.ok_or_else(|| NotAnalyzed::NoCell { label: label(&levels) })?;
                cells.insert(levels, CellValues { cell, values: BTreeMap::new(), left_out: 0 });
            }
        }
        let mut places: BTreeMap<u32, &mut CellValues<'a>> =
            cells.values_mut().map(|values| (values.cell.number, values)).collect();
        for (run, connections) in directory.runs() {
            let Some(values) = places.get_mut(&run.cell) else { continue };
            if run.verdict == RunVerdict::Failed {
                return Err(NotAnalyzed::Failed {
                    label: values.cell.label(),
                    repetition: run.repetition,
                    reason: run.reasons.first().cloned().unwrap_or_default(),
                });
            }
            if besides.counts(run.verdict) {
                let value = design.metric.of_run(run, connections, workload);
                values.values.insert(run.repetition, value.filter(|value| value.is_finite()));
            } else {
                values.left_out += 1;
            }
        }
        let left_out = cells.values().map(|values| values.left_out).sum();
        Ok(Self { metric: design.metric, cells, left_out })
    }

    /// Returns the responses of each cell of the design.
    fn all(&self, design: &FactorialDesign) -> Result<Vec<Vec<f64>>, NotAnalyzed> {
        self.check_counts()?;
        (0..design.cells()).map(|number| self.cell(design, number)).collect()
    }

    /// Checks that all cells have the same number of repetitions.
    fn check_counts(&self) -> Result<(), NotAnalyzed> {
        let count = |values: &&CellValues<'_>| values.values.len();
        // Of several such cells, the first one of the plan.
        let fewest = self.cells.values().min_by_key(|values| (count(values), values.cell.number));
        let most = self.cells.values().max_by_key(|values| (count(values), Reverse(values.cell.number)));
        let (Some(fewest), Some(most)) = (fewest, most) else { return Ok(()) };
        if fewest.values.is_empty() {
            return Err(NotAnalyzed::NoRun { label: fewest.cell.label(), left_out: fewest.left_out });
        }
        let counts = [&fewest, &most].map(count);
        if counts[0] != counts[1] {
            return Err(NotAnalyzed::Repetitions {
                counts,
                fewest_label: fewest.cell.label(),
                most_label: most.cell.label(),
                left_out: self.left_out,
            });
        }
        Ok(())
    }

    /// Returns the responses of one cell of the design.
    fn cell(&self, design: &FactorialDesign, number: usize) -> Result<Vec<f64>, NotAnalyzed> {
        let by = design.compared.as_ref().map(|compared| compared.by);
        let first = &self.cells[&levels(design, number, by.map(|_| 0))];
        let second = by.map(|by| (by, &self.cells[&levels(design, number, Some(1))]));
        let response = |(&repetition, value): (&u32, &Option<f64>)| {
            let mut response = self.value(first, repetition, *value)?;
            if let Some((by, second)) = second {
                let other = second.values.get(&repetition).ok_or_else(|| NotAnalyzed::Unpaired {
                    label: first.cell.label(),
                    repetition,
                    left_out: self.left_out,
                })?;
                let other = self.value(second, repetition, *other)?;
                response = match by {
                    Comparison::Difference => response - other,
                    Comparison::Ratio if other == 0.0 => {
                        return Err(NotAnalyzed::Zero { label: second.cell.label(), repetition });
                    }
                    Comparison::Ratio => response / other,
                };
            }
            if !design.log {
                return Ok(response);
            }
            if response <= 0.0 {
                let (label, response) = (first.cell.label(), response.to_string());
                return Err(NotAnalyzed::Logarithm { label, repetition, response });
            }
            Ok(response.log10())
        };
        first.values.iter().map(response).collect()
    }

    fn value(&self, of: &CellValues<'_>, repetition: u32, value: Option<f64>) -> Result<f64, NotAnalyzed> {
        let metric = self.metric;
        value.ok_or_else(|| NotAnalyzed::NoValue { label: of.cell.label(), repetition, metric })
    }
}

/// Returns the levels of a cell of the design, on one of the sides that the response compares.
fn levels(design: &FactorialDesign, number: usize, side: Option<usize>) -> Vec<Level> {
    let level = |factor: &str, level: &str| Level { factor: factor.to_owned(), level: level.to_owned() };
    let analysed = design.factors.iter().enumerate();
    let analysed = analysed.map(|(place, two)| level(&two.factor, &two.levels[number >> place & 1]));
    let compared = design.compared.as_ref().zip(side);
    let compared =
        compared.map(|(compared, side)| level(&compared.levels.factor, &compared.levels.levels[side]));
    analysed.chain(compared).chain(design.fixed.iter().cloned()).collect()
}

fn has(cell: &Cell, levels: &[Level]) -> bool {
    levels.iter().all(|level| cell.level(&level.factor) == Some(level.level.as_str()))
}

fn label(levels: &[Level]) -> String {
    Cell { number: 0, levels: levels.to_vec() }.label()
}
