//! Fit for blocks without gaps: the chain is observed at every step, so the likeliest probabilities
//! are shares of steps.

use super::{Estimate, Fit, FitError, Test, independence, runs};
use crate::stage::errors::{Form, Sojourn, Start, TwoState};
use crate::stage::spec::SpecError;
use crate::units::{Probability, Span};
use statrs::distribution::{Beta, ContinuousCDF};

/// Steps out of one state.
#[derive(Debug, Clone, Copy, Default)]
struct Steps {
    stayed: u64,
    left: u64,
}

pub(super) fn fit(lost: &[bool], block: Span) -> Result<Fit, FitError> {
    if block == Span::ZERO || block.is_forever() {
        return Err(SpecError::value("block", block, "must be above 0 and finite, such as 10ms").into());
    }
    let mut steps = [Steps::default(); 2];
    for pair in lost.windows(2) {
        let from = &mut steps[usize::from(pair[0])];
        *(if pair[0] == pair[1] { &mut from.stayed } else { &mut from.left }) += 1;
    }
    let [good, bad] = steps;
    let losses = lost.iter().filter(|lost| **lost).count();
    if good.left == 0 || bad.left == 0 {
        return Err(FitError::NoChanges { count: lost.len(), lost: losses });
    }
    let (p, q) = (good.leaving(), bad.leaving());
    let log_likelihood = good.log_likelihood() + bad.log_likelihood();
    let (log_likelihood_independent, independence) =
        independence(log_likelihood, lost.len() - 1, losses - usize::from(lost[0]));
    let form = Form::Transitions { p: p.value, q: q.value };
    let lengths = runs::complete(lost);
    let test = |state: bool, leave: Estimate<Probability>| -> Option<Test> {
        let of_state: Vec<u64> =
            lengths.iter().filter(|run| run.0 == state).map(|run| run.1.len() as u64).collect();
        runs::geometric(&of_state, leave.value.get())
    };
    Ok(Fit {
        channel: TwoState::with(form, Sojourn::Geometric, Some(block), Start::Stationary)?,
        count: lost.len(),
        lost: losses,
        good: stay(p, block),
        bad: stay(q, block),
        per_block: Some((p, q)),
        log_likelihood,
        log_likelihood_independent,
        independence,
        good_runs: test(false, p),
        bad_runs: test(true, q),
    })
}

impl Steps {
    /// Returns the probability of leaving, with Jeffreys' interval. Over all probabilities, its
    /// coverage is the nearest to 95 % (Brown, Cai, DasGupta, Statistical Science 2001).
    fn leaving(self) -> Estimate<Probability> {
        let (left, stayed) = (self.left as f64, self.stayed as f64);
        let share = |value: f64| Probability::new(value.clamp(0.0, 1.0)).unwrap_or_default();
        let quantile =
            |at: f64| Beta::new(left + 0.5, stayed + 0.5).map_or(f64::NAN, |law| law.inverse_cdf(at));
        Estimate {
            value: share(left / (left + stayed)),
            low: share(quantile(0.025)),
            high: if self.stayed == 0 { Probability::ONE } else { share(quantile(0.975)) },
        }
    }

    fn log_likelihood(self) -> f64 {
        let all = (self.left + self.stayed) as f64;
        let term = |part: u64| if part == 0 { 0.0 } else { part as f64 * (part as f64 / all).ln() };
        term(self.left) + term(self.stayed)
    }
}

/// Returns the mean stay in a state that is left with probability `leave` at the end of each block.
fn stay(leave: Estimate<Probability>, block: Span) -> Estimate<Span> {
    let mean = |leave: Probability| Span::from_secs_f64(block.as_secs_f64() / leave.get());
    Estimate { value: mean(leave.value), low: mean(leave.high), high: mean(leave.low) }
}
