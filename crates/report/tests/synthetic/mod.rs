//! A synthetic campaign: 3 loss profiles × 3 congestion controls × 10 repetitions from a seed, with
//! one failed and one overloaded run, and with texts that look like markup. The numbers resemble
//! the UMTS figures of the TCP Lite work.

pub mod download;
pub mod losses;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, Normal};
use results::directory::write_manifest;
use results::factorial::{Compared, Comparison, TwoLevels};
use results::manifest::Levels;
use results::{
    Cell, Clock, Connection, Expectation, Factor, FactorialDesign, Level, LinkCounters, Machine, Manifest,
    Metric, PlanText, PlannedWorkload, Precision, Protocol, RoundTrips, RunControl, RunRecord, RunVerdict,
    Stop,
};
use results::{RunEnded, journal};
use std::collections::BTreeMap;
use std::path::Path;

/// Text that would break out of a script or markup element if it were not escaped.
pub const HOSTILE: &str = "</script><b>bold</b><!-- & \"quotes\" 'and' \u{2028} <script>";

/// Repetitions of each cell.
pub const REPETITIONS: u32 = 10;

/// Repetitions of each cell with captures.
pub const CAPTURED: u32 = 2;

/// The loss profiles, each with the share of time in which it is bad.
const LOSS: [(&str, f64); 3] = [("lite-0", 0.0), ("lite-2", 0.003), ("lite-4", 0.048)];

/// The congestion controls, each with the share of goodput that 1 % of loss costs.
const CONTROL: [(&str, f64); 3] = [("reno", 4.6), ("cubic", 3.1), ("newzag", 0.8)];

/// Bit rate of the link in bit/s.
const RATE: f64 = 384_000.0;
/// Bytes of a transfer.
const TRANSFER: u64 = 3_000_000;
/// Data bytes of a segment.
const SEGMENT: u64 = 524;

/// Writes the campaign into the directory `folder`, which exists.
pub fn write(folder: &Path, seed: u64) {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let manifest = manifest(seed);
    write_manifest(folder, &manifest).expect("a manifest");
    let mut journal = journal::Journal::open(folder).expect("a journal");
    for cell in &manifest.cells {
        for repetition in 0..REPETITIONS {
            let mut ended = run(cell, repetition, &mut random);
            if repetition < CAPTURED {
                record(folder, &mut ended, cell);
            }
            journal.append(&ended).expect("a line");
        }
    }
}

/// Writes the capture and the event log of a run; for `newzag` in `lite-4` also the states of the
/// sender.
fn record(folder: &Path, ended: &mut RunEnded, cell: &Cell) {
    let run = &mut ended.run;
    for kind in ["captures", "events"] {
        std::fs::create_dir_all(folder.join(kind)).expect("a folder");
    }
    let name = format!("{}-{}", run.cell, run.repetition);
    let (capture, events) = (format!("captures/{name}.pcapng"), format!("events/{name}.parquet"));
    let lost: Vec<u32> = match cell.level("loss") {
        Some("lite-0") => vec![],
        Some("lite-2") => vec![150 + run.cell],
        _ => (40..45).chain(120..124).chain([200, 201, 230]).collect(),
    };
    let seed = u64::from(run.cell);
    download::write(&folder.join(&capture), &folder.join(&events), run.started_unix_ns, seed, &lost);
    if cell.level("loss") == Some("lite-4") && cell.level("cc") == Some("newzag") {
        let senders = format!("events/{name}-senders.parquet");
        let met = ended.connections[0].losses.as_deref().unwrap_or_default();
        losses::write_senders(&folder.join(&senders), run.started_unix_ns, seed, met);
        run.senders.push(senders);
    }
    run.captures.push(capture);
    run.events.push(events);
}

