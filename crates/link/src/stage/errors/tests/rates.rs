//! Tests of which packets are hit, and how often: each process against its formula.

use super::*;
use crate::stage::errors::timeline::{Stay, Timeline};
use crate::units::{ByteCount, Probability};

/// Mean bad and good time of Table 5.1 (= Table III of TCP-L) in ms, and its printed share.
const LITE: [(f64, f64, f64); 7] = [
    (0.0, f64::INFINITY, 0.0),
    (30.0, 2000.0, 0.0148),
    (30.0, 10_000.0, 0.0030),
    (60.0, 2000.0, 0.0291),
    (100.0, 2000.0, 0.0476),
    (100.0, 5000.0, 0.0196),
    (200.0, 5000.0, 0.0385),
];

#[test]
fn each_packet_by_itself() {
    for (text, loss) in [("0.1%", 0.001), ("20%", 0.2), ("99.99%", 0.9999)] {
        let mut stage = losing(&format!("{{ loss = \"{text}\" }}"), 1);
        let count = 1_000_000;
        let hits: Vec<bool> = (0..count).map(|n| stage.hits(Time::from_nanos(n))).collect();
        let share = hits.iter().filter(|hit| **hit).count() as f64 / count as f64;
        close(text, share, loss, (loss * (1.0 - loss) / count as f64).sqrt());
        // Independence: runs of losses and of arrivals are geometric.
        let [lost, passed] = run_lengths(&hits);
        for (lengths, leave) in [(lost, 1.0 - loss), (passed, loss)] {
            if leave < 0.99 {
                let (found, expected) = geometric(&lengths, leave);
                fits(text, &found, &expected);
            }
        }
    }
}

#[test]
fn never_and_always_are_exact() {
    for (table, hit) in [
        ("{ loss = \"0%\" }", false),
        ("{ loss = \"100%\" }", true),
        ("{ ber = \"0\" }", false),
        ("{ ber = \"1\" }", true),
        ("{ good = \"inf\", bad = \"0\" }", false),
        ("{ good = \"0\", bad = \"inf\" }", true),
        ("{ good = \"0\", bad = \"30ms\" }", true),
        ("{ good = \"30ms\", bad = \"0\" }", false),
        ("{ good = \"inf\", bad = \"30ms\" }", false),
        ("{ good = \"30ms\", bad = \"inf\" }", true),
        ("{ good = \"0\", bad = \"30ms\", start = \"good\" }", true),
        ("{ good = \"0\", bad = \"3us\", sojourn = \"exponential\" }", true),
        ("{ loss = \"0%\", burst = \"30ms\" }", false),
        ("{ loss = \"100%\", burst = \"30ms\" }", true),
        ("{ p = \"0\", q = \"0.3\" }", false),
        ("{ p = \"0.3\", q = \"0\" }", true),
        ("{ p = \"0\", q = \"0\", start = \"good\" }", false),
        ("{ p = \"0\", q = \"0\", start = \"bad\" }", true),
        ("{ p = \"0\", q = \"1\", evolves-in = \"packets\" }", false),
        ("{ p = \"1\", q = \"0\", evolves-in = \"packets\" }", true),
        ("{ loss = \"0%\", burst = \"1kB\", evolves-in = \"bytes\" }", false),
        ("{ loss = \"100%\", burst = \"1kB\", evolves-in = \"bytes\" }", true),
    ] {
        for seed in 0..4 {
            let mut stage = losing(table, seed).of_length(100);
            for n in 0..50_000 {
                assert_eq!(stage.hits(at(n as f64 * 0.7)), hit, "{table}, packet {n}");
            }
        }
    }
}

