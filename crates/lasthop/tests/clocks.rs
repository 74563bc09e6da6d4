//! A conformance suite for both clocks: the same scenarios on the host's kernel and in a kernel
//! whose clock jumps.
//!
//! Values of the model are equal to the nanosecond: delays, transmission times, schedules of errors
//! and outages, and the state that a packet meets at a given time. Values of the machine differ:
//! with the real clock, the arrival time of a packet depends on how busy the host is. So times are
//! compared from a packet's arrival on, schedules by their ticks, and throughput by its spread.

mod lab;

use capture::{ChannelState, Direction, Fate};
use lab::plan::{FLOW, KEEP_ALL, air, download, program};
use lab::{Lab, VIRTUAL};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The same plan with both clocks.
struct Both {
    real: Lab,
    virtual_time: Lab,
}

impl Both {
    /// Runs the plan with both clocks. Returns `None`, after printing the reason, if one of the
    /// clocks is unavailable.
    fn run(plan: &str) -> Option<Self> {
        let (real, virtual_time) = (Lab::new()?, Lab::with_virtual_clock()?);
        for (lab, arguments) in [(&real, &[][..]), (&virtual_time, VIRTUAL)] {
            lab.succeed(plan, arguments);
        }
        Some(Self { real, virtual_time })
    }

    fn labs(&self) -> [&Lab; 2] {
        [&self.real, &self.virtual_time]
    }

    /// Returns the fates of downlink packets with both clocks.
    fn fates(&self) -> [Vec<Fate>; 2] {
        self.labs().map(|lab| fates(&lab.path("out/events/c000-r00.parquet")))
    }
}

/// Returns the fates of downlink packets, in the order in which they arrived.
fn fates(log: &Path) -> Vec<Fate> {
    let reader = capture::fates::Reader::open(log).expect("an event log");
    let fates = reader.map(|fate| fate.expect("a fate"));
    let mut fates: Vec<_> = fates.filter(|fate| fate.direction == Direction::Down).collect();
    fates.sort_by_key(|fate| fate.number);
    fates
}

/// Returns a plan with `link` between mobile and server, a workload, and records of every packet.
fn plan(link: &str, workload: &str) -> String {
    air(link, &[workload, KEEP_ALL].concat())
}

/// Returns a plan with a datagram of 228 bytes every 2 ms over `link`.
fn datagrams(link: &str) -> String {
    plan(link, FLOW)
}