fn manifest(seed: u64) -> Manifest {
    let mut cells = Vec::new();
    for (loss, _) in LOSS {
        for (control, _) in CONTROL {
            let level = |factor: &str, level: &str| Level { factor: factor.into(), level: level.into() };
            cells.push(Cell {
                number: cells.len() as u32,
                levels: vec![level("loss", loss), level("cc", control)],
            });
        }
    }
    let precision = run_control(cells.len() as u32);
    Manifest {
        schema: results::manifest::SCHEMA,
        lasthop: "0.1.0".into(),
        plan: PlanText {
            name: "synthetic".into(),
            title: format!("A campaign that was never run {HOSTILE}"),
            description: "Three loss profiles and three congestion controls behind a UMTS link. The numbers come from a \
                          random stream, to try the report with."
                .into(),
            file: "synthetic.toml".into(),
            text: format!("title = '''{HOSTILE}'''\nrepetitions = {REPETITIONS}\n\n[[workload]]\nname = \"download\"\nbytes = {TRANSFER}\n"),
        },
        started_unix_ns: 1_795_000_000_000_000_000,
        ended_unix_ns: Some(1_795_000_754_000_000_000),
        clock: Some(Clock::Virtual),
        kernel: "7.2.0-lasthop".into(),
        guest: None,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: "An imagined processor".into(),
            processors: 2,
            memory_bytes: 8 << 30,
        },
        seed,
        measure: "download".into(),
        workloads: vec![PlannedWorkload { name: "download".into(), background: false }],
        factors: vec![
            Factor {
                name: "loss".into(),
                title: "Loss profile".into(),
                levels: LOSS.iter().map(|(name, _)| (*name).into()).collect(),
            },
            Factor {
                name: "cc".into(),
                title: "Congestion control".into(),
                levels: CONTROL.iter().map(|(name, _)| (*name).into()).collect(),
            },
        ],
        cells,
        repetitions: REPETITIONS,
        shard: None,
        merged: Vec::new(),
        looks: vec![5, REPETITIONS],
        precision: Some(precision),
        series: None,
        runs: Vec::new(),
        expectations: expectations(),
        factorial: factorial(),
        units: BTreeMap::new(),
    }
}

/// All cells have all repetitions; one has not become precise.
fn run_control(cells: u32) -> RunControl {
    let stop = |cell: u32| {
        let mean = 340_000.0 - 10_000.0 * f64::from(cell);
        Stop {
            cell,
            reference: None,
            repetitions: REPETITIONS,
            values: REPETITIONS,
            mean: Some(mean),
            low: Some(mean * 0.99),
            high: Some(mean * 1.01),
            reached: cell != 4,
            notes: if cell == 4 { vec![format!("1 of 10 runs has no value {HOSTILE}")] } else { Vec::new() },
        }
    };
    RunControl { rule: Precision::new(Metric::Goodput, 0.02), stops: (0..cells).map(stop).collect() }
}

/// An analysis, and one of cells in which a run failed.
fn factorial() -> Vec<FactorialDesign> {
    let two = |factor: &str, levels: [&str; 2]| TwoLevels {
        factor: factor.into(),
        levels: levels.map(str::to_owned),
    };
    let design = FactorialDesign {
        title: format!("What goodput depends on {HOSTILE}"),
        metric: Metric::Goodput,
        workload: None,
        factors: vec![two("loss", ["lite-0", "lite-4"]), two("cc", ["reno", "newzag"])],
        fixed: Vec::new(),
        compared: None,
        log: false,
    };
    let compared = Some(Compared { levels: two("cc", ["newzag", "cubic"]), by: Comparison::Ratio });
    let factors = vec![two("loss", ["lite-0", "lite-2"])];
    let ratio =
        FactorialDesign { title: "A failed run".into(), factors, compared, log: true, ..design.clone() };
    vec![design, ratio]
}

fn expectations() -> Vec<Expectation> {
    let one = |factor: &str, level: &str| (factor.to_owned(), Levels::One(level.to_owned()));
    let degradation = |title: &str, of: &[(String, Levels)], low, high| Expectation {
        id: "TL-19".into(),
        title: title.into(),
        metric: "degradation".into(),
        workload: None,
        of: of.iter().cloned().collect(),
        against: Some([one("loss", "lite-0")].into()),
        at: None,
        statistic: None,
        low,
        high,
        unit: "%".into(),
        source: "TCP Lite, section 6.3.1".into(),
    };
    vec![
        degradation("UMTS: mean fall of goodput, Reno", &[one("cc", "reno")], 1.0, 30.0),
        degradation("UMTS: fall in loss profile 4", &[one("loss", "lite-4"), one("cc", "cubic")], 6.0, 26.0),
        degradation("NewZag: no fall at all", &[one("cc", "newzag")], 0.0, 0.5),
        Expectation {
            id: "TL-21".into(),
            title: format!("Retransmissions follow the bad packet rate {HOSTILE}"),
            metric: "retransmission-rate".into(),
            against: None,
            low: 0.0,
            high: 5.0,
            source: "TCP Lite, figure 6.7".into(),
            ..degradation("", &[one("cc", "reno")], 0.0, 0.0)
        },
        Expectation {
            metric: "goodput".into(),
            against: None,
            unit: "s".into(),
            ..degradation("A figure in the wrong unit", &[], 1.0, 2.0)
        },
    ]
}

