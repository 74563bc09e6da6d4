//! Comparison with the literature: each expectation of the plan with our figure.

use results::{At, Comparison, Directory, Expectation, compare};
use serde::Serialize;

/// One published figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Figure {
    id: String,
    title: String,
    source: String,
    metric: String,
    statistic: String,
    /// Selected cells, in words.
    of: String,
    /// Cells to compare with, in words; empty if the figure is not a change.
    against: String,
    #[serde(flatten)]
    comparison: Comparison,
}

pub(crate) fn all(directory: &Directory) -> Vec<Figure> {
    directory.manifest.expectations.iter().map(|expectation| figure(directory, expectation)).collect()
}

fn figure(directory: &Directory, expectation: &Expectation) -> Figure {
    Figure {
        id: expectation.id.clone(),
        title: expectation.title.clone(),
        source: expectation.source.clone(),
        metric: expectation.metric.clone(),
        statistic: statistic(expectation),
        of: words(&expectation.of),
        against: expectation.against.as_ref().map(words).unwrap_or_default(),
        comparison: compare(directory, expectation),
    }
}

/// Names the statistic over the runs.
fn statistic(expectation: &Expectation) -> String {
    match (&expectation.at, &expectation.statistic) {
        (Some(At { metric, value, unit }), _) => {
            format!("line through the runs at {value} {unit} of {metric}, 95 % interval")
        }
        (None, Some(statistic)) => statistic.clone(),
        (None, None) => "mean".into(),
    }
}

/// Describes a selection: `loss=lite-1 or lite-2, cc=reno`; `all cells` if it is empty.
fn words(selection: &results::Selection) -> String {
    if selection.is_empty() {
        return "all cells".into();
    }
    let each = selection.iter().map(|(factor, levels)| {
        let levels: Vec<_> = levels.iter().map(String::as_str).collect();
        format!("{factor}={}", levels.join(" or "))
    });
    each.collect::<Vec<_>>().join(", ")
}
