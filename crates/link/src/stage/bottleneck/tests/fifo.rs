//! Tests of the times of a single server: Lindley's recursion, Pollaczek–Khinchine, M/M/1/K.

use super::*;
use proptest::prelude::*;
use rand_distr::{Distribution, Exp};

/// Returns the departures of a work-conserving server, in exact arithmetic: ends are fractions of a
/// nanosecond with the denominator `rate`.
fn departures(arrivals: &[(u64, usize)], rate: u64) -> Vec<u64> {
    let rate = u128::from(rate);
    let mut end = 0;
    let one = |&(at, length): &(u64, usize)| {
        end = end.max(u128::from(at) * rate) + length as u128 * 8_000_000_000;
        end.div_ceil(rate) as u64
    };
    arrivals.iter().map(one).collect()
}

/// Converts gaps and lengths to arrivals.
fn arrivals(pattern: &[(u64, usize)]) -> Vec<(u64, usize)> {
    let mut at = 0;
    let one = |&(gap, length): &(u64, usize)| {
        at += gap;
        (at, length)
    };
    pattern.iter().map(one).collect()
}

proptest! {
    // 400 cases of up to 5000 packets: 10^6 in all.
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn departures_follow_lindleys_recursion_exactly(
        pattern in prop::collection::vec(
            (prop_oneof![Just(0u64), 0..3u64, 0..2_000u64, 0..20_000u64], 0usize..100),
            1..5_000,
        ),
        rate_bits in prop_oneof![Just(1_000_000_000u64), 1_000_000..2_000_000_000u64, Just(7_777_777_777), Just(1 << 50)],
    ) {
        let arrivals = arrivals(&pattern);
        let fates = drive(&mut bottleneck(rate(rate_bits), "inf"), arrivals.clone());
        let ends: Vec<u64> = fates.iter().map(|fate| fate.at.as_nanos()).collect();
        prop_assert_eq!(&ends, &departures(&arrivals, rate_bits));
        for pair in fates.windows(2) {
            let start = pair[1].arrived.max(pair[0].at);
            prop_assert_eq!(pair[1].sending, Sending { start, end: pair[1].at });
            prop_assert_eq!(pair[1].number, pair[0].number + 1);
        }
    }

    #[test]
    fn a_packet_is_lost_exactly_if_it_would_wait_longer_than_the_limit_in_time(
        pattern in prop::collection::vec((0..1_000u64, 0usize..100), 1..1_000),
        limit in 0..5_000u64,
        rate_bits in 100_000_000..2_000_000_000u64,
    ) {
        let arrivals = arrivals(&pattern);
        let fates = drive(&mut bottleneck(rate(rate_bits), &format!("{limit}ns")), arrivals.clone());
        let exact = u128::from(rate_bits);
        let mut end = 0u128;
        let mut expected = Vec::new();
        for (number, &(at, length)) in (0..).zip(&arrivals) {
            if (end.div_ceil(exact) as u64).saturating_sub(at) > limit {
                expected.push(number);
            } else {
                end = end.max(u128::from(at) * exact) + length as u128 * 8_000_000_000;
            }
        }
        prop_assert_eq!(lost(&fates), expected);
        for fate in passed(&fates) {
            prop_assert!(fate.sending.start - fate.arrived <= Span::from_nanos(limit));
        }
    }

    #[test]
    fn drop_head_loses_a_packet_exactly_when_its_time_is_over(
        pattern in prop::collection::vec((0..1_000u64, 1usize..100), 1..1_000),
        limit in 0..5_000u64,
        rate_bits in 100_000_000..2_000_000_000u64,
    ) {
        let arrivals = arrivals(&pattern);
        let queue = QueueSpec::drop_head(Limit::Time(Span::from_nanos(limit)));
        let mut stage = made(BottleneckSpec { rate: rate(rate_bits), queue, ..BottleneckSpec::default() });
        let fates = drive(&mut stage, arrivals.clone());
        let exact = u128::from(rate_bits);
        let mut end = 0u128;
        for (number, &(at, length)) in (0..).zip(&arrivals) {
            let fate = fates.iter().find(|fate| fate.number == number).expect("each has a fate");
            if end.div_ceil(exact) as u64 > at + limit {
                prop_assert_eq!((fate.loss, fate.at), (Some(Loss::QueueAge), nanos(at + limit)));
            } else {
                end = end.max(u128::from(at) * exact) + length as u128 * 8_000_000_000;
                prop_assert_eq!((fate.loss, fate.at), (None, nanos(end.div_ceil(exact) as u64)));
            }
        }
    }
}

