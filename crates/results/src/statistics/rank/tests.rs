use super::*;
use proptest::prelude::*;

fn near(ours: f64, published: f64, by: f64) {
    assert!((ours - published).abs() <= by, "{ours} is not {published}");
}

/// Permeability of placentas at term and at 12 to 26 weeks (Hollander and Wolfe 1973, p. 69), the
/// example of R's `wilcox.test`: W = 35, and one-sided p-value = 0.1272.
#[test]
fn exact_p_of_rs_example() {
    let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
    let test = mann_whitney(&term, &earlier).unwrap();
    assert_eq!((test.u, test.method), (35.0, Method::Exact));
    near(test.p / 2.0, 0.1272, 5e-5);
    let turned = mann_whitney(&earlier, &term).unwrap();
    assert_eq!((turned.u, turned.p), (15.0, test.p));
}

/// Ages at diagnosis, the example of SciPy's `mannwhitneyu`: U = 17, exact p = 0.111111.
#[test]
fn exact_p_of_scipys_example() {
    let test = mann_whitney(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0]).unwrap();
    assert_eq!((test.u, test.method), (17.0, Method::Exact));
    near(test.p, 1.0 / 9.0, 1e-12);
}

/// Ozone in New York in May and August 1973, with ties: R's `wilcox.test(Ozone ~ Month, data =
/// airquality, subset = Month %in% c(5, 8))` prints W = 127.5, p-value = 0.0001208.
#[test]
fn normal_p_of_rs_example_with_ties() {
    let may =
        [41, 36, 12, 18, 28, 23, 19, 8, 7, 16, 11, 14, 18, 14, 34, 6, 30, 11, 1, 11, 4, 32, 23, 45, 115, 37];
    let august = [
        39, 9, 16, 78, 35, 66, 122, 89, 110, 44, 28, 65, 22, 59, 23, 31, 44, 21, 9, 45, 168, 73, 76, 118, 84,
        85,
    ];
    let test = mann_whitney(&may.map(f64::from), &august.map(f64::from)).unwrap();
    assert_eq!((test.u, test.method), (127.5, Method::Normal));
    near(test.p, 0.000_120_8, 5e-8);
}

/// The case that statrs 0.19.1 gets wrong in one order of the samples.
#[test]
fn exact_p_of_a_smaller_first_sample() {
    let test = mann_whitney(&[1.0, 2.0, 3.0, 10.0], &[4.0, 5.0, 6.0, 11.0, 12.0]).unwrap();
    near(test.p, 1.0 / 9.0, 1e-12);
}

#[test]
fn equal_values_speak_for_nothing() {
    let test = mann_whitney(&[1.0; 4], &[1.0; 6]).unwrap();
    assert_eq!((test.u, test.p, test.method), (12.0, 1.0, Method::Normal));
    assert_eq!(mann_whitney(&[0.0], &[-0.0]).unwrap().method, Method::Normal, "zeros are equal");
    assert_eq!(mann_whitney(&[], &[1.0]), None);
    assert_eq!(mann_whitney(&[1.0], &[f64::NAN]), None);
}

/// Of the 20 orders of three and three values, two are as far from the middle as possible.
#[test]
fn the_least_p_of_three_and_three_is_a_tenth() {
    near(mann_whitney(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]).unwrap().p, 0.1, 1e-12);
    near(mann_whitney(&[1.0], &[2.0]).unwrap().p, 1.0, 1e-12);
}

#[test]
fn effects_in_words() {
    let of = |delta| Magnitude::of(delta);
    assert_eq!([of(0.146), of(-0.147)], [Magnitude::Negligible, Magnitude::Small]);
    assert_eq!([of(0.33), of(-0.474)], [Magnitude::Medium, Magnitude::Large]);
    // Pairs: 3 > 1, 3 > 2, 3 = 3, 2 > 1, 2 = 2, 2 < 3: 3 won and 2 equal of 6.
    let some = effect(&[3.0, 2.0], &[1.0, 2.0, 3.0]).unwrap();
    near(some.a12, 4.0 / 6.0, 1e-12);
    near(some.cliffs_delta, 1.0 / 3.0, 1e-12);
    assert_eq!(some.magnitude, Magnitude::Medium);
    assert_eq!(effect(&[1.0], &[]), None);
}