fn run(cell: &Cell, repetition: u32, random: &mut ChaCha8Rng) -> RunEnded {
    let level = |factor: &str| cell.level(factor).expect("every cell has every factor").to_owned();
    let bad = LOSS.iter().find(|(name, _)| *name == level("loss")).expect("a loss profile").1;
    let cost = CONTROL.iter().find(|(name, _)| *name == level("cc")).expect("a control").1;
    let normal = |mean: f64, deviation: f64, random: &mut ChaCha8Rng| {
        Normal::new(mean, deviation).expect("a deviation").sample(random)
    };
    let share = (bad * normal(1.0, 0.25, random)).max(0.0);
    let segments = TRANSFER.div_ceil(SEGMENT);
    let retransmissions = (segments as f64 * share).round() as u64;
    let ceiling = RATE * 524.0 / 576.0;
    let kept =
        (1.0 - cost * 100.0 * share / 100.0 - normal(0.0, 0.004 + share / 2.0, random).abs()).clamp(0.2, 1.0);
    let goodput_bps = ceiling * kept;
    let seconds = TRANSFER as f64 * 8.0 / goodput_bps;
    let (verdict, reasons): (_, Vec<String>) = match (cell.number, repetition) {
        (4, 3) => {
            (RunVerdict::Failed, vec![format!("workload download: the connection was reset {HOSTILE}")])
        }
        (7, 5) => (
            RunVerdict::Overloaded,
            vec![
                "89 of 3142 packets left too late, by more than 2ms and 5 % of the link's own time".into(),
                "the recorder was blocked 2 times".into(),
            ],
        ),
        _ => (RunVerdict::Good, Vec::new()),
    };
    let failed = verdict == RunVerdict::Failed;
    let slow = if verdict == RunVerdict::Overloaded { 3.0 } else { 1.0 };
    let timeouts = (share * 100.0 * random.random_range(0.0..2.0)).round() as u64;
    let round_trip = (180.0 + 900.0 * kept + normal(0.0, 25.0, random)) * 1e6;
    let delays = (0..200).map(|sample| (round_trip * (0.7 + f64::from(sample) / 300.0)) as u64).collect();
    let connection = Connection {
        workload: "download".into(),
        number: 0,
        protocol: Protocol::Tcp,
        from: "server".into(),
        to: "host".into(),
        from_port: 80,
        to_port: 40_000 + repetition as u16,
        congestion_control: level("cc"),
        complete: !failed,
        error: failed.then(|| "connection reset".into()),
        start_ns: 0,
        established_ns: Some(140_000_000),
        end_ns: (seconds * slow * 1e9) as u64,
        bytes: TRANSFER,
        goodput_bps: goodput_bps / slow,
        segments: segments + retransmissions,
        retransmissions,
        timeouts,
        lost: 0,
        round_trips: RoundTrips::of(delays),
        idle_max_ns: 400_000_000 * (1 + timeouts),
        losses: Some(losses::events(&level("loss"), &level("cc"), repetition)),
        ..Connection::default()
    };
    let down = counters("down", segments + retransmissions, retransmissions);
    RunEnded {
        run: RunRecord {
            cell: cell.number,
            repetition,
            verdict,
            reasons,
            started_unix_ns: 1_795_000_000_000_000_000 + u64::from(repetition) * 1_000_000_000,
            seconds: seconds * slow,
            wall_seconds: seconds / 40.0,
            verified: None,
            lateness: None,
            links: vec![counters("up", segments / 2, 0), down],
            lite: None,
            captures: Vec::new(),
            events: Vec::new(),
            senders: Vec::new(),
            link_layers: Vec::new(),
            logs: Vec::new(),
            points: None,
        },
        connections: vec![connection],
    }
}

fn counters(direction: &str, packets: u64, lost: u64) -> LinkCounters {
    let length = if direction == "up" { 64 } else { 576 };
    LinkCounters {
        link: "wlan".into(),
        direction: direction.into(),
        profile: if direction == "up" {
            "bottleneck: 384kbit/s counted at IP, drop-tail 50p; delay: 0ms".into()
        } else {
            "bottleneck: 384kbit/s counted at IP, drop-tail 50p; errors; delay: 70ms".into()
        },
        packets,
        lost: if lost > 0 { [("error".to_owned(), lost)].into() } else { BTreeMap::new() },
        damaged: 0,
        duplicated: 0,
        reordered: 0,
        bytes: packets * length,
        delivered_bytes: (packets - lost) * length,
        delay_mean_ns: Some(if direction == "up" { 1_400_000 } else { 289_000_000 }),
        waiting_mean_ns: Some(if direction == "up" { 0 } else { 207_000_000 }),
        link_layer: None,
    }
}
