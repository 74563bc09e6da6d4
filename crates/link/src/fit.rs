//! Estimation of two-state channels from measured losses, as parameters of
//! [`crate::stage::errors`].
//!
//! [`two_state`] takes an [`ErasureTrace`], the losses of blocks or packets, and finds the channel
//! with the maximum likelihood. The result includes:
//!
//! * 95 % confidence intervals
//! * a likelihood ratio test of two states against independent losses
//! * a chi-square test of whether the lengths of runs match the channel
//!
//! Every loss counts as the bad state and every arrival as the good one. A channel that loses only
//! some packets in its bad state (Gilbert-Elliott) cannot be recognised; its runs do not match.
//!
//! The first block or packet is taken as given; likelihoods are those of the others.

mod blocks;
mod packets;
mod runs;
mod trace;

pub use trace::ErasureTrace;

use crate::stage::errors::{Extent, TwoState, digits};
use crate::stage::spec::SpecError;
use crate::units::{Probability, Span};
use statrs::distribution::{ChiSquared, ContinuousCDF};
use std::fmt;

/// The channel with the maximum likelihood for a trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The channel: geometric on the block for blocks, exponential for packets.
    pub channel: TwoState<Span>,
    /// Number of blocks or packets in the trace.
    pub count: usize,
    /// Number of lost blocks or packets.
    pub lost: usize,
    /// Mean stay in the good state.
    pub good: Estimate<Span>,
    /// Mean stay in the bad state.
    pub bad: Estimate<Span>,
    /// Probabilities per block of good → bad and bad → good; `None` for packets.
    pub per_block: Option<(Estimate<Probability>, Estimate<Probability>)>,
    /// Logarithm of the likelihood of the trace under this channel.
    pub log_likelihood: f64,
    /// Logarithm of the likelihood under independent losses with the likeliest probability.
    pub log_likelihood_independent: f64,
    /// Test of the hypothesis that losses are independent. A small p-value speaks for two states.
    /// For packets the test favours independence, because that hypothesis is at the edge of the
    /// model.
    pub independence: Test,
    /// Test of the hypothesis that complete stays in the good state have the lengths of this
    /// channel. A small p-value speaks against the channel. `None` if there are too few stays.
    pub good_runs: Option<Test>,
    /// The same test for the bad state.
    pub bad_runs: Option<Test>,
}

/// An estimate with its 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate<T> {
    /// The likeliest value.
    pub value: T,
    /// Lower end of the interval.
    pub low: T,
    /// Upper end of the interval.
    pub high: T,
}

/// Result of a chi-square test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The statistic.
    pub chi_square: f64,
    /// Its degrees of freedom.
    pub degrees: u32,
    /// Probability of a statistic at least this large under the hypothesis.
    pub p_value: f64,
}

/// Error of a trace without a fit.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// The channel never leaves one of its two states.
    #[error(
        "{lost} of {count} lost, and the channel never changes state and back: measure longer, or use a process with `loss` alone"
    )]
    NoChanges {
        /// Number of blocks or packets in the trace.
        count: usize,
        /// Number of lost blocks or packets.
        lost: usize,
    },
    /// At the distances of these packets, losses do not depend on each other.
    #[error(
        "losses do not depend on the packet before ({lost} of {count} lost): send packets closer together, or use a process with \
         `loss` alone"
    )]
    Independent {
        /// Number of packets in the trace.
        count: usize,
        /// Number of lost packets.
        lost: usize,
    },
    /// Packets are out of order, or have different fates at the same instant.
    #[error("packet {place} (from 0) at {time}: times must increase")]
    Order {
        /// Place of the packet in the trace.
        place: usize,
        /// Time of the packet.
        time: crate::units::Time,
    },
    /// The parameters found are not a valid channel, for example because a block has no length.
    #[error(transparent)]
    Channel(#[from] SpecError),
}

/// Fits a two-state channel to `trace` by maximum likelihood.
pub fn two_state(trace: &ErasureTrace) -> Result<Fit, FitError> {
    match trace {
        ErasureTrace::Blocks { lost, block } => blocks::fit(lost, *block),
        ErasureTrace::Packets(packets) => packets::fit(packets),
    }
}

impl Test {
    fn new(chi_square: f64, degrees: u32) -> Self {
        let p_value = ChiSquared::new(f64::from(degrees)).map_or(f64::NAN, |law| law.sf(chi_square.max(0.0)));
        Self { chi_square, degrees, p_value }
    }
}

/// Returns the log-likelihood of independent losses, and the test of that hypothesis.
fn independence(log_likelihood: f64, count: usize, lost: usize) -> (f64, Test) {
    let term = |part: usize| if part == 0 { 0.0 } else { part as f64 * (part as f64 / count as f64).ln() };
    let independent = term(lost) + term(count - lost);
    (independent, Test::new(2.0 * (log_likelihood - independent), 1))
}

impl<T: Copy> Estimate<T> {
    /// Formats the value and its interval with `show`.
    fn shown(&self, show: impl Fn(T) -> String) -> String {
        format!("{} ({} to {})", show(self.value), show(self.low), show(self.high))
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { chi_square, degrees, p_value } = self;
        write!(f, "p = {} (chi-square {}, {degrees} d.f.)", digits(*p_value), digits(*chi_square))
    }
}

impl fmt::Display for Fit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.channel.describe())?;
        let time = |span: Span| Span::show(span.units());
        writeln!(f, "mean good {}, bad {} (95 % intervals)", self.good.shown(time), self.bad.shown(time))?;
        if let Some((p, q)) = self.per_block {
            let percent = |share: Probability| format!("{}%", digits(share.get() * 100.0));
            writeln!(f, "per block p {}, q {}", p.shown(percent), q.shown(percent))?;
        }
        writeln!(f, "{} of {} lost; independent losses: {}", self.lost, self.count, self.independence)?;
        let runs = |test: &Option<Test>| test.map_or("too few".to_owned(), |test| test.to_string());
        write!(f, "sojourn lengths, good: {}; bad: {}", runs(&self.good_runs), runs(&self.bad_runs))
    }
}

#[cfg(test)]
mod tests;
