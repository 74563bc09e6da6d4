//! Tests of `lasthop gate` as a user runs it.
//!
//! Most judge a run directory that is written here, so that they depend on no machine.

mod lab;

use lab::plan::air;
use lab::{Lab, VIRTUAL, json, text};
use results::directory::write_manifest;
use results::journal::Journal;
use results::{
    Cell, Clock, Connection, Factor, Level, Machine, Manifest, PlanText, Protocol, RunEnded, RunRecord,
    RunVerdict,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

const PLAN: &str = r#"title = "two | losses"
seed = 7
repetitions = 10
[[factors]]
name = "loss"
levels = ["none", "some"]
[scenario]
[[scenario.links]]
between = ["mobile", "server"]
down = "rate=4mbit,delay=5ms,loss=1%"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "1kB"

[[require]]
title = "fast"
metric = "goodput"
where = { loss = "none" }
at-least = "900 bit/s"

[[require]]
title = "not much slower with losses"
metric = "goodput"
where = { loss = "some" }
against = { loss = "none" }
at-least = "80 %"
"#;

/// Writes the run directory of a campaign that has ended. Each cell has these goodputs, in bit/s;
/// `None` is a failed run.
fn campaign(path: &Path, plan: &str, values: [Vec<Option<f64>>; 2]) {
    let factor = || Factor {
        name: "loss".into(),
        title: "loss".into(),
        levels: ["none", "some"].map(str::to_owned).into(),
    };
    let cell = |(number, level): (u32, String)| Cell {
        number,
        levels: vec![Level { factor: "loss".into(), level }],
    };
    let repetitions = values[0].len() as u32;
    let manifest = Manifest {
        schema: 1,
        lasthop: "0.1.0".into(),
        plan: PlanText {
            name: "plan".into(),
            title: "two | losses".into(),
            description: String::new(),
            file: "plans/plan.toml".into(),
            text: plan.into(),
        },
        started_unix_ns: 0,
        ended_unix_ns: Some(1),
        clock: Some(Clock::Real),
        kernel: "6.1.0".into(),
        guest: None,
        machine: Machine {
            architecture: "x86_64".into(),
            processor: "a".into(),
            processors: 2,
            memory_bytes: 1,
        },
        seed: 7,
        measure: "download".into(),
        workloads: Vec::new(),
        factors: vec![factor()],
        cells: (0..).zip(factor().levels).map(cell).collect(),
        repetitions,
        looks: Vec::new(),
        precision: None,
        series: None,
        shard: None,
        merged: Vec::new(),
        runs: Vec::new(),
        expectations: Vec::new(),
        factorial: Vec::new(),
        units: BTreeMap::new(),
    };
    fs::create_dir_all(path).expect("a folder");
    write_manifest(path, &manifest).expect("a manifest");
    let mut journal = Journal::open(path).expect("a journal");
    for (cell, values) in (0..).zip(values) {
        for (repetition, value) in (0..).zip(values) {
            let mut run = RunRecord::failed(cell, repetition, "curl: exit status 7".into());
            if value.is_some() {
                (run.verdict, run.reasons) = (RunVerdict::Good, Vec::new());
            }
            let connection = Connection {
                workload: "download".into(),
                protocol: Protocol::Tcp,
                complete: true,
                end_ns: 8_000_000_000,
                bytes: value.unwrap_or(0.0) as u64,
                ..Connection::default()
            };
            journal.append(&RunEnded { run, connections: vec![connection] }).expect("a run");
        }
    }
}

fn spread(middle: f64) -> Vec<Option<f64>> {
    (0..10).map(|number| Some(middle + 10.0 * f64::from(number))).collect()
}

fn gate(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.current_dir(folder).arg("gate").args(arguments).output().expect("lasthop runs")
}

/// Returns exit status, standard output and standard error.
fn told(output: &Output) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    format!("status {}\n{out}---\n{err}", output.status.code().unwrap_or(-1))
}

#[test]
fn every_verdict_has_its_status_and_every_file_its_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    campaign(&path.join("pass"), PLAN, [spread(1000.0), spread(950.0)]);
    campaign(&path.join("fail"), PLAN, [spread(1000.0), spread(500.0)]);
    campaign(&path.join("open"), PLAN, [spread(870.0), spread(870.0)]);
    let mut broken = spread(1000.0);
    broken[3] = None;
    campaign(&path.join("broken"), PLAN, [broken, spread(950.0)]);
    for (name, status) in [("pass", 0), ("fail", 1), ("open", 3), ("broken", 1)] {
        let all = ["--github", "--junit", "gate.xml", "--markdown", "gate.md"];
        let output = gate(path, &[&[name], &all[..]].concat());
        assert_eq!(output.status.code(), Some(status), "{}", told(&output));
        let markdown = fs::read_to_string(path.join("gate.md")).expect("a table");
        insta::assert_snapshot!(format!("gate_{name}"), format!("{}---\n{markdown}", told(&output)));
        let xml = fs::read_to_string(path.join("gate.xml")).expect("JUnit");
        check_junit(&xml, name);
        let output = gate(path, &[name, "--json", "--quiet"]);
        let object: Value = serde_json::from_str(&text(&output.stdout)).expect("one object");
        assert_eq!(object["lines"].as_array().map(Vec::len), Some(3), "{object}");
        assert_eq!(text(&output.stderr), "");
    }
}