/// Transmission and propagation: a packet that finds the link free takes the time of 228 bytes at 2
/// Mbit/s plus 30 ms.
#[test]
fn delays_are_exact_by_both_clocks() {
    let Some(both) = Both::run(&datagrams(r#"down = "rate=2mbit,delay=30ms""#)) else { return };
    let alone = 228 * 8 * 1_000_000_000 / 2_000_000 + 30_000_000;
    for (fates, clock) in both.fates().iter().zip(["real", "virtual"]) {
        let free = fates.iter().filter(|fate| fate.sending.start == fate.arrived && fate.length == 228);
        let delays: Vec<_> = free.map(|fate| fate.left.as_nanos() - fate.arrived.as_nanos()).collect();
        assert!(delays.len() > 100, "{clock}: {} of {}", delays.len(), fates.len());
        assert!(delays.iter().all(|delay| *delay == alone), "{clock}: {alone} and {delays:?}");
    }
    // With the virtual clock nothing delays the sender: apart from neighbour discovery there is one
    // packet every 2 ms.
    let [_, fates] = both.fates();
    let free = fates.iter().filter(|fate| fate.sending.start == fate.arrived).count();
    assert!(free >= 1490, "{free} of {}", fates.len());
}

/// A saturated link sends back to back, however late the machine is.
#[test]
fn rates_are_exact_by_both_clocks() {
    let Some(both) = Both::run(&datagrams(r#"down = "rate=400kbit,queue=20p""#)) else { return };
    let each = 228 * 8 * 1_000_000_000 / 400_000;
    for (fates, clock) in both.fates().iter().zip(["real", "virtual"]) {
        let sent: Vec<_> = fates.iter().filter(|fate| fate.lost.is_none()).collect();
        let ours = sent.iter().filter(|fate| fate.length == 228);
        let lengths = ours.map(|fate| fate.sending.end.as_nanos() - fate.sending.start.as_nanos());
        assert!(lengths.clone().all(|length| length == each), "{clock}: {:?}", lengths.collect::<Vec<_>>());
        let busy = sent.windows(2).filter(|two| two[1].arrived < two[0].sending.end).count();
        let gapless = sent.windows(2).filter(|two| two[1].sending.start == two[0].sending.end).count();
        assert!(gapless >= busy && busy > 300, "{clock}: {gapless} without a gap, {busy} had to wait");
        let full = fates.iter().filter(|fate| fate.lost.is_some()).count();
        assert!((600..950).contains(&full), "{clock}: about half found 20 before them: {full}");
    }
}

/// TL-09: the two-state process advances in ticks of 10 ms. A packet meets the state of its tick
/// with either clock.
#[test]
fn schedules_of_errors_are_the_same_by_both_clocks() {
    let Some(both) = Both::run(&datagrams(r#"loss = "lite-4""#)) else { return };
    let states = |fates: &[Fate]| -> BTreeMap<u64, bool> {
        let state = |fate: &Fate| {
            Some((fate.sending.end.as_nanos() / 10_000_000, fate.channel? == ChannelState::Bad))
        };
        fates.iter().filter_map(state).collect()
    };
    let [real, virtual_time] = both.fates().map(|fates| states(&fates));
    let common: Vec<_> = real.keys().filter(|tick| virtual_time.contains_key(tick)).collect();
    assert!(common.len() > 250, "{} ticks in both", common.len());
    for tick in common {
        assert_eq!(real[tick], virtual_time[tick], "tick {tick}");
    }
    assert!(real.values().any(|bad| *bad), "some burst");
}

/// Outages depend on the clock, and listed packets on their numbers.
#[test]
fn outages_and_listed_packets_are_the_same_by_both_clocks() {
    let link = r#"down = "delay=1ms,outage=1s+500ms""#;
    let Some(both) = Both::run(&datagrams(link)) else { return };
    for (fates, clock) in both.fates().iter().zip(["real", "virtual"]) {
        for fate in fates {
            let at = fate.sending.end.as_nanos();
            let out = (1_000_000_000..1_500_000_000).contains(&at);
            assert_eq!(fate.lost.is_some(), out, "{clock}: {fate:?}");
        }
        assert!(fates.iter().any(|fate| fate.lost.is_some()), "{clock}");
    }
}

/// "Throughput within the intervals": the ranges of both clocks over all repetitions overlap.
#[test]
fn throughput_is_alike_by_both_clocks() {
    let link = r#"
        down = "rate=4mbit,delay=10ms,queue=50p"
        up = "rate=4mbit,delay=10ms"
        loss = "lite-2"
    "#;
    let plan = air(link, &download("1MB"))
        .replace("[scenario]", "repetitions = 4\n[scenario]\ncongestion-control = \"reno\"");
    let Some(both) = Both::run(&plan) else { return };
    let [real, virtual_time] = both.labs().map(|lab| {
        let journal = lab.journal();
        let overloaded = journal.iter().any(|run| run["run"]["verdict"] == "overloaded");
        let goodput = |run: &Value| run["connections"][0]["goodput_bps"].as_f64().expect("a number") / 1e6;
        (overloaded, journal.iter().map(goodput).collect::<Vec<_>>())
    });
    assert!(!virtual_time.0, "the virtual clock is never late");
    if real.0 {
        skip::skip!("comparing throughput: the machine is too busy for the real clock now");
        return;
    }
    let range = |values: &[f64]| {
        (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(0.0, f64::max))
    };
    let ((low, high), (virtual_low, virtual_high)) = (range(&real.1), range(&virtual_time.1));
    assert!(low <= virtual_high && virtual_low <= high, "{real:?} {virtual_time:?}");
}

/// The delays in an event log come from the model. Here, two programs at the ends measure delays
/// with their own clock readings (L15 of ltcp-newzag: tools report virtual time).
#[test]
fn programs_measure_the_links_delay_by_the_virtual_clock() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    lab.succeed(&datagrams(r#"down = "rate=2mbit,delay=30ms""#), VIRTUAL);
    let delays = &lab.journal()[0]["connections"][0]["round_trips"];
    assert!(delays["samples"].as_u64() >= Some(1490), "{delays}");
    let alone = 228 * 8 * 1_000_000_000 / 2_000_000 + 30_000_000;
    for of in ["min_ns", "median_ns", "max_ns"] {
        let measured = delays[of].as_u64().expect("nanoseconds");
        assert!((alone..alone + 1000).contains(&measured), "{of}: {alone} ns, and {delays}");
    }
}

/// L15 again, with the tool that its evidence names: an echo takes two propagations of 30 ms and
/// two transmissions of 84 bytes.
#[test]
fn ping_reports_virtual_time() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    if !Path::new("/bin/ping").exists() {
        skip::skip!("ping by the virtual clock: ping is not installed");
        return;
    }
    let link = "down = \"rate=2mbit,delay=30ms\"\nup = \"rate=2mbit,delay=30ms\"";
    let echo = program("echo", "mobile", "ping -c 5 -i 0.3 {address.server}");
    lab.succeed(&plan(link, &echo), VIRTUAL);
    let said = std::fs::read_to_string(lab.path("out/logs/c000-r00-echo.log")).expect("its output");
    let times: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once("time=")?.1.split_once(" ms"))
        .map(|(time, _)| time)
        .collect();
    // 60.672 ms, of which ping prints three digits.
    assert_eq!(times, ["60.7"; 5], "{said}");
}

/// "Packets leave at their logical time to 1 us."
#[test]
fn packets_leave_within_a_microsecond_by_the_virtual_clock() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    for plan in [
        &plan("profile = \"umts\"\nloss = \"lite-3\"", &download("300kB")),
        &datagrams(r#"down = "rate=2mbit,delay=30ms""#),
        &datagrams(r#"down = "delay=123us,jitter=50us""#),
    ] {
        lab.succeed(plan, VIRTUAL);
        let lateness = &lab.journal()[0]["run"]["lateness"];
        assert!(lateness["packets"].as_u64() > Some(100), "{lateness}");
        assert!(lateness["worst_ns"].as_u64() <= Some(1000), "{lateness}");
        std::fs::remove_dir_all(lab.path("out")).expect("removed");
    }
}

/// How long the set-up takes depends on the host's files, because even failing system calls take
/// virtual time. The traffic still begins at the same nanosecond.
#[test]
fn traffic_begins_at_the_same_nanosecond_by_the_virtual_clock() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    lab.succeed(&datagrams(r#"down = "rate=2mbit,delay=30ms""#), VIRTUAL);
    let fates = fates(&lab.path("out/events/c000-r00.parquet"));
    let first = fates.iter().find(|fate| fate.length == 228).expect("a datagram");
    // Times count from the beginning of the recording, which is as exact.
    let after = first.arrived.as_nanos() % 10_000_000;
    assert!(after < 1000, "{after} ns");
}
