//! How long packets take: what a profile says about it.

use super::correlation::Correlation;
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
#[derive(Debug, Clone, PartialEq)]
pub struct DelaySpec {
    /// How long.
    pub law: Law,
    /// Whether a packet may leave before one that came earlier. If not it waits for it.
    pub reorder: bool,
    /// How long a drawn delay lasts. Without it packets that may overtake each other draw their
    /// own, and the delay of others is a process in time with a correlation time of ten standard
    /// deviations.
    pub correlation: Option<Correlation>,
}

/// How long a packet takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Law {
    /// Always the same.
    Constant {
        /// That long.
        delay: Span,
    },
    /// Evenly distributed over mean ± jitter, as netem draws without a distribution.
    Uniform {
        /// Mean.
        mean: Span,
        /// Largest distance from the mean, which it must not exceed.
        jitter: Span,
    },
    /// Normally distributed, given that it is not negative: a negative draw is drawn again. (netem
    /// lets a packet pass at once instead, which makes those too many.) The more of the bell lies
    /// below 0, the more the mean of what remains exceeds `mean`.
    Normal {
        /// Mean of the whole bell.
        mean: Span,
        /// Standard deviation of the whole bell.
        sd: Span,
    },
    /// Log-normally distributed with this mean and standard deviation *of the delay*, as netem's
    /// users give them; not those of its logarithm, as ns-3's `LogNormalRandomVariable` takes them.
    LogNormal {
        /// Mean delay.
        mean: Span,
        /// Standard deviation of the delay.
        sd: Span,
    },
    /// As it was measured: drawn by the inverse of the distribution function, with straight lines
    /// between its points.
    Empirical(Empirical),
    /// As it was at a time; see [`Course`].
    Trace {
        /// The file.
        file: FromFile<Course>,
        /// Between two rows.
        #[serde(default)]
        between: Between,
    },
    /// Latency, jitter, routes and delay of copies as a TheaterQ trace says; see
    /// [`crate::stage::bottleneck::theaterq`]. With `reorder`, packets of one route keep their
    /// order and those of route 0 or of different routes need not.
    Theaterq {
        /// The file, which is likely to be that of the bottleneck's rate too.
        file: FromFile<TheaterqTrace>,
        /// What follows its last line.
        #[serde(default)]
        at_end: AtEnd,
    },
}

/// A distribution as it was measured, in one of three forms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "one of `values = [DELAY, ...]`, `percentiles = [[PER CENT, DELAY], ...]`, `file = FILE`"
)]
pub enum Empirical {
    /// Values, each as likely as any other.
    Values {
        /// The values.
        values: Vec<Span>,
    },
    /// Delays that so many per cent do not exceed, from 0 to 100.
    Percentiles {
        /// Per cent and delay, both rising.
        percentiles: Vec<(f64, Span)>,
    },
    /// A file of values or percentiles.
    File {
        /// The file; see [`Quantiles::parse`].
        file: FromFile<Quantiles>,
    },
}

/// What holds between two rows of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// The upper row.
    #[default]
    Step,
    /// A straight line from one to the other.
    Linear,
}

impl DelaySpec {
    /// Always the same delay.
    #[must_use]
    pub const fn constant(delay: Span) -> Self {
        Self { law: Law::Constant { delay }, reorder: false, correlation: None }
    }

    /// What `law` says, in order, with the usual correlation time.
    #[must_use]
    pub const fn in_order(law: Law) -> Self {
        Self { law, reorder: false, correlation: None }
    }

    /// How the delays of two packets depend on each other: as given, or as usual.
    #[must_use]
    pub fn correlation(&self) -> Correlation {
        self.correlation.unwrap_or_else(|| Correlation::usual(&self.law, self.reorder))
    }

    /// The mean (the median of one that was measured), where the parameters say it: not for traces.
    #[must_use]
    pub fn mean(&self) -> Option<Span> {
        match &self.law {
            Law::Constant { delay } => Some(*delay),
            Law::Uniform { mean, .. } | Law::Normal { mean, .. } | Law::LogNormal { mean, .. } => Some(*mean),
            Law::Empirical(empirical) => {
                empirical.quantiles().ok().map(|quantiles| Span::from_nanos(quantiles.at(0.5) as u64))
            }
            Law::Trace { .. } | Law::Theaterq { .. } => None,
        }
    }

    /// Reads the file that the delay comes from, if it does; a spec that names one needs this
    /// before [`super::Delay::new`].
    pub fn load(&mut self, read: &mut Read<'_>) -> Result<(), SpecError> {
        match &mut self.law {
            Law::Empirical(Empirical::File { file }) => file.load(read, Quantiles::parse),
            Law::Trace { file, .. } => file.load(read, Course::parse),
            Law::Theaterq { file, .. } => file.load(read, TheaterqTrace::parse),
            _ => Ok(()),
        }
    }
}

impl Law {
    /// Whether delays are drawn from a distribution that the parameters give.
    #[must_use]
    pub fn draws(&self) -> bool {
        match self {
            Self::Uniform { .. } | Self::Normal { .. } | Self::LogNormal { .. } | Self::Empirical(_) => true,
            Self::Constant { .. } | Self::Trace { .. } | Self::Theaterq { .. } => false,
        }
    }

    /// The standard deviation of a law that draws, as far as its file is there; of a normal law
    /// that of the whole bell.
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
            Self::Constant { .. } | Self::Trace { .. } | Self::Theaterq { .. } => None,
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
