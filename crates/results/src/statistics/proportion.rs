//! Interval of a counted share.

use super::Interval;
use statrs::distribution::{ContinuousCDF, Normal};

/// Returns the interval for the true share if `of` out of `all` were counted: Wilson's score
/// interval (Probable inference, the law of succession, and statistical inference, 1927).
///
/// It keeps its confidence for small counts and for shares near 0 and 1 (Newcombe, Two-sided
/// confidence intervals for the single proportion, 1998, method 3), and never leaves 0 to 1. The
/// counted events must be independent: if they share a cause, the interval is too narrow.
///
/// `None` if `all` is 0, if `of` is more than `all`, and if the confidence is not between 0 and 1.
#[must_use]
pub fn wilson(of: u64, all: u64, confidence: f64) -> Option<Interval> {
    if all == 0 || of > all || !(0.0 < confidence && confidence < 1.0) {
        return None;
    }
    let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence));
    let (count, share) = (all as f64, of as f64 / all as f64);
    let scale = 1.0 + z * z / count;
    let middle = (share + z * z / (2.0 * count)) / scale;
    let reach = z / scale * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
    // At 0 and 1 the ends are known exactly; their formulas have rounding errors.
    let low = if of == 0 { 0.0 } else { middle - reach };
    let high = if of == all { 1.0 } else { middle + reach };
    Some(Interval { low, high, confidence })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Newcombe 1998, table I, method 3.
    #[test]
    fn the_examples_of_the_literature() {
        for (of, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let interval = wilson(of, all, 0.95).expect("an interval");
            assert!((interval.low - low).abs() < 5e-5 && (interval.high - high).abs() < 5e-5, "{interval:?}");
        }
    }

    #[test]
    fn none_and_all_are_ends_of_the_scale() {
        let (none, all) = (
            |count| wilson(0, count, 0.95).map(|interval| interval.low),
            |count| wilson(count, count, 0.95).map(|interval| interval.high),
        );
        for count in 1..500 {
            assert_eq!((none(count), all(count)), (Some(0.0), Some(1.0)), "{count}");
        }
    }

    #[test]
    fn of_nothing_there_is_no_share() {
        assert_eq!(wilson(0, 0, 0.95), None);
        assert_eq!(wilson(2, 1, 0.95), None);
        assert_eq!([0.0, 1.0, f64::NAN].map(|confidence| wilson(1, 2, confidence)), [None; 3]);
    }

    proptest! {
        /// At the ends of the score interval the test of the share just does not reject: the
        /// counted share is z standard errors away, with the standard error that holds there.
        #[test]
        fn at_its_ends_the_test_just_does_not_reject(all in 1_u64..100_000, part in 0.0..=1.0_f64, confidence in 0.5..0.999_f64) {
            let of = (part * all as f64) as u64;
            let interval = wilson(of, all, confidence).expect("an interval");
            let (count, share) = (all as f64, of as f64 / all as f64);
            prop_assert!(0.0 <= interval.low && interval.low <= share && share <= interval.high && interval.high <= 1.0);
            let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence));
            for end in [interval.low, interval.high].into_iter().filter(|end| 0.0 < *end && *end < 1.0) {
                let error = (end * (1.0 - end) / count).sqrt();
                prop_assert!(((share - end).abs() / error - z).abs() < 1e-6, "{end}");
            }
            let other = wilson(all - of, all, confidence).expect("an interval");
            prop_assert!((1.0 - other.high - interval.low).abs() < 1e-9);
        }
    }
}
