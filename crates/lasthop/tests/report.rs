//! Tests of `lasthop report` and `lasthop compare` as a user runs them, on small synthetic run
//! directories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn lasthop(arguments: &[&str], folder: &Path) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop")).args(arguments).current_dir(folder).output();
    output.expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a campaign of two loss profiles with six repetitions each; `off` is the offset of each
/// run's goodput, in bit/s.
fn campaign(folder: &Path, name: &str, off: f64) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(&path).expect("a folder");
    let cell = |number: u32, level: &str| serde_json::json!({ "number": number, "levels": [{ "factor": "loss", "level": level }] });
    let manifest = serde_json::json!({
        "schema": 1, "lasthop": "0.1.0", "kernel": "6.1", "clock": "real", "seed": 7, "repetitions": 6,
        "plan": { "name": name, "title": "Two profiles", "description": "", "file": "", "text": "" },
        "started_unix_ns": 1, "ended_unix_ns": 2,
        "machine": { "architecture": "", "processor": "", "processors": 0, "memory_bytes": 0 },
        "factors": [{ "name": "loss", "title": "Loss", "levels": ["none", "some"] }],
        "cells": [cell(0, "none"), cell(1, "some")],
        "runs": [], "expectations": [], "units": {},
    });
    fs::write(path.join("manifest.json"), manifest.to_string()).expect("a manifest");
    let mut lines = String::new();
    for cell in 0..2_u32 {
        for repetition in 0..6_u32 {
            let goodput = 300_000.0 - f64::from(cell) * 50_000.0 + f64::from(repetition) * 1_000.0 + off;
            let run = serde_json::json!({
                "cell": cell, "repetition": repetition, "verdict": "good", "reasons": [], "started_unix_ns": 1,
                "seconds": 1.0, "wall_seconds": 1.0, "links": [], "captures": [], "events": [], "logs": [],
            });
            let connection = results::Connection {
                workload: "download".into(),
                // Over 8 s, the number of bytes equals the goodput in bit/s.
                bytes: goodput as u64,
                end_ns: 8_000_000_000,
                goodput_bps: goodput,
                ..results::Connection::default()
            };
            lines += &serde_json::json!({ "run": run, "connections": [connection] }).to_string();
            lines.push('\n');
        }
    }
    fs::write(path.join("runs.jsonl"), lines).expect("runs");
    path
}

#[test]
fn a_report_is_written_beside_the_runs_and_its_path_printed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = campaign(folder.path(), "one", 0.0);
    let output = lasthop(&["report", "one"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "one/report.html\n");
    let report = fs::read_to_string(path.join("report.html")).expect("the report");
    assert!(report.starts_with("<!doctype html>") && report.contains("Two profiles"));
    let output = lasthop(&["report", "one", "--overloaded", "-o", "elsewhere.html"], folder.path());
    assert_eq!(text(&output.stdout), "elsewhere.html\n");
    assert!(folder.path().join("elsewhere.html").exists());
}

/// The figures of `report --json` are those of the summary, and of each run.
#[test]
fn figures_as_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = campaign(folder.path(), "one", 0.0);
    let output = lasthop(&["report", "one", "--json"], folder.path());
    let figures: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((&figures["workload"], &figures["units"]["goodput"]), (&"download".into(), &"bit/s".into()));
    let runs = figures["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 12);
    let of_cell = |cell: u64| runs.iter().filter(move |run| run["cell"] == cell);
    for (number, cell) in figures["cells"].as_array().expect("cells").iter().enumerate() {
        let values = of_cell(number as u64).filter_map(|run| run["metrics"]["goodput"].as_f64());
        let mean = values.sum::<f64>() / 6.0;
        assert_eq!(cell["goodput"]["mean"], mean, "{cell}");
    }
    assert_eq!((&runs[0]["verdict"], &runs[0]["metrics"]["rtt"]), (&"good".into(), &serde_json::Value::Null));
    assert!(!path.join("report.html").exists(), "no report was asked for");

    let output = lasthop(&["report", "one", "--json", "--workload", "upload"], folder.path());
    let said = text(&output.stderr);
    let expected = "--workload upload: the campaign has no such workload; it has download";
    assert!(said.contains(expected) && output.status.code() == Some(1), "{said}");
}

#[test]
fn a_path_that_is_no_run_is_an_error_with_a_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = lasthop(&["report", "."], folder.path());
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("manifest.json"), "{}", text(&output.stderr));
    fs::write(folder.path().join("x.pcapng"), b"\x0a\x0d\x0d\x0a\x1c\0\0\0\xff").expect("a capture");
    for arguments in [&["report", "x.pcapng"][..], &["compare", "x.pcapng", "x.pcapng"]] {
        let output = lasthop(arguments, folder.path());
        assert!(!output.status.success());
        let said = text(&output.stderr);
        assert!(
            said.contains(
                "x.pcapng is a capture (pcapng), not a run: read it with `lasthop analyze x.pcapng`"
            ),
            "{said}"
        );
    }
    let output = lasthop(&["compare", ".", ".", "--metric", "godput"], folder.path());
    assert!(text(&output.stderr).contains("did you mean `goodput`?"), "{}", text(&output.stderr));
}

