//! Tests of limiters that replay a trace.

use super::super::mahimahi::{MahimahiTrace, OPPORTUNITY, Playback, TUN_HEADER};
use super::super::theaterq::{AtEnd, EntryRate, TheaterqTrace};
use super::*;
use crate::stage::spec::FromFile;
use proptest::prelude::*;
use std::collections::VecDeque;

const MS: u64 = 1_000_000;

fn mahimahi(text: &str, once: bool) -> RateSpec {
    RateSpec::Mahimahi(
        FromFile::with("t", MahimahiTrace::parse("t", text).expect("a trace")),
        Playback { once, ..Playback::USUAL },
    )
}

fn theaterq(text: &str, at_end: AtEnd) -> RateSpec {
    RateSpec::Theaterq(FromFile::with("t", TheaterqTrace::parse("t", text).expect("a trace")), at_end)
}

fn in_ms(fates: &[Fate]) -> Vec<f64> {
    fates.iter().map(|fate| fate.at.as_secs_f64() * 1e3).collect()
}

#[test]
fn a_full_sized_packet_fills_an_opportunity_and_small_ones_share_it() {
    let run = |lengths: &[usize]| {
        let arrivals: Vec<_> = lengths.iter().map(|&length| (0, length)).collect();
        in_ms(&drive(&mut bottleneck(mahimahi("1\n2\n4\n", false), "inf"), arrivals))
    };
    assert_eq!(run(&[1500, 1500]), [1.0, 2.0]);
    // One byte more spans two opportunities. The rest of the second carries the next packet: 1505 +
    // 1503 = 2 · 1504.
    assert_eq!(run(&[1501, 1499, 1]), [2.0, 2.0, 4.0]);
    assert_eq!(run(&[372, 372, 372, 372, 372]), [1.0, 1.0, 1.0, 1.0, 2.0]);
    // More than one round: at 4 ms the trace starts again.
    assert_eq!(run(&[1500; 7]), [1.0, 2.0, 4.0, 5.0, 6.0, 8.0, 9.0]);
}

#[test]
fn an_opportunity_that_nobody_uses_is_gone() {
    // A packet that arrives at 1 ms is too late for the opportunity of that instant.
    let fates = drive(
        &mut bottleneck(mahimahi("1\n2\n4\n", false), "inf"),
        [(MS, 100), (2 * MS + 1, 100), (11 * MS, 1)],
    );
    assert_eq!(in_ms(&fates), [2.0, 4.0, 12.0]);
    // After hours.
    let fates = drive(&mut bottleneck(mahimahi("0\n3\n", false), "inf"), [(3_600_000 * MS + 1, 1500); 3]);
    assert_eq!(in_ms(&fates), [3_600_003.0, 3_600_003.0, 3_600_006.0]);
}

#[test]
fn played_once_it_is_over_at_its_end() {
    let mut stage = bottleneck(mahimahi("1\n2\n", true), "inf");
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    for number in 0..3 {
        stage.accept(packet(number, 1500, Time::ZERO), &mut out);
    }
    advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
    assert_eq!(in_ms(&fates), [1.0, 2.0]);
    assert_eq!((stage.due(), stage.waiting()), (Time::NEVER, 1));
    let mut left = Vec::new();
    stage.clear(&mut left);
    assert_eq!((left.len(), stage.waiting()), (1, 0));
    // A packet after the end also waits for ever.
    stage.accept(packet(3, 1500, nanos(10 * MS)), &mut out);
    assert_eq!(stage.due(), Time::NEVER);
}

