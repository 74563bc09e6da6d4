//! Tests of links that change while packets are inside: no packet disappears or is early, and marks
//! name the right stage.

use crate::drive::{Seen, built, direction, frame, is_copy, loser, seed};
use link::spec::DirectionSpec;
use link::units::{Span, Time};
use link::{Loss, Packet, Pipeline};
use std::collections::BTreeSet;

const COUNT: u64 = 4_000;

fn at(number: u64) -> Time {
    Time::ZERO + Span::from_micros(1_700) * number
}

/// Sends half of the packets through `before`, changes it to `after` with packets inside, and sends
/// the other half.
fn changed(before: &DirectionSpec, after: &DirectionSpec) -> (Pipeline, Seen) {
    let mut pipeline = built(before, &seed(3));
    let mut seen = Seen::default();
    for number in 0..COUNT {
        if number == COUNT / 2 {
            pipeline.advance(at(number), &mut seen);
            let inside = COUNT / 2 - original(&seen).count() as u64;
            assert!(inside > 0, "nothing is inside of {before}");
            before
                .change_into(after, &mut pipeline, &seed(3), at(number))
                .unwrap_or_else(|error| panic!("{before} to {after}: {error}"));
        }
        pipeline.accept(frame(1000), at(number), &mut seen);
    }
    pipeline.finish(at(COUNT) + Span::from_secs(3600), &mut seen);
    assert_eq!(pipeline.waiting(), 0);
    (pipeline, seen)
}

fn original(seen: &Seen) -> impl Iterator<Item = &Packet> {
    seen.all().filter(|packet| !is_copy(packet))
}

/// Asserts that each packet was delivered or lost once; copies are additional.
fn nothing_disappeared(seen: &Seen, what: &str) {
    let numbers: Vec<u64> = original(seen).map(|packet| packet.number).collect();
    assert_eq!(numbers.len() as u64, COUNT, "{what}");
    assert_eq!(numbers.into_iter().collect::<BTreeSet<_>>(), (0..COUNT).collect(), "{what}");
}

/// Asserts that no packet was faster than `least`, the shortest delay of the row.
fn nothing_is_early(seen: &Seen, least: Span, what: &str) {
    for packet in &seen.delivered {
        assert!(packet.at >= packet.arrived + least, "{what}: packet {} is early", packet.number);
        assert_eq!(packet.arrived, at(packet.number));
    }
    assert!(seen.delivered.windows(2).all(|pair| pair[0].at <= pair[1].at), "{what}: out of time");
}

