//! Every metric of every workload: its values in the runs, its distribution in each cell, and tests
//! between cells.

use crate::page::{has_overloaded, known_runs};
use crate::strata::{Stratum, strata};
use results::statistics::{
    Bootstrap, Distribution, Estimator, Interval, Magnitude, effect, holm, mann_whitney, stream,
    too_few_to_differ,
};
use results::{Directory, Metric, RunRecord, values_by_cell};
use serde::Serialize;

/// A metric of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// Name of the workload.
    pub workload: String,
    /// Whether runs end without waiting for it.
    pub background: bool,
    /// The metric.
    pub metric: Metric,
    /// Label of its axis.
    pub title: &'static str,
    /// Unit of all values.
    pub unit: &'static str,
    /// Its value in each run of the page, if it has one.
    pub values: Vec<Option<f64>>,
    /// Statistics over the good runs.
    pub good: Statistics,
    /// Statistics over good and overloaded runs; `None` if no run is overloaded.
    pub all: Option<Statistics>,
}

/// Statistics over the runs that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// Statistics of each cell of the page; `None` for a cell without values.
    pub cells: Vec<Option<CellStatistics>>,
    /// Tests between cells that differ in the level of one factor only.
    pub tests: Vec<Test>,
}

/// Distribution of a metric in a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellStatistics {
    /// Quantiles and moments.
    #[serde(flatten)]
    pub distribution: Distribution,
    /// 95 % interval for the median ([`results::statistics::Bootstrap`]).
    pub median_interval: Option<Interval>,
    /// 95 % interval for the mean ([`results::statistics::Bootstrap`]).
    pub mean_interval: Option<Interval>,
}

/// The test of Mann and Whitney between two cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    /// Index of the factor in which they differ.
    pub factor: usize,
    /// Index of the cell with the earlier level.
    pub first: usize,
    /// Index of the cell with the later level.
    pub second: usize,
    /// p without correction.
    pub p: f64,
    /// p corrected by Holm's method; the family is all tests of this measure that are about the
    /// same factor.
    pub corrected: f64,
    /// Probability that a value of the first cell is larger than one of the second.
    pub a12: f64,
    /// Size of the difference, in a word.
    pub magnitude: Magnitude,
    /// Whether there are too few values for any difference to be significant.
    pub too_few: bool,
}

/// Returns every metric of every workload that has a value in any run.
///
/// The page opens with the first one, which is that of the workload that figures are about.
pub(crate) fn all(directory: &Directory) -> Vec<Measure> {
    let workloads = directory.workloads();
    let metrics = |workload| Metric::of_workload(directory, workload);
    let each = workloads
        .iter()
        .flat_map(|workload| metrics(workload).into_iter().map(move |metric| (workload, metric)));
    each.filter_map(|(workload, metric)| measure(directory, workload, metric)).collect()
}

fn measure(directory: &Directory, workload: &str, metric: Metric) -> Option<Measure> {
    let of_run = |run: &RunRecord, connections: &[_]| {
        metric.of_run(run, connections, workload).filter(|value| value.is_finite())
    };
    let values: Vec<_> =
        known_runs(directory).map(|(_, run, connections)| of_run(run, connections)).collect();
    values.iter().any(Option::is_some).then(|| Measure {
        workload: workload.to_owned(),
        background: directory.in_background(workload),
        metric,
        title: metric.title(),
        unit: metric.unit(),
        values,
        good: statistics(directory, workload, metric, false),
        all: has_overloaded(directory).then(|| statistics(directory, workload, metric, true)),
    })
}

fn statistics(directory: &Directory, workload: &str, metric: Metric, overloaded: bool) -> Statistics {
    let mut by_cell = values_by_cell(directory, metric, workload, overloaded);
    let cells = &directory.manifest.cells;
    let values: Vec<Vec<f64>> =
        cells.iter().map(|cell| by_cell.remove(&cell.number).unwrap_or_default()).collect();
    let seed = directory.manifest.seed;
    Statistics {
        cells: values.iter().map(|values| CellStatistics::of(values, seed)).collect(),
        tests: tests(directory, &values),
    }
}

impl CellStatistics {
    /// Computes the statistics of a cell's values; `None` without values.
    #[must_use]
    pub fn of(values: &[f64], seed: u64) -> Option<Self> {
        let interval = |estimator| Bootstrap::default().interval(values, estimator, &mut stream(seed));
        Some(Self {
            distribution: Distribution::of(values)?,
            median_interval: interval(Estimator::Median),
            mean_interval: interval(Estimator::Mean),
        })
    }
}

/// Tests all pairs of levels of each factor, with equal levels of the other factors.
fn tests(directory: &Directory, values: &[Vec<f64>]) -> Vec<Test> {
    let strata = strata(directory);
    let mut tests = Vec::new();
    for factor in 0..directory.manifest.factors.len() {
        let of_factor = strata.iter().filter(|stratum| stratum.factor == factor);
        let mut family: Vec<Test> = of_factor.flat_map(|stratum| pairs(stratum, values)).collect();
        let corrected = holm(&family.iter().map(|test| test.p).collect::<Vec<_>>());
        for (test, corrected) in family.iter_mut().zip(corrected) {
            test.corrected = corrected;
        }
        tests.append(&mut family);
    }
    tests
}

/// Tests each pair of cells that have values, the one with the earlier level first, without
/// correction.
fn pairs(stratum: &Stratum, values: &[Vec<f64>]) -> Vec<Test> {
    let mut tests = Vec::new();
    for (place, &first) in stratum.cells.iter().enumerate() {
        for &second in &stratum.cells[place + 1..] {
            let (one, other) = (&values[first], &values[second]);
            if let (Some(test), Some(size)) = (mann_whitney(one, other), effect(one, other)) {
                tests.push(Test {
                    factor: stratum.factor,
                    first,
                    second,
                    p: test.p,
                    corrected: test.p,
                    a12: size.a12,
                    magnitude: size.magnitude,
                    too_few: too_few_to_differ(one.len(), other.len()),
                });
            }
        }
    }
    tests
}
