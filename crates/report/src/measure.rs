//! Every metric of every workload: the values of the runs, their distribution in each cell, and the tests between cells.

use crate::page::{has_overloaded, known_runs};
use results::statistics::{
    Bootstrap, Distribution, Estimator, Interval, Magnitude, effect, holm, mann_whitney, stream,
};
use results::{Directory, Metric, cell_values};
use serde::Serialize;

/// A metric of one workload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// Name of the workload.
    pub workload: String,
    /// Which metric.
    pub metric: Metric,
    /// What an axis says.
    pub title: &'static str,
    /// Unit of all values.
    pub unit: &'static str,
    /// For each run of the page its value, if it has one.
    pub values: Vec<Option<f64>>,
    /// Over the good runs.
    pub good: Statistics,
    /// Over the overloaded ones as well; `None` if there are none.
    pub all: Option<Statistics>,
}

/// What is made of the runs that count.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Statistics {
    /// For each cell of the page; `None` of a cell without values.
    pub cells: Vec<Option<CellStatistics>>,
    /// Between the cells that differ in the level of one factor alone.
    pub tests: Vec<Test>,
}

/// How a metric is distributed in a cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellStatistics {
    /// Five numbers and two moments.
    #[serde(flatten)]
    pub distribution: Distribution,
    /// 95 % for the median, by BCa bootstrap.
    pub median_interval: Option<Interval>,
    /// The same for the mean.
    pub mean_interval: Option<Interval>,
}

/// The test of Mann and Whitney between two cells.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Test {
    /// Place of the factor that they differ in.
    pub factor: usize,
    /// Place of the cell that has the earlier level.
    pub first: usize,
    /// Place of the other one.
    pub second: usize,
    /// As it is.
    pub p: f64,
    /// Corrected by Holm's method, the family being all tests of this measure that are about the same factor.
    pub corrected: f64,
    /// How likely a value of the first cell is greater than one of the second.
    pub a12: f64,
    /// How large that is, in a word.
    pub magnitude: Magnitude,
}

/// Every metric of every workload that has a value in some run.
pub(crate) fn all(directory: &Directory) -> Vec<Measure> {
    let workloads = workloads(directory);
    let each = workloads.iter().flat_map(|workload| Metric::ALL.map(|metric| (workload, metric)));
    each.filter_map(|(workload, metric)| measure(directory, workload, metric)).collect()
}

/// In the order in which they were met.
fn workloads(directory: &Directory) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for connection in directory.connections.iter().flatten() {
        if !names.contains(&connection.workload) {
            names.push(connection.workload.clone());
        }
    }
    names
}

fn measure(directory: &Directory, workload: &str, metric: Metric) -> Option<Measure> {
    let of_run =
        |connections: &[_]| metric.of_run(connections, Some(workload)).filter(|value| value.is_finite());
    let values: Vec<_> = known_runs(directory).map(|(_, _, connections)| of_run(connections)).collect();
    values.iter().any(Option::is_some).then(|| Measure {
        workload: workload.to_owned(),
        metric,
        title: metric.title(),
        unit: metric.unit(),
        values,
        good: statistics(directory, workload, metric, false),
        all: has_overloaded(directory).then(|| statistics(directory, workload, metric, true)),
    })
}

fn statistics(directory: &Directory, workload: &str, metric: Metric, overloaded: bool) -> Statistics {
    let cells = &directory.manifest.cells;
    let values: Vec<Vec<f64>> = cells
        .iter()
        .map(|cell| cell_values(directory, cell.number, metric, Some(workload), overloaded))
        .collect();
    let seed = directory.manifest.seed;
    Statistics {
        cells: values.iter().map(|values| CellStatistics::of(values, seed)).collect(),
        tests: tests(directory, &values),
    }
}

impl CellStatistics {
    /// Of the values of a cell; `None` of none.
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

/// Tests between all pairs of levels of each factor, the other factors being equal.
fn tests(directory: &Directory, values: &[Vec<f64>]) -> Vec<Test> {
    let factors = &directory.manifest.factors;
    let mut tests = Vec::new();
    for (place, factor) in factors.iter().enumerate() {
        let mut family = Vec::new();
        for (first, second) in pairs(directory, &factor.name, &factor.levels) {
            let (Some(test), Some(size)) =
                (mann_whitney(&values[first], &values[second]), effect(&values[first], &values[second]))
            else {
                continue;
            };
            family.push(Test {
                factor: place,
                first,
                second,
                p: test.p,
                corrected: test.p,
                a12: size.a12,
                magnitude: size.magnitude,
            });
        }
        let corrected = holm(&family.iter().map(|test| test.p).collect::<Vec<_>>());
        for (test, corrected) in family.iter_mut().zip(corrected) {
            test.corrected = corrected;
        }
        tests.append(&mut family);
    }
    tests
}

/// Places of the cells that differ in `factor` alone, the one with the earlier level first.
fn pairs(directory: &Directory, factor: &str, levels: &[String]) -> Vec<(usize, usize)> {
    let cells = &directory.manifest.cells;
    let rank = |cell: &results::Cell| {
        let level = cell.level(factor)?;
        levels.iter().position(|known| known == level)
    };
    let others = |cell: &results::Cell| -> Vec<results::Level> {
        cell.levels.iter().filter(|level| level.factor != factor).cloned().collect()
    };
    let mut pairs = Vec::new();
    for (first, one) in cells.iter().enumerate() {
        for (second, other) in cells.iter().enumerate() {
            let (Some(earlier), Some(later)) = (rank(one), rank(other)) else { continue };
            if earlier < later && others(one) == others(other) {
                pairs.push((first, second));
            }
        }
    }
    pairs
}
