//! Tests of means, standard deviations and percentiles of a million packets, each within five
//! standard errors. Delays are drawn for each packet, or are a process in time.

use super::*;
use statrs::distribution::{Continuous, ContinuousCDF, LogNormal, Normal};

const COUNT: u64 = 1_000_000;

/// Returns sorted delays in milliseconds: drawn for each packet, and of a process.
fn samples(law: &Law) -> [Vec<f64>; 2] {
    // With reordering, no packet waits for another. The gap exceeds the reach of the correlation,
    // and the instants are spread over the knots of the process.
    let apart = Span::from_nanos(4_999);
    [made(law.clone(), true), correlated(law.clone(), true, apart)].map(|mut stage| {
        let delays = delays(&mut stage, COUNT, 20_001);
        let mut sample: Vec<f64> = delays.iter().map(|&nanos| nanos as f64 / 1e6).collect();
        sample.sort_by(f64::total_cmp);
        sample
    })
}

pub(super) fn mean_and_sd(sample: &[f64]) -> (f64, f64) {
    let mean = sample.iter().sum::<f64>() / sample.len() as f64;
    let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / sample.len() as f64;
    (mean, variance.sqrt())
}

/// Asserts that the mean and the share of packets below each quantile match the formula, within
/// five standard errors.
fn assert_law(sample: &[f64], mean: f64, sd: f64, cdf: impl Fn(f64) -> f64) {
    let (seen, spread) = mean_and_sd(sample);
    let count = sample.len() as f64;
    assert!((seen - mean).abs() < 5.0 * sd / count.sqrt(), "mean {seen}, expected {mean}");
    // The fourth moment of a log-normal is large, hence half a per cent for the standard deviation.
    assert!((spread - sd).abs() < 0.005 * sd, "sd {spread}, expected {sd}");
    for share in [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999] {
        let quantile = sample[(share * count) as usize];
        let error = (share * (1.0 - share) / count).sqrt();
        assert!(
            (cdf(quantile) - share).abs() < 5.0 * error + 1e-6,
            "{share}: {quantile} is {}",
            cdf(quantile)
        );
    }
}

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

#[test]
fn normal() {
    let law = Normal::new(50.0, 5.0).expect("a law");
    for sample in samples(&Law::Normal { mean: ms(50), sd: ms(5) }) {
        assert_law(&sample, 50.0, 5.0, |x| law.cdf(x));
    }
}

#[test]
fn normal_is_truncated_at_0_by_drawing_again() {
    // Mean and sd of a normal law above 0 (Johnson, Kotz and Balakrishnan 1994, section 10.1): with
    // a = -mean/sd and h = pdf(a) / (1 - cdf(a)): mean + sd h, and sd sqrt(1 + a h - h^2).
    let (mean, sd) = (10.0, 10.0);
    let unit = Normal::new(0.0, 1.0).expect("a law");
    let (a, below) = (-mean / sd, unit.cdf(-mean / sd));
    let h = unit.pdf(a) / (1.0 - below);
    for sample in samples(&Law::Normal { mean: ms(10), sd: ms(10) }) {
        assert!(sample[0] >= 0.0);
        assert_law(&sample, mean + sd * h, sd * (1.0 + a * h - h * h).sqrt(), |x| {
            (unit.cdf((x - mean) / sd) - below) / (1.0 - below)
        });
    }
}

#[test]
fn log_normal_has_the_mean_and_the_standard_deviation_of_the_delay() {
    let (mean, sd) = (40.0f64, 20.0f64);
    let variance = (sd * sd / (mean * mean)).ln_1p();
    let law = LogNormal::new(mean.ln() - variance / 2.0, variance.sqrt()).expect("a law");
    for sample in samples(&Law::LogNormal { mean: ms(40), sd: ms(20) }) {
        assert_law(&sample, mean, sd, |x| law.cdf(x));
    }
}

#[test]
fn uniform() {
    for sample in samples(&Law::Uniform { mean: ms(40), jitter: ms(10) }) {
        assert!(sample[0] >= 30.0 && sample[sample.len() - 1] <= 50.0);
        assert_law(&sample, 40.0, 20.0 / 12f64.sqrt(), |x| (x - 30.0) / 20.0);
    }
}

#[test]
fn values_are_drawn_with_straight_lines_between_them() {
    // Sorted 10, 20, 50: the distribution function rises by 1/2 from 10 to 20 and by 1/2 from 20
    // to 50.
    let values = vec![ms(20), ms(10), ms(50)];
    let cdf = |x: f64| if x < 20.0 { (x - 10.0) / 20.0 } else { 0.5 + (x - 20.0) / 60.0 };
    // E x^2 of a piece from a to b: (a^2 + ab + b^2) / 3.
    let (mean, square) = (25.0, f64::midpoint(700.0 / 3.0, 3900.0 / 3.0));
    for sample in samples(&Law::Empirical(Empirical::Values { values })) {
        assert_law(&sample, mean, (square - mean * mean).sqrt(), cdf);
    }
}

#[test]
fn percentiles_are_drawn_with_straight_lines_between_them() {
    let percentiles = vec![(0.0, ms(10)), (90.0, ms(20)), (90.5, ms(20)), (100.0, ms(200))];
    for sample in samples(&Law::Empirical(Empirical::Percentiles { percentiles })) {
        let at = |share: f64| sample[(share * sample.len() as f64) as usize];
        // The density per ms is 0.09 below 20 ms and 0.095 / 180 above.
        for (share, expected, density) in [(0.45, 15.0, 0.09), (0.9525, 110.0, 0.095 / 180.0)] {
            let error = (share * (1.0f64 - share) / 1e6).sqrt() / density;
            assert!((at(share) - expected).abs() < 5.0 * error, "{share}: {}", at(share));
        }
        assert!((at(0.9025) - 20.0).abs() < 1e-9);
        let mean = mean_and_sd(&sample).0;
        assert!((mean - (0.9 * 15.0 + 0.005 * 20.0 + 0.095 * 110.0)).abs() < 5.0 * 37.0 / 1e3, "{mean}");
    }
}

#[test]
fn one_value_is_a_constant() {
    let law = Law::Empirical(Empirical::Values { values: vec![ms(7)] });
    assert!(delays(&mut made(law, false), 1000, 1).iter().all(|&nanos| nanos == 7 * MS));
    let law = Law::Normal { mean: ms(7), sd: Span::ZERO };
    assert!(delays(&mut made(law, false), 1000, 1).iter().all(|&nanos| nanos == 7 * MS));
}

#[test]
fn the_same_seed_draws_the_same_delays_and_another_seed_others() {
    for correlation in [Correlation::None, Correlation::Time(ms(1))] {
        let law = Law::Normal { mean: ms(50), sd: ms(5) };
        let spec = DelaySpec { law, reorder: true, correlation: Some(correlation) };
        let of = |seed| {
            let mut stage = Delay::new(spec.clone(), &Seed::campaign(seed)).expect("a spec that can be");
            delays(&mut stage, 1000, 10)
        };
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }
}