#[test]
fn a_probability_of_one_changes_state_at_every_tick() {
    let mut in_time = losing("{ p = \"1\", q = \"1\", tick = \"10ms\", start = \"good\" }", 1);
    let mut in_packets = losing("{ p = \"1\", q = \"1\", start = \"good\", evolves-in = \"packets\" }", 1);
    for n in 0..200_000u64 {
        // The tick itself, and the last instant before the next one.
        assert_eq!(in_time.hits(Time::from_nanos(n * 10_000_000)), n % 2 == 1);
        assert_eq!(in_time.hits(Time::from_nanos((n + 1) * 10_000_000 - 1)), n % 2 == 1);
        assert_eq!(in_packets.hits(Time::ZERO), n % 2 == 1);
    }
    // p = 1 with a general q: every good stay is one tick.
    let mut stage = losing("{ p = \"1\", q = \"0.25\" }", 1);
    let hits: Vec<bool> = (0..1_000_000).map(|n| stage.hits(at(n as f64 * 10.0))).collect();
    let [bad, good] = run_lengths(&hits);
    assert!(good.iter().all(|length| *length == 1));
    let (found, expected) = geometric(&bad, 0.25);
    fits("bad stays", &found, &expected);
}

#[test]
fn states_that_are_left_only_once() {
    // start = "bad" and a good state that never ends: one burst, geometric over seeds.
    let lengths: Vec<u64> = (0..20_000)
        .map(|seed| {
            let mut stage = losing("{ p = \"0\", q = \"0.2\", start = \"bad\" }", seed);
            let burst = (0..10_000).take_while(|n| stage.hits(at(f64::from(*n) * 10.0))).count();
            assert!(!stage.hits(at(1e9)));
            burst as u64
        })
        .collect();
    let (found, expected) = geometric(&lengths, 0.2);
    fits("first burst", &found, &expected);
}

#[test]
fn tl_09_and_tl_10_seven_loss_profiles() {
    // A constant flow with one packet in each tick of 10 ms, a third of a tick after its start.
    for (number, (bad, good, printed)) in LITE.into_iter().enumerate() {
        let good_text = if good.is_finite() { format!("{good}ms") } else { "inf".to_owned() };
        let mut stage = losing(&format!("{{ good = \"{good_text}\", bad = \"{bad}ms\" }}"), 5);
        let count = 6_000_000;
        let hits: Vec<bool> = (0..count).map(|n| stage.hits(at(f64::from(n) * 10.0 + 3.3))).collect();
        let share = hits.iter().filter(|hit| **hit).count() as f64 / f64::from(count);
        if number == 0 {
            assert!(share == 0.0);
            continue;
        }
        let (p, q) = (10.0 / good, 10.0 / bad);
        let expected = bad / (good + bad);
        assert!((expected - printed).abs() < 5e-5, "the table's own figure");
        assert!((share / expected - 1.0).abs() < 0.1, "TL-10, profile {number}: {share}, not {expected}");
        close("share", share, expected, share_deviation(expected, 1.0 - p - q, f64::from(count)));
        for (lengths, leave, mean_of) in
            run_lengths(&hits).into_iter().zip([q, p]).zip([bad, good]).map(|((l, p), m)| (l, p, m))
        {
            let measured = mean(&lengths) * 10.0;
            assert!(
                (measured / mean_of - 1.0).abs() < 0.05,
                "TL-09, profile {number}: {measured} ms, not {mean_of}"
            );
            let deviation = mean_of * (1.0 - leave).sqrt() / (lengths.len() as f64).sqrt();
            close("mean stay", measured, mean_of, deviation);
            let (found, expected) = geometric(&lengths, leave);
            fits("stays", &found, &expected);
        }
    }
}

#[test]
fn geometric_stays_end_on_multiples_of_the_tick_only() {
    let mut stage = losing("{ good = \"20ms\", bad = \"20ms\", tick = \"7ms\" }", 3);
    for tick in 0..300_000u64 {
        let first = stage.hits(Time::from_nanos(tick * 7_000_000));
        let last = stage.hits(Time::from_nanos((tick + 1) * 7_000_000 - 1));
        assert_eq!(first, last, "tick {tick}");
    }
}

