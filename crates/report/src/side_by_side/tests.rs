use super::*;
use crate::difference::Difference;
use results::{Clock, Connection, Machine, Metric, PlanText, RunRecord, Verdict};
use std::path::PathBuf;

/// A campaign over one factor with two repetitions a cell; `goodput` gives each level's.
fn campaign(path: &str, seed: u64, goodput: &[(&str, f64)]) -> Directory {
    let cells = goodput.iter().zip(0..).map(|((level, _), number)| Cell {
        number,
        levels: vec![Level { factor: "loss".into(), level: (*level).into() }],
    });
    let runs = (0..goodput.len() as u32 * 2).map(|run| RunRecord {
        cell: run / 2,
        repetition: run % 2,
        verdict: Verdict::Good,
        reasons: vec![],
        started_unix_ns: 0,
        seconds: 1.0,
        wall_seconds: 1.0,
        lateness: None,
        links: vec![],
        lite: None,
        captures: vec![format!("captures/{run}.pcapng")],
        events: vec![],
        senders: vec![],
        link_layers: vec![],
        logs: vec![],
    });
    // Over 8 s the bytes are as many as the goodput in bit/s.
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
        clock: Clock::Real,
        kernel: format!("6.{seed}"),
        guest: None,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: "P".into(),
            processors: 1,
            memory_bytes: 0,
        },
        seed,
        factors: vec![Factor {
            name: "loss".into(),
            title: "Loss".into(),
            levels: goodput.iter().map(|(level, _)| (*level).into()).collect(),
        }],
        cells: cells.collect(),
        repetitions: 2,
        runs: runs.collect(),
        expectations: vec![expectation.expect("an expectation")],
        units: [].into(),
    };
    let connections =
        goodput.iter().flat_map(|(_, value)| [vec![connection(*value)], vec![connection(value + 2.0)]]);
    Directory { path: PathBuf::from(path), manifest, connections: connections.collect() }
}

fn both() -> Directory {
    let first = campaign("/runs/one", 1, &[("none", 100.0), ("some", 50.0)]);
    let second = campaign("/runs/two", 2, &[("some", 60.0), ("more", 30.0)]);
    merge(&first, &second, &["one".into(), "two".into()])
}

#[test]
fn every_cell_keeps_its_runs_and_gets_a_level() {
    let both = both();
    let labels: Vec<_> = both.manifest.cells.iter().map(Cell::label).collect();
    assert_eq!(
        labels,
        ["loss=none, run=one", "loss=some, run=one", "loss=some, run=two", "loss=more, run=two"]
    );
    let goodput = |cell| results::cell_values(&both, cell, Metric::Goodput, None, false);
    assert_eq!(
        (0..4).map(goodput).collect::<Vec<_>>(),
        [[100.0, 102.0], [50.0, 52.0], [60.0, 62.0], [30.0, 32.0]]
    );
}

#[test]
fn factors_have_the_levels_of_both() {
    let manifest = both().manifest;
    assert_eq!(manifest.factors[0].levels, ["none", "some", "more"]);
    assert_eq!(
        (manifest.factors[1].name.as_str(), &manifest.factors[1].levels[..]),
        (FACTOR, &["one".to_owned(), "two".into()][..])
    );
}

#[test]
fn files_are_found_from_anywhere() {
    let both = both();
    assert_eq!(both.manifest.runs[0].captures, ["/runs/one/captures/0.pcapng"]);
    assert_eq!(both.manifest.runs[4].captures, ["/runs/two/captures/0.pcapng"]);
    let joined = both.path.join(&both.manifest.runs[4].captures[0]);
    assert_eq!(joined, PathBuf::from("/runs/two/captures/0.pcapng"), "a whole path stays what it is");
}

#[test]
fn what_differs_is_said_with_names() {
    let manifest = both().manifest;
    assert_eq!(manifest.kernel, "6.1 (one), 6.2 (two)");
    assert_eq!(manifest.machine.processor, "P");
    assert_eq!(manifest.plan.title, "Plan: one against two");
    assert_eq!(manifest.plan.text, "same");
    assert!(manifest.plan.description.contains("two: Plan; seed 2, 4 runs"), "{}", manifest.plan.description);
    assert!(is_merged(&manifest));
}

#[test]
fn each_expectation_is_asked_of_each() {
    let both = both();
    let titles: Vec<_> =
        both.manifest.expectations.iter().map(|expectation| expectation.title.as_str()).collect();
    assert_eq!(titles, ["goodput (one)", "goodput (two)"]);
    let cells: Vec<Vec<u32>> = both
        .manifest
        .expectations
        .iter()
        .map(|expectation| results::compare(&both, expectation).cells.iter().map(|cell| cell.cell).collect())
        .collect();
    assert_eq!(cells, [[0, 1], [2, 3]]);
}

#[test]
fn names_are_what_paths_differ_in() {
    let names = |one: &str, other: &str| super::names(Path::new(one), Path::new(other));
    assert_eq!(names("runs/umts/1-7", "runs/umts/2-7"), ["1-7", "2-7"]);
    assert_eq!(names("runs/a/1", "runs/b/1"), ["a", "b"]);
    assert_eq!(names("runs/a", "runs/a"), ["A", "B"]);
}

#[test]
fn differences_are_between_cells_of_equal_levels() {
    let first = campaign("/one", 1, &[("none", 100.0), ("some", 50.0)]);
    let second = campaign("/two", 2, &[("some", 60.0), ("more", 30.0)]);
    let difference = Difference::of(&first, &second, Metric::Goodput, None, false);
    assert_eq!(difference.unmatched, ["loss=none", "loss=more"]);
    let [cell] = &difference.cells[..] else { panic!("{difference:?}") };
    assert_eq!((cell.label.as_str(), cell.first.median, cell.second.median), ("loss=some", 51.0, 61.0));
    assert!((cell.change_percent.expect("a change") - 1000.0 / 51.0).abs() < 1e-9);
    assert_eq!((cell.a12, cell.words().as_str()), (1.0, "large: higher in 100 % of pairs"));
    // Two against two: of the 6 orders 2 are as extreme.
    assert!((cell.p - 1.0 / 3.0).abs() < 1e-12 && (cell.corrected - cell.p).abs() < 1e-12);
}

#[test]
fn a_campaign_does_not_differ_from_itself() {
    let one = campaign("/one", 1, &[("none", 100.0), ("some", 50.0)]);
    let difference = Difference::of(&one, &one, Metric::Goodput, Some("w"), false);
    assert_eq!(difference.cells.len(), 2);
    for cell in &difference.cells {
        assert_eq!(
            (cell.change_percent, cell.words().as_str()),
            (Some(0.0), "negligible: neither is higher")
        );
        assert!((cell.corrected - 1.0).abs() < 1e-12);
    }
    let nothing = Difference::of(&one, &one, Metric::Goodput, Some("no such workload"), false);
    assert_eq!((nothing.cells.len(), nothing.unmatched.len()), (0, 2));
}
