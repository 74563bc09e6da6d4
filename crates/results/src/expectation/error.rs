//! What is wrong with an expectation, and with which of its fields.

use super::{STATISTICS, metrics};
use crate::instead;
use crate::metric::Metric;

/// An expectation that asks for what there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// No such workload.
    #[error("there is no workload `{name}`{}", instead(.name, known))]
    Workload {
        /// The word.
        name: String,
        /// Workloads of the cells that it is about.
        known: Vec<String>,
    },
    /// No such metric.
    #[error("there is no metric `{name}`{}", instead(.name, &metrics()))]
    Metric {
        /// The word.
        name: String,
    },
    /// A fall against nothing.
    #[error("`degradation` needs `against`, the cells that goodput fell from")]
    Against,
    /// No such statistic.
    #[error("there is no statistic `{name}`{}", instead(.name, &STATISTICS))]
    Statistic {
        /// The word.
        name: String,
    },
    /// No such factor.
    #[error("`{factor}` is no factor of the plan{}", instead(factor, known))]
    Factor {
        /// `where` or `against`.
        field: &'static str,
        /// The word.
        factor: String,
        /// The plan's factors.
        known: Vec<String>,
    },
    /// No such level.
    #[error("`{level}` is no level of `{factor}`{}", instead(level, known))]
    Level {
        /// `where` or `against`.
        field: &'static str,
        /// The word.
        level: String,
        /// Of which factor.
        factor: String,
        /// The factor's levels.
        known: Vec<String>,
    },
    /// The unit is of another quantity.
    #[error("the figure is in {ours}, and `{unit}` is no unit of that")]
    Unit {
        /// The expectation's.
        unit: String,
        /// The metric's.
        ours: &'static str,
    },
    /// No such metric in `at`.
    #[error("`at`: there is no metric `{name}`{}", instead(.name, &Metric::ALL.map(Metric::name)))]
    AtMetric {
        /// The word.
        name: String,
    },
    /// The unit in `at` is of another quantity.
    #[error("`at`: the metric is in {ours}, and `unit` = `{unit}` is no unit of that")]
    AtUnit {
        /// The one of `at`.
        unit: String,
        /// The metric's.
        ours: &'static str,
    },
    /// Nothing changes between 0 and there.
    #[error("`at`: `value` = {value} is no number above 0, where the line starts from")]
    AtValue {
        /// The number.
        value: String,
    },
    /// A line through some levels without what they are levels of.
    #[error("`at` needs `against`, the cells from which the line through the runs starts")]
    AtAlone,
    /// A line has no repetitions.
    #[error(
        "`at` reads one line through all runs, so that `statistic` = `{name}` means nothing: leave it out"
    )]
    AtStatistic {
        /// The word.
        name: String,
    },
    /// The ends are no numbers in order.
    #[error("`low` = {low} and `high` = {high} are no range")]
    Range {
        /// Lower end.
        low: String,
        /// Upper end.
        high: String,
    },
}

impl ExpectationError {
    /// The field of `[[expect]]` that is wrong, or that asks for another one.
    #[must_use]
    pub fn field(&self) -> &'static str {
        match self {
            Self::Workload { .. } => "workload",
            Self::Metric { .. } | Self::Against => "metric",
            Self::Statistic { .. } | Self::AtStatistic { .. } => "statistic",
            Self::Factor { field, .. } | Self::Level { field, .. } => field,
            Self::Unit { .. } => "unit",
            Self::AtMetric { .. } | Self::AtUnit { .. } | Self::AtValue { .. } | Self::AtAlone => "at",
            Self::Range { .. } => "low",
        }
    }
}