#[test]
fn the_first_state_is_drawn_in_proportion_to_the_means() {
    let count = 100_000;
    let share = |table: &str| {
        (0..count).filter(|seed| losing(table, *seed).hits(Time::ZERO)).count() as f64 / count as f64
    };
    let deviation = (0.25f64 * 0.75 / count as f64).sqrt();
    close("geometric", share("{ good = \"60ms\", bad = \"20ms\" }"), 0.25, deviation);
    close(
        "exponential",
        share("{ good = \"6us\", bad = \"2us\", sojourn = \"exponential\" }"),
        0.25,
        deviation,
    );
    close("packets", share("{ good = 6, bad = 2, evolves-in = \"packets\" }"), 0.25, deviation);
    assert!(share("{ good = \"60ms\", bad = \"20ms\", start = \"good\" }") == 0.0);
    assert!((share("{ good = \"60ms\", bad = \"20ms\", start = \"bad\" }") - 1.0).abs() < f64::EPSILON);
}

#[test]
fn exponential_stays_in_time() {
    let (good, bad, gap) = (300e-6, 100e-6, 40e-6);
    let mut stage = losing("{ loss = \"25%\", burst = \"100us\", sojourn = \"exponential\" }", 7);
    let count = 4_000_000;
    let hits: Vec<bool> = (0..count).map(|n| stage.hits(at(f64::from(n) * gap * 1e3))).collect();
    let share = hits.iter().filter(|hit| **hit).count() as f64 / f64::from(count);
    let rho = (-gap * (1.0 / good + 1.0 / bad)).exp();
    close("share", share, 0.25, share_deviation(0.25, rho, f64::from(count)));
    // Observed every 40 us, it is a chain with p = share (1 − rho), q = (1 − share)(1 − rho).
    for (lengths, leave) in run_lengths(&hits).into_iter().zip([0.75 * (1.0 - rho), 0.25 * (1.0 - rho)]) {
        let (found, expected) = geometric(&lengths, leave);
        fits("seen stays", &found, &expected);
    }
}

#[test]
fn lengths_of_exponential_stays_are_exponential() {
    let channel = TwoState::<Span>::with(
        Form::Sojourns { good: Span::from_millis(50), bad: Span::from_micros(700) },
        Sojourn::Exponential,
        None,
        Start::Good,
    );
    let mut timeline = Timeline::drawn(&channel.expect("a channel"), 0, Seed::campaign(3).stream());
    let mut lengths: [Vec<f64>; 2] = Default::default();
    timeline.between(0, 10_000_000_000_000, |stay| {
        lengths[usize::from(stay.state == ChannelState::Bad)].push((stay.end - stay.start) as f64);
    });
    for (mut lengths, mean) in lengths.into_iter().zip([50e6, 0.7e6]) {
        lengths.pop();
        let count = lengths.len() as f64;
        assert!(count > 190_000.0);
        close("mean", lengths.iter().sum::<f64>() / count, mean, mean / count.sqrt());
        // Twenty classes of equal probability.
        let mut found = [0; 20];
        for length in lengths {
            found[((1.0 - (-length / mean).exp()) * 20.0) as usize] += 1;
        }
        fits("lengths", &found, &[count / 20.0; 20]);
    }
}

#[test]
fn a_timeline_is_the_same_however_it_is_asked() {
    let channel = TwoState::new(Form::Sojourns { good: Span::from_millis(40), bad: Span::from_millis(20) })
        .expect("a channel");
    let mut whole: Vec<Stay> = Vec::new();
    Timeline::drawn(&channel, 0, Seed::campaign(3).stream())
        .between(0, 90_000_000_000, |stay| whole.push(stay));
    // The last sojourn is cut to the requested interval.
    whole.pop();
    assert!(whole.len() > 2 * timeline::MEMORY);
    assert!(whole.windows(2).all(|pair| pair[0].end == pair[1].start && pair[0].state != pair[1].state));
    let mut timeline = Timeline::drawn(&channel, 0, Seed::campaign(3).stream());
    for stay in &whole {
        assert_eq!(timeline.at(stay.start), stay.state);
        assert_eq!(timeline.at(stay.end - 1), stay.state);
    }
    // Backwards, as far as the timeline remembers.
    for stay in whole.iter().rev().take(timeline::MEMORY) {
        assert_eq!(timeline.at(stay.end - 1), stay.state);
        assert_eq!(timeline.at(stay.start), stay.state);
    }
}