#[test]
fn a_million_packets_in_a_row_end_at_the_exact_time_rounded_up_once() {
    let (bits, length, count) = (7_777_777, 100, 1_000_000);
    let fates = drive(&mut bottleneck(rate(bits), "inf"), (0..count).map(|_| (0, length)));
    let work = length as u128 * 8_000_000_000;
    for (place, fate) in (1u128..).zip(&fates) {
        assert_eq!(u128::from(fate.at.as_nanos()), (place * work).div_ceil(u128::from(bits)));
    }
}

/// Returns Poisson arrivals with a mean gap, and lengths drawn by `length`.
fn poisson(count: usize, mean_gap: f64, mut length: impl FnMut(&mut Stream) -> usize) -> Vec<(u64, usize)> {
    let mut stream = Seed::campaign(2).stage("arrivals").stream();
    let gap = Exp::<f64>::new(1.0 / mean_gap).expect("positive");
    let mut at = 0.0;
    (0..count)
        .map(|_| {
            at += gap.sample(&mut stream);
            (at as u64, length(&mut stream))
        })
        .collect()
}

#[test]
fn mean_waiting_time_of_m_d_1_is_that_of_pollaczek_and_khinchine() {
    // 125 bytes at 1 Mbit/s take 1 ms.
    for load in [0.3, 0.7, 0.9] {
        let service = 1e6;
        let arrivals = poisson(1_000_000, service / load, |_| 125);
        let fates = drive(&mut bottleneck(rate(1_000_000), "inf"), arrivals);
        let waits: Vec<f64> =
            fates.iter().map(|fate| (fate.sending.start - fate.arrived).as_nanos() as f64).collect();
        assert_mean(&waits, load * service / (2.0 * (1.0 - load)));
    }
}

#[test]
fn drop_tail_loses_as_many_as_m_m_1_k() {
    // K includes the packet being sent, so K - 1 may wait. The mean of 1000 bytes at 8 Mbit/s takes
    // 1 ms.
    for (load, room) in [(0.8, 4), (0.95, 9), (1.2, 5)] {
        let size = Exp::<f64>::new(1e-3).expect("positive");
        let arrivals = poisson(1_000_000, 1e6 / load, |stream| size.sample(stream).round() as usize);
        let fates = drive(&mut bottleneck(rate(8_000_000), &format!("{room}p")), arrivals);
        let k = room + 1;
        let expected = (1.0 - load) * f64::powi(load, k) / (1.0 - f64::powi(load, k + 1));
        let mut hit = vec![0.0; fates.len()];
        for number in lost(&fates) {
            hit[number as usize] = 1.0;
        }
        assert_mean(&hit, expected);
        assert!(fates.iter().all(|fate| fate.loss.is_none_or(|loss| loss == Loss::QueueFull)));
    }
}

#[test]
fn an_unlimited_rate_passes_packets_at_once_and_never_queues() {
    let fates = drive(&mut bottleneck(RateSpec::Unlimited, "0p"), (0..1000).map(|n| (n / 3, 1500)));
    assert!(fates.iter().all(|fate| fate.loss.is_none() && fate.at == fate.arrived));
    assert!(fates.iter().all(|fate| fate.sending == Sending { start: fate.at, end: fate.at }));
}
