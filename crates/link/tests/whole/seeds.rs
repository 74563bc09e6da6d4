//! Tests of random streams: every stage has its own, so an added stage does not change the random
//! numbers of the others. No two directions or links have the same stream.

use crate::drive::{self, built, direction, flow, is_copy, loser, run, seed};
use link::spec::DirectionSpec;
use link::units::{Span, Time};
use link::{ChannelState, Direction, Effect, Packet, Pipeline, Seed};
use std::collections::BTreeMap;

/// A row in which three stages draw: RED, an error process, and a delay.
const BASE: &str = r#"
    [[down.stages]]
    name = "link"
    bottleneck = { rate = "2Mbit", queue = { kind = "red", min = "5p", max = "40p", weight = 0.2, probability = "10%" } }
    [[down.stages]]
    name = "air"
    errors = { process = { good = "200ms", bad = "20ms" } }
    [[down.stages]]
    name = "single"
    errors = { process = { loss = "5%" } }
    [[down.stages]]
    name = "way"
    delay = { kind = "uniform", mean = "30ms", jitter = "30ms" }
"#;

/// Each kind of stage with parameters with which it draws but has no effect on packets.
const HARMLESS: [(&str, &str); 7] = [
    ("bottleneck", r#"bottleneck = { rate = "inf", queue = { kind = "red", min = "5p", max = "15p" } }"#),
    ("errors", r#"errors = { process = { loss = "0%" } }"#),
    ("errors", r#"errors = { process = { good = "1s", bad = "1s" }, exempt = { first = 1000000 } }"#),
    ("outage", r#"outage = { process = { up = "10000h", down = "1ns" } }"#),
    ("duplicate", r#"duplicate = { probability = "0%" }"#),
    ("delay", r#"delay = { kind = "uniform", mean = "0ms", jitter = "0ms" }"#),
    ("hiccup", r#"hiccup = { hold = { span = "0ms", trigger = { random = "10000h" } } }"#),
];

/// Each kind of stage with parameters that have a large effect.
const HARMFUL: [&str; 6] = [
    r#"bottleneck = { rate = "900kbit", queue = { kind = "red", min = "5p", max = "15p" } }"#,
    r#"errors = { process = { loss = "20%" } }"#,
    r#"outage = { process = { up = "1s", down = "300ms" } }"#,
    r#"duplicate = { probability = "30%" }"#,
    r#"delay = { kind = "uniform", mean = "50ms", jitter = "50ms", reorder = true }"#,
    r#"hiccup = { hold = { span = "100ms", trigger = { random = "500ms" } }, release = "reversed" }"#,
];

fn base() -> DirectionSpec {
    direction(BASE)
}

/// Returns the base with another stage in front of the one at `place`.
fn with(stage: &str, place: usize) -> DirectionSpec {
    let mut spec = base();
    let added = direction(&format!("[[down.stages]]\nname = \"added\"\n{stage}\n"));
    spec.stages.insert(place, added.stages.into_iter().next().expect("one stage"));
    spec
}

fn packets() -> impl Iterator<Item = (Time, usize)> {
    // 20 packets arrive together and take 114 ms: 95 % of the limiter's capacity.
    (0..20_000).map(|number| (Time::ZERO + Span::from_millis(126) * (number / 20), 1500))
}

/// The fate of each packet by its number: the stage that lost it, and when it was lost or
/// delivered.
type Fates = BTreeMap<u64, (Option<String>, Time)>;

fn fate(pipeline: &Pipeline, packet: &Packet) -> (u64, (Option<String>, Time)) {
    let lost = packet.loss().map(|_| loser(pipeline, packet).to_owned());
    (packet.number, (lost, packet.at))
}

fn fates_of(spec: &DirectionSpec, seed: u64) -> Fates {
    let mut pipeline = built(spec, &drive::seed(seed));
    let result = run(&mut pipeline, packets());
    result.all().filter(|packet| !is_copy(packet)).map(|packet| fate(&pipeline, packet)).collect()
}

fn fates(spec: &DirectionSpec) -> Fates {
    fates_of(spec, 1)
}

/// Returns the first packet whose fate differs.
fn difference(one: &Fates, other: &Fates) -> Option<u64> {
    let differs = |(number, fate): (&u64, &(Option<String>, Time))| {
        (other.get(number) != Some(fate)).then_some(*number)
    };
    one.iter().find_map(differs).or_else(|| other.keys().find(|number| !one.contains_key(number)).copied())
}

fn lost_by<'a>(fates: &'a Fates, stage: &str) -> Vec<(u64, Time)> {
    let of_stage = |(number, (lost, at)): (&'a u64, &'a (Option<String>, Time))| {
        (lost.as_deref() == Some(stage)).then_some((*number, *at))
    };
    fates.iter().filter_map(of_stage).collect()
}

#[test]
fn every_stage_of_the_base_draws() {
    let fates = fates(&base());
    for stage in ["link", "air", "single"] {
        let lost = lost_by(&fates, stage).len();
        assert!((100..5_000).contains(&lost), "{stage} lost {lost}");
    }
    let differently = fates_of(&base(), 2);
    for stage in ["link", "air", "single"] {
        let same = lost_by(&fates, stage) == lost_by(&differently, stage);
        assert!(!same, "{stage} does not draw from the seed");
    }
}

#[test]
fn a_stage_that_does_nothing_changes_nothing_wherever_it_is_put() {
    let without = fates(&base());
    for (kind, stage) in HARMLESS {
        for place in 0..=base().stages.len() {
            let with = fates(&with(stage, place));
            assert_eq!(difference(&with, &without), None, "{kind} in front of place {place}: {stage}");
        }
    }
}

#[test]
fn a_stage_at_the_end_leaves_what_the_others_do_as_it_was() {
    let without = fates(&base());
    let end = base().stages.len();
    for stage in HARMFUL {
        let with = fates(&with(stage, end));
        if !stage.starts_with("duplicate") {
            assert_ne!(difference(&with, &without), None, "{stage} does nothing");
        }
        for name in ["link", "air", "single"] {
            assert!(lost_by(&with, name) == lost_by(&without, name), "{name} loses others with {stage}");
        }
    }
}

#[test]
fn delays_are_the_same_behind_a_new_stage() {
    let end = base().stages.len();
    let out = |spec: &DirectionSpec| {
        let mut pipeline = built(spec, &seed(1));
        let result = run(&mut pipeline, packets());
        // The mark of each packet states how much a hold added to its delay.
        let held = |packet: &Packet| {
            let held = packet.marks.iter().map(|mark| match mark.effect {
                Effect::Held(span) => span,
                _ => Span::ZERO,
            });
            held.fold(Span::ZERO, |sum, span| sum + span)
        };
        let originals = result.delivered.iter().filter(|packet| !is_copy(packet));
        originals.map(|p| (p.number, p.at.since(p.arrived) - held(p))).collect::<BTreeMap<_, _>>()
    };
    let without = out(&base());
    for stage in [HARMFUL[1], HARMFUL[2], HARMFUL[3], HARMFUL[5]] {
        let with = out(&with(stage, end));
        assert!(with.len() > without.len() / 2, "{stage} lost almost everything");
        for (number, delay) in &with {
            assert_eq!(Some(delay), without.get(number), "packet {number} with {stage}");
        }
    }
}

#[test]
fn errors_in_time_do_not_depend_on_which_packets_come() {
    let air =
        "[[down.stages]]\nname = \"air\"\nerrors = { process = { good = \"200ms\", bad = \"20ms\" } }\n";
    let outage =
        format!("[[down.stages]]\noutage = {{ process = {{ up = \"1s\", down = \"300ms\" }} }}\n{air}");
    let states = |down: &str| {
        let mut pipeline = built(&direction(down), &seed(1));
        let result = run(&mut pipeline, packets());
        result.all().filter_map(|packet| Some((packet.number, packet.channel?))).collect::<BTreeMap<_, _>>()
    };
    let (without, with) = (states(air), states(&outage));
    assert!(with.len() > 10_000 && with.len() < 19_000, "the outage lost {}", 20_000 - with.len());
    assert!(with.values().filter(|state| **state == ChannelState::Bad).count() > 500);
    for (number, state) in &with {
        assert_eq!(Some(state), without.get(number), "packet {number}");
    }
}

/// Returns which of 10 000 packets are lost at 50 %.
fn lost_at_random(seed: &Seed) -> Vec<bool> {
    let mut pipeline = built(&direction("errors = { process = { loss = \"50%\" } }"), seed);
    let result = run(&mut pipeline, flow(10_000, Span::from_millis(1), 100));
    let mut lost = vec![false; 10_000];
    for packet in &result.lost {
        lost[packet.number as usize] = true;
    }
    lost
}

#[test]
fn directions_links_and_runs_are_independent() {
    let run = Seed::campaign(1).run(0);
    let one = lost_at_random(&run.link("a").direction(Direction::Down));
    assert_eq!(one, lost_at_random(&run.link("a").direction(Direction::Down)), "the same seed");
    let others = [
        run.link("a").direction(Direction::Up),
        run.link("b").direction(Direction::Down),
        Seed::campaign(1).run(1).link("a").direction(Direction::Down),
    ];
    for other in others {
        let other = lost_at_random(&other);
        // Independent fair coins agree in half of the cases: standard deviation 50, five of them.
        let agree = one.iter().zip(&other).filter(|(one, other)| one == other).count();
        assert!((agree as f64 - 5_000.0).abs() < 250.0, "{agree} of 10 000 agree");
    }
}
