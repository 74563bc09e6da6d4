//! Packet scripts of the hosts of a period (`stack` in a plan): which packets their TCPs send, and
//! when, by the virtual clock.
//!
//! `stack_scripts/exchange.rs` describes the format. The scripts are beside it: one for each
//! behaviour of the table in docs/stacks.md. Their times are derived from RFCs and from the sources
//! of the period. A script names the sysctl that it is about (`--breaks`). The test runs the
//! transfer once more with that value, and then the script must not hold.

#[path = "stack_scripts/comparison.rs"]
mod comparison;
#[path = "stack_scripts/exchange.rs"]
mod exchange;
mod lab;
#[path = "../../emulator/tests/scripts/line.rs"]
#[allow(dead_code, reason = "scripts of links use the rest")]
mod line;
#[path = "stack_scripts/segment.rs"]
mod segment;

use comparison::{Seen, Sign, TOLERANCE, mismatches};
use exchange::Exchange;
use lab::Lab;
use link::Direction;
use link::units::Time;
use packet::Tcp;
use packet::segment::{Content, Segment};
use segment::Shown;
use std::fmt::Write;
use std::fs;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stack_scripts");
/// Program of both hosts.
const PROGRAM: &str = "transfer.py";
/// Port of the receiver.
const PORT: u16 = 5001;
/// Time 0 of a script in nanoseconds since 1970: a minute after the start of the virtual clock
/// (2026-01-01 00:00 UTC, `docs/virtual-time.md`), when everything is set up. The hosts count their
/// ticks from the start, so ticks of all lengths are at multiples of their length.
const START: u64 = 1_767_225_600_000_000_000 + 60_000_000_000;

/// Time in a script at which the program closes its connection, in nanoseconds. Later packets are
/// not compared.
const END: u64 = 60_000_000_000;

/// Returns the plan of the transfer, with files in the directory of `lab`. The last of equal
/// sysctls wins.
fn plan(script: &Exchange, sysctls: &[(String, String)], lab: &Lab) -> String {
    fs::write(lab.path(PROGRAM), include_str!("stack_scripts/transfer.py")).expect("a file");
    let mut profile = "kind = \"link\"\ntitle = \"Listed packets\"\nsource = \"the script\"\n".to_owned();
    let mut add = |text: std::fmt::Arguments| writeln!(profile, "{text}").expect("a string takes everything");
    for (direction, numbers) in &script.lost {
        add(format_args!("[{direction}]\nerrors = {{ process = {{ packets = \"{numbers}\" }} }}"));
    }
    fs::write(lab.path("listed.toml"), profile).expect("a profile");
    let quoted = |(name, value): &(&str, String)| format!("{name} = {value:?}\n");
    let scenario: String = script.scenario.iter().map(quoted).collect();
    let mut all: std::collections::BTreeMap<&str, &str> = std::collections::BTreeMap::new();
    // Router solicitations would be packets of the link, too.
    all.insert("net.ipv6.conf.all.disable_ipv6", "1");
    all.extend(script.sysctls.iter().chain(sysctls).map(|(name, value)| (name.as_str(), value.as_str())));
    let sysctls: Vec<_> = all.iter().map(|(name, value)| format!("{name:?} = {value:?}")).collect();
    let link: Vec<_> = script.link.iter().map(|(way, value)| format!("{way} = {value:?}\n")).collect();
    let link = link.concat();
    let profile = if script.lost.is_empty() { "" } else { "profile = \"listed.toml\"" };
    let amounts = |list: &[(Time, usize)]| {
        let each = list.iter().map(|(at, bytes)| format!("{}:{bytes}", START + at.as_nanos()));
        each.collect::<Vec<_>>().join(" ")
    };
    let (writes, reads) = (amounts(&script.writes), amounts(&script.reads));
    let program = lab.path(PROGRAM);
    let program = program.display();
    format!(
        r#"
        seed = 7
        [scenario]
        sysctls = {{ {sysctls} }}
        {scenario}
        [[scenario.links]]
        name = "air"
        between = ["receiver", "sender"]
        {profile}
        {link}
        [[workloads]]
        name = "receiver"
        kind = "command"
        node = "receiver"
        command = "exec python3 {program} receive {PORT} {reads}"
        listens = {PORT}
        background = true
        [[workloads]]
        name = "sender"
        kind = "command"
        node = "sender"
        command = "exec python3 {program} send {{address.receiver}} {PORT} {end} {writes}"
        [capture]
        keep = "all"
        [stop]
        after = "1h"
        "#,
        sysctls = sysctls.join(", "),
        end = START + END,
    )
}

