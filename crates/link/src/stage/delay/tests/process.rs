//! Tests of a delay that is a process in time: its distribution for packets in order, and its
//! independence of traffic.

use super::distributions::mean_and_sd;
use super::*;

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// Returns the mean and the standard deviation of the delay in milliseconds, for packets with a
/// constant gap in nanoseconds.
fn seen(stage: &mut Delay, count: u64, gap: u64) -> (f64, f64) {
    let delays: Vec<f64> = delays(stage, count, gap).iter().map(|&nanos| nanos as f64 / 1e6).collect();
    mean_and_sd(&delays)
}

/// B3 and D5 of issue 20: for packets in order, a delay drawn for each packet becomes longer and
/// less varied with denser packets. A process does not.
#[test]
fn order_shifts_neither_mean_nor_deviation_however_dense_the_packets() {
    let law = || Law::Normal { mean: ms(30), sd: ms(5) };
    for (gap, independent) in [(50 * MS, (30.0, 5.0)), (3 * MS, (32.1, 3.85)), (MS / 10, (39.37, 2.34))] {
        let count = if gap < MS { 2_000_000 } else { 400_000 };
        let (mean, sd) = seen(&mut built(DelaySpec::in_order(law())), count, gap);
        println!("gap {} ms: mean {mean:.2} ms, sd {sd:.2} ms", gap as f64 / 1e6);
        // Number of independent samples in this time: the integral of the correlation is 1.0 times
        // 50 ms on each side.
        let samples = (count * gap) as f64 / (100.0 * MS as f64).max(gap as f64);
        assert!((mean - 30.0).abs() < 5.0 * 5.0 / samples.sqrt(), "gap {gap}: mean {mean}");
        assert!((sd - 5.0).abs() < 5.0 * 5.0 / (2.0 * samples).sqrt(), "gap {gap}: sd {sd}");
        let (mean, sd) = seen(&mut made(law(), false), count, gap);
        println!("  drawn for each packet: mean {mean:.2} ms, sd {sd:.2} ms");
        assert!(
            (mean - independent.0).abs() < 0.15 && (sd - independent.1).abs() < 0.15,
            "{gap}: {mean}, {sd}"
        );
    }
}

#[test]
fn delays_lose_half_their_correlation_in_one_correlation_time_and_all_of_it_in_four() {
    // 20 packets in each correlation time of 1 ms.
    let law = Law::Normal { mean: ms(50), sd: ms(1) };
    let delays = delays(&mut correlated(law, true, ms(1)), 1_000_000, MS / 20);
    let values: Vec<f64> = delays.iter().map(|&nanos| nanos as f64 / 1e6 - 50.0).collect();
    // 50 000 correlation times give a standard error of about 0.005.
    for (packets, expected) in [(5, 0.957), (10, 0.840), (20, 0.494), (40, 0.050), (80, 0.0), (1000, 0.0)] {
        let pairs = values.iter().zip(&values[packets..]);
        let correlation = pairs.map(|(one, other)| one * other).sum::<f64>() / values.len() as f64;
        assert!((correlation - expected).abs() < 0.03, "{packets}: {correlation}, expected {expected}");
    }
}

#[test]
fn the_delay_at_an_instant_is_the_same_whatever_the_traffic() {
    let law = || Law::LogNormal { mean: ms(40), sd: ms(30) };
    let at_instants = |times: Vec<u64>| {
        let mut fates = drive(&mut correlated(law(), true, ms(7)), times.into_iter().map(|at| (at, 0)));
        fates.sort_by_key(|fate| fate.number);
        fates.iter().map(|fate| (fate.arrived, fate.at)).collect::<std::collections::BTreeMap<_, _>>()
    };
    let dense = at_instants((0..200_000).map(|number| number * MS / 100).collect());
    // Sparse packets with other gaps, and then a packet after an idle hour.
    let sparse = at_instants((0..20).map(|number| number * number * MS * 5).collect());
    assert!(sparse.iter().all(|(arrived, at)| dense.get(arrived) == Some(at)));
    let hour = 3_600_000 * MS;
    assert_eq!(at_instants(vec![0, hour]).last_key_value(), at_instants(vec![hour]).last_key_value());
    // All packets of an instant share its delay.
    let mut stage = correlated(law(), true, ms(7));
    assert_eq!(delays(&mut stage, 100, 0).iter().collect::<std::collections::BTreeSet<_>>().len(), 1);
}

#[test]
fn the_process_goes_on_when_the_law_changes() {
    let delay = |stage: &mut Delay, at: u64| {
        stage.accept(packet(0, 0, nanos(at)), &mut Outbox::default());
        let delay = stage.due() - nanos(at);
        stage.clear(&mut Vec::new());
        delay.as_nanos() as f64 / 1e6
    };
    let spec = |mean, sd| DelaySpec {
        law: Law::Normal { mean: ms(mean), sd: ms(sd) },
        reorder: true,
        correlation: Some(Correlation::Time(ms(5))),
    };
    let mut stage = built(spec(50, 4));
    let before = delay(&mut stage, 123 * MS) - 50.0;
    stage.set(spec(100, 8), nanos(123 * MS)).expect("a delay");
    assert!((delay(&mut stage, 123 * MS) - 100.0 - 2.0 * before).abs() < 1e-5, "twice as far from the mean");
    // If each packet draws its own delay, two packets of an instant differ.
    stage
        .set(DelaySpec { correlation: Some(Correlation::None), ..spec(100, 8) }, nanos(200 * MS))
        .expect("a delay");
    assert!((delay(&mut stage, 200 * MS) - delay(&mut stage, 200 * MS)).abs() > 1e-6);
}
