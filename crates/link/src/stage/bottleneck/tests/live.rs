//! Tests of parameters that change while packets are inside.

use super::super::mahimahi::{MahimahiTrace, Playback};
use super::super::theaterq::{AtEnd, TheaterqTrace};
use super::*;
use crate::stage::spec::FromFile;

const MS: u64 = 1_000_000;

fn with_rate(stage: &Bottleneck, rate: RateSpec) -> BottleneckSpec {
    BottleneckSpec { rate, ..stage.spec().clone() }
}

fn mahimahi(text: &str) -> RateSpec {
    RateSpec::Mahimahi(
        FromFile::with("t", MahimahiTrace::parse("t", text).expect("a trace")),
        Playback::USUAL,
    )
}

fn theaterq(text: &str) -> RateSpec {
    RateSpec::Theaterq(FromFile::with("t", TheaterqTrace::parse("t", text).expect("a trace")), AtEnd::Hold)
}

/// Sends packets of 1000 bytes at time 0, with changes of the rate; returns when they leave in ms.
fn ends(first: RateSpec, packets: u64, changes: impl IntoIterator<Item = (u64, RateSpec)>) -> Vec<f64> {
    let mut stage = bottleneck(first, "inf");
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    for number in 0..packets {
        stage.accept(packet(number, 1000, Time::ZERO), &mut out);
    }
    collect(&mut out, Time::ZERO, &mut fates);
    for (at, rate) in changes {
        advance(&mut stage, nanos(at), &mut fates);
        let spec = with_rate(&stage, rate);
        stage.set(spec, nanos(at)).expect("a spec that can be");
    }
    advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
    assert!(fates.iter().map(|fate| fate.number).eq(0..packets), "all leave, in order: {fates:?}");
    fates.iter().map(|fate| fate.at.as_secs_f64() * 1e3).collect()
}

#[test]
fn the_bits_of_a_packet_that_are_not_sent_go_at_the_new_rate() {
    // 1000 bytes at 8 kbit/s take 1 s. Half of them are sent when the rate doubles.
    assert_eq!(ends(rate(8_000), 2, [(500 * MS, rate(16_000))]), [750.0, 1250.0]);
    // Repeated changes keep the progress: 1/4 + 1/4 + 1/2 of the packet.
    let changes = [(250 * MS, rate(4_000)), (750 * MS, rate(80_000))];
    assert_eq!(ends(rate(8_000), 1, changes), [800.0]);
    // A change to the same rate has no effect, to the nanosecond.
    let thirds = |changes: &[u64]| ends(rate(7_777), 3, changes.iter().map(|&at| (at, rate(7_777))));
    assert_eq!(thirds(&[]), thirds(&[1, 333_333_333, 1_500_000_000]));
}

#[test]
fn rounding_never_makes_a_packet_early_however_often_the_rate_changes() {
    // 1000 bytes at alternately 7 and 11 kbit/s for 1 ms each.
    let changes = (1..2000).map(|turn| (turn * MS, rate(if turn % 2 == 0 { 7_000 } else { 11_000 })));
    let [end] = ends(rate(7_000), 1, changes)[..] else { panic!("one packet") };
    // 444 pairs of turns send 7992 bits, the next turn sends 7, and the last bit takes 1/11 ms.
    let exact = 889.0 + 1.0 / 11.0;
    assert!(end >= exact && end < exact + 2e-6, "{end} {exact}");
}

#[test]
fn without_a_limit_everything_inside_leaves_at_once() {
    assert_eq!(ends(rate(8_000), 3, [(500 * MS, RateSpec::Unlimited)]), [500.0; 3]);
}

#[test]
fn the_rest_of_a_packet_goes_with_the_first_opportunities_of_a_new_trace() {
    // 500 bytes of the first packet are left. Each opportunity carries 1504 bytes, and the second
    // and third packet cost 1004 each.
    assert_eq!(ends(rate(8_000), 3, [(500 * MS, mahimahi("10\n20\n"))]), [510.0, 510.0, 520.0]);
    // The reverse: 1004 - (1504 - 1004) = 504 bytes of the second packet are left, which take 504
    // ms.
    assert_eq!(ends(mahimahi("10\n"), 2, [(15 * MS, rate(8_000))]), [10.0, 519.0]);
}