#[test]
fn tl_09_the_schedule_does_not_depend_on_traffic() {
    let table = "{ good = \"300ms\", bad = \"100ms\" }";
    let (mut busy, mut idle) = (losing(table, 9), losing(table, 9));
    let mut other = 0.0;
    for n in 0..100_000 {
        let now = f64::from(n) * 37.0;
        // Bursts of other packets in between, on one of the two channels only.
        while other < now {
            busy.hits(at(other));
            other += if n % 10 == 0 { 0.5 } else { 61.0 };
        }
        assert_eq!(busy.hits(at(now)), idle.hits(at(now)), "at {now} ms");
    }
    assert!(busy.next > 5 * idle.next / 4);
}

#[test]
fn tl_09_a_lone_syn_that_is_sent_again_finds_the_packet_driven_channel_still_bad() {
    // TCP Lite 5.4.3: a SYN is lost, and only its retransmissions after 1, 2, 4, ... s follow. Loss
    // share and burst (8.3 packets of 12 ms are 100 ms on UMTS) are those of loss profile 4.
    let tries = |table: &str| -> Vec<u64> {
        (0..20_000)
            .map(|seed| {
                let mut stage = losing(table, seed);
                let mut now = 0.0;
                for attempt in 0.. {
                    if !stage.hits(at(now)) {
                        return attempt;
                    }
                    now += 1000.0 * f64::from(1u32 << u64::min(attempt, 20));
                }
                unreachable!()
            })
            .collect()
    };
    let in_packets =
        tries("{ loss = \"4.76%\", burst = \"8.3\", start = \"bad\", evolves-in = \"packets\" }");
    let in_time = tries("{ loss = \"4.76%\", burst = \"100ms\", start = \"bad\" }");
    // In packets, the bad state lasts for 8.3 attempts on average, of which the last waits for
    // minutes.
    let (found, expected) = geometric(&in_packets, 1.0 / 8.3);
    fits("lost in a row", &found, &expected);
    // In time, the first attempt is lost, and each other one with the share of the bad state,
    // practically independently.
    let (found, expected) = geometric(&in_time, 1.0 - 0.0476);
    fits("lost in a row", &found, &expected);
    let slow = |tries: &[u64]| tries.iter().filter(|lost| **lost > 5).count() as f64 / tries.len() as f64;
    assert!(slow(&in_packets) > 0.5, "more than a minute for most");
    assert!(slow(&in_time) < 1e-4);
}

#[test]
fn gilberts_chain_in_packets() {
    let mut stage = losing("{ p = \"2%\", q = \"25%\", evolves-in = \"packets\" }", 2);
    let count = 2_000_000;
    // Time does not matter.
    let hits: Vec<bool> = (0..count).map(|n| stage.hits(at(f64::from(n / 1000) * 1e3))).collect();
    let share = hits.iter().filter(|hit| **hit).count() as f64 / f64::from(count);
    close("share", share, 0.02 / 0.27, share_deviation(0.02 / 0.27, 0.73, f64::from(count)));
    for (lengths, leave) in run_lengths(&hits).into_iter().zip([0.25, 0.02]) {
        let (found, expected) = geometric(&lengths, leave);
        fits("runs", &found, &expected);
    }
}

#[test]
fn m12_bits_by_themselves_hit_packets_as_in_fig_d1() {
    for (ber, printed) in [("1e-6", 0.0080), ("1e-5", 0.0769), ("5e-5", 0.3297), ("1e-4", 0.5507)] {
        let mut stage = losing(&format!("{{ ber = \"{ber}\" }}"), 4).of_length(1000);
        let count = 1_000_000;
        let share = (0..count).filter(|n| stage.hits(Time::from_nanos(*n))).count() as f64 / count as f64;
        let ratio: f64 = ber.parse().expect("a number");
        let expected = 1.0 - (1.0 - ratio).powi(8000);
        assert!((expected - printed).abs() < 5e-5);
        close(ber, share, expected, (expected * (1.0 - expected) / count as f64).sqrt());
    }
}