/// Runs the transfer, with these sysctls beside those of the script, and returns the packets of its
/// connection in the order in which TCP sent them.
fn run(script: &Exchange, sysctls: &[(String, String)], lab: &Lab) -> Vec<Seen> {
    let _ = fs::remove_dir_all(lab.path("out"));
    let output = lab.run(&plan(script, sysctls, lab), &["--clock", "virtual"]);
    let logs = ["receiver", "sender"].map(|node| lab.path(&format!("out/logs/c000-r00-{node}.log")));
    let logs = logs.map(|log| fs::read_to_string(log).unwrap_or_default()).concat();
    assert!(output.status.success(), "{}{logs}", lab::text(&output.stderr));
    assert_eq!(lab.journal()[0]["run"]["verdict"], "good", "{logs}");
    let mut seen = sent(&lab.path("out/captures/c000-r00.pcapng"));
    let reader = capture::fates::Reader::open(&lab.path("out/events/c000-r00.parquet"));
    for fate in reader.expect("an event log").map(|fate| fate.expect("a fate")) {
        let direction = match fate.direction {
            capture::Direction::Up => Direction::Up,
            capture::Direction::Down => Direction::Down,
        };
        let is_it = |one: &&mut Seen| (one.direction, one.number) == (direction, fate.number);
        let Some(one) = seen.iter_mut().find(is_it) else { continue };
        assert_eq!(one.length, fate.length as usize, "{}", Sign('>', one));
        one.end = Time::from_nanos(one.at.as_nanos() + fate.left.as_nanos() - fate.arrived.as_nanos());
        one.lost = fate.lost.is_some();
    }
    seen
}

/// Returns the packets that both hosts sent, from a capture at both ends of the link.
fn sent(capture: &Path) -> Vec<Seen> {
    let mut reader = capture::packets::Reader::open(capture).expect("a capture");
    let mut segments = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        let Ok(Content::Tcp(segment)) = Segment::read(view.bytes) else { continue };
        // The first end of the link is the receiver's.
        let direction = if segment.destination_port == PORT { Direction::Down } else { Direction::Up };
        if view.number == usize::from(direction == Direction::Down) {
            // Times of captures are some 300 ns behind the clock of programs.
            let at = view.time.as_nanos().saturating_sub(START);
            segments.push((Time::from_nanos(at), direction, view.length as usize, segment));
        }
    }
    let first = |of| {
        let is_syn = |one: &&(Time, Direction, usize, Segment)| one.1 == of && one.3.tcp.has(Tcp::SYN);
        segments.iter().find(is_syn).map_or(0, |(.., segment)| segment.tcp.sequence)
    };
    let syns = [first(Direction::Up), first(Direction::Down)];
    let mut next = [0; 2];
    let compared = segments.iter().filter(|(at, ..)| at.as_nanos() + TOLERANCE < END);
    let seen = compared.map(|&(at, direction, length, ref segment)| {
        let own = usize::from(direction == Direction::Down);
        let number = next[own];
        next[own] += 1;
        let tcp = Shown::new(segment, syns[own], syns[1 - own]);
        Seen { at, direction, number, length, tcp, end: at, lost: false }
    });
    seen.collect()
}

fn script(name: &str) -> Exchange {
    let file = format!("{name}.pkt");
    let text = fs::read_to_string(Path::new(FOLDER).join(&file)).expect("a script");
    Exchange::parse(&file, &text).unwrap_or_else(|error| panic!("{error}"))
}

fn holds(name: &str) {
    let Some(lab) = Lab::with_python_in_a_guest() else { return };
    let script = script(name);
    let seen = run(&script, &[], &lab);
    let wrong = mismatches(&script, &seen);
    let all = || seen.iter().map(|one| Sign('>', one).to_string()).collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "\n{}\nall packets:\n{}", wrong.join("\n"), all());
    assert!(!script.breaking.is_empty(), "{name}.pkt: say with --breaks which sysctl it is about");
    for sysctl in &script.breaking {
        let seen = run(&script, std::slice::from_ref(sysctl), &lab);
        let (name, value) = sysctl;
        assert!(!mismatches(&script, &seen).is_empty(), "{}: holds with {name}={value}, too", script.file);
    }
}

