//! Tests of PIE and DualPI2 against their RFCs: updates and decisions worked by hand, and what the
//! controllers achieve under a constant overload.

use super::super::dualpi2;
use super::super::pie::{self, PieSpec};
use super::super::updates::Updates;
use super::flows::{sent, with_queue};
use super::*;
use crate::units::Probability;

fn millis(millis: u64) -> Span {
    Span::from_millis(millis)
}

fn assert_near(value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-12 + expected.abs() * 1e-9, "{value}, expected {expected}");
}

#[test]
fn pie_updates_its_probability_as_rfc_8033_says() {
    let spec = PieSpec::default();
    let mut control = pie::Control::new(spec.burst);
    let update = |control: &mut pie::Control, delay: u64| {
        control.current_qdelay = millis(delay);
        control.update(&spec);
        control.drop_prob
    };
    // Section 4.2: 0.125 (20 ms - 15 ms) + 1.25 (20 ms - 0 ms), divided by 2048 below 1e-6.
    assert_near(update(&mut control, 20), 0.025_625 / 2048.0);
    // Above 1e-5 the divisor is 128: 0.125 (10 ms) + 1.25 (5 ms).
    let second = 0.025_625 / 2048.0 + 0.0075 / 128.0;
    assert_near(update(&mut control, 25), second);
    assert_near(update(&mut control, 25), second + 0.00125 / 128.0);
    // Section 5.5: from 10 % on, a change is 2 % at most. One of -1.25 (1 s) is not cut.
    control.drop_prob = 0.5;
    assert_near(update(&mut control, 1000), 0.52);
    assert_near(update(&mut control, 0), 0.0);
    // Two empty queues in a row: it also decays by 2 %.
    control.drop_prob = 0.5;
    assert_near(update(&mut control, 0), (0.5 - 0.125 * 0.015) * 0.98);
}

#[test]
fn pie_allows_a_burst_and_spreads_its_losses() {
    let spec = PieSpec::default();
    let mut control = pie::Control::new(spec.burst);
    control.current_qdelay = millis(30);
    // Section 4.4: 150 ms are ten updates.
    for _ in 0..10 {
        control.drop_prob = 0.25;
        assert!(!control.drop_early(spec.target, false, || 0.0), "in the burst");
        control.update(&spec);
    }
    let decisions = |control: &pie::Control, short, uniform: f64| {
        let (mut control, mut drops) = (control.clone(), Vec::new());
        control.drop_prob = 0.25;
        for place in 1..=40 {
            if control.drop_early(spec.target, short, || uniform) {
                drops.push(place);
            }
        }
        drops
    };
    // Section 5.4: the sum of probabilities is 1 at the fourth packet, and 8.5 at the 34th.
    assert_eq!(decisions(&control, false, 0.2), [4, 8, 12, 16, 20, 24, 28, 32, 36, 40]);
    assert_eq!(decisions(&control, false, 0.9), [34]);
    // Section 4.1: not if less than two packets wait.
    assert_eq!(decisions(&control, true, 0.0), [0; 0]);
}

/// Returns 60 s of packets of 1000 bytes at 1.5 times the rate.
fn overload(ecn: u8) -> Vec<(f64, u16, usize, u8)> {
    (0..90_000).map(|n| (f64::from(n) / 1.5, 1, 1000, ecn)).collect()
}

/// Returns the mean wait in ms, the share of losses, and the share of marks, after 20 s.
fn settled(fates: &[Fate]) -> (f64, f64, f64) {
    let late: Vec<_> = fates.iter().filter(|fate| fate.arrived > nanos(20_000_000_000)).collect();
    let kept: Vec<_> = late.iter().filter(|fate| fate.loss.is_none()).collect();
    let wait: f64 = kept.iter().map(|fate| (fate.sending.start - fate.arrived).as_secs_f64() * 1e3).sum();
    let marked = late.iter().filter(|fate| fate.marked).count() as f64;
    let count = late.len() as f64;
    (wait / kept.len() as f64, 1.0 - kept.len() as f64 / count, marked / count)
}

#[test]
fn pie_holds_its_target_under_a_constant_overload() {
    let fates = sent(&mut with_queue("\"pie\""), &overload(0));
    assert!(fates.iter().all(|fate| fate.loss.is_none_or(|loss| loss == Loss::Pie)));
    let (wait, lost, _) = settled(&fates);
    assert!((12.0..18.0).contains(&wait) && (lost - 1.0 / 3.0).abs() < 0.005, "{wait} ms, {lost}");
    // ECN takes no effect above a probability of 10 %, unless the threshold is higher.
    let (_, lost, marked) = settled(&sent(&mut with_queue("{ kind = \"pie\", ecn = true }"), &overload(2)));
    assert!((lost - 1.0 / 3.0).abs() < 0.005 && marked == 0.0, "{lost} {marked}");
    let queue = "{ kind = \"pie\", ecn = true, ecn_threshold = \"100%\", limit = \"100p\" }";
    let fates = sent(&mut with_queue(queue), &overload(2));
    assert!(fates.iter().all(|fate| fate.loss.is_none_or(|loss| loss == Loss::QueueFull)));
    assert!(settled(&fates).2 > 0.6, "{:?}", settled(&fates));
}