/// Reads the file as CI systems do.
fn check_junit(xml: &str, name: &str) {
    let report =
        quick_junit::Report::deserialize_from_str(xml).unwrap_or_else(|error| panic!("{error}: {xml}"));
    let [suite] = &report.test_suites[..] else { panic!("one suite") };
    let cases: Vec<_> = suite.test_cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(cases, ["no run fails", "fast: loss=none", "not much slower with losses: loss=some"]);
    let counts = (suite.tests, suite.failures, suite.errors);
    let expected = match name {
        "pass" => (3, 0, 0),
        "fail" => (3, 1, 0),
        "open" => (3, 0, 1),
        _ => (3, 3, 0),
    };
    assert_eq!(counts, expected, "{name}: {xml}");
    assert!(xml.contains(r#"file="plans/plan.toml""#), "{xml}");
}

#[test]
fn two_campaigns_are_compared_in_pairs() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    campaign(&path.join("before"), PLAN, [spread(1000.0), spread(950.0)]);
    campaign(&path.join("same"), PLAN, [spread(1000.0), spread(950.0)]);
    campaign(&path.join("slower"), PLAN, [spread(920.0), spread(950.0)]);
    for name in ["same", "slower"] {
        let output = gate(path, &[name, "--against", "before"]);
        insta::assert_snapshot!(format!("gate_against_{name}"), told(&output));
    }
    let tolerated = gate(path, &["slower", "--against", "before", "--tolerance", "10%"]);
    assert_eq!(tolerated.status.code(), Some(0), "{}", told(&tolerated));
    let other = PLAN.replace("4mbit", "5mbit");
    campaign(&path.join("other"), &other, [spread(1000.0), spread(950.0)]);
    let refused = gate(path, &["other", "--against", "before"]);
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(
        text(&refused.stderr),
        "lasthop: cannot compare with before: its plan has another `scenario`\n"
    );
}

#[test]
fn what_cannot_be_judged_is_an_error_and_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path();
    let without = &PLAN[..PLAN.find("[[require]]").expect("one")];
    fs::write(path.join("none.toml"), without).expect("a plan");
    let p99 = PLAN.replace("at-least = \"900 bit/s\"", "statistic = \"p1\"\nat-least = \"900 bit/s\"");
    fs::write(path.join("p1.toml"), p99).expect("a plan");
    fs::write(path.join("plan.toml"), PLAN).expect("a plan");
    campaign(&path.join("before"), PLAN, [spread(1000.0), spread(950.0)]);
    let cases: [&[&str]; 10] = [
        &[],
        &["missing.toml"],
        &["none.toml"],
        &["p1.toml"],
        &["plan.toml", "--only", "loss=some"],
        &["plan.toml", "--max-repetitions", "5"],
        &["plan.toml", "--junit", "no/folder.xml"],
        &["plan.toml", "--against", "before", "--seed", "8"],
        &["before", "--seed", "8"],
        &["plan.toml", "--against", "before", "--tolerance", "much"],
    ];
    let mut all = String::new();
    for arguments in cases {
        let output = gate(path, arguments);
        assert_eq!(output.status.code(), Some(2), "{}", told(&output));
        assert_eq!(text(&output.stdout), "");
        all = format!("{all}$ lasthop gate {}\n{}\n", arguments.join(" "), text(&output.stderr));
    }
    insta::assert_snapshot!(all);
    assert!(!path.join("runs").exists());
}

/// A plan whose requirement is met, violated, or neither.
fn small(bound: &str) -> String {
    let link = air(r#"down = "rate=4mbit,delay=5ms,loss=1%""#, "");
    let require = format!("[[require]]\ntitle = \"fast\"\nmetric = \"goodput\"\nat-least = \"{bound}\"\n");
    let workload = "[[workloads]]\nname = \"w\"\nkind = \"bulk\"\nfrom = \"server\"\nto = \"mobile\"\nbytes = \"20kB\"\n";
    format!("repetitions = 3\nmax-repetitions = 8\n{link}{workload}{require}")
}

/// Three and four repetitions decide nothing at 95 %, so the gate goes on: 0.5^4 is above 5 %.
#[test]
fn a_gate_runs_until_it_is_decided() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    for (bound, status) in [("1 kbit/s", 0), ("1 Gbit/s", 1)] {
        fs::write(lab.path("plan.toml"), small(bound)).expect("a plan");
        let out = ["--out", "out", "--seed", "7"];
        let output =
            lab.lasthop(&["gate", "plan.toml"]).args(VIRTUAL).args(out).output().expect("lasthop runs");
        assert_eq!(output.status.code(), Some(status), "{}", told(&output));
        let manifest = json(&lab.path("out/manifest.json"));
        assert_eq!(manifest["looks"], serde_json::json!([3, 4, 6, 8]));
        assert_eq!((&manifest["repetitions"], lab.journal().len()), (&6.into(), 6));
        assert!(lab.path("out/report.html").exists() && manifest["ended_unix_ns"].is_number());
        let again = lab.lasthop(&["gate", "out"]).output().expect("lasthop runs");
        assert_eq!(text(&again.stdout), text(&output.stdout), "the directory tells the same");
        let resumed = lab.lasthop(&["gate", "--resume", "out"]).output().expect("lasthop runs");
        assert_eq!(text(&resumed.stdout), text(&output.stdout), "nothing is left to run");
        fs::remove_dir_all(lab.path("out")).expect("removed");
    }
}