/// Writes the same campaign with a server first in the plan, and so in the first row of each run:
/// it ran for 100 s.
fn serve(path: &Path) {
    let manifest = path.join("manifest.json");
    let mut object: serde_json::Value =
        serde_json::from_slice(&fs::read(&manifest).expect("a manifest")).expect("JSON");
    object["measure"] = "download".into();
    object["workloads"] = serde_json::json!([
        { "name": "nginx", "background": true }, { "name": "download", "background": false },
    ]);
    fs::write(&manifest, object.to_string()).expect("a manifest");
    let server = results::Connection {
        workload: "nginx".into(),
        protocol: results::Protocol::Program,
        complete: true,
        end_ns: 100_000_000_000,
        ..results::Connection::default()
    };
    let journal = fs::read_to_string(path.join("runs.jsonl")).expect("runs");
    let mut with_both = String::new();
    for line in journal.lines() {
        let mut ended: serde_json::Value = serde_json::from_str(line).expect("a run");
        let mut first = serde_json::to_value(&server).expect("JSON");
        let rows = ended["connections"].as_array_mut().expect("rows");
        rows[0]["complete"] = true.into();
        std::mem::swap(&mut first, &mut rows[0]);
        rows.push(first);
        with_both += &ended.to_string();
        with_both.push('\n');
    }
    fs::write(path.join("runs.jsonl"), with_both).expect("runs");
}

#[test]
fn a_server_that_stands_first_is_not_what_is_compared() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["one", "two"] {
        serve(&campaign(folder.path(), name, 0.0));
    }
    let completion = |more: &[&str]| {
        let arguments = [&["compare", "one", "two", "--json", "--metric", "completion"][..], more].concat();
        let output = lasthop(&arguments, folder.path());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let read: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
        (read["workload"].clone(), read["metrics"][0]["cells"][0]["first"]["median"].clone())
    };
    assert_eq!(completion(&[]), ("download".into(), 8.0.into()));
    assert_eq!(completion(&["--workload", "nginx"]), ("nginx".into(), 100.0.into()), "if it is named");
    let output = lasthop(&["compare", "one", "two", "--workload", "ngin"], folder.path());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("`one` has no workload `ngin`: its workloads are download, nginx"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn campaigns_that_share_nothing_are_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    campaign(folder.path(), "one", 0.0);
    let two = campaign(folder.path(), "two", 0.0).join("manifest.json");
    let other = fs::read_to_string(&two).expect("a manifest").replace("none", "9").replace("some", "10");
    fs::write(&two, other).expect("a manifest");
    let output = lasthop(&["compare", "one", "two", "-o", "both.html"], folder.path());
    assert_eq!(output.status.code(), Some(1));
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert!(why.contains("nothing was compared: `one` and `two` have no cell in common"), "{why}");
    assert!(said.contains("not compared: loss=none: only `one` has this cell"), "{said}");
    assert!(said.contains("not compared: loss=10: only `two` has this cell"), "{said}");
    assert!(!folder.path().join("both.html").exists(), "no report of nothing");
    let output = lasthop(&["compare", "one", "one", "--metric", "rtt"], folder.path());
    assert_eq!(output.status.code(), Some(1));
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert!(why.contains("`A` and `B` have no cell in which both have values"), "{why}");
    assert!(said.contains("none of the 6 counted runs of `A` has a value of rtt"), "{said}");
}

#[test]
fn two_campaigns_are_compared_cell_by_cell() {
    let folder = tempfile::tempdir().expect("a folder");
    campaign(folder.path(), "one", 0.0);
    campaign(folder.path(), "two", 30_000.0);
    let output = lasthop(&["compare", "one", "two", "-o", "both.html"], folder.path());
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!("compare", text(&output.stdout));
    let both = fs::read_to_string(folder.path().join("both.html")).expect("the report of both");
    assert!(both.contains("Two profiles: one against two"));

    let output = lasthop(
        &["compare", "one", "one", "--json", "--metric", "goodput", "--metric", "rtt"],
        folder.path(),
    );
    let read: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    assert_eq!((read["first"].as_str(), read["second"].as_str()), (Some("A"), Some("B")));
    let [goodput, rtt] = read["metrics"].as_array().expect("metrics").as_slice() else { panic!("{read}") };
    assert_eq!(goodput["cells"][1]["change_percent"], 0.0);
    assert_eq!(goodput["cells"][1]["corrected"], 1.0);
    assert_eq!(
        (rtt["cells"].as_array().map(Vec::len), rtt["unmatched"].as_array().map(Vec::len)),
        (Some(0), Some(2))
    );
}
