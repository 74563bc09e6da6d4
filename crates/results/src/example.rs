//! A small campaign for the tests: two levels of `lite` times three of `loss`.

use crate::manifest::SCHEMA;
use crate::{
    Cell, Clock, Connection, Directory, Expectation, Factor, Guest, Level, Levels, Machine, Manifest,
    PlanText, RunRecord, RunVerdict, Selection,
};
use std::collections::BTreeMap;
use std::path::PathBuf;

const FACTORS: [(&str, &[&str]); 2] = [("lite", &["off", "on"]), ("loss", &["none", "one", "two"])];

/// Cells with `lite` outside, `loss` inside: off/none, off/one, off/two, on/none, on/one, on/two.
pub fn cells() -> Vec<Cell> {
    let [(lite, lites), (loss, losses)] = FACTORS;
    let level = |factor: &str, level: &str| Level { factor: factor.into(), level: level.into() };
    let pairs = lites.iter().flat_map(|&on| losses.iter().map(move |&error| (on, error)));
    let levels = |(on, error)| vec![level(lite, on), level(loss, error)];
    (0..).zip(pairs.map(levels)).map(|(number, levels)| Cell { number, levels }).collect()
}

pub fn factors() -> Vec<Factor> {
    let factor = |(name, levels): (&str, &[&str])| Factor {
        name: name.into(),
        title: name.into(),
        levels: levels.iter().map(ToString::to_string).collect(),
    };
    FACTORS.map(factor).into()
}

pub fn manifest() -> Manifest {
    let text = String::new;
    Manifest {
        schema: SCHEMA,
        lasthop: "0.1.0".into(),
        plan: PlanText {
            name: "lite".into(),
            title: text(),
            description: text(),
            file: text(),
            text: text(),
        },
        started_unix_ns: 1_700_000_000_000_000_000,
        ended_unix_ns: None,
        clock: Some(Clock::Real),
        kernel: "6.1.0".into(),
        guest: None,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: text(),
            processors: 2,
            memory_bytes: 1 << 33,
        },
        seed: 7,
        measure: String::new(),
        workloads: Vec::new(),
        factors: factors(),
        cells: cells(),
        repetitions: 2,
        shard: None,
        merged: Vec::new(),
        looks: Vec::new(),
        precision: None,
        series: None,
        runs: Vec::new(),
        expectations: Vec::new(),
        factorial: Vec::new(),
        units: BTreeMap::new(),
    }
}

pub fn guest() -> Guest {
    Guest {
        source: "linux-source-7.2 7.2.12-1".into(),
        key: "0123456789abcdef".into(),
        fallback: false,
        hz: 1000,
        start_unix_ns: 0,
        memory_mib: 512,
        verified: false,
        c_library: "gnu".into(),
        link_library: "0123456789abcdef".into(),
    }
}

/// A good run.
pub fn run(cell: u32, repetition: u32) -> RunRecord {
    RunRecord {
        cell,
        repetition,
        verdict: RunVerdict::Good,
        reasons: Vec::new(),
        started_unix_ns: 0,
        seconds: 1.5,
        wall_seconds: 1.5,
        verified: None,
        lateness: None,
        links: Vec::new(),
        lite: None,
        captures: Vec::new(),
        events: Vec::new(),
        senders: Vec::new(),
        link_layers: Vec::new(),
        logs: Vec::new(),
        points: None,
    }
}

/// A complete connection that took a second.
pub fn connection(workload: &str, bytes: u64) -> Connection {
    Connection {
        workload: workload.into(),
        complete: true,
        end_ns: 1_000_000_000,
        bytes,
        goodput_bps: 8.0 * bytes as f64,
        ..Connection::default()
    }
}

/// A campaign of these runs: cell, verdict, and goodput of the only connection in bit/s.
pub fn campaign(runs: &[(u32, RunVerdict, f64)]) -> Directory {
    let mut directory = Directory { path: PathBuf::new(), manifest: manifest(), connections: Vec::new() };
    for (repetition, &(cell, verdict, goodput_bps)) in (0..).zip(runs) {
        directory.manifest.runs.push(RunRecord { verdict, ..run(cell, repetition) });
        // Each takes eight seconds, so that its bytes equal its goodput in bit/s.
        let connection =
            Connection { goodput_bps, end_ns: 8_000_000_000, ..connection("bulk", goodput_bps as u64) };
        directory.connections.push(vec![connection]);
    }
    directory
}

pub fn selection(of: &[(&str, &[&str])]) -> Selection {
    let levels = |levels: &[&str]| match levels {
        [one] => Levels::One((*one).into()),
        several => Levels::Any(several.iter().map(ToString::to_string).collect()),
    };
    of.iter().map(|(factor, these)| ((*factor).into(), levels(these))).collect()
}

/// Goodput of all cells, from 0 to 1 kbit/s.
pub fn expectation() -> Expectation {
    Expectation {
        id: String::new(),
        title: String::new(),
        metric: "goodput".into(),
        workload: None,
        of: selection(&[]),
        against: None,
        at: None,
        statistic: None,
        low: 0.0,
        high: 1.0,
        unit: "kbit/s".into(),
        source: String::new(),
    }
}