/// `p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm")` of R gives 0.05 0.08 0.09 0.09 0.09.
#[test]
fn holm_as_in_r() {
    let corrected = holm(&[0.04, 0.01, 0.03, 0.05, 0.02]);
    for (ours, published) in corrected.iter().zip([0.09, 0.05, 0.09, 0.09, 0.08]) {
        near(*ours, published, 1e-12);
    }
    assert_eq!(holm(&[0.7, 0.6]), [1.0, 1.0]);
    assert!(holm(&[]).is_empty());
}

/// Computes p by its definition: over all ways to divide the values between the two samples.
fn by_dealing(values: &[f64], n: usize) -> f64 {
    let deal = |chosen: u32| -> (Vec<f64>, Vec<f64>) {
        let (one, other): (Vec<_>, Vec<_>) =
            values.iter().enumerate().partition(|(place, _)| chosen >> place & 1 == 1);
        (
            one.into_iter().map(|(_, &value)| value).collect(),
            other.into_iter().map(|(_, &value)| value).collect(),
        )
    };
    let middle = (n * (values.len() - n)) as f64 / 2.0;
    let off = |chosen| {
        let (one, other) = deal(chosen);
        (pairs_won(&one, &other).unwrap() - middle).abs()
    };
    let all: Vec<u32> =
        (0..1 << values.len()).filter(|chosen: &u32| chosen.count_ones() as usize == n).collect();
    let seen = off((1 << n) - 1);
    all.iter().filter(|&&chosen| off(chosen) >= seen).count() as f64 / all.len() as f64
}

proptest! {
    #[test]
    fn exact_p_is_the_share_of_the_deals(
        values in prop::collection::hash_set(0..1000_i32, 2..10),
        at in 0.0..1.0_f64,
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let n = 1 + (at * (values.len() - 1) as f64) as usize;
        let test = mann_whitney(&values[..n], &values[n..]).unwrap();
        prop_assert!((test.p - by_dealing(&values, n)).abs() < 1e-9, "{} of {values:?}", test.p);
    }

    #[test]
    fn samples_in_turn_have_the_same_p_and_opposite_effects(
        first in prop::collection::vec(0..60_u8, 1..70),
        second in prop::collection::vec(0..60_u8, 1..70),
    ) {
        let first: Vec<f64> = first.into_iter().map(f64::from).collect();
        let second: Vec<f64> = second.into_iter().map(f64::from).collect();
        let (there, back) = (mann_whitney(&first, &second).unwrap(), mann_whitney(&second, &first).unwrap());
        let pairs = (first.len() * second.len()) as f64;
        prop_assert_eq!((there.p, there.u), (back.p, pairs - back.u));
        prop_assert!((0.0..=1.0).contains(&there.p));
        let sum = effect(&first, &second).unwrap().cliffs_delta + effect(&second, &first).unwrap().cliffs_delta;
        prop_assert!(sum.abs() < 1e-12);
    }
}

/// The samples are as far apart as possible.
#[test]
fn of_too_few_values_no_difference_is_significant() {
    let rising = |count: usize, from: f64| (0..count).map(|value| from + value as f64).collect::<Vec<_>>();
    for n in 1..12 {
        for m in 1..12 {
            let p = mann_whitney(&rising(n, 0.0), &rising(m, 100.0)).expect("values").p;
            assert_eq!(too_few_to_differ(n, m), p >= 0.05, "{n} and {m}: {p}");
        }
    }
    assert_eq!(
        [(3, 3), (4, 4), (3, 5), (2, 8), (1, 39), (1, 40)].map(|(n, m)| too_few_to_differ(n, m)),
        [true, false, false, false, true, false]
    );
    assert!(too_few_to_differ(0, 50));
}