#[test]
fn gilbert_elliott_at_an_instant() {
    // Every packet is independent of the last: 1 s apart, good 30 ms, bad 10 ms.
    let table = "{ good = \"30ms\", bad = \"10ms\", sojourn = \"exponential\", ber-good = \"1e-5\", ber-bad = \"1e-4\" }";
    let mut stage = losing(table, 4).of_length(576);
    let count = 1_000_000;
    let (mut bad, mut hit) = (0.0, [0.0; 2]);
    for n in 0..count {
        let lost = stage.hits(at(f64::from(n) * 1e3));
        let met_bad = stage.packet.as_ref().and_then(|packet| packet.channel) == Some(ChannelState::Bad);
        bad += f64::from(u8::from(met_bad));
        hit[usize::from(met_bad)] += f64::from(u8::from(lost));
        if lost {
            assert_eq!(stage.packet.as_ref().and_then(Packet::loss), Some(Loss::Error));
        }
    }
    let count = f64::from(count);
    close("bad", bad / count, 0.25, (0.25 * 0.75 / count).sqrt());
    for (hit, seen, ratio) in [(hit[0], count - bad, 1e-5f64), (hit[1], bad, 1e-4)] {
        let expected = 1.0 - (1.0 - ratio).powi(576 * 8);
        close("hit", hit / seen, expected, (expected * (1.0 - expected) / seen).sqrt());
    }
}

#[test]
fn packets_on_a_list() {
    let mut stage = losing("{ packets = \"3,7,10-12,500000\" }", 1);
    let hits: Vec<u64> = (0..1_000_000).filter(|n| stage.hits(Time::from_nanos(*n))).collect();
    assert_eq!(hits, [3, 7, 10, 11, 12, 500_000]);
    let mut stage = losing("{ packets = \"0\" }", 1);
    assert!(stage.hits(Time::ZERO));
    assert_eq!(stage.packet.as_ref().and_then(Packet::loss), Some(Loss::Listed));
}

#[test]
fn descriptions_agree_with_what_was_asked() {
    let share = Probability::new(0.25).expect("in range");
    let burst = TwoState::<Span>::new(Form::Bursts { loss: share, burst: Span::from_millis(100) })
        .expect("a channel");
    let described = burst.describe();
    assert_eq!(
        (described.good, described.bad, described.loss),
        (Span::from_millis(300), Span::from_millis(100), share)
    );
    let (p, q, tick) = described.per_tick.expect("geometric");
    assert!((p.get() - 1.0 / 30.0).abs() < 1e-15 && (q.get() - 0.1).abs() < 1e-15);
    assert_eq!(tick, Span::from_millis(10));
    assert_eq!(
        described.to_string(),
        "good 300ms, bad 100ms on average (25% bad), p 3.333% and q 10% per tick of 10ms"
    );
    // The same channel from p and q, and one from sojourns in bytes.
    let transitions = TwoState::<Span>::new(Form::Transitions { p, q }).expect("a channel").describe();
    assert_eq!((transitions.good, transitions.bad), (described.good, described.bad));
    let sojourns = TwoState::<ByteCount>::new(Form::Sojourns {
        good: ByteCount::new(50_000),
        bad: ByteCount::new(10_000),
    });
    let described = sojourns.expect("a channel").describe();
    assert_eq!(described.per_tick, None);
    assert_eq!(described.to_string(), "good 50kB, bad 10kB on average (16.67% bad)");
    let never = TwoState::<Span>::new(Form::Bursts { loss: Probability::ZERO, burst: Span::ZERO })
        .expect("a channel");
    assert_eq!(
        never.describe().to_string(),
        "good inf, bad 0 on average (0% bad), p 0% and q 100% per tick of 10ms"
    );
    let in_packets = process("{ loss = \"10%\", burst = 2.5, evolves-in = \"packets\" }");
    assert_eq!(
        in_packets.to_string(),
        "good 22.5 packets, bad 2.5 packets on average (10% bad), p 4.444% and q 40% per tick of 1"
    );
}
