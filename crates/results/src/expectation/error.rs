//! Errors in expectations, each with the field that is wrong.

use super::{STATISTICS, metrics};
use crate::instead;
use crate::metric::Metric;
use crate::selection::SelectionError;

/// Error in an expectation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpectationError {
    /// The selected cells or the workload do not exist.
    #[error(transparent)]
    Selection(#[from] SelectionError),
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
            Self::Selection(error) => error.field(),
            Self::Metric { .. } | Self::Against => "metric",
            Self::Statistic { .. } | Self::AtStatistic { .. } => "statistic",
            Self::Unit { .. } => "unit",
            Self::AtMetric { .. } | Self::AtUnit { .. } | Self::AtValue { .. } | Self::AtAlone => "at",
            Self::Range { .. } => "low",
        }
    }
}
