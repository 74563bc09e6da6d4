//! Errors of factorial analyses: in the plan, and in the runs.

use crate::instead;
use crate::metric::{Metric, UnknownMetric};
use crate::selection::SelectionError;

/// Error in `[[analysis.factorial]]`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// There is no such metric.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    /// There is no such workload.
    #[error(transparent)]
    Workload(#[from] SelectionError),
    /// There is no such response.
    #[error("there is no response `{name}`{}", instead(.name, &super::request::RESPONSES))]
    Response {
        /// The wrong name.
        name: String,
    },
    /// There is no such factor.
    #[error("the plan has no factor `{factor}`{}", instead(factor, known))]
    Factor {
        /// `levels`, `where`, `difference` or `ratio`.
        field: &'static str,
        /// The wrong name.
        factor: String,
        /// The plan's factors.
        known: Vec<String>,
    },
    /// There is no such level.
    #[error("factor `{factor}` has no level `{level}`{}", instead(level, known))]
    Level {
        /// `levels`, `where`, `difference` or `ratio`.
        field: &'static str,
        /// The wrong name.
        level: String,
        /// Its factor.
        factor: String,
        /// The factor's levels.
        known: Vec<String>,
    },
    /// A factor does not have two levels here.
    #[error("factor `{factor}` needs two different levels here, such as `[\"{}\", \"{}\"]`", example[0], example[1])]
    NotTwo {
        /// `levels`, `difference` or `ratio`.
        field: &'static str,
        /// The factor.
        factor: String,
        /// Two levels.
        example: [String; 2],
    },
    /// A factor needs one level here.
    #[error("factor `{factor}` needs one level here, such as `\"{example}\"`")]
    NotOne {
        /// The factor.
        factor: String,
        /// A level.
        example: String,
    },
    /// A factor of the plan has more than two levels, and nothing says which are meant.
    #[error(
        "factor `{factor}` has {count} levels: name two of them in `levels`, or one in `where`, such as `levels = {{ {factor} = [\"{}\", \"{}\"] }}`",
        example[0], example[1]
    )]
    TooManyLevels {
        /// The factor.
        factor: String,
        /// Number of its levels.
        count: usize,
        /// Its first and last level.
        example: [String; 2],
    },
    /// A factor has two roles.
    #[error("factor `{factor}` is also in `{other}`: name it in one of them")]
    Twice {
        /// The later field.
        field: &'static str,
        /// The factor.
        factor: String,
        /// The earlier field.
        other: &'static str,
    },
    /// Both `difference` and `ratio`, or two factors in one of them.
    #[error("a response compares two levels of one factor: name one factor in `difference` or `ratio`")]
    Compared {
        /// `difference` or `ratio`.
        field: &'static str,
    },
    /// A logarithm of a difference.
    #[error("a difference may be negative and then has no logarithm: use `ratio`, or leave `response` out")]
    LogOfDifference,
    /// No factor is left.
    #[error("no factor of the plan has two levels to analyse")]
    NoFactor,
    /// There are too many factors.
    #[error(
        "{count} factors are too many: a design has at most {}; fix some in `where`",
        super::MOST_FACTORS
    )]
    TooManyFactors {
        /// Number of factors.
        count: usize,
    },
}

impl DesignError {
    /// Returns the field of `[[analysis.factorial]]` that is wrong; empty for the table as a whole.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Metric(_) => "metric",
            Self::Workload(_) => "workload",
            Self::Response { .. } | Self::LogOfDifference => "response",
            Self::Factor { field, .. }
            | Self::Level { field, .. }
            | Self::NotTwo { field, .. }
            | Self::Twice { field, .. }
            | Self::Compared { field } => field,
            Self::NotOne { .. } => "where",
            Self::TooManyLevels { .. } => "levels",
            Self::NoFactor | Self::TooManyFactors { .. } => "",
        }
    }

    /// Returns the factor that is wrong in this field; `None` if the error is about no factor.
    #[must_use]
    pub fn factor(&self) -> Option<&str> {
        match self {
            Self::Factor { factor, .. }
            | Self::Level { factor, .. }
            | Self::NotTwo { factor, .. }
            | Self::NotOne { factor, .. }
            | Self::Twice { factor, .. } => Some(factor),
            _ => None,
        }
    }
}

/// Why runs cannot be analysed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAnalyzed {
    /// The campaign has no such workload.
    #[error(transparent)]
    Workload(#[from] SelectionError),
    /// A cell was not selected for the campaign.
    #[error("the campaign has no cell with {label}")]
    NoCell {
        /// Levels of the cell.
        label: String,
    },
    /// A run failed.
    #[error("repetition {repetition} of {label} failed: {reason}")]
    Failed {
        /// Levels of the cell.
        label: String,
        /// Number of the repetition, from 0.
        repetition: u32,
        /// Why it failed.
        reason: String,
    },
    /// No run of a cell counts.
    #[error("no run of {label} counts{}", hint(*.left_out))]
    NoRun {
        /// Levels of the cell.
        label: String,
        /// Number of its runs that do not count.
        left_out: usize,
    },
    /// Cells have different numbers of repetitions.
    #[error(
        "the cells have different numbers of repetitions: {} of {fewest_label}, {} of {most_label}{}",
        counts[0], counts[1], hint(*.left_out)
    )]
    Repetitions {
        /// The smallest and the largest number.
        counts: [usize; 2],
        /// A cell with the smallest number.
        fewest_label: String,
        /// A cell with the largest number.
        most_label: String,
        /// Number of runs in all cells that do not count.
        left_out: usize,
    },
    /// A run has no value of the metric.
    #[error("repetition {repetition} of {label} has no value of {metric}")]
    NoValue {
        /// Levels of the cell.
        label: String,
        /// Number of the repetition.
        repetition: u32,
        /// The metric.
        metric: Metric,
    },
    /// Two cells that are compared have different repetitions.
    #[error("repetition {repetition} of {label} has no counterpart{}", hint(*.left_out))]
    Unpaired {
        /// Levels of the cell that has it.
        label: String,
        /// Number of the repetition.
        repetition: u32,
        /// Number of runs in all cells that do not count.
        left_out: usize,
    },
    /// A ratio to zero.
    #[error("repetition {repetition} of {label} has the value 0, so there is no ratio to it")]
    Zero {
        /// Levels of the cell at the second level.
        label: String,
        /// Number of the repetition.
        repetition: u32,
    },
    /// A logarithm of a number that is not positive.
    #[error("the response of {label} in repetition {repetition} is {response}, which has no logarithm")]
    Logarithm {
        /// Levels of the cell.
        label: String,
        /// Number of the repetition.
        repetition: u32,
        /// The response.
        response: String,
    },
    /// All responses are the same.
    #[error("the response is {response} in every run: there is no variation to explain")]
    NoVariation {
        /// The response.
        response: String,
    },
}

/// Says that runs were left out, and how to include them.
fn hint(left_out: usize) -> String {
    match left_out {
        0 => String::new(),
        1 => " (1 run was overloaded or dropped; `lasthop report --overloaded` includes overloaded runs)"
            .to_owned(),
        many => format!(
            " ({many} runs were overloaded or dropped; `lasthop report --overloaded` includes overloaded runs)"
        ),
    }
}
