use super::*;
use crate::statistics::stream;
use proptest::prelude::*;
use rand_distr::{Distribution, Exp1};

/// Efron and Tibshirani, table 14.1: the spatial data, test A.
const SPATIAL: [f64; 26] = [
    48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0, 34.0, 4.0,
    32.0, 24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
];

fn variance(values: &mut [f64]) -> f64 {
    let centre = mean(values).unwrap();
    values.iter().map(|value| (value - centre).powi(2)).sum::<f64>() / values.len() as f64
}

/// The book's example: the variance of the spatial data is 171.5, a is 0.061, and the BCa interval
/// with a confidence of 90 % is 115.8 to 259.6. The book used 2000 resamples, so its ends are only
/// accurate to a few units.
#[test]
fn the_books_example() {
    assert!((variance(&mut SPATIAL.to_vec()) - 171.5).abs() < 0.05);
    assert!((acceleration(&SPATIAL, &variance) - 0.061).abs() < 0.0005);
    let how = Bootstrap { confidence: 0.9, ..Bootstrap::default() };
    let ours = how.bca(&SPATIAL, variance, &mut stream(1)).unwrap();
    assert!((ours.low - 115.8).abs() < 4.0, "{ours:?}");
    assert!((ours.high - 259.6).abs() < 8.0, "{ours:?}");
}

/// Of 400 samples of 30 exponential delays, about 95 % of the intervals contain the true mean of 1
/// and the true median of ln 2. With so few values, BCa is known to contain the truth a little less
/// often. The standard deviation of the count is 1.1 %.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut random = stream(2);
    let how = Bootstrap { resamples: 1000, ..Bootstrap::default() };
    for (estimator, truth) in [(Estimator::Mean, 1.0), (Estimator::Median, std::f64::consts::LN_2)] {
        let mut held = 0;
        for _ in 0..400 {
            let values: Vec<f64> = (0..30).map(|_| Exp1.sample(&mut random)).collect();
            let interval = how.interval(&values, estimator, &mut random).unwrap();
            held += u32::from((interval.low..=interval.high).contains(&truth));
        }
        let share = f64::from(held) / 400.0;
        assert!((0.91..=0.975).contains(&share), "{estimator:?}: {share}");
    }
}

/// The formulas for many values give what resampling gives, also for skewed values: the ends differ
/// by less than a twentieth of the width of the interval. (An end from 10 000 resamples itself has
/// a standard deviation of 0.7 % of the width.)
#[test]
fn the_ends_for_many_values_are_those_of_resampling() {
    let mut random = stream(6);
    for power in [1, 2] {
        let values: Vec<f64> = (0..ANALYTIC_FROM)
            .map(|_| {
                let one: f64 = Exp1.sample(&mut random);
                one.powi(power)
            })
            .collect();
        for estimator in [Estimator::Mean, Estimator::Median] {
            let how = Bootstrap::default();
            let formula = how.interval(&values, estimator, &mut random).unwrap();
            let drawn = how.bca(&values, |sample| estimator.of(sample), &mut random).unwrap();
            let width = drawn.high - drawn.low;
            for (one, other) in [(formula.low, drawn.low), (formula.high, drawn.high)] {
                assert!((one - other).abs() < width / 20.0, "{estimator:?} {power} {formula:?} {drawn:?}");
            }
        }
    }
}

#[test]
fn many_values_without_spread_have_an_interval_without_width() {
    for estimator in [Estimator::Mean, Estimator::Median] {
        let interval = Bootstrap::default().interval(&[3.0; ANALYTIC_FROM], estimator, &mut stream(7));
        assert_eq!(interval, Some(Interval { low: 3.0, high: 3.0, confidence: 0.95 }));
        let mut values = [3.0; ANALYTIC_FROM];
        values[7] = f64::NAN;
        assert_eq!(Bootstrap::default().interval(&values, estimator, &mut stream(7)), None);
    }
}

#[test]
fn no_interval_where_nothing_can_be_said() {
    let how = Bootstrap::default();
    let interval = |how: &Bootstrap, values: &[f64]| how.interval(values, Estimator::Mean, &mut stream(3));
    assert_eq!(interval(&how, &[]), None);
    assert_eq!(interval(&how, &[5.0]), None);
    assert_eq!(interval(&how, &[5.0, 1.0, 2.0, f64::NAN]), None);
    assert_eq!(interval(&Bootstrap { resamples: 0, ..how }, &[1.0, 2.0, 3.0, 4.0]), None);
    for confidence in [0.0, 1.0, -1.0, f64::NAN] {
        assert_eq!(interval(&Bootstrap { confidence, ..how }, &[1.0, 2.0, 3.0, 4.0]), None);
    }
}

