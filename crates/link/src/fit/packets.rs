//! Fit for packets at any distance: a channel in continuous time, observed only at instants.
//!
//! Let π be the share of the bad state and r the sum of both rates of change. A channel that is
//! good now is bad after t with probability `π (1 − e^(−rt))`. One that is bad now is good after t
//! with probability `(1 − π)(1 − e^(−rt))` (TCP Lite 10.5).
//!
//! Fisher scoring in logit π and ln r finds the likeliest π and r. Confidence intervals follow from
//! the information at the maximum, on the scale of ln good and ln bad, where the estimates are
//! nearest to normal.

use super::{Estimate, Fit, FitError, independence, runs};
use crate::stage::errors::{Form, Sojourn, Start, TwoState};
use crate::units::{Span, Time};

/// 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_985;

/// `count` equal pairs of neighbours: the states of both (`true` is bad) and the seconds between
/// them.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    from: bool,
    to: bool,
    seconds: f64,
    count: f64,
}

/// Parameters of a channel in continuous time.
#[derive(Debug, Clone, Copy)]
struct Rates {
    logit_share: f64,
    ln_rate: f64,
}

/// Log-likelihood with its gradient and its expected information.
struct Likelihood {
    log: f64,
    slope: [f64; 2],
    /// The matrix as [share, both, rate].
    information: [f64; 3],
}

pub(super) fn fit(packets: &[(Time, bool)]) -> Result<Fit, FitError> {
    let lost = packets.iter().filter(|packet| packet.1).count();
    let count = packets.len();
    let pairs = pairs(packets)?;
    let changes = |from: bool| pairs.iter().any(|pair| pair.from == from && pair.to != from);
    if !changes(false) || !changes(true) {
        return Err(FitError::NoChanges { count, lost });
    }
    let independent = || FitError::Independent { count, lost };
    let (rates, likelihood) = likeliest(&pairs, lost as f64 / count as f64).ok_or_else(independent)?;

    let [share, both, rate] = likelihood.information;
    let determinant = share * rate - both * both;
    // Variances and covariance of the two estimates.
    let (var_share, cov, var_rate) = (rate / determinant, -both / determinant, share / determinant);
    let spread = |slope: f64| (slope * slope * var_share - 2.0 * slope * cov + var_rate).sqrt();
    // good = 1 / (π r) and bad = 1 / ((1 − π) r). The derivatives of their logarithms by logit π
    // are π − 1 and π, those by ln r are −1.
    let pi = rates.share();
    let estimate = |seconds: f64, spread: f64| Estimate {
        value: Span::from_secs_f64(seconds),
        low: Span::from_secs_f64(seconds * (-Z * spread).exp()),
        high: Span::from_secs_f64(seconds * (Z * spread).exp()),
    };
    let good = estimate(1.0 / (pi * rates.rate()), spread(pi - 1.0));
    let bad = estimate(1.0 / ((1.0 - pi) * rates.rate()), spread(pi));

    let judged = pairs.iter().map(|pair| pair.count).sum::<f64>() as usize;
    let judged_lost = pairs.iter().filter(|pair| pair.to).map(|pair| pair.count).sum::<f64>() as usize;
    let (log_likelihood_independent, independence) = independence(likelihood.log, judged, judged_lost);
    let [good_runs, bad_runs] =
        [false, true].map(|state| runs::in_time(packets, state, |t| rates.stays(state, t)));
    let form = Form::Sojourns { good: good.value, bad: bad.value };
    Ok(Fit {
        channel: TwoState::with(form, Sojourn::Exponential, None, Start::Stationary)?,
        count,
        lost,
        good,
        bad,
        per_block: None,
        log_likelihood: likelihood.log,
        log_likelihood_independent,
        independence,
        good_runs,
        bad_runs,
    })
}

/// Groups equal pairs of neighbours. Neighbours at the same instant carry no information.
fn pairs(packets: &[(Time, bool)]) -> Result<Vec<Pairs>, FitError> {
    let mut all: Vec<(bool, bool, u64)> = Vec::with_capacity(packets.len());
    for (place, pair) in packets.windows(2).enumerate() {
        let [(before, from), (time, to)] = [pair[0], pair[1]];
        if time < before || (time == before && from != to) {
            return Err(FitError::Order { place: place + 1, time });
        }
        if time > before {
            all.push((from, to, time.since(before).as_nanos()));
        }
    }
    all.sort_unstable();
    Ok(all
        .chunk_by(|one, other| one == other)
        .map(|same| {
            let (from, to, nanos) = same[0];
            Pairs { from, to, seconds: Span::from_nanos(nanos).as_secs_f64(), count: same.len() as f64 }
        })
        .collect())
}

