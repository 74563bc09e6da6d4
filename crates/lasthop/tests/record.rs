//! Tests of `lasthop record` over emulated links: a smoke test by the real clock, and the values by
//! the virtual clock.

mod lab;
mod world;

use lab::Lab;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use world::{World, text};

const KNOWN: &str = r#"
kind = "link"
title = "Known"
source = "a test"
[up]
rate = "1Mbit"
queue = "20p"
delay = "15ms"
[down]
rate = "4Mbit"
queue = "50p"
delay = "25ms"
errors = { process = { loss = "2%" } }
"#;

/// Returns a script that records the link of `options` into the directory `out`.
fn recording(options: &str, record: &str, out: &str) -> String {
    format!(
        r#"set -e
ip link set lo up
cd "$FOLDER"
lasthop link -q {options} --seed 1 --keep "$FOLDER" \
    --serve 'exec lasthop record --serve 0.0.0.0 --key key -q' \
    -- sh -c 'until [ -s key ]; do sleep 0.1; done; sleep 0.5
              lasthop record host.lasthop --key key -q {record} -o "${{LASTHOP_KEEP:-$FOLDER}}/{out}"'"#
    )
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Returns the numbers of a fitted profile: rates in bit/s, queues in packets and delays in ms, by
/// direction and key.
fn numbers(profile: &Path) -> BTreeMap<(String, String), f64> {
    let text = fs::read_to_string(profile).unwrap_or_else(|error| panic!("{}: {error}", profile.display()));
    let table: toml::Table = text.parse().expect("TOML");
    let mut numbers = BTreeMap::new();
    for way in ["up", "down"] {
        let direction = table[way].as_table().expect("a direction");
        let field = |key: &str| direction.get(key).and_then(toml::Value::as_str);
        let mut put = |key: &str, value: f64| numbers.insert((way.to_owned(), key.to_owned()), value);
        let rate: link::units::BitRate = field("rate").expect("a rate").parse().expect("a rate");
        put("rate", rate.as_bits_per_second() as f64);
        if let Some(queue) = field("queue").and_then(|queue| queue.strip_suffix('p')) {
            put("queue", queue.parse().expect("packets"));
        }
        if let Some(delay) = field("delay") {
            let delay: link::units::Span = delay.parse().expect("a delay");
            put("delay", delay.as_secs_f64() * 1e3);
        }
        let loss = direction
            .get("errors")
            .map_or("0%", |errors| errors["process"]["loss"].as_str().expect("independent losses"));
        put("loss", loss.trim_end_matches('%').parse().expect("a share"));
    }
    numbers
}

/// Asserts that a value is within `tolerance`, a share of it.
fn near(numbers: &BTreeMap<(String, String), f64>, way: &str, key: &str, expected: f64, tolerance: f64) {
    let found = numbers.get(&(way.to_owned(), key.to_owned())).copied();
    let found = found.unwrap_or_else(|| panic!("no {key} {way}: {numbers:?}"));
    assert!((found - expected).abs() <= tolerance * expected, "{key} {way}: {found} instead of {expected}");
}

/// The link is measured as it is, and so is the link that replays the measurement.
#[test]
fn a_known_link_and_its_replay_by_the_virtual_clock() {
    if Lab::with_virtual_clock().is_none() {
        return;
    }
    let Some(world) = World::new() else { return };
    fs::write(world.path("known.toml"), KNOWN).expect("written");
    let record = "--light 20s --heavy 5s";
    succeeded(&world.run(&recording("--clock virtual --profile ./known.toml", record, "first")));
    let replay = "--clock virtual --profile ./first/profile.toml";
    succeeded(&world.run(&recording(replay, record, "second")));
    for out in ["first", "second"] {
        let numbers = numbers(&world.path(&format!("{out}/profile.toml")));
        near(&numbers, "up", "rate", 1e6, 0.005);
        near(&numbers, "down", "rate", 4e6, 0.025);
        near(&numbers, "up", "queue", 20.0, 0.05);
        near(&numbers, "down", "queue", 50.0, 0.04);
        near(&numbers, "up", "delay", 20.0, 0.01);
        near(&numbers, "down", "delay", 20.0, 0.01);
        // Of some 1000 packets each: five standard deviations are 2.2 %.
        near(&numbers, "down", "loss", 2.0, 1.1);
        near(&numbers, "up", "loss", 0.0, 0.0);
    }
    // The traces are a link, too.
    succeeded(&world.run(&recording("--clock virtual --profile ./first/replay.toml", record, "third")));
    let numbers = numbers(&world.path("third/profile.toml"));
    near(&numbers, "up", "rate", 1e6, 0.05);
    near(&numbers, "down", "rate", 4e6, 0.05);
}

/// Load can only make packets late. The rates come from medians over many packets, and the delay is
/// the least one.
#[test]
fn a_known_link_by_the_real_clock() {
    let Some(world) = World::new() else { return };
    fs::write(world.path("known.toml"), KNOWN).expect("written");
    let script = recording("--profile ./known.toml", "--light 4s --heavy 3s", "out");
    let output = world.run(&script.replace("--keep \"$FOLDER\"", ""));
    succeeded(&output);
    let said = text(&output.stdout);
    assert!(said.contains("up   ") && said.contains("round trip without transmission"), "{said}");
    let probes = world.read("out/probes.csv");
    assert!(probes.lines().count() > 200, "{probes}");
    let numbers = numbers(&world.path("out/profile.toml"));
    near(&numbers, "up", "rate", 1e6, 0.2);
    near(&numbers, "down", "rate", 4e6, 0.2);
    assert!(
        numbers
            .get(&("up".to_owned(), "delay".to_owned()))
            .is_none_or(|&delay| (19.9..40.0).contains(&delay))
    );
    for file in
        ["replay.toml", "up-delay-light-pdo", "up-heavy-pdo", "down-delay-light-pdo", "down-heavy-pdo"]
    {
        assert!(world.path("out").join(file).exists(), "{file}");
    }
}

#[test]
fn what_cannot_be_recorded_is_said() {
    let Some(world) = World::new() else { return };
    let said = |arguments: &str| {
        let output = world.run(&format!("ip link set lo up; cd \"$FOLDER\"; lasthop record {arguments}"));
        assert_eq!(output.status.code(), Some(1), "{arguments}: {}", text(&output.stderr));
        text(&output.stderr)
    };
    let error = said("127.0.0.1 --key none -o out");
    assert!(
        error.contains("cannot read key \"none\"") && error.contains("copy it from the server"),
        "{error}"
    );
    fs::write(world.path("key"), "aa".repeat(32)).expect("written");
    let error = said("127.0.0.1 --key key -o .");
    assert!(error.contains(".: exists already: name a new directory"), "{error}");
    let error = said("127.0.0.1 --key key -o out --size 60");
    assert!(error.contains("--size 60: must be at least 92 bytes"), "{error}");
    let error = said("127.0.0.1 --key key -o out --train 1");
    assert!(error.contains("train is 1: must be 2 to 1000 packets"), "{error}");
    let error = said("--serve elsewhere --key key");
    assert!(error.contains("cannot serve at \"elsewhere\": expected an address of this host"), "{error}");
    // Nobody is there: it takes ten seconds, and leaves no directory behind.
    let error = said("127.0.0.1 --key key -q -o out");
    assert!(error.contains("127.0.0.1:7130: no answer"), "{error}");
    assert!(!world.path("out").exists());
}
