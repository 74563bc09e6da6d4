//! Sojourn times of a two-state channel, estimated from observations.
//!
//! A probe observes the channel at single instants and misses a state that comes and goes between
//! two of them, so run lengths times the gap are too long. A two-state chain with exponential
//! sojourns, observed every `gap`, is again a chain, with `p + q = 1 − e^(−gap / τ)` and
//! `p / q = bad / good`, where `1 / τ = 1 / good + 1 / bad`. This module estimates p and q and
//! computes the means from them, which is exact for any gap.

use super::statistics::{Estimate, exponential_mean};

/// Estimated mean sojourn times of a channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sojourns {
    /// Mean time in the good state, in seconds.
    pub good: Estimate,
    /// Mean time in the bad state, in seconds.
    pub bad: Estimate,
}

/// Estimates sojourn times from the observed states, true for bad, every `gap` seconds.
pub fn sojourns(states: &[bool], gap: f64) -> Sojourns {
    // Observations of a state that have a successor, and how many successors show the other state.
    let (mut looks, mut ends) = ([0_u64; 2], [0_u64; 2]);
    for pair in states.windows(2) {
        let now = usize::from(pair[0]);
        looks[now] += 1;
        ends[now] += u64::from(pair[0] != pair[1]);
    }
    let leaving = |state: usize| ends[state] as f64 / looks[state].max(1) as f64;
    let both = leaving(0) + leaving(1);
    // Ratio of a run of observations to the sojourn; 1 if nothing is known.
    let stretch = if both > 0.0 && both < 1.0 { -(-both).ln_1p() / both } else { 1.0 };
    let mean = |state: usize| exponential_mean(looks[state] as f64 * gap / stretch, ends[state]);
    Sojourns { good: mean(0), bad: mean(1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::Seed;
    use rand::RngExt;

    /// Simulates a channel with these mean times, observed every `gap`.
    fn channel(good: f64, bad: f64, gap: f64, count: usize) -> Vec<bool> {
        let mut stream = Seed::campaign(3).stage("sojourns").stream();
        let (mut state, mut left) = (false, 0.0);
        let mut states = Vec::with_capacity(count);
        for _ in 0..count {
            while left <= 0.0 {
                state = !state;
                let mean = if state { bad } else { good };
                left -= mean * (-stream.random::<f64>()).ln_1p();
            }
            states.push(state);
            left -= gap;
        }
        states
    }

    #[test]
    fn wide_gaps_do_not_stretch_the_times() {
        for gap in [0.001, 0.01, 0.02] {
            let estimate = sojourns(&channel(0.2, 0.03, gap, 2_000_000), gap);
            // At least 8 700 sojourns: one standard deviation is 1.1 %, or a little more with few
            // observations.
            assert!((estimate.good.value / 0.2 - 1.0).abs() < 0.05, "{gap}: {estimate:?}");
            assert!((estimate.bad.value / 0.03 - 1.0).abs() < 0.05, "{gap}: {estimate:?}");
        }
    }

    #[test]
    fn counts_ends_and_the_time_before_them() {
        let states = [false, false, false, true, true, false, false, false, false, false];
        let estimate = sojourns(&states, 1.0);
        // Seven observations of the good state have a successor, one of them an end; two of the bad
        // state, one of them an end.
        let both: f64 = 1.0 / 7.0 + 1.0 / 2.0;
        let stretch = -(1.0 - both).ln() / both;
        assert!((estimate.good.value - 7.0 / stretch).abs() < 1e-9, "{estimate:?}");
        assert!((estimate.bad.value - 2.0 / stretch).abs() < 1e-9, "{estimate:?}");
    }

    #[test]
    fn a_channel_that_never_changed_has_no_mean() {
        let estimate = sojourns(&[false; 100], 0.001);
        assert!(estimate.good.value.is_infinite());
        assert!(estimate.good.shown.low > 0.02 && estimate.good.shown.high.is_infinite());
    }
}
