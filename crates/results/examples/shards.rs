//! Writes the shards of a synthetic campaign, to measure `lasthop merge` without running anything.
//!
//! usage: cargo run -p results --example shards -- DIR CELLS REPETITIONS SHARDS
//!
//! Each run has two directions of a link and one TCP connection, as a run of the baseline has. No
//! run has captures. The numbers are a function of cell and repetition.

use results::journal::Journal;
use results::manifest::SCHEMA;
use results::{
    Cell, Clock, Connection, Factor, Lateness, Level, LinkCounters, Machine, Manifest, PlanText,
    PlannedWorkload, Protocol, RoundTrips, RunEnded, RunRecord, RunVerdict, Shard, directory, table,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs that are synced to the disk together.
const BATCH: usize = 1000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, numbers @ ..] = arguments.as_slice() else {
        return Err("usage: shards DIR CELLS REPETITIONS SHARDS".into());
    };
    let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<u32>, _>>()?;
    let &[cells, repetitions, of] = numbers.as_slice() else {
        return Err("expected three numbers: CELLS REPETITIONS SHARDS".into());
    };
    for number in 1..=of {
        let path = Path::new(folder).join(number.to_string());
        std::fs::create_dir_all(&path)?;
        let mut manifest = manifest(cells, repetitions, Shard { number, of });
        let mut journal = Journal::open(&path)?;
        let (mut runs, mut batch) = (Vec::new(), Vec::new());
        for repetition in 0..repetitions {
            for cell in manifest.cells.iter().filter(|cell| manifest.plans(cell, repetition)) {
                batch.push(run(cell.number, repetition));
                if batch.len() == BATCH {
                    journal.append_all(&batch)?;
                    runs.extend(batch.drain(..).map(|ended: RunEnded| ended.run));
                }
            }
        }
        journal.append_all(&batch)?;
        runs.extend(batch.into_iter().map(|ended| ended.run));
        manifest.runs = runs;
        directory::write_manifest(&path, &manifest)?;
    }
    Ok(())
}

fn manifest(cells: u32, repetitions: u32, shard: Shard) -> Manifest {
    let name = |number: u32| format!("level-{number}");
    let cell = |number: u32| Cell {
        number,
        levels: vec![Level { factor: "factor".to_owned(), level: name(number) }],
    };
    Manifest {
        schema: SCHEMA,
        lasthop: env!("CARGO_PKG_VERSION").to_owned(),
        plan: PlanText {
            name: "synthetic".to_owned(),
            title: "Synthetic".to_owned(),
            description: String::new(),
            file: "synthetic.toml".to_owned(),
            text: String::new(),
        },
        started_unix_ns: 1_700_000_000_000_000_000,
        ended_unix_ns: Some(1_700_000_001_000_000_000),
        clock: Some(Clock::Virtual),
        kernel: "synthetic".to_owned(),
        guest: None,
        machine: Machine {
            architecture: "x86_64".to_owned(),
            processor: "synthetic".to_owned(),
            processors: 1,
            memory_bytes: 1 << 30,
        },
        seed: 7,
        measure: "transfer".to_owned(),
        workloads: vec![PlannedWorkload { name: "transfer".to_owned(), background: false }],
        factors: vec![Factor {
            name: "factor".to_owned(),
            title: "factor".to_owned(),
            levels: (0..cells).map(name).collect(),
        }],
        cells: (0..cells).map(cell).collect(),
        repetitions,
        looks: Vec::new(),
        precision: None,
        series: None,
        shard: Some(shard),
        merged: Vec::new(),
        runs: Vec::new(),
        expectations: Vec::new(),
        factorial: Vec::new(),
        units: table::units(),
    }
}

fn run(cell: u32, repetition: u32) -> RunEnded {
    // Any spread that repeats.
    let spread = u64::from(cell.wrapping_mul(2_654_435_761) ^ repetition.wrapping_mul(40_503)) % 1_000_000;
    let end_ns = 1_000_000_000 + spread;
    let way = |direction: &str| LinkCounters {
        link: "air".to_owned(),
        direction: direction.to_owned(),
        profile: "rate=10800kbit,delay=10ms,queue=50p".to_owned(),
        packets: 2800,
        lost: BTreeMap::from([("wireless".to_owned(), spread % 17)]),
        damaged: 0,
        duplicated: 0,
        reordered: 0,
        bytes: 4_000_000 + spread,
        delivered_bytes: 4_000_000,
        delay_mean_ns: Some(22_000_000 + spread),
        waiting_mean_ns: Some(11_000_000 + spread),
        link_layer: None,
    };
    let connection = Connection {
        workload: "transfer".to_owned(),
        number: 0,
        protocol: Protocol::Tcp,
        from: "sender".to_owned(),
        to: "receiver".to_owned(),
        from_port: 40_000,
        to_port: 5001,
        congestion_control: "cubic".to_owned(),
        complete: true,
        established_ns: Some(20_000_000),
        end_ns,
        bytes: 4_000_000,
        goodput_bps: 32e15 / end_ns as f64,
        segments: 2800,
        retransmissions: spread % 40,
        timeouts: spread % 3,
        round_trips: Some(RoundTrips {
            samples: 1400,
            min_ns: 20_000_000,
            mean_ns: 23_000_000,
            median_ns: 22_000_000 + spread,
            p95_ns: 31_000_000,
            p99_ns: 33_000_000,
            max_ns: 35_000_000,
        }),
        idle_max_ns: 210_000_000,
        ..Connection::default()
    };
    let lateness = Lateness {
        packets: 5600,
        median_ns: 64,
        p99_ns: 128,
        worst_ns: 330,
        paused_ns: 0,
        mean_ns: Some(50),
        link_mean_ns: Some(10_000_000),
    };
    let run = RunRecord {
        verdict: RunVerdict::Good,
        reasons: Vec::new(),
        seconds: end_ns as f64 / 1e9,
        wall_seconds: 0.5,
        lateness: Some(lateness),
        links: vec![way("up"), way("down")],
        ..RunRecord::failed(cell, repetition, String::new())
    };
    RunEnded { run, connections: vec![connection] }
}
