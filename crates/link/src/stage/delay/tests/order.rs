//! Tests of the times and the order in which packets leave.

use super::*;
use crate::fate::Effect;
use crate::stage::bottleneck::tests::Fate;
use crate::stage::bottleneck::theaterq::{AtEnd, TheaterqTrace};
use proptest::prelude::*;

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

fn theaterq(text: &str) -> Law {
    let trace = TheaterqTrace::parse("t", text).expect("a trace");
    Law::Theaterq { file: FromFile::with("t", trace), at_end: AtEnd::Loop }
}

#[test]
fn m11_a_constant_delay_is_exact_for_a_million_packets_and_limits_no_rate() {
    // ReSoA evaluation 10.2.4: pure delay. Each packet has its own, however many are in flight.
    let stage = &mut made(Law::Constant { delay: ms(100) }, false);
    let fates = drive(stage, (0..1_000_000).map(|n| (n / 3 * 7, 0)));
    assert!(
        fates
            .iter()
            .zip(0..)
            .all(|(fate, number)| fate.number == number && fate.at == fate.arrived + ms(100))
    );
}

proptest! {
    // 500 cases of up to 2000 packets.
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn order_is_kept_by_waiting_for_the_predecessor_and_for_nothing_else(
        gaps in prop::collection::vec(0u64..3_000_000, 1..2_000),
        sd in 0u64..20,
        correlation in prop_oneof![Just(Correlation::None), (1u64..100).prop_map(|time| Correlation::Time(ms(time)))],
    ) {
        let mut at = 0;
        let arrivals: Vec<_> = gaps.iter().map(|gap| { at += gap; (at, 0) }).collect();
        let law = Law::LogNormal { mean: ms(10), sd: ms(sd) };
        let stage = |reorder| built(DelaySpec { law: law.clone(), reorder, correlation: Some(correlation) });
        // The same seed draws the same delays, so each packet's own delay is known.
        let mut own = drive(&mut stage(true), arrivals.clone());
        own.sort_by_key(|fate| fate.number);
        let mut last = Time::ZERO;
        for (number, fate) in (0..).zip(drive(&mut stage(false), arrivals)) {
            last = last.max(own[number as usize].at);
            prop_assert_eq!((fate.number, fate.at), (number, last));
        }
    }

    #[test]
    fn with_reordering_each_leaves_at_its_own_time_marked_with_how_many_overtook_it(
        delays in prop::collection::vec((0u64..300, 1u64..50_000), 1..400),
    ) {
        let values: Vec<_> = delays.iter().map(|&(_, delay)| Span::from_nanos(delay)).collect();
        let mut stage = made(Law::Empirical(Empirical::Values { values }), true);
        let mut out = Outbox::default();
        let mut at = 0;
        let mut left: Vec<Packet> = Vec::new();
        let mut step = |stage: &mut Delay, until: Time| {
            while stage.due() <= until && stage.due() < Time::NEVER {
                let due = stage.due();
                stage.advance(due, &mut out);
                left.append(&mut out.passed);
            }
        };
        for (number, &(gap, _)) in (0..).zip(&delays) {
            at += gap;
            step(&mut stage, nanos(at));
            stage.accept(packet(number, 0, nanos(at)), &mut Outbox::default());
        }
        step(&mut stage, nanos(u64::MAX - 1));
        prop_assert_eq!(left.len(), delays.len());
        for (place, packet) in left.iter().enumerate() {
            let overtaken = left[..place].iter().filter(|before| before.number > packet.number).count() as u32;
            let marked = packet.marks.iter().find_map(|mark| match mark.effect {
                Effect::Overtaken(count) => Some(count),
                _ => None,
            });
            prop_assert_eq!(marked.unwrap_or(0), overtaken);
            prop_assert_eq!(marked, Some(overtaken).filter(|&count| count > 0));
        }
        prop_assert!(left.is_sorted_by_key(|packet| (packet.at, packet.number)));
    }
}

#[test]
fn no_packet_is_early() {
    let stage = &mut made(Law::Uniform { mean: ms(40), jitter: ms(10) }, false);
    for fate in drive(stage, (0..100_000).map(|n| (n * 1000, 0))) {
        assert!(fate.at >= fate.arrived + ms(30));
    }
}