#[test]
fn dualpi2_marks_low_latency_packets_that_waited_longer_than_the_step() {
    // 1000 bytes take 1 ms: packets wait 0, 1, 2, 3 ms, and 1 ms is not too long.
    let marked = |ecn| -> Vec<u64> {
        let fates = sent(&mut with_queue("\"dualpi2\""), &[(0.0, 1, 1000, ecn); 4]);
        fates.iter().filter(|fate| fate.marked).map(|fate| fate.number).collect()
    };
    assert_eq!(marked(1), [2, 3]);
    assert_eq!(marked(2), [0; 0]);
}

#[test]
fn dualpi2_gives_the_classic_queue_its_share() {
    // Both queues are full: the classic one sends 10 % of the bytes, with packets of any size.
    for (low, classic) in [(1000, 1000), (200, 1400), (1400, 200)] {
        let mut arrivals = vec![(0.0, 1, low, 1); 3_000];
        arrivals.extend(vec![(0.0, 2, classic, 0); 3_000]);
        let queue = "{ kind = \"dualpi2\", target = \"1h\", step = \"1h\", tupdate = \"1h\" }";
        let fates = sent(&mut with_queue(queue), &arrivals);
        let (mut bytes, mut of_classic) = (0, 0);
        for fate in &passed(&fates)[..1_000] {
            let is_classic = fate.number >= 3_000;
            bytes += if is_classic { classic } else { low };
            of_classic += if is_classic { classic } else { 0 };
        }
        let share = of_classic as f64 / bytes as f64;
        assert!((share - 0.1).abs() < 0.01, "{low} {classic}: {share}");
    }
}

#[test]
fn dualpi2_couples_the_signals_of_its_queues() {
    // RFC 9332, appendix A: probabilities k p in the L queue, and p² in the C queue.
    let signals = |base| dualpi2::signals(base, 100_000);
    let near = |count: u32, expected: f64| {
        let share = f64::from(count) / 1e5;
        let error = (expected * (1.0 - expected) / 1e5).sqrt();
        assert!((share - expected).abs() <= 5.0 * error, "{share}, expected {expected}");
    };
    let calm = signals(0.3);
    near(calm.low.marked, 0.6);
    near(calm.classic.marked, 0.09);
    assert_eq!((calm.low.lost, calm.classic.lost), (0, 0));
    // Overload from p = 1/k on: both lose p², and the rest of the L queue is marked.
    let full = signals(0.8);
    near(full.low.lost, 0.64);
    near(full.low.marked, 0.36);
    near(full.classic.lost, 0.64);
    assert_eq!(full.classic.marked, 0);
}

#[test]
fn dualpi2_holds_its_target_under_a_constant_overload() {
    let (wait, lost, _) = settled(&sent(&mut with_queue("\"dualpi2\""), &overload(0)));
    assert!((12.0..18.0).contains(&wait) && (lost - 1.0 / 3.0).abs() < 0.005, "{wait} ms, {lost}");
}

#[test]
fn updates_are_made_up_for_however_late_and_an_idle_queue_needs_none() {
    // The state counts down to 0 and stays there.
    let (mut updates, mut state, mut times) = (Updates::new(Time::ZERO, millis(10)), 3_u64, Vec::new());
    let mut catch_up = |now: u64, state: &mut u64| {
        updates.catch_up(nanos(now * 1_000_000), millis(10), state, |state, at| {
            times.push(at.as_nanos() / 1_000_000);
            *state = state.saturating_sub(1);
        });
    };
    catch_up(9, &mut state);
    catch_up(20, &mut state);
    assert_eq!(state, 1);
    catch_up(1_000_000_005, &mut state);
    state = 2;
    catch_up(1_000_000_010, &mut state);
    assert_eq!(state, 1);
    assert_eq!(times, [10, 20, 30, 40, 1_000_000_010]);
}

#[test]
fn probabilities_and_gains_that_make_no_sense_are_refused_by_name() {
    let refused = |queue: &str| {
        let spec = toml::from_str(&format!("queue = {queue}")).expect("readable");
        Bottleneck::new(spec, &Seed::campaign(1)).expect_err(queue).to_string()
    };
    assert!(refused("{ kind = \"pie\", tupdate = \"0ms\" }").starts_with("tupdate = 0ms: must be above 0"));
    assert!(refused("{ kind = \"pie\", alpha = -1.0 }").starts_with("alpha = -1"));
    assert!(refused("{ kind = \"dualpi2\", coupling = 0.0 }").starts_with("coupling = 0"));
    assert!(refused("{ kind = \"fq-codel\", limit = \"5ms\" }").starts_with("limit = 5ms: must be packets"));
    assert!(refused("{ kind = \"fq-codel\", quantum = \"0B\" }").starts_with("quantum = 0"));
    assert!(refused("{ kind = \"fq-codel\", flows = 0 }").starts_with("flows = 0"));
    assert!(refused("{ kind = \"sfq\", depth = 0 }").starts_with("depth = 0"));
    assert!(Probability::new(1.5).is_none());
}
