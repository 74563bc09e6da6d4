//! A stationary Gaussian process in time, which a varying delay follows.
//!
//! Independent standard normal numbers are placed at knots one correlation time apart. Between the
//! knots, the process is their sum with the weights of a cubic B-spline, divided by the root of the
//! sum of squared weights. Its value is therefore standard normal at every instant. The correlation
//! is 0.49 over one correlation time, 0.05 over two and exactly 0 from four on (mean over all
//! instants).
//!
//! An Ornstein-Uhlenbeck process is unsuitable because its path has no slope. A delay that follows
//! it falls faster than time passes within any short interval. In a dense stream in order, every
//! packet would wait for an earlier one, on average by sd²/(correlation time). The spline is
//! smooth. Its slope has a standard deviation of 1.0 to 1.3 per correlation time, so packets wait
//! only where the delay itself falls faster than time passes.
//!
//! The value depends only on the seed and the instant, because each knot's number is read at its
//! own position in the random stream. Traffic has no influence, and an idle hour costs no
//! computation.

use crate::seed::{Seed, Stream};
use crate::units::{Span, Time};
use rand::Rng;
use statrs::function::erf::{erfc, erfc_inv};
use std::f64::consts::SQRT_2;

/// Number of knots that affect a value.
const SUPPORT: usize = 4;

/// The process; see the [module](self).
#[derive(Debug)]
pub(super) struct Process {
    stream: Stream,
    /// Nanoseconds between knots, at least 1.
    step: u64,
    /// The knots around the last instant: the number of the first one, and their values.
    knots: Option<(u64, [f64; SUPPORT])>,
}

impl Process {
    /// Creates the process of a stage's `seed`.
    pub fn new(correlation: Span, seed: &Seed) -> Self {
        Self { stream: seed.stage("process").stream(), step: correlation.as_nanos().max(1), knots: None }
    }

    /// Returns the value at `now`, which is standard normal.
    pub fn at(&mut self, now: Time) -> f64 {
        let (knot, within) = (now.as_nanos() / self.step, now.as_nanos() % self.step);
        let knots = match self.knots {
            Some((known, knots)) if known == knot => knots,
            _ => {
                let knots = [0, 1, 2, 3].map(|place| self.knot(knot + place));
                self.knots = Some((knot, knots));
                knots
            }
        };
        let weights = weights(within as f64 / self.step as f64);
        let (mut sum, mut squares) = (0.0, 0.0);
        for (value, weight) in knots.iter().zip(weights) {
            sum += value * weight;
            squares += weight * weight;
        }
        sum / f64::sqrt(squares)
    }

    /// Returns the number at a knot: 64 bits at the knot's position in the stream, converted by the
    /// quantile function of the normal distribution.
    fn knot(&mut self, number: u64) -> f64 {
        self.stream.set_word_pos(u128::from(number) * 2);
        let uniform = ((self.stream.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        quantile(uniform)
    }
}

/// Returns the weights of the cubic B-spline for a value at `share` (0 to 1) of the way from the
/// second knot to the third.
fn weights(share: f64) -> [f64; SUPPORT] {
    let rest = 1.0 - share;
    let near = |distance: f64| 4.0 - 6.0 * distance * distance + 3.0 * distance.powi(3);
    [rest.powi(3), near(share), near(rest), share.powi(3)]
}

/// Returns the share of a standard normal distribution below `score`.
pub(super) fn share_below(score: f64) -> f64 {
    0.5 * erfc(-score / SQRT_2)
}

/// Returns the quantile of the standard normal distribution at `share` (0 to 1, both excluded).
pub(super) fn quantile(share: f64) -> f64 {
    -SQRT_2 * erfc_inv(2.0 * share)
}