#[test]
fn packets_on_their_way_keep_their_times_when_the_delay_changes() {
    let mut stage = made(Law::Constant { delay: ms(100) }, false);
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    let enter = |stage: &mut Delay, number, at| {
        stage.accept(packet(number, 0, nanos(at * MS)), &mut Outbox::default());
    };
    enter(&mut stage, 0, 0);
    stage.set(DelaySpec::constant(ms(10)), nanos(MS)).expect("a delay");
    enter(&mut stage, 1, 1);
    // With reordering, the next packet overtakes both.
    stage
        .set(
            DelaySpec { law: Law::Constant { delay: ms(10) }, reorder: true, correlation: None },
            nanos(2 * MS),
        )
        .expect("a delay");
    enter(&mut stage, 2, 2);
    // Without reordering again, the next packet waits for all.
    stage.set(DelaySpec::constant(ms(10)), nanos(3 * MS)).expect("a delay");
    enter(&mut stage, 3, 3);
    while stage.due() < Time::NEVER {
        let due = stage.due();
        stage.advance(due, &mut out);
        let marks: Vec<_> =
            out.passed.iter().map(|p| (p.number, p.marks.first().map(|m| m.effect))).collect();
        fates.extend(marks.into_iter().map(|(number, mark)| (number, due.as_nanos() / MS, mark)));
        out.passed.clear();
    }
    let overtaken = Some(Effect::Overtaken(1));
    assert_eq!(fates, [(2, 12, None), (0, 100, overtaken), (1, 100, overtaken), (3, 100, None)]);
}

#[test]
fn the_run_ends_with_packets_inside_all_given_up() {
    for reorder in [false, true] {
        let mut stage = made(Law::Constant { delay: ms(100) }, reorder);
        for number in 0..100 {
            stage.accept(packet(number, 0, nanos(number)), &mut Outbox::default());
        }
        let mut left = Vec::new();
        stage.clear(&mut left);
        assert_eq!((left.len(), stage.due()), (100, Time::NEVER));
        // The stage can be used again afterwards.
        stage.accept(packet(100, 0, nanos(MS)), &mut Outbox::default());
        let mut fates = Vec::new();
        advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
        assert_eq!(fates.len(), 1);
    }
}

#[test]
fn packets_of_one_route_keep_their_order_and_others_do_not() {
    // Four lines of 1 ms: a latency of 50 ms on route 1, 10 ms on route 2, 10 ms on route 1, and 10
    // ms on no route. All other fields have no effect.
    let line = |latency: u64, route: u16| format!("1000,{},0,-1,0,0,0,0,{route},0\n", latency * MS);
    let text = line(50, 1) + &line(10, 2) + &line(10, 1) + &line(10, 0);
    let run = |reorder| {
        let fates = drive(&mut made(theaterq(&text), reorder), (0..4).map(|n| (n * MS, 0)));
        fates.iter().map(|fate| (fate.number, fate.at.as_nanos() / MS)).collect::<Vec<_>>()
    };
    assert_eq!(run(true), [(1, 11), (3, 13), (0, 50), (2, 50)]);
    assert_eq!(
        run(false),
        [(0, 50), (1, 50), (2, 50), (3, 50)],
        "order is kept unless reordering is asked for"
    );
}

#[test]
fn packets_of_a_route_that_had_to_wait_are_spaced_by_their_sending_time() {
    let line = |latency: u64| format!("1000,{},0,-1,0,0,0,0,1,0\n", latency * MS);
    let mut stage = made(theaterq(&(line(50) + &line(10))), true);
    for number in 0..4u64 {
        let mut packet = packet(number, 0, nanos(MS * number.min(1)));
        packet.sending = crate::Sending { start: nanos(0), end: nanos(2 * MS) };
        stage.accept(packet, &mut Outbox::default());
    }
    let mut fates = Vec::new();
    advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
    assert_eq!(fates.iter().map(|fate| fate.at.as_nanos() / MS).collect::<Vec<_>>(), [50, 50, 52, 54]);
}

#[test]
fn jitter_of_a_trace_is_uniform_and_never_negative_and_copies_take_longer() {
    let mut stage = made(theaterq("1000,2000000,5000000,-1,0,0,0,100000000,0,0\n"), true);
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    let count = 1_000_000u64;
    for number in 0..count {
        let now = nanos(number * 20_000);
        advance(&mut stage, now, &mut fates);
        let mut packet = packet(number, 0, now);
        if number % 2 == 1 {
            packet.mark(Effect::Copied);
        }
        stage.accept(packet, &mut out);
    }
    advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
    let half = count as f64 / 2.0;
    let near = |seen: usize, share: f64| {
        assert!(
            (seen as f64 - half * share).abs() < 5.0 * (half * share * (1.0 - share)).sqrt(),
            "{seen} {share}"
        );
    };
    let of = |copies: u64, low: u64, high: u64| {
        let within = |fate: &&Fate| (low..high).contains(&(fate.at - fate.arrived).as_nanos());
        fates.iter().filter(|fate| fate.number % 2 == copies).filter(within).count()
    };
    // 2 ± 5 ms: 3 of 10 would be negative and are 0; the others extend to 7 ms.
    near(of(0, 0, 1), 0.3);
    near(of(0, 0, 2 * MS), 0.5);
    assert_eq!(of(0, 0, 7 * MS + 1), 500_000);
    near(of(1, 100 * MS, 102 * MS), 0.5);
    assert_eq!(of(1, 100 * MS, 107 * MS + 1), 500_000);
}