macro_rules! scripts {
    ($($test:ident $name:literal,)*) => {
        $(#[test] fn $test() { holds($name) })*
        const ALL: &[&str] = &[$($name,)*];
    };
}

scripts! {
    delayed_acknowledgements "delayed-acknowledgements",
    fack "fack",
    half_of_the_used_window "half-of-the-used-window",
    impatient "impatient",
    limited_transmit "limited-transmit",
    newreno "newreno",
    no_bursts "no-bursts",
    no_limited_transmit "no-limited-transmit",
    no_undo "no-undo",
    rack "rack",
    rate_halving "rate-halving",
    reduction_at_once "reduction-at-once",
    reno "reno",
    rfc_2988 "rfc-2988",
    rfc_3517 "rfc-3517",
    slow_but_steady "slow-but-steady",
    slow_timer "slow-timer",
    syn_timeout "syn-timeout",
    ticks_of_round_trips "ticks-of-round-trips",
    undo "undo",
    window_of_the_reader "window-of-the-reader",
    window_that_always_grows "window-that-always-grows",
    window_that_is_used "window-that-is-used",
}

#[test]
fn every_script_of_the_folder_runs() {
    let files = fs::read_dir(FOLDER).expect("a folder").flatten().map(|entry| entry.path());
    let scripts = files.filter(|path| path.extension().is_some_and(|ending| ending == "pkt"));
    let mut names: Vec<_> =
        scripts.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect();
    names.sort();
    assert_eq!(names, ALL);
}

/// Two segments, the second of which is lost and leaves again.
const SMALL: &str = "\
0.1   > down #0 1052B seq 1:1001
0.1   > down #1 1052B seq 1001:2001
0.1   x down #1 1052B
0.15  > up 52B ack 1001
...
0.3   > down 1052B seq 1001:2001
";

/// Returns the packets of [`SMALL`], with another packet that it does not state.
fn packets_of_small() -> Vec<Seen> {
    let packet = |at, direction, number, first, acknowledgment| {
        let payload = if direction == Direction::Down { 1000 } else { 0 };
        let at = Time::from_nanos(at);
        let tcp = Shown {
            syn: false,
            fin: false,
            sequence: (first, first + payload),
            acknowledgment: Some(acknowledgment),
            blocks: Vec::new(),
        };
        Seen { at, direction, number, length: 52 + payload as usize, tcp, end: at, lost: false }
    };
    let mut seen = vec![
        packet(100_000_000, Direction::Down, 0, 1, 1),
        packet(100_000_000, Direction::Down, 1, 1001, 1),
        packet(150_001_000, Direction::Up, 0, 1, 1001),
        packet(200_000_000, Direction::Down, 2, 2001, 1),
        packet(299_999_000, Direction::Down, 3, 1001, 1),
    ];
    seen[1].lost = true;
    seen
}

/// Returns how many differences there are after `change`.
fn after(change: impl FnOnce(&mut Vec<Seen>)) -> usize {
    let script = Exchange::parse("a.pkt", SMALL).expect("a script");
    let mut seen = packets_of_small();
    change(&mut seen);
    mismatches(&script, &seen).len()
}

#[test]
fn a_packet_that_is_missing_early_late_or_unstated_is_a_difference() {
    assert_eq!(after(|_| {}), 0);
    // Missing.
    assert_eq!(after(|seen| drop(seen.pop())), 1);
    assert_eq!(after(|seen| drop(seen.remove(0))), 1);
    // Late and early.
    assert_eq!(after(|seen| seen[2].at = Time::from_nanos(150_001_001)), 1);
    assert_eq!(after(|seen| seen[4].at = Time::from_nanos(299_998_999)), 1);
    // Not stated: with the line above `...`, before it, and at the end.
    assert_eq!(after(|seen| seen[3].at = seen[2].at), 1);
    assert_eq!(after(|seen| seen[3].direction = Direction::Up), 0);
    assert_eq!(after(|seen| seen.insert(0, seen[3].clone())), 1);
    assert_eq!(after(|seen| seen.push(seen[4].clone())), 1);
    // Another length, number, sequence number or acknowledgement.
    assert_eq!(after(|seen| seen[0].length = 1051), 1);
    assert_eq!(after(|seen| seen[0].number = 7), 1);
    assert_eq!(after(|seen| seen[4].tcp.sequence = (2001, 3001)), 1);
    assert_eq!(after(|seen| seen[2].tcp.acknowledgment = Some(2001)), 1);
    assert_eq!(after(|seen| seen[0].tcp.fin = true), 1);
    // Lost, or not lost, against the script.
    assert_eq!(after(|seen| seen[0].lost = true), 1);
    assert_eq!(after(|seen| seen[1].lost = false), 1);
    assert_eq!(after(|seen| seen[1].end = Time::from_nanos(100_001_001)), 1);
}

#[test]
fn what_cannot_be_read_names_its_line() {
    let unreadable = |line: &str, expected: &str| {
        let error = Exchange::parse("a.pkt", line).expect_err("an error");
        assert_eq!(error.to_string(), format!("a.pkt:1: {expected}"));
    };
    unreadable(
        "--stak bsd",
        "there is no --stak: there are --stack, --mtu, --receive-window, \
        --initial-window, --sysctl, --up, --down, --lose, --write, --read, --breaks",
    );
    unreadable("--breaks tcp_sack", "`tcp_sack`: write NAME=VALUE");
    unreadable("0 ! down rate=1mbit", "`!`: write it as TIME > DIRECTION LENGTH, with one of > < x");
    unreadable("0 > down 52B ack", "`ack`: a number is missing behind it");
    unreadable("0 > down 52B seq 9:1", "`9:1`: the end is before the first");
    unreadable(
        "0 > down 52B push",
        "`push`: write what TCP it is with syn, fin, seq FIRST:END, ack NUMBER, sack FIRST:END,...",
    );
    unreadable("0 x down 52B", "say of which packet: #N");
    unreadable("0 < down #0 52B syn", "`syn`: the line that sends the packet says what TCP it is");
    unreadable("... sideways", "`sideways` is no direction: say up or down");
}
