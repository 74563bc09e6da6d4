//! Thousands of simulated cells, stopped by the shipped code: how often the interval at the stop
//! contains the true mean. With `--nocapture` the test prints its rates.

use super::stop::stop;
use super::{LookAt, Precision};
use crate::Metric;
use crate::requirement::values::Outcome;
use crate::statistics::stream;
use rand_distr::{Distribution, LogNormal, Normal};

/// Simulated cells of each kind.
const ROUNDS: u32 = 4000;

/// Returns the share of intervals that contain the mean 1, and the mean number of repetitions.
fn covered(looks: LookAt, spread: f64, is_skewed: bool) -> (f64, f64) {
    let rule = Precision { looks, ..Precision::new(Metric::Goodput, 0.02) };
    let looks = rule.looks(30, 63).expect("looks");
    let ends = rule.ends(&looks);
    let normal = Normal::new(1.0, spread).expect("a distribution");
    // The mean of a lognormal distribution is exp(μ + σ²/2).
    let sigma = (1.0 + spread * spread).ln().sqrt();
    let skewed = LogNormal::new(-sigma * sigma / 2.0, sigma).expect("a distribution");
    let mut random = stream(11);
    let (mut hits, mut repetitions) = (0, 0);
    for _ in 0..ROUNDS {
        let outcomes: Vec<_> = (0..63)
            .map(|_| if is_skewed { skewed.sample(&mut random) } else { normal.sample(&mut random) })
            .map(Outcome::Value)
            .collect();
        let stop = stop(rule.within, &looks, &ends, &outcomes);
        let (low, high) = (stop.low.expect("an end"), stop.high.expect("an end"));
        hits += u32::from((low..=high).contains(&1.0));
        repetitions += stop.repetitions;
    }
    (f64::from(hits) / f64::from(ROUNDS), f64::from(repetitions) / f64::from(ROUNDS))
}

/// A rate over the rounds is exact to 0.7 percentage points (two standard errors).
const EXACT: f64 = 0.007;

/// Spreads of 4 to 20 % of the mean: some cells stop at once, others never.
#[test]
fn shared_looks_keep_the_confidence_and_looks_at_every_repetition_lose_a_little() {
    for spread in [0.04, 0.05, 0.06, 0.07, 0.08, 0.2] {
        for is_skewed in [false, true] {
            let (few, with_few) = covered(LookAt::Few, spread, is_skewed);
            let (every, with_every) = covered(LookAt::Every, spread, is_skewed);
            println!(
                "spread {spread}, skewed {is_skewed}: few {few:.4} ({with_few:.1}), every {every:.4} ({with_every:.1})"
            );
            assert!(few >= 0.95 - EXACT, "{spread}, {is_skewed}: {few}");
            assert!(every >= 0.94 - EXACT, "{spread}, {is_skewed}: {every}");
            assert!(with_every <= with_few + 1e-9, "{spread}, {is_skewed}");
        }
    }
}
