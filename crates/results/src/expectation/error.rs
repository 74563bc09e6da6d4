//! Errors in expectations, each with the field that is wrong.

use super::{STATISTICS, metrics};
use crate::instead;
use crate::metric::Metric;

/// Error in an expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// There is no such workload.
    #[error("there is no workload `{name}`{}", instead(.name, known))]
    Workload {
        /// The name in the expectation.
        name: String,
        /// Workloads of the selected cells.
        known: Vec<String>,
    },
    /// There is no such metric.
    #[error("there is no metric `{name}`{}", instead(.name, &metrics()))]
    Metric {
        /// The name in the expectation.
        name: String,
    },
    /// `degradation` without cells to compare with.
    #[error("`degradation` needs `against`: the cells whose goodput is the reference")]
    Against,
    /// There is no such statistic.
    #[error("there is no statistic `{name}`{}", instead(.name, &STATISTICS))]
    Statistic {
        /// The name in the expectation.
        name: String,
    },
    /// There is no such factor.
    #[error("the plan has no factor `{factor}`{}", instead(factor, known))]
    Factor {
        /// `where` or `against`.
        field: &'static str,
        /// The name in the expectation.
        factor: String,
        /// The plan's factors.
        known: Vec<String>,
    },
    /// There is no such level.
    #[error("factor `{factor}` has no level `{level}`{}", instead(level, known))]
    Level {
        /// `where` or `against`.
        field: &'static str,
        /// The name in the expectation.
        level: String,
        /// Its factor.
        factor: String,
        /// The factor's levels.
        known: Vec<String>,
    },
    /// The unit does not belong to the metric's quantity.
    #[error("`unit` = `{unit}` does not fit the metric, which is in {ours}")]
    Unit {
        /// The expectation's unit.
        unit: String,
        /// The metric's unit.
        ours: &'static str,
    },
    /// There is no such metric in `at`.
    #[error("`at`: there is no metric `{name}`{}", instead(.name, &Metric::ALL.map(Metric::name)))]
    AtMetric {
        /// The name in `at`.
        name: String,
    },
    /// The unit in `at` does not belong to the metric's quantity.
    #[error("`at`: `unit` = `{unit}` does not fit the metric, which is in {ours}")]
    AtUnit {
        /// The unit in `at`.
        unit: String,
        /// The metric's unit.
        ours: &'static str,
    },
    /// The value in `at` is not above 0.
    #[error("`at`: `value` = {value} is out of range: expected a number above 0, where the line starts")]
    AtValue {
        /// The value.
        value: String,
    },
    /// `at` without cells from which the line starts.
    #[error("`at` needs `against`: the cells from which the line through the runs starts")]
    AtAlone,
    /// `at` with a statistic: a line has no repetitions.
    #[error("`at` reads one line through all runs, so `statistic` = `{name}` has no meaning: leave it out")]
    AtStatistic {
        /// The statistic.
        name: String,
    },
    /// The ends are not finite numbers in ascending order.
    #[error(
        "`low` = {low} and `high` = {high} are not a range: expected finite numbers, `low` at most `high`"
    )]
    Range {
        /// Lower end.
        low: String,
        /// Upper end.
        high: String,
    },
}

impl ExpectationError {
    /// Returns the field of `[[expect]]` that is wrong, or that requires another one.
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
