//! The emulator's packet scripts again, with real packets through the devices of a guest and the
//! virtual clock.
//!
//! In a guest, one program sends the packets of a script at their times, and another records their
//! arrival times from the receiving kernel's timestamps (`SO_TIMESTAMPNS`). These times are
//! compared with the script's: "packets leave at their logical time to 1 us", independently of the
//! emulator's own measure of lateness.
//!
//! Not every script can be repeated in this way. In some, times count from the start of the link
//! (outages, states, traces, holds), which no program in a guest knows. Programs are late by some
//! nanoseconds, so scripts in which one nanosecond decides the fate of a packet stay with the
//! simulated driver. A plan cannot change a link while it runs. And a kernel does not deliver
//! damaged datagrams.

mod lab;
#[path = "../../emulator/tests/scripts/script.rs"]
#[allow(dead_code, reason = "the simulated driver uses the rest")]
mod script;

use lab::Lab;
use link::Direction;
use script::{Script, Setting};
use std::fmt::Write;
use std::fs;
use std::path::Path;

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../emulator/tests/scripts");
/// Program that sends and receives in a guest.
const PROGRAM: &str = "datagrams.py";

/// Start of the virtual clock: 2026-01-01 00:00 UTC (`docs/virtual-time.md`).
const BOOT: u64 = 1_767_225_600_000_000_000;
/// Time 0 of a script: a minute later, when everything is set up and only the script's packets are
/// on the link.
const START: u64 = BOOT + 60_000_000_000;
/// Time after the last line of a script during which unexpected packets are recorded, in
/// nanoseconds.
const AFTERWARDS: u64 = 2_000_000_000;
/// Port of the receivers in the program.
const PORT: u16 = 6000;
/// "Packets leave at their logical time to 1 us."
const TOLERANCE: u64 = 1_000;

