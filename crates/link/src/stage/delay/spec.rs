//! Delay parameters as written in a profile.

use super::correlation::Correlation;
use super::leocc::{Delays, LEOCC_INTERVAL};
use super::table::{Course, Quantiles, Unsorted};
use crate::stage::bottleneck::theaterq::{AtEnd, TheaterqTrace};
use crate::stage::spec::{FromFile, Read, SpecError, text_or_table};
use crate::units::{Span, UnitError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Parameters of [`super::Delay`].
///
/// In a profile: `"70ms"`, or a table with a `kind` (see [`Law`]), its parameters, `reorder` and
/// `correlation`.
#[derive(Debug, Clone, PartialEq, borsh::BorshSerialize, borsh::BorshDeserialize)]
pub struct DelaySpec {
    /// The distribution or course of the delay.
    pub law: Law,
    /// Whether a packet may leave before an earlier arrival. If not, it waits for that packet.
    pub reorder: bool,
    /// Correlation of drawn delays. If absent, packets that may overtake each other draw their own
    /// delays, and the delay of others is a process in time with a correlation time of ten standard
    /// deviations.
    pub correlation: Option<Correlation>,
}

/// Distribution or course of a delay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, borsh::BorshSerialize, borsh::BorshDeserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Law {
    /// Constant.
    Constant {
        /// The delay.
        delay: Span,
    },
    /// Uniformly distributed over mean ± jitter, as in netem without a distribution.
    Uniform {
        /// Mean.
        mean: Span,
        /// Largest distance from the mean; at most the mean.
        jitter: Span,
    },
    /// Normally distributed, truncated at 0: a negative draw is repeated.
    ///
    /// In netem, a packet with a negative draw passes at once, so that too many packets have no
    /// delay. The mean of the truncated distribution exceeds `mean`, the more so the more of the
    /// distribution is below 0.
    Normal {
        /// Mean before truncation.
        mean: Span,
        /// Standard deviation before truncation.
        sd: Span,
    },
    /// Log-normally distributed with this mean and standard deviation *of the delay*, as in netem.
    /// They are not those of its logarithm, as in ns-3's `LogNormalRandomVariable`.
    LogNormal {
        /// Mean delay.
        mean: Span,
        /// Standard deviation of the delay.
        sd: Span,
    },
    /// Empirical: drawn by the inverse of a measured distribution function, with linear
    /// interpolation between its points.
    Empirical(Empirical),
    /// Course in time, from a file; see [`Course`].
    Trace {
        /// The file.
        file: FromFile<Course>,
        /// The delay between two rows.
        #[serde(default)]
        between: Between,
    },
    /// Delays at regular intervals, from a delay trace of LeoReplayer; see [`super::LeoccDelays`].
    Leocc {
        /// The file.
        file: FromFile<Delays>,
        /// Time that each line applies, the first argument of LeoReplayer's `mm-delay`.
        #[serde(default = "leocc_interval")]
        interval: Span,
    },
    /// Latency, jitter, routes and delay of copies from a TheaterQ trace; see
    /// [`crate::stage::bottleneck::theaterq`]. With `reorder`, packets of the same route keep their
    /// order. Packets of route 0, or of different routes, may overtake each other.
    Theaterq {
        /// The file. It is usually also that of the bottleneck's rate.
        file: FromFile<TheaterqTrace>,
        /// Continuation after the last line.
        #[serde(default)]
        at_end: AtEnd,
    },
}

fn leocc_interval() -> Span {
    LEOCC_INTERVAL
}

/// A measured distribution in one of three forms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, borsh::BorshSerialize, borsh::BorshDeserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "one of `values = [DELAY, ...]`, `percentiles = [[PER CENT, DELAY], ...]`, `file = FILE`"
)]
pub enum Empirical {
    /// Measured values of equal probability.
    Values {
        /// The values.
        values: Vec<Span>,
    },
    /// Percentiles: a percentage from 0 to 100, and the delay that this percentage does not exceed.
    Percentiles {
        /// Percentages and delays, both increasing.
        percentiles: Vec<(f64, Span)>,
    },
    /// A file of values or percentiles.
    File {
        /// The file; see [`Quantiles::parse`].
        file: FromFile<Quantiles>,
    },
}

/// Interpolation between two rows of a trace.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    Serialize,
    Deserialize,
    borsh::BorshSerialize,
    borsh::BorshDeserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// The delay of the earlier row.
    #[default]
    Step,
    /// Linear interpolation.
    Linear,
}

impl DelaySpec {
    /// Creates a constant delay.
    #[must_use]
    pub const fn constant(delay: Span) -> Self {
        Self { law: Law::Constant { delay }, reorder: false, correlation: None }
    }

    /// Creates a delay by `law` that keeps packets in order, with the default correlation time.
    #[must_use]
    pub const fn in_order(law: Law) -> Self {
        Self { law, reorder: false, correlation: None }
    }

    /// Returns the correlation of delays: the given one or the default.
    #[must_use]
    pub fn correlation(&self) -> Correlation {
        self.correlation.unwrap_or_else(|| Correlation::usual(&self.law, self.reorder))
    }