/// Goes through all n^n resamples of n values, which are equally likely: the share whose estimate
/// is the smallest value, and whether there is an interval.
#[test]
fn an_interval_needs_so_many_values_that_its_ends_need_not_be_the_outermost() {
    for (estimator, least) in [(Estimator::Mean, 4), (Estimator::Median, 6)] {
        assert_eq!(estimator.least(), least);
        for count in 1..=least {
            let values: Vec<f64> = (0..count).map(|value| value as f64).collect();
            let all = count.pow(count as u32);
            let at_the_least = (0..all).filter(|number| {
                let digit = |place: usize| (number / count.pow(place as u32) % count) as f64;
                let mut resample: Vec<f64> = (0..count).map(digit).collect();
                estimator.of(&mut resample) <= 0.0
            });
            let share = at_the_least.count() as f64 / all as f64;
            assert_eq!(share > 0.025, count < least, "{estimator:?} of {count}: {share}");
            let interval = Bootstrap::default().interval(&values, estimator, &mut stream(5));
            assert_eq!(interval.is_some(), count >= least, "{estimator:?} of {count}: {interval:?}");
            if let Some(Interval { low, high, .. }) = interval {
                assert!(0.0 < low && high < (count - 1) as f64, "{estimator:?} of {count}: {interval:?}");
            }
        }
    }
}

/// With two samples of one distribution, the interval of the ratio of their means contains 1 in
/// about 95 of 100 cases; without any spread it is the ratio itself.
#[test]
fn the_interval_of_a_ratio_holds_the_truth_as_often_as_it_says() {
    let mut stream = crate::statistics::stream(3);
    let bootstrap = Bootstrap { confidence: 0.95, resamples: 1000 };
    let held = (0..200).filter(|_| {
        let mut draw = || (0..20).map(|_| stream.random_range(5.0..15.0)).collect::<Vec<f64>>();
        let (of, against) = (draw(), draw());
        let interval = bootstrap.ratio(&of, &against, &mut stream).expect("an interval");
        interval.low <= 1.0 && 1.0 <= interval.high
    });
    let held = held.count();
    assert!((180..=199).contains(&held), "{held} of 200");
    let exact = bootstrap.ratio(&[3.0; 5], &[2.0; 4], &mut stream).expect("an interval");
    assert_eq!((exact.low, exact.high), (1.5, 1.5));
    assert_eq!(bootstrap.ratio(&[3.0; 3], &[2.0; 4], &mut stream), None);
    assert_eq!(bootstrap.ratio(&[3.0; 4], &[2.0; 3], &mut stream), None);
    assert_eq!(bootstrap.ratio(&[3.0; 4], &[0.0; 4], &mut stream), None);
    assert_eq!(bootstrap.ratio(&[f64::NAN; 4], &[2.0; 4], &mut stream), None);
}

#[test]
fn what_never_varies_has_an_interval_without_width() {
    for estimator in [Estimator::Mean, Estimator::Median] {
        let interval = Bootstrap::default().interval(&[7.0; 6], estimator, &mut stream(4)).unwrap();
        assert_eq!((interval.low, interval.high), (7.0, 7.0));
    }
}

#[test]
fn the_median_of_an_even_number_is_between_the_middle_ones() {
    let median = |values: &mut [f64]| Estimator::Median.of(values);
    assert_eq!((median(&mut [4.0, 1.0, 3.0, 2.0]), median(&mut [3.0, 1.0, 2.0])), (2.5, 2.0));
}

proptest! {
    #[test]
    fn the_ends_lie_among_the_values_in_order_and_repeat(
        values in prop::collection::vec(-1e6..1e6_f64, 6..20),
        confidence in 0.01..0.999_f64,
        seed: u64,
    ) {
        let how = Bootstrap { confidence, resamples: 200 };
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        // A mean of equal values may be off in its last bit.
        let slack = 1e-9 * greatest.abs().max(least.abs());
        for estimator in [Estimator::Mean, Estimator::Median] {
            let interval = how.interval(&values, estimator, &mut stream(seed)).unwrap();
            prop_assert!(least - slack <= interval.low && interval.low <= interval.high);
            prop_assert!(interval.high <= greatest + slack);
            prop_assert_eq!(how.interval(&values, estimator, &mut stream(seed)).unwrap(), interval);
        }
    }
}
