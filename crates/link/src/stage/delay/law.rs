//! Drawing of the delay of a packet.

use super::leocc::Delays;
use super::process::{Process, quantile, share_below};
use super::spec::{Between, Law};
use super::table::{Course, Quantiles};
use crate::fate::Effect;
use crate::packet::Packet;
use crate::seed::Stream;
use crate::stage::bottleneck::theaterq::Replay;
use crate::stage::spec::SpecError;
use crate::units::{Span, Time};
use rand::RngExt;
use rand_distr::{Distribution, LogNormal, Normal};
use std::sync::Arc;

/// A [`Law`] with its state.
#[derive(Debug)]
pub(super) enum Draw {
    Constant(Span),
    Uniform { low: u64, high: u64 },
    Normal(Bell),
    LogNormal(LogNormal<f64>),
    Quantiles(Quantiles),
    Course { course: Arc<Course>, straight: bool, start: Time },
    Leocc { delays: Arc<Delays>, interval: u64, start: Time },
    Theaterq(Replay),
}

/// A normal law truncated at 0, in nanoseconds.
#[derive(Debug)]
pub(super) struct Bell {
    whole: Normal<f64>,
    /// Share of the distribution below 0 before truncation.
    below: f64,
}

/// The delay of one packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Drawn {
    pub delay: Span,
    /// Route in which the packet keeps its order; 0 is none.
    pub route: u16,
}

impl Draw {
    /// Prepares the law, starting at `start` if it depends on time.
    pub fn new(law: &Law, start: Time) -> Result<Self, SpecError> {
        Ok(match law {
            Law::Constant { delay } => Self::Constant(finite("delay", *delay)?),
            Law::Uniform { mean, jitter } => {
                if jitter > mean {
                    return Err(SpecError::value("jitter", jitter, "must not exceed the mean"));
                }
                let high = finite("mean", *mean)?.as_nanos().saturating_add(jitter.as_nanos());
                Self::Uniform { low: (*mean - *jitter).as_nanos(), high }
            }
            Law::Normal { mean, sd } => {
                let (mean, sd) = (finite("mean", *mean)?.as_nanos(), finite("sd", *sd)?.as_nanos());
                let whole = Normal::new(mean as f64, sd as f64)
                    .map_err(|_| SpecError::value("sd", sd, "must be a length of time"))?;
                let below = if sd == 0 { 0.0 } else { share_below(-(mean as f64 / sd as f64)) };
                Self::Normal(Bell { whole, below })
            }
            Law::LogNormal { mean, sd } => {
                let wrong = || SpecError::value("mean", mean, "must be above 0 for a log-normal delay");
                let ratio = finite("sd", *sd)?.as_secs_f64() / finite("mean", *mean)?.as_secs_f64();
                // Parameters of the logarithm: sigma^2 = ln(1 + sd^2 / mean^2), mu = ln mean -
                // sigma^2 / 2.
                let variance = (ratio * ratio).ln_1p();
                let mu = (mean.as_nanos() as f64).ln() - variance / 2.0;
                if *mean == Span::ZERO {
                    return Err(wrong());
                }
                Self::LogNormal(LogNormal::new(mu, variance.sqrt()).map_err(|_| wrong())?)
            }
            Law::Empirical(empirical) => Self::Quantiles(empirical.quantiles()?),
            Law::Trace { file, between } => {
                let straight = *between == Between::Linear;
                Self::Course { course: file.content()?.clone(), straight, start }
            }
            Law::Leocc { file, interval } => {
                if *interval == Span::ZERO {
                    return Err(SpecError::value("interval", interval, "must be above 0, such as 10ms"));
                }
                Self::Leocc { delays: file.content()?.clone(), interval: interval.as_nanos(), start }
            }
            Law::Theaterq { file, at_end } => {
                Self::Theaterq(Replay::new(file.content()?.clone(), *at_end, start))
            }
        })
    }

    /// Returns the delay of `packet` at its logical time: from `process` if there is one, otherwise
    /// drawn from `stream`.
    pub fn draw(&mut self, packet: &Packet, process: Option<&mut Process>, stream: &mut Stream) -> Drawn {
        if let Some(process) = process
            && let Some(nanos) = self.at_score(process.at(packet.at))
        {
            return Drawn { delay: Span::from_nanos(nanos.round() as u64), route: 0 };
        }
        let nanos = match self {
            Self::Constant(delay) => delay.as_nanos(),
            Self::Uniform { low, high } => stream.random_range(*low..=*high),
            Self::Normal(Bell { whole, .. }) => loop {
                // The mean is not negative, so a draw is not negative with a probability of at
                // least one half.
                let nanos = whole.sample(stream);
                if nanos >= 0.0 {
                    break nanos.round() as u64;
                }
            },
            Self::LogNormal(law) => law.sample(stream).round() as u64,
            Self::Quantiles(quantiles) => quantiles.at(stream.random()).round() as u64,
            Self::Course { course, straight, start } => {
                course.at(packet.at.since(*start).as_nanos(), *straight)
            }
            Self::Leocc { delays, interval, start } => {
                delays.at(packet.at.since(*start).as_nanos() / *interval).as_nanos()
            }
            Self::Theaterq(replay) => return theaterq(replay, packet, stream),
        };
        Drawn { delay: Span::from_nanos(nanos), route: 0 }
    }

    /// Returns the delay in nanoseconds at the quantile that `score` has in a standard normal
    /// distribution. `None` for laws that are constant or follow a trace.
    fn at_score(&self, score: f64) -> Option<f64> {
        Some(match self {
            Self::Uniform { low, high } => *low as f64 + (high - low) as f64 * share_below(score),
            // A share below 0 this small changes no nanosecond, and scores are more exact than
            // shares.
            Self::Normal(Bell { whole, below }) if *below < 1e-15 => whole.from_zscore(score).max(0.0),
            Self::Normal(Bell { whole, below }) => {
                let share = below + (1.0 - below) * share_below(score);
                whole.from_zscore(quantile(share.min(1.0 - f64::EPSILON))).max(0.0)
            }
            Self::LogNormal(law) => law.from_zscore(score),
            Self::Quantiles(quantiles) => quantiles.at(share_below(score)),
            Self::Constant(_) | Self::Course { .. } | Self::Leocc { .. } | Self::Theaterq(_) => return None,
        })
    }
}

fn theaterq(replay: &mut Replay, packet: &Packet, stream: &mut Stream) -> Drawn {
    let entry = replay.at(packet.at);
    let mut delay = entry.latency;
    if entry.jitter > Span::ZERO {
        let width = entry.jitter.as_nanos().saturating_mul(2);
        delay = delay + Span::from_nanos(stream.random_range(0..=width)) - entry.jitter;
    }
    if packet.marks.iter().any(|mark| mark.effect == Effect::Copied) {
        delay = delay + entry.duplicate_delay;
    }
    Drawn { delay, route: entry.route }
}

fn finite(field: &'static str, span: Span) -> Result<Span, SpecError> {
    if span.is_forever() {
        return Err(SpecError::value(
            field,
            span,
            "must be finite: for a link that delivers nothing, use an outage",
        ));
    }
    Ok(span)
}