#[test]
fn a_stopped_trace_goes_on_when_it_is_replaced() {
    let stopped = || theaterq("1000,0,0,0,0\n");
    assert_eq!(ends(stopped(), 2, [(MS, rate(8_000_000))]), [2.0, 3.0]);
    // Half of the packet is sent when the trace stops permanently, until it is replaced.
    assert_eq!(ends(rate(8_000_000), 1, [(MS / 2, stopped()), (5 * MS, rate(8_000_000))]), [5.5]);
    // A line with a rate follows after 1 ms.
    assert_eq!(ends(rate(8_000_000), 1, [(MS / 2, theaterq("1000,0,0,0,0\n1,0,4000000,0,0\n"))]), [2.5]);
}

#[test]
fn a_smaller_queue_keeps_the_packets_it_holds() {
    let mut stage = bottleneck(rate(8_000_000), "inf");
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    for number in 0..10 {
        stage.accept(packet(number, 1000, Time::ZERO), &mut out);
    }
    let queue = "2p".parse().expect("a limit");
    stage.set(BottleneckSpec { queue, ..stage.spec().clone() }, nanos(1)).expect("a spec that can be");
    assert_eq!(stage.waiting(), 9);
    stage.accept(packet(10, 1000, nanos(1)), &mut out);
    collect(&mut out, nanos(1), &mut fates);
    assert_eq!(lost(&fates), [10]);
    advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
    assert_eq!(passed(&fates).len(), 10);
}

#[test]
fn drop_head_applies_a_new_limit_to_those_that_wait() {
    // 1000 bytes take 1 ms; nine packets wait.
    let run = |limit| {
        let mut stage = bottleneck(rate(8_000_000), "inf");
        let (mut out, mut fates) = (Outbox::default(), Vec::new());
        for number in 0..10 {
            stage.accept(packet(number, 1000, Time::ZERO), &mut out);
        }
        advance(&mut stage, nanos(MS / 2), &mut fates);
        let queue = QueueSpec::drop_head(limit);
        stage
            .set(BottleneckSpec { queue, ..stage.spec().clone() }, nanos(MS / 2))
            .expect("a spec that can be");
        advance(&mut stage, nanos(MS * 3 / 4), &mut fates);
        stage.accept(packet(10, 1000, nanos(MS * 3 / 4)), &mut out);
        collect(&mut out, nanos(MS * 3 / 4), &mut fates);
        advance(&mut stage, nanos(u64::MAX - 1), &mut fates);
        let gone = fates.iter().filter(|fate| fate.loss.is_some());
        gone.map(|fate| (fate.number, fate.at.as_nanos() / 1000)).collect::<Vec<_>>()
    };
    assert_eq!(run(Limit::Packets(8)), [(1, 750), (2, 750)]);
    assert_eq!(run(Limit::Time(Span::from_millis(8))), [(9, 8000), (10, 8750)]);
    assert_eq!(
        run(Limit::Time(Span::from_nanos(1000))),
        (1..10).map(|n| (n, 500)).chain([(10, 751)]).collect::<Vec<_>>()
    );
}

#[test]
fn what_counts_is_counted_anew() {
    let mut stage = bottleneck(rate(8_000_000), "2kB");
    let mut out = Outbox::default();
    for number in 0..3 {
        stage.accept(packet(number, 900, Time::ZERO), &mut out);
    }
    stage
        .set(BottleneckSpec { counted: Counted::Overhead(100), ..stage.spec().clone() }, Time::ZERO)
        .expect("fine");
    stage.accept(packet(3, 0, Time::ZERO), &mut out);
    let mut fates = Vec::new();
    collect(&mut out, Time::ZERO, &mut fates);
    assert_eq!(lost(&fates), [3], "2000 bytes wait now");
}

#[test]
fn refused_parameters_change_nothing() {
    let mut stage = bottleneck(rate(8_000_000), "50p");
    let before = stage.spec().clone();
    let not_loaded = RateSpec::Mahimahi(FromFile::named("x"), Playback::USUAL);
    let error = stage.set(with_rate(&stage, not_loaded), Time::ZERO).expect_err("not loaded");
    assert_eq!(error.to_string(), "x has not been read yet: load the spec before making a stage of it");
    assert!(
        stage
            .set(
                BottleneckSpec { queue: QueueSpec::Trace(TraceQueueSpec::default()), ..before.clone() },
                Time::ZERO
            )
            .is_err()
    );
    assert_eq!(stage.spec(), &before);
}
