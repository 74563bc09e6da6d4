use super::*;
use proptest::prelude::*;
use rand::RngExt;

fn single(count: u32) -> Looks {
    Looks::new(count, count)
}

/// Ranks of the one-sided 95 % and 97.5 % limits of the median: tables of the sign test (Conover,
/// Practical Nonparametric Statistics, 1999, table A3).
#[test]
fn ranks_of_a_single_look_are_those_of_the_sign_test() {
    let rank = |count, alpha| ranks(0.5, alpha, &single(count))[0];
    let found: Vec<_> = [4, 5, 8, 10, 20].map(|count| (rank(count, 0.05), rank(count, 0.025))).into();
    assert_eq!(found, [(0, 0), (1, 0), (2, 1), (2, 2), (6, 6)]);
}

/// 0.95^59 is the first power below 5 %: the largest of 59 values is above the 95th percentile.
#[test]
fn the_largest_of_59_values_is_above_the_95th_percentile() {
    let exist = |count| QuantileEnds::new(0.95, 0.05, &single(count)).exist();
    assert_eq!((exist(58), exist(59)), ((true, false), (true, true)));
}

/// With half of the values missing, the ends are those at the outside.
#[test]
fn values_that_are_not_known_move_the_ends_outwards() {
    let ends = QuantileEnds::new(0.5, 0.05, &single(10));
    let mut values: Vec<f64> = (1..=10).map(f64::from).collect();
    assert_eq!(ends.at(0, &values), Ends { low: 2.0, high: 9.0 });
    values[9] = f64::INFINITY;
    assert_eq!(ends.at(0, &values), Ends { low: 2.0, high: 9.0 });
    values[8] = f64::INFINITY;
    assert_eq!(ends.at(0, &values), Ends { low: 2.0, high: f64::INFINITY });
}

#[test]
fn a_mean_needs_spread_and_ten_values() {
    let ends = MeanEnds::new(0.05, &Looks::new(9, 20));
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    let looks = Looks::new(9, 20);
    assert_eq!(looks.repetitions(), [9, 13, 20]);
    assert_eq!(ends.at(0, &values[..9]), Ends::OPEN);
    let Ends { low, high } = ends.at(1, &values[..13]);
    assert!(low < 6.0 && 6.0 < high && low.is_finite() && high.is_finite(), "{low} {high}");
    assert_eq!(ends.at(2, &[0.1; 20]), Ends::OPEN, "their mean is not exactly 0.1");
    assert_eq!(ends.at(2, &[0.0; 20]), Ends::OPEN);
    assert_eq!(ends.at(2, &[f64::INFINITY; 20]), Ends::OPEN);
}

/// Symmetric values: Student's ends, which textbooks have for 95 % on both sides.
#[test]
fn without_skewness_the_ends_are_students() {
    let values: Vec<f64> = (1..=11).map(f64::from).collect();
    let Ends { low, high } = ends_of_mean(&values, 0.025).expect("ends");
    // 6 ± 2.2281 · √11 / √11
    assert!((low - (6.0 - 2.228_139)).abs() < 1e-5 && (high - (6.0 + 2.228_139)).abs() < 1e-5);
}

#[test]
fn the_end_on_the_side_of_the_long_tail_is_further_away() {
    let values = [1.0, 1.1, 1.2, 1.2, 1.3, 1.4, 1.5, 1.7, 2.0, 4.0];
    let (middle, ends) = (mean(&values).unwrap(), ends_of_mean(&values, 0.025).expect("ends"));
    assert!(ends.high - middle > 1.2 * (middle - ends.low), "{ends:?}");
}

proptest! {
    /// The distribution of the test itself: crossing at any look is as improbable as promised, for
    /// continuous values at the boundary.
    #[test]
    fn a_walk_goes_beyond_an_end_no_more_often_than_allowed(first in 2_u32..30, more in 0_u32..60, share in 0.05..0.95_f64) {
        let (alpha, looks) = (0.1, Looks::new(first, first + more));
        let low = ranks(share, alpha, &looks);
        let mut stream = crate::statistics::stream(u64::from(first + 100 * more));
        let walks = 2000;
        let beyond = (0..walks).filter(|_| {
            let mut count = 0;
            let mut at = 0;
            looks.repetitions().iter().zip(&low).any(|(look, rank)| {
                count += (at..*look).filter(|_| stream.random_bool(share)).count();
                at = *look;
                count < *rank
            })
        });
        // Four standard deviations above a tenth.
        let most = 0.1 + 4.0 * (0.09 / f64::from(walks)).sqrt();
        prop_assert!((beyond.count() as f64) / f64::from(walks) <= most);
    }

    #[test]
    fn both_sides_mirror_each_other(first in 2_u32..30, more in 0_u32..60, share in 0.05..0.95_f64) {
        let looks = Looks::new(first, first + more);
        let one = QuantileEnds::new(share, 0.05, &looks);
        let other = QuantileEnds::new(1.0 - share, 0.05, &looks);
        prop_assert_eq!(&one.low, &ranks(share, 0.05, &looks));
        prop_assert_eq!(one.high.len(), other.low.len());
        let values: Vec<f64> = (0..first).map(f64::from).collect();
        let mirrored: Vec<f64> = values.iter().rev().map(|value| -value).collect();
        let (ends, mirror) = (one.at(0, &values), other.at(0, &mirrored));
        // The shares differ in the last place, which can move a rank at the edge of its budget.
        prop_assume!(one.high == other.low && one.low == other.high);
        prop_assert_eq!((ends.low, ends.high), (-mirror.high, -mirror.low));
    }
}