fn script(name: &str) -> Script {
    let file = format!("{name}.pkt");
    let text = fs::read_to_string(format!("{SCRIPTS}/{file}")).expect("a script");
    Script::parse(&file, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the workload at the end that sends packets of `direction`: it also receives those of the
/// other direction.
fn workload(script: &Script, lab: &Lab, direction: Direction) -> String {
    let (node, peer) = match direction {
        Direction::Up => ("mobile", "server"),
        Direction::Down => ("server", "mobile"),
    };
    let arrivals = script.arrivals.iter().filter(|(_, arrival)| arrival.direction == direction);
    let lines = arrivals.map(|(_, one)| format!("{} {} {}\n", one.at.as_nanos(), one.number, one.length));
    let file = lab.path(direction.name());
    fs::write(&file, lines.collect::<String>()).expect("a file");
    let length = script.ends.last().map_or(0, |(_, end)| end.at.as_nanos());
    let (program, file, end) = (lab.path(PROGRAM), file.display(), START + length + AFTERWARDS);
    let command = format!("exec python3 {} {file} {{address.{peer}}} {START} {end}", program.display());
    format!(
        r#"
        [[workloads]]
        name = "{node}"
        kind = "command"
        node = "{node}"
        command = "{command}"
        "#
    )
}

/// Returns the plan that carries out `script`, with files in the directory of `lab`.
fn plan(script: &Script, lab: &Lab) -> String {
    let (mut seed, mut link) = ("0", String::new());
    for (_, setting, value) in &script.options {
        let key = match setting {
            Setting::Seed => {
                seed = value;
                continue;
            }
            Setting::Profile => "profile",
            Setting::Loss => "loss",
            Setting::LinkLayer => "arq",
            Setting::Parameters(direction) => direction.name(),
        };
        writeln!(link, "{key} = {value:?}").expect("a string takes everything");
    }
    for (name, file) in &script.files {
        fs::write(lab.path(name), &file.text).expect("a file");
    }
    fs::write(lab.path(PROGRAM), include_str!("packet_times/datagrams.py")).expect("a file");
    let workloads = workload(script, lab, Direction::Up) + &workload(script, lab, Direction::Down);
    // Below 1280 there is no IPv6, so the script's packets are the only ones, and have its numbers.
    let longest = script.arrivals.iter().map(|(_, arrival)| arrival.length).max();
    let mtu = if longest < Some(1280) { 1279 } else { 1500 };
    format!(
        r#"
        seed = {seed}
        [scenario]
        [[scenario.links]]
        name = "link"
        between = ["mobile", "server"]
        mtu = {mtu}
        {link}
        {workloads}
        [capture]
        keep = "all"
        [stop]
        after = "2h"
        "#
    )
}

/// A packet that arrived or was lost, with the reason.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    direction: Direction,
    number: u64,
    length: usize,
    what: What,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What {
    /// Nanoseconds after the start of the script, by the receiver's kernel.
    Came(u64),
    Lost(String),
}

/// Returns the packets that the receiver of this direction recorded.
fn received(direction: Direction, log: &str) -> Vec<Seen> {
    let line = |line: &str| {
        let numbers: Vec<u64> = line.split(' ').map(|word| word.parse().expect("a number")).collect();
        let [came, number, length] = numbers[..] else { panic!("`{line}` is no packet") };
        Seen { direction, number, length: length as usize, what: What::Came(came) }
    };
    log.lines().map(line).collect()
}

/// Returns the packets that the emulator reports as lost; no other source knows the reasons.
fn lost(events: &Path) -> Vec<Seen> {
    let reader = capture::fates::Reader::open(events).expect("an event log");
    let fates = reader.map(|fate| fate.expect("a fate"));
    let is_ours = |fate: &capture::Fate| {
        let ports = fate.flow.and_then(|flow| flow.ports);
        ports.is_some_and(|(_, to)| to == PORT)
    };
    let mut fates: Vec<_> = fates.filter(|fate| is_ours(fate) && !fate.copy).collect();
    fates.sort_by_key(|fate| fate.number);
    let mut lost = Vec::new();
    for (in_log, direction) in
        [(capture::Direction::Up, Direction::Up), (capture::Direction::Down, Direction::Down)]
    {
        // Numbered without the packets that the kernels sent when the link came up.
        let ours = (0..).zip(fates.iter().filter(|fate| fate.direction == in_log));
        lost.extend(ours.filter_map(|(number, fate)| {
            let capture::Reason::Known(why) = fate.lost.as_ref()? else { panic!("{fate:?}") };
            Some(Seen { direction, number, length: fate.length as usize, what: What::Lost(why.to_string()) })
        }));
    }
    lost
}

/// Returns every difference between `seen` and `script`.
fn mismatches(script: &Script, mut seen: Vec<Seen>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (line, end) in &script.ends {
        let is_it = |one: &Seen| (one.direction, one.number) == (end.direction, end.number);
        let found = seen.iter().position(is_it).map(|place| seen.remove(place));
        let right = found.as_ref().is_some_and(|found| {
            found.length == end.length
                && match &found.what {
                    What::Came(at) => {
                        let due = end.at.as_nanos();
                        !end.lost && (due..=due + TOLERANCE).contains(at)
                    }
                    What::Lost(why) => end.lost && *why == end.effects,
                }
        });
        if !right {
            wrong.push(format!("{}:{line}: expected: {end}, actual: {found:?}", script.file));
        }
    }
    wrong.extend(seen.iter().map(|one| format!("{}: not in the script: {one:?}", script.file)));
    wrong
}

fn holds(name: &str) {
    let Some(lab) = Lab::with_python_in_a_guest() else { return };
    let script = script(name);
    let output = lab.run(&plan(&script, &lab), &["--clock", "virtual"]);
    let log = |node: &str| {
        let log = lab.path(&format!("out/logs/c000-r00-{node}.log"));
        fs::read_to_string(&log).unwrap_or_default()
    };
    let (mobile, server) = (log("mobile"), log("server"));
    assert!(output.status.success(), "{}{mobile}{server}", lab::text(&output.stderr));
    assert_eq!(lab.journal()[0]["run"]["verdict"], "good", "{mobile}{server}");
    let mut seen = received(Direction::Down, &mobile);
    seen.extend(received(Direction::Up, &server));
    seen.extend(lost(&lab.path("out/events/c000-r00.parquet")));
    let wrong = mismatches(&script, seen);
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

macro_rules! scripts {
    ($($test:ident $name:literal,)*) => { $(#[test] fn $test() { holds($name) })* };
}

scripts! {
    back_to_back "back-to-back",
    counted "counted",
    duplicate "duplicate",
    gsm "gsm",
    listed_losses "listed-losses",
    llp "llp",
    queue_burst "queue-burst",
    queue_codel "queue-codel",
    reorder "reorder",
    serialisation "serialisation",
    two_directions "two-directions",
    umts "umts",
    whole_nanoseconds "whole-nanoseconds",
}

#[test]
fn a_nanosecond_beyond_the_tolerance_is_too_much() {
    let text = "--down rate=1mbit,queue=1p\n0 > down 125B\n0 > down 125B\n0 > down 125B\n\
                0 x down #2 125B queue full\n1ms < down 125B\n2ms < down 125B\n";
    let script = Script::parse("a.pkt", text).expect("a script");
    let one = |number, what| Seen { direction: Direction::Down, number, length: 125, what };
    let lost = || one(2, What::Lost("queue full".to_owned()));
    let (first, second) = (one(0, What::Came(1_000_000)), one(1, What::Came(2_001_000)));
    assert_eq!(mismatches(&script, vec![first.clone(), second.clone(), lost()]), [""; 0]);
    for wrong in [
        vec![one(0, What::Came(999_999)), second.clone(), lost()],
        vec![first.clone(), one(1, What::Came(2_001_001)), lost()],
        vec![first.clone(), second.clone(), one(2, What::Lost("outage".to_owned()))],
        vec![first.clone(), second.clone(), one(2, What::Came(3_000_000))],
        vec![first.clone(), lost()],
        vec![first.clone(), first.clone(), second.clone(), lost()],
        vec![first, Seen { length: 124, ..second }, lost()],
    ] {
        assert_eq!(mismatches(&script, wrong.clone()).len(), 1, "{wrong:?}");
    }
}