    /// Returns the mean of the delay, or the median of a measured distribution. `None` for traces,
    /// and for a file that is not loaded.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        match &self.law {
            Law::Constant { delay } => Some(*delay),
            Law::Uniform { mean, .. } | Law::Normal { mean, .. } | Law::LogNormal { mean, .. } => Some(*mean),
            Law::Empirical(empirical) => {
                empirical.quantiles().ok().map(|quantiles| Span::from_nanos(quantiles.at(0.5) as u64))
            }
            Law::Trace { .. } | Law::Leocc { .. } | Law::Theaterq { .. } => None,
        }
    }

    /// Reads the file of the delay, if it has one. [`super::Delay::new`] requires this for a
    /// specification that names a file.
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        match &mut self.law {
            Law::Empirical(Empirical::File { file }) => file.load(read, Quantiles::parse),
            Law::Trace { file, .. } => file.load(read, Course::parse),
            Law::Leocc { file, .. } => file.load(read, Delays::parse),
            Law::Theaterq { file, .. } => file.load(read, TheaterqTrace::parse),
            _ => Ok(()),
        }
    }
}

impl Law {
    /// Returns whether delays are drawn from a distribution given by the parameters.
    #[must_use]
    pub fn draws(&self) -> bool {
        match self {
            Self::Uniform { .. } | Self::Normal { .. } | Self::LogNormal { .. } | Self::Empirical(_) => true,
            Self::Constant { .. } | Self::Trace { .. } | Self::Leocc { .. } | Self::Theaterq { .. } => false,
        }
    }

    /// Returns the standard deviation of a law that draws, before the truncation of a normal law.
    /// `None` for other laws, and if its file is not loaded.
    pub(super) fn deviation(&self) -> Option<Span> {
        match self {
            Self::Uniform { jitter, .. } => {
                Some(Span::from_nanos((jitter.as_nanos() as f64 / f64::sqrt(3.0)).round() as u64))
            }
            Self::Normal { sd, .. } | Self::LogNormal { sd, .. } => Some(*sd),
            Self::Empirical(empirical) => empirical
                .quantiles()
                .ok()
                .map(|quantiles| Span::from_nanos(quantiles.deviation().round() as u64)),
            Self::Constant { .. } | Self::Trace { .. } | Self::Leocc { .. } | Self::Theaterq { .. } => None,
        }
    }
}

impl Empirical {
    pub(super) fn quantiles(&self) -> Result<Quantiles, SpecError> {
        match self {
            Self::Values { values } => Quantiles::of_values(values)
                .ok_or_else(|| SpecError::value("values", "[]", "there must be at least one value")),
            Self::Percentiles { percentiles } => {
                Quantiles::of_percentiles(percentiles).map_err(|Unsorted(wanted)| {
                    SpecError::value("percentiles", format!("{percentiles:?}"), wanted)
                })
            }
            Self::File { file } => Ok(file.content()?.as_ref().clone()),
        }
    }
}

impl fmt::Display for DelaySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.law {
            Law::Constant { delay } => write!(f, "{delay}"),
            Law::Uniform { mean, jitter } => write!(f, "{mean} ± {jitter}, uniform"),
            Law::Normal { mean, sd } => write!(f, "{mean}, sd {sd}, normal"),
            Law::LogNormal { mean, sd } => write!(f, "{mean}, sd {sd}, log-normal"),
            Law::Empirical(Empirical::Values { values }) => write!(f, "drawn from {} values", values.len()),
            Law::Empirical(Empirical::Percentiles { percentiles }) => {
                write!(f, "drawn from {} percentiles", percentiles.len())
            }
            Law::Empirical(Empirical::File { file }) => write!(f, "drawn from {}", file.name()),
            Law::Trace { file, .. } => write!(f, "trace {}", file.name()),
            Law::Leocc { file, interval } => {
                write!(f, "LeoCC trace {}, a line every {interval}", file.name())
            }
            Law::Theaterq { file, .. } => write!(f, "TheaterQ trace {}", file.name()),
        }?;
        if self.law.draws() {
            match self.correlation() {
                Correlation::Time(time) => write!(f, ", correlation time {time}")?,
                Correlation::None => f.write_str(", independent per packet")?,
            }
        }
        f.write_str(if self.reorder { ", reordering" } else { "" })
    }
}

impl FromStr for DelaySpec {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        text.parse().map(Self::constant)
    }
}

#[derive(Serialize, Deserialize)]
struct Table {
    #[serde(default)]
    reorder: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    correlation: Option<Correlation>,
    #[serde(flatten)]
    law: Law,
}

impl From<Table> for DelaySpec {
    fn from(Table { law, reorder, correlation }: Table) -> Self {
        Self { law, reorder, correlation }
    }
}

impl<'de> Deserialize<'de> for DelaySpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text_or_table::<D, Self, Table>(deserializer, "a delay like \"70ms\", or a table with a `kind`")
    }
}

impl Serialize for DelaySpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self { law: Law::Constant { delay }, reorder: false, correlation: None } => {
                delay.serialize(serializer)
            }
            Self { law, reorder, correlation } => {
                Table { law: law.clone(), reorder: *reorder, correlation: *correlation }.serialize(serializer)
            }
        }
    }
}
