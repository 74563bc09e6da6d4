//! A small campaign for the tests.

use results::{
    Cell, Clock, Connection, Directory, Factor, Level, Machine, Manifest, PlanText, RunRecord, RunVerdict,
};
use std::path::PathBuf;

/// A campaign over one factor with two repetitions per cell; `goodput` has the goodput of each
/// level.
pub fn campaign(path: &str, seed: u64, goodput: &[(&str, f64)]) -> Directory {
    let cells = goodput.iter().zip(0..).map(|((level, _), number)| Cell {
        number,
        levels: vec![Level { factor: "loss".into(), level: (*level).into() }],
    });
    let runs = (0..goodput.len() as u32 * 2).map(|run| RunRecord {
        cell: run / 2,
        repetition: run % 2,
        verdict: RunVerdict::Good,
        reasons: vec![],
        started_unix_ns: 0,
        seconds: 1.0,
        wall_seconds: 1.0,
        verified: None,
        lateness: None,
        links: vec![],
        lite: None,
        captures: vec![format!("captures/{run}.pcapng")],
        events: vec![],
        senders: vec![],
        link_layers: vec![],
        logs: vec![],
        points: None,
    });
    // In 8 s the number of bytes equals the goodput in bit/s.
    let connection = |value: f64| Connection {
        workload: "w".into(),
        bytes: value as u64,
        end_ns: 8_000_000_000,
        goodput_bps: value,
        ..Connection::default()
    };
    let expectation = serde_json::from_str(
        r#"{"title": "goodput", "metric": "goodput", "low": 1, "high": 2, "unit": "bit/s", "source": "T"}"#,
    );
    let manifest = Manifest {
        schema: 1,
        lasthop: "0.1.0".into(),
        plan: PlanText {
            name: "p".into(),
            title: "Plan".into(),
            description: "About it.".into(),
            file: "p.toml".into(),
            text: "same".into(),
        },
        started_unix_ns: 5,
        ended_unix_ns: Some(6),
        clock: Some(Clock::Real),
        kernel: format!("6.{seed}"),
        guest: None,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: "P".into(),
            processors: 1,
            memory_bytes: 0,
        },
        seed,
        measure: String::new(),
        workloads: vec![],
        factors: vec![Factor {
            name: "loss".into(),
            title: "Loss".into(),
            levels: goodput.iter().map(|(level, _)| (*level).into()).collect(),
        }],
        cells: cells.collect(),
        repetitions: 2,
        shard: None,
        merged: Vec::new(),
        looks: Vec::new(),
        precision: None,
        series: None,
        runs: runs.collect(),
        expectations: vec![expectation.expect("an expectation")],
        factorial: Vec::new(),
        units: [].into(),
    };
    let connections =
        goodput.iter().flat_map(|(_, value)| [vec![connection(*value)], vec![connection(value + 2.0)]]);
    Directory { path: PathBuf::from(path), manifest, connections: connections.collect() }
}