/// Returns a trace with these opportunities.
fn text(instants: &[u64]) -> String {
    instants.iter().map(u64::to_string).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_saturated_trace_delivers_every_byte_of_it_and_not_one_more() {
    // 10^6 packets. The packet whose last byte is the n-th leaves at opportunity n / 1504, rounded
    // up.
    let instants: Vec<u64> = (20..1000).map(|n| n * n / 300).collect();
    let fates =
        drive(&mut bottleneck(mahimahi(&text(&instants), false), "inf"), (0..1_000_000).map(|n| (0, n % 97)));
    let mut bytes = 0;
    for fate in &fates {
        bytes += fate.number % 97 + TUN_HEADER;
        let place = bytes.div_ceil(OPPORTUNITY) - 1;
        let (round, place) = (place / 980, place as usize % 980);
        assert_eq!(fate.at, nanos((round * instants[979] + instants[place]) * MS), "packet {}", fate.number);
    }
}

proptest! {
    #[test]
    fn a_mahimahi_trace_is_played_as_by_link_queue(
        gaps in prop::collection::vec(0u64..4, 1..40),
        pattern in prop::collection::vec((0u64..3 * MS, 1usize..3000), 1..300),
        room in prop_oneof![Just(u64::MAX), 0..20u64],
    ) {
        // The end must not be 0.
        let mut at = 0;
        let mut instants: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
        instants.push(at + 1);
        let text = text(&instants);
        let mut at = 0;
        let arrivals: Vec<_> = pattern.iter().map(|&(gap, length)| { at += gap; (at, length) }).collect();
        let queue = if room == u64::MAX { "inf".into() } else { format!("{room}p") };
        let mut stage = bottleneck(mahimahi(&text, false), &queue);
        let fates = drive(&mut stage, arrivals.clone());

        // Reference: one opportunity after the other, with all earlier packets in the queue.
        let mut waiting: VecDeque<(u64, u64)> = VecDeque::new();
        let mut transit: Option<(u64, u64)> = None;
        let (mut sent, mut gone) = (Vec::new(), Vec::new());
        let mut next = (0u64..).zip(&arrivals).peekable();
        let (mut base, mut place) = (0, 0);
        while next.peek().is_some() || !waiting.is_empty() || transit.is_some() {
            let now = (base + instants[place]) * MS;
            while let Some((number, (_, length))) = next.next_if(|(_, (at, _))| *at < now) {
                if waiting.len() as u64 >= room {
                    gone.push(number);
                } else {
                    waiting.push_back((number, *length as u64 + 4));
                }
            }
            let mut left = 1504;
            while left > 0 {
                let Some((number, rest)) = transit.take().or_else(|| waiting.pop_front()) else { break };
                if rest > left { transit = Some((number, rest - left)) } else { sent.push((number, now)) }
                left -= left.min(rest);
            }
            place += 1;
            if place == instants.len() {
                place = 0;
                base += instants[instants.len() - 1];
            }
        }
        prop_assert_eq!(passed(&fates).iter().map(|fate| (fate.number, fate.at.as_nanos())).collect::<Vec<_>>(), sent);
        prop_assert_eq!(lost(&fates), gone);
    }

    #[test]
    fn with_a_trace_a_limit_in_time_is_the_exact_wait_until_the_first_byte(
        pattern in prop::collection::vec((0u64..2 * MS, 1usize..3000), 1..200),
        limit in 0u64..12,
    ) {
        let mut at = 0;
        let arrivals: Vec<_> = pattern.iter().map(|&(gap, length)| { at += gap; (at, length) }).collect();
        let trace = mahimahi("0\n1\n3\n3\n7\n", false);
        let fates = drive(&mut bottleneck(trace.clone(), &format!("{limit}ms")), arrivals.clone());
        // The admitted packets alone have the same times, and none waits longer. A refused packet
        // would have waited longer.
        for fate in passed(&fates) {
            prop_assert!(fate.sending.start - fate.arrived <= Span::from_millis(limit));
        }
        let gone = lost(&fates);
        for &number in gone.iter().take(3) {
            let ahead = |n: u64| n == number || n < number && !gone.contains(&n);
            let some: Vec<_> = (0u64..).zip(&arrivals).filter(|(n, _)| ahead(*n)).map(|(_, a)| *a).collect();
            let alone = drive(&mut bottleneck(trace.clone(), "inf"), some);
            let last = alone[alone.len() - 1];
            prop_assert!(last.sending.start - last.arrived > Span::from_millis(limit));
        }
    }

    #[test]
    fn no_text_makes_a_parser_panic(
        text in prop_oneof![".*", "[0-9,\n\r -]{0,200}", "([0-9]{1,21},){4,9}[0-9]{1,21}\n"],
    ) {
        let _ = MahimahiTrace::parse("t", &text);
        if let Ok(trace) = TheaterqTrace::parse("t", &text) {
            prop_assert!(!trace.entries().is_empty());
        }
    }
}

#[test]
fn errors_of_a_mahimahi_trace_name_file_line_field_value_and_what_would_be_right() {
    let error = |text: &str| MahimahiTrace::parse("a.up", text).expect_err(text).to_string();
    assert_eq!(
        error("1\n2x\n"),
        "a.up:2: opportunity `2x`: must be a whole number of milliseconds, one per line"
    );
    assert_eq!(
        error("1\n\n2"),
        "a.up:2: opportunity ``: must be a whole number of milliseconds, one per line"
    );
    assert_eq!(error("-1"), "a.up:1: opportunity `-1`: must be a whole number of milliseconds, one per line");
    assert_eq!(error("5\n4"), "a.up:2: opportunity `4`: must not be earlier than the one above");
    assert_eq!(error(""), "a.up:1: opportunity ``: there must be at least one line");
    assert_eq!(error("0\n0"), "a.up:2: opportunity `0`: the last one must be later than 0 ms");
    assert!(MahimahiTrace::parse("a.up", "1\r\n2\r\n").is_ok());
}

#[test]
fn errors_of_a_theaterq_trace_name_file_line_field_value_and_what_would_be_right() {
    let error = |text: &str| TheaterqTrace::parse("a.csv", text).expect_err(text).to_string();
    let whole = "must be a whole number of nanoseconds";
    assert_eq!(error("1,x,3,4,5"), format!("a.csv:1: LATENCY `x`: {whole}"));
    assert_eq!(
        error("# one\n1,2,3,4,5\n1,2,-2,4,5"),
        "a.csv:3: RATE `-2`: must be a whole number of bits per second, 0 (stopped) or -1 (unlimited)"
    );
    assert!(
        error("0,2,3,4,5").starts_with("a.csv:1: KEEP `0`: must be a whole number of microseconds above 0")
    );
    assert!(error("18446744073709551615,2,3,4,5").contains("580 years"));
    assert!(
        error("1,2,3,4294967296,5")
            .contains("LOSS `4294967296`: must be a whole number from 0 to 4294967295")
    );
    assert!(error("1,2,3,4").contains("5 fields (simple form) or 10 (extended)"));
    assert!(error("1,2,3,4,5\n1,2,3,4,5,6,7,8,9,10").contains("a.csv:2: line"));
    assert!(
        error("1,2,3,4,5,6,7,8,70000,10")
            .contains("ROUTE_ID `70000`: must be a whole number from 0 to 65535")
    );
    assert!(error("KEEP,LATENCY\n").contains("at least one line of fields"));
}

#[test]
fn both_forms_of_a_theaterq_trace_are_read() {
    let simple =
        TheaterqTrace::parse("t", "KEEP,LATENCY,RATE,LOSS,LIMIT\n1000,20,8000,4294967295,7\n500,0,-1,0,0\n");
    let simple = simple.expect("a trace");
    assert_eq!(simple.duration(), Span::from_micros(1500));
    let [first, second] = simple.entries() else { panic!("two lines") };
    assert_eq!((first.latency, first.loss.get(), first.limit), (Span::from_nanos(20), 1.0, 7));
    assert_eq!(first.rate, EntryRate::Limited(BitRate::from_bits_per_second(8000).expect("not 0")));
    assert_eq!(second.rate, EntryRate::Unlimited);
    let extended = TheaterqTrace::parse("t", "1,2,3,0,5,6,7,8,9,10").expect("a trace");
    let entry = extended.entries()[0];
    assert_eq!((entry.latency, entry.jitter), (Span::from_nanos(2), Span::from_nanos(3)));
    assert_eq!(
        (entry.rate, entry.limit, entry.duplicate_delay),
        (EntryRate::Stopped, 6, Span::from_nanos(8))
    );
    assert_eq!((entry.route, entry.queue), (9, 10));
    assert!((entry.duplicate.get() * f64::from(u32::MAX) - 7.0).abs() < 1e-6);
}

#[test]
fn a_packet_is_sent_at_the_rate_that_holds_when_its_sending_begins() {
    // 1000 bytes take 8 ms at 1 Mbit/s and 4 ms at 2 Mbit/s. The trace is stopped from 15 ms to 20
    // ms and then unlimited for 1 ms.
    let text = "10000,0,1000000,0,0\n5000,0,2000000,0,0\n5000,0,0,0,0\n1000,0,-1,0,0\n";
    let run = |arrivals: &[(u64, usize)], at_end| {
        in_ms(&drive(&mut bottleneck(theaterq(text, at_end), "inf"), arrivals.to_vec()))
    };
    let burst = |count| vec![(0, 1000); count];
    // 0–8, 8–16 (begun at 1 Mbit/s), then stopped, and two packets at once at 20. The trace ends
    // at 21.
    assert_eq!(run(&burst(4), AtEnd::Loop), [8.0, 16.0, 20.0, 20.0]);
    let late = [(20_500_000, 1000), (21_000_000, 1000), (21_000_000, 1000)];
    assert_eq!(run(&late, AtEnd::Loop), [20.5, 29.0, 37.0]);
    assert_eq!(run(&late, AtEnd::Hold), [20.5, 21.0, 21.0]);
    assert_eq!(run(&[(MS * 17, 1000), (MS * 100, 1000)], AtEnd::Clear), [20.0, 100.0]);
    // Rounds later, 11 ms after the start of one: 2 Mbit/s.
    assert_eq!(run(&[(MS * (21 * 1000 + 11), 1000)], AtEnd::Loop), [21_015.0]);
}

#[test]
fn a_trace_that_stops_for_good_keeps_what_it_has() {
    let mut stage = bottleneck(theaterq("1000,0,0,0,0\n", AtEnd::Loop), "10ms");
    let mut out = Outbox::default();
    stage.accept(packet(0, 100, Time::ZERO), &mut out);
    assert_eq!((stage.due(), out.lost().len()), (Time::NEVER, 1), "it would wait for longer than 10 ms");
    let mut stage = bottleneck(theaterq("1000,0,0,0,0\n", AtEnd::Hold), "1p");
    stage.accept(packet(0, 100, Time::ZERO), &mut out);
    stage.accept(packet(1, 100, Time::ZERO), &mut out);
    assert_eq!((stage.due(), stage.waiting(), out.lost().len()), (Time::NEVER, 1, 2));
}

fn extended(text: &str, limit_in: TraceLimit) -> Bottleneck {
    let rate = theaterq(text, AtEnd::Hold);
    made(BottleneckSpec {
        rate,
        queue: QueueSpec::Trace(TraceQueueSpec { limit_in }),
        ..BottleneckSpec::default()
    })
}

#[test]
fn the_limit_of_a_trace_holds_for_each_of_its_queues() {
    // Queue 1 with room for 2 packets for 1 ms, queue 2 with room for 1 for 1 ms, then queue 1 with
    // room for 3. 8 bytes take 64 ms.
    let text = "1000,0,0,1000,0,2,0,0,0,1\n1000,0,0,1000,0,1,0,0,0,2\n1000,0,0,1000,0,3,0,0,0,1\n";
    let arrivals = [0, 0, 0, 0, MS, MS, 2 * MS, 2 * MS].map(|at| (at, 8));
    let fates = drive(&mut extended(text, TraceLimit::Packets), arrivals);
    // 0 is sent. 1 and 2 wait in queue 1, which is full for 3. 4 waits in queue 2, which is full
    // for 5. 6 is the third in queue 1.
    assert_eq!(lost(&fates), [3, 5, 7]);
    assert_eq!(passed(&fates).iter().map(|fate| fate.number).collect::<Vec<_>>(), [0, 1, 2, 4, 6], "one row");
    // In bytes: room for 20 in queue 0.
    let fates =
        drive(&mut extended("1000,0,1000,0,20\n", TraceLimit::Bytes), [(0, 8), (0, 12), (0, 9), (0, 8)]);
    assert_eq!(lost(&fates), [2]);
    // Without a limit.
    let fates = drive(&mut extended("1000,0,1000,0,0\n", TraceLimit::Bytes), [(0, 8); 1000]);
    assert_eq!(lost(&fates), [0; 0]);
}

#[test]
fn a_theaterq_trace_loses_and_doubles_as_many_as_it_says() {
    // 10 % lost, 20 % copied: 429496730 and 858993459 of 2^32 - 1.
    let text = "1000,0,0,-1,429496730,0,858993459,0,0,0\n";
    let mut stage = bottleneck(theaterq(text, AtEnd::Loop), "inf");
    let mut out = Outbox::default();
    let count = 1_000_000;
    for number in 0..count {
        stage.accept(packet(number, 1, nanos(number)), &mut out);
    }
    let (passed, lost) = out.take();
    assert!(lost.iter().all(|packet| packet.loss() == Some(Loss::Error)));
    let is_copy = |packet: &&Packet| packet.marks.iter().any(|mark| mark.effect == Effect::Copied);
    let copies = passed.iter().chain(&lost).filter(is_copy).count() as f64;
    let within = |seen: f64, of: f64, p: f64| {
        assert!((seen - of * p).abs() < 5.0 * (of * p * (1.0 - p)).sqrt(), "{seen} of {of}, expected {p}");
    };
    within(copies, 900_000.0, 0.2);
    within(lost.iter().filter(is_copy).count() as f64, copies, 0.1);
    within(lost.len() as f64 - lost.iter().filter(is_copy).count() as f64, count as f64, 0.1);
    assert_eq!(passed.len() + lost.len(), count as usize + copies as usize);
}
