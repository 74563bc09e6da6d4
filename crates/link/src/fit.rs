//! Two-state channels from measurements: what errors were like, as parameters of
//! [`crate::stage::errors`].
//!
//! [`two_state`] takes an [`ErasureTrace`], which says of blocks or packets whether they were lost,
//! and finds the channel under which just that was likeliest. It says how sure that is (95 %
//! intervals), whether two states say more than independent losses do (a likelihood ratio test),
//! and whether stays look as the channel's would (a chi-square test of the lengths of runs). It
//! takes each loss for the bad state and each arrival for the good one: a channel that loses only
//! some packets in its bad state (Gilbert-Elliott) is hidden from it, and shows as runs that do not
//! fit.
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

/// The channel that fits a trace best.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// The channel: geometric on the block for blocks, exponential for packets.
    pub channel: TwoState<Span>,
    /// Blocks or packets in the trace.
    pub count: usize,
    /// How many of them were lost.
    pub lost: usize,
    /// Mean stay in the good state.
    pub good: Estimate<Span>,
    /// Mean stay in the bad state.
    pub bad: Estimate<Span>,
    /// For blocks: probabilities per block of good → bad and bad → good.
    pub per_block: Option<(Estimate<Probability>, Estimate<Probability>)>,
    /// Logarithm of the likelihood of the trace under this channel.
    pub log_likelihood: f64,
    /// The same if each block or packet were lost by itself, with the likeliest probability.
    pub log_likelihood_independent: f64,
    /// That losses are independent: a small p-value speaks against it, and for two states. (For
    /// packets it errs on the side of independence, which lies at the edge of that model.)
    pub independence: Test,
    /// That complete stays in the good state have the lengths that this channel gives them: a small
    /// p-value speaks against the channel. `None` if there are too few.
    pub good_runs: Option<Test>,
    /// The same for the bad state.
    pub bad_runs: Option<Test>,
}

/// A value with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate<T> {
    /// The likeliest.
    pub value: T,
    /// Lower end of the interval.
    pub low: T,
    /// Upper end of the interval.
    pub high: T,
}

/// A chi-square test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Test {
    /// The statistic.
    pub chi_square: f64,
    /// Its degrees of freedom.
    pub degrees: u32,
    /// Probability of a statistic as large as this if what is tested were so.
    pub p_value: f64,
}

/// Why a trace has no fit.
#[derive(Debug, thiserror::Error)]
pub enum FitError {
    /// One of the two states was never left.
    #[error(
        "{lost} of {count} lost, and the channel never changes state and back: measure longer, or use a process with `loss` alone"
    )]
    NoChanges {
        /// Blocks or packets in the trace.
        count: usize,
        /// How many of them were lost.
        lost: usize,
    },
    /// Losses at the distances of these packets do not depend on each other.
    #[error(
        "losses do not depend on the packet before ({lost} of {count} lost): send packets closer together, or use a process with \
         `loss` alone"
    )]
    Independent {
        /// Packets in the trace.
        count: usize,
        /// How many of them were lost.
        lost: usize,
    },
    /// Packets out of order, or of different fates at one instant.
    #[error("packet {place} (from 0) at {time}: times must increase")]
    Order {
        /// Place of the packet in the trace.
        place: usize,
        /// Its time.
        time: crate::units::Time,
    },
    /// What was found is no channel, such as a block of no length.
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

/// Log-likelihood of independent losses, and the test against it.
fn independence(log_likelihood: f64, count: usize, lost: usize) -> (f64, Test) {
    let term = |part: usize| if part == 0 { 0.0 } else { part as f64 * (part as f64 / count as f64).ln() };
    let independent = term(lost) + term(count - lost);
    (independent, Test::new(2.0 * (log_likelihood - independent), 1))
}

impl<T: Copy> Estimate<T> {
    /// The value and its interval, each as `show` says.
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