/// Runs Fisher scoring from moment estimates. Returns `None` if the rate grows beyond what the
/// packets can show.
fn likeliest(pairs: &[Pairs], share: f64) -> Option<(Rates, Likelihood)> {
    let total: f64 = pairs.iter().map(|pair| pair.count).sum();
    let seconds = pairs.iter().map(|pair| pair.count * pair.seconds).sum::<f64>() / total;
    let changes =
        pairs.iter().filter(|pair| pair.from != pair.to).map(|pair| pair.count).sum::<f64>() / total;
    let mixed = (changes / (2.0 * share * (1.0 - share))).min(0.95);
    let shortest = pairs.iter().map(|pair| pair.seconds).fold(f64::INFINITY, f64::min);
    let mut rates =
        Rates { logit_share: (share / (1.0 - share)).ln(), ln_rate: (-(-mixed).ln_1p() / seconds).ln() };
    let mut likelihood = Likelihood::of(pairs, rates);
    for _ in 0..100 {
        let [share, both, rate] = likelihood.information;
        let determinant = share * rate - both * both;
        // Beyond this, the nearest packets are as good as independent.
        if rates.rate() * shortest > 20.0 || determinant <= 0.0 || determinant.is_nan() {
            return None;
        }
        let [by_share, by_rate] = likelihood.slope;
        let step = [
            (rate * by_share - both * by_rate) / determinant,
            (share * by_rate - both * by_share) / determinant,
        ];
        let mut scale = 1.0 / (step[0].abs().max(step[1].abs()) / 2.0).max(1.0);
        let better = loop {
            let next = Rates {
                logit_share: rates.logit_share + scale * step[0],
                ln_rate: rates.ln_rate + scale * step[1],
            };
            let there = Likelihood::of(pairs, next);
            if there.log >= likelihood.log {
                break Some((next, there));
            }
            scale /= 2.0;
            if scale < 1e-9 {
                break None;
            }
        };
        let moved = scale * step[0].abs().max(step[1].abs());
        if let Some(better) = better {
            (rates, likelihood) = better;
        }
        if moved < 1e-9 {
            break;
        }
    }
    Some((rates, likelihood))
}

impl Rates {
    fn share(self) -> f64 {
        1.0 / (1.0 + (-self.logit_share).exp())
    }

    fn rate(self) -> f64 {
        self.ln_rate.exp()
    }

    /// Returns the probability that the channel is in the same state, bad or good, after `seconds`.
    fn stays(self, bad: bool, seconds: f64) -> f64 {
        let other = if bad { 1.0 - self.share() } else { self.share() };
        1.0 + other * (-self.rate() * seconds).exp_m1()
    }
}

impl Likelihood {
    fn of(pairs: &[Pairs], rates: Rates) -> Self {
        let (pi, rate) = (rates.share(), rates.rate());
        let mut sum = Self { log: 0.0, slope: [0.0; 2], information: [0.0; 3] };
        for pair in pairs {
            // Probability of a change, and its derivatives by logit π and ln r.
            let mixed = -(-rate * pair.seconds).exp_m1();
            let (other, sign) = if pair.from { (1.0 - pi, -1.0) } else { (pi, 1.0) };
            let change = other * mixed;
            let by_share = sign * pi * (1.0 - pi) * mixed;
            let by_rate = other * rate * pair.seconds * (1.0 - mixed);
            let (probability, sign) = if pair.from == pair.to { (1.0 - change, -1.0) } else { (change, 1.0) };
            sum.log += pair.count * probability.ln();
            let weight = pair.count * sign / probability;
            sum.slope[0] += weight * by_share;
            sum.slope[1] += weight * by_rate;
            let weight = pair.count / (change * (1.0 - change));
            sum.information[0] += weight * by_share * by_share;
            sum.information[1] += weight * by_share * by_rate;
            sum.information[2] += weight * by_rate * by_rate;
        }
        sum
    }
}
