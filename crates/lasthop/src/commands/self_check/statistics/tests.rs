use super::*;

fn close(one: f64, other: f64, tolerance: f64) {
    assert!((one - other).abs() <= tolerance, "{one} is not {other}");
}

#[test]
fn wilson_of_one_in_ten() {
    // Newcombe 1998, Statistics in Medicine 17: 81 of 263 is 0.2553 to 0.3662, 15 of 148 is 0.0624
    // to 0.1605, 0 of 20 is 0.0000 to 0.1611 (table I, method 3).
    for (hits, trials, low, high) in
        [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)]
    {
        let Interval { low: l, high: h } = share(hits, trials).shown;
        close(l, low, 6e-5);
        close(h, high, 6e-5);
    }
}

#[test]
fn poisson_intervals_are_those_of_the_tables() {
    // Garwood 1936: 0 → 0 to 3.689; 1 → 0.0253 to 5.572; 10 → 4.795 to 18.390; 100 → 81.36 to
    // 121.63.
    for (count, low, high) in
        [(0, 0.0, 3.689), (1, 0.0253, 5.572), (10, 4.795, 18.390), (100, 81.364, 121.627)]
    {
        let interval = poisson(count, 0.95);
        close(interval.low, low, 6e-4);
        close(interval.high, high, 6e-4);
    }
}

#[test]
fn the_mean_of_an_exponential_time_by_chi_square() {
    // Ten ends in 50 s: 100 / χ²(22, 0.975) = 100 / 36.781 and 100 / χ²(20, 0.025) = 100 / 9.591.
    let estimate = exponential_mean(50.0, 10);
    close(estimate.value, 5.0, 1e-12);
    close(estimate.shown.low, 2.7188, 1e-3);
    close(estimate.shown.high, 10.4266, 1e-3);
    // No end was observed: at least 50 / 3.689 with 97.5 %, and no upper limit is known.
    let none = exponential_mean(50.0, 0);
    close(none.shown.low, 13.554, 1e-2);
    assert!(none.value.is_infinite() && none.shown.high.is_infinite());
}

#[test]
fn students_interval_of_a_mean() {
    // Mean 3, standard deviation sqrt(2.5), t(4, 0.975) = 2.776445: 3 ± 1.963243.
    let estimate = mean(&[1.0, 2.0, 3.0, 4.0, 5.0]);
    close(estimate.value, 3.0, 1e-12);
    close(estimate.shown.low, 1.036_757, 1e-5);
    close(estimate.shown.high, 4.963_243, 1e-5);
    assert!(estimate.judged.low < estimate.shown.low && estimate.judged.high > estimate.shown.high);
    // One value says nothing about its spread.
    assert!(mean(&[1.0]).shown.holds(1e9));
}

#[test]
fn quantiles_by_rank() {
    let values: Vec<f64> = (1..=100).map(f64::from).collect();
    // Ranks 40 and 61 of 100 are the usual 95 % interval of a median (Conover, Practical
    // Nonparametric Statistics).
    let median = quantile(&values, 0.5);
    assert_eq!((median.value, median.shown), (50.0, Interval { low: 40.0, high: 61.0 }));
    close(quantile(&values, 0.99).value, 99.0, 0.0);
    close(quantile(&values, 0.99).shown.high, 100.0, 0.0);
    close(quantile(&[7.0], 0.99).value, 7.0, 0.0);
}

#[test]
fn a_look_at_a_slow_process_is_worth_few_independent_ones() {
    // Sojourns of 200 ms and 30 ms: τ = 26.09 ms, so that 3 s are 57.5 looks.
    close(independent_looks(3.0, 0.2, 0.03), 57.5, 1e-9);
}

#[test]
fn intervals_hold_their_ends_and_turn_round() {
    let interval = Interval { low: 2.0, high: 4.0 };
    assert!(interval.holds(2.0) && interval.holds(4.0) && !interval.holds(4.1));
    assert_eq!(interval.map(|x| 8.0 / x), interval);
    assert!(!interval.holds(f64::NAN));
}