/// Parameters of each kind of stage with which packets wait, are in flight, or are hit.
const KINDS: [&[&str]; 6] = [
    &[
        r#"bottleneck = { rate = "4Mbit", queue = "50p" }"#,
        r#"bottleneck = { rate = "5Mbit", queue = "20kB" }"#,
        r#"bottleneck = { rate = "3Mbit", queue = { kind = "codel" } }"#,
        r#"bottleneck = { rate = "4Mbit", queue = { kind = "red", min = "5p", max = "15p" } }"#,
        r#"bottleneck = { rate = "4Mbit", queue = { kind = "drop-head", limit = "100ms" } }"#,
        r#"bottleneck = { rate = "4Mbit", queue = "fq-codel" }"#,
        r#"bottleneck = { rate = "4Mbit", queue = { kind = "fq-codel", flows = 7 } }"#,
        r#"bottleneck = { rate = "4Mbit", queue = "pie" }"#,
        r#"bottleneck = { rate = "4Mbit", queue = "dualpi2" }"#,
        r#"bottleneck = { rate = "4Mbit", queue = "sfq" }"#,
        r#"bottleneck = { rate = "inf" }"#,
    ],
    &[
        r#"errors = { process = { loss = "5%" } }"#,
        r#"errors = { process = { good = "100ms", bad = "20ms" } }"#,
        r#"errors = { process = { good = "300ms", bad = "50ms" }, sampled = "interval" }"#,
        r#"errors = { process = { ber = "1e-5" } }"#,
        r#"errors = { process = { p = "2%", q = "30%", evolves-in = "packets" } }"#,
    ],
    &[
        r#"outage = { schedule = [{ start = "1s", length = "100ms" }], period = "2s" }"#,
        r#"outage = { process = { up = "300ms", down = "50ms" }, judged = "transmission" }"#,
        r"outage = {}",
    ],
    &[r#"duplicate = { probability = "10%" }"#, r#"duplicate = { probability = "70%" }"#],
    &[
        r#"delay = "30ms""#,
        r#"delay = "5ms""#,
        r#"delay = { kind = "uniform", mean = "30ms", jitter = "25ms" }"#,
        r#"delay = { kind = "normal", mean = "30ms", sd = "5ms", reorder = true }"#,
        r#"delay = { kind = "empirical", percentiles = [[0, "5ms"], [50, "20ms"], [100, "80ms"]] }"#,
    ],
    &[
        r#"hiccup = { hold = { span = "100ms", trigger = { every = "400ms" } } }"#,
        r#"hiccup = { hold = { span = "50ms", trigger = { random = "200ms" } }, release = "reversed" }"#,
        r#"hiccup = { reorder = { length = 3, trigger = { every-packets = 10 }, timeout = "1s" }, expiration = "80ms" }"#,
        r"hiccup = {}",
    ],
];

/// Returns a row that always has packets inside, with `stage` in the middle.
fn row(stage: &str) -> DirectionSpec {
    direction(&format!(
        "[[down.stages]]\nname = \"first\"\ndelay = \"20ms\"\n\
         [[down.stages]]\nname = \"middle\"\n{stage}\n\
         [[down.stages]]\nname = \"last\"\ndelay = \"10ms\"\n"
    ))
}

#[test]
fn each_kind_takes_other_parameters_with_packets_inside() {
    for kind in KINDS {
        for before in kind {
            for after in kind {
                let what = format!("{before} to {after}");
                let (_, seen) = changed(&row(before), &row(after));
                nothing_disappeared(&seen, &what);
                nothing_is_early(&seen, Span::from_millis(30), &what);
            }
        }
    }
}

#[test]
fn what_did_not_change_goes_on_as_if_nothing_had_happened() {
    for stage in KINDS.iter().map(|kind| kind[1]) {
        let spec = row(stage);
        let fates =
            |seen: &Seen| seen.delivered.iter().map(|packet| (packet.number, packet.at)).collect::<Vec<_>>();
        let (_, changed) = changed(&spec, &spec);
        let mut pipeline = built(&spec, &seed(3));
        let mut unchanged = Seen::default();
        for number in 0..COUNT {
            pipeline.accept(frame(1000), at(number), &mut unchanged);
        }
        pipeline.finish(at(COUNT) + Span::from_secs(3600), &mut unchanged);
        assert!(fates(&changed) == fates(&unchanged), "{stage}");
    }
}

#[test]
fn stages_come_and_go_and_marks_know_them() {
    let stage = |name: &str, what: &str| format!("[[down.stages]]\nname = \"{name}\"\n{what}\n");
    let way = stage("way", r#"delay = "20ms""#);
    let air = stage("air", r#"errors = { process = { loss = "10%" } }"#);
    let fade = stage("fade", r#"outage = { process = { up = "100ms", down = "20ms" } }"#);
    let before = direction(&format!("{way}{air}"));

    // One stage is added in front and one removed from behind. The remaining stage keeps its name,
    // and numbers are not reused.
    let after = direction(&format!("{fade}{way}"));
    let (pipeline, seen) = changed(&before, &after);
    nothing_disappeared(&seen, "in front");
    let half = at(COUNT / 2);
    let mut losers = BTreeSet::new();
    for packet in &seen.lost {
        let name = loser(&pipeline, packet);
        losers.insert(name);
        match name {
            "air" => assert!(packet.at < half && packet.loss() != Some(Loss::Outage)),
            "fade" => assert!(packet.at >= half && packet.loss() == Some(Loss::Outage)),
            other => panic!("{other} loses nothing"),
        }
    }
    assert_eq!(losers, BTreeSet::from(["air", "fade"]));

    // The stage has the requested place: an outage in front of the delay loses packets on arrival,
    // one behind it 20 ms later.
    assert!(seen.lost.iter().filter(|packet| packet.loss() == Some(Loss::Outage)).all(|p| p.at == p.arrived));
    let behind = direction(&format!("{way}{fade}"));
    let (_, seen) = changed(&before, &behind);
    nothing_disappeared(&seen, "behind");
    let late = Span::from_millis(20);
    assert!(
        seen.lost
            .iter()
            .filter(|packet| packet.loss() == Some(Loss::Outage))
            .all(|p| p.at == p.arrived + late)
    );
}

#[test]
fn an_exchange_of_stages_leaves_them_in_the_new_order() {
    // The removed stage is in front of a remaining one, so places must count in the new row, not in
    // the old one.
    let before = direction(
        "[[down.stages]]\noutage = {}\n[[down.stages]]\nname = \"way\"\ndelay = \"20ms\"\n\
         [[down.stages]]\nname = \"link\"\nbottleneck = { rate = \"8Mbit\" }\n",
    );
    let after = direction(
        "[[down.stages]]\nname = \"way\"\ndelay = \"20ms\"\n\
         [[down.stages]]\nname = \"air\"\nerrors = { process = { loss = \"50%\" } }\n\
         [[down.stages]]\nname = \"link\"\nbottleneck = { rate = \"8Mbit\" }\n",
    );
    let (pipeline, seen) = changed(&before, &after);
    nothing_disappeared(&seen, "exchange");
    assert!(seen.lost.len() > 500);
    for packet in &seen.lost {
        assert_eq!(loser(&pipeline, packet), "air");
        // Behind the delay and in front of the limiter: lost 20 ms after arrival, and not sent.
        assert_eq!(packet.at, packet.arrived + Span::from_millis(20));
        assert_eq!(packet.sending.start, packet.sending.end);
    }
}

#[test]
fn what_is_refused_changes_nothing() {
    let before = direction(
        "rate = \"4Mbit\"\nqueue = \"50p\"\ndelay = \"20ms\"\nerrors = { process = { loss = \"10%\" } }\n",
    );
    let mut pipeline = built(&before, &seed(3));
    let mut undisturbed = built(&before, &seed(3));
    let refused = [
        // The first change alone would be possible, but the second is not.
        (
            "rate = \"1Mbit\"\nerrors = { process = { loss = \"1%\" } }\n",
            "stage `delay` may hold packets and cannot be removed while the link runs",
        ),
        (
            "rate = \"1Mbit\"\ndelay = { kind = \"uniform\", mean = \"1ms\", jitter = \"5ms\" }\nerrors = { process = { loss = \"1%\" } }\n",
            "stage `delay`: jitter = 5ms: ",
        ),
        (
            "[[down.stages]]\nname = \"bottleneck\"\ndelay = \"1ms\"\n[[down.stages]]\ndelay = \"2ms\"\n",
            "stage `bottleneck` is `bottleneck` and cannot become `delay`",
        ),
        (
            "[[down.stages]]\ndelay = \"2ms\"\n[[down.stages]]\nbottleneck = { rate = \"1Mbit\" }\n",
            "stages `bottleneck` and `delay` cannot change places while the link runs",
        ),
    ];
    let (mut seen, mut other) = (Seen::default(), Seen::default());
    for number in 0..COUNT {
        if number.is_multiple_of(1000) {
            let (after, why) = refused[(number / 1000) as usize];
            let error = before.change_into(&direction(after), &mut pipeline, &seed(3), at(number));
            let error = error.expect_err("cannot be");
            assert!(error.starts_with(why), "{error}");
        }
        pipeline.accept(frame(1000), at(number), &mut seen);
        undisturbed.accept(frame(1000), at(number), &mut other);
    }
    let fates =
        |seen: &Seen| seen.all().map(|packet| (packet.number, packet.at, packet.loss())).collect::<Vec<_>>();
    assert!(fates(&seen) == fates(&other));
}
