use super::*;
use serde_json::json;
use std::fs;

/// A campaign with the goodputs of Jain's memory and cache study (chapter 18) in kbit/s, three
/// repetitions in each of four cells. The second analysis has a logarithm, the third has cells that
/// were not run.
fn campaign(failed: bool) -> (tempfile::TempDir, Directory) {
    let folder = tempfile::tempdir().expect("a folder");
    let level = |factor: &str, level: &str| json!({ "factor": factor, "level": level });
    let cell = |number: usize| {
        let (memory, cache) = (["4MB", "16MB"][number / 2], ["1kB", "2kB"][number % 2]);
        json!({ "number": number, "levels": [level("memory", memory), level("cache", cache), level("system", "a")] })
    };
    let factors = [("memory", ["4MB", "16MB"]), ("cache", ["1kB", "2kB"])];
    let two = |(factor, levels)| json!({ "factor": factor, "levels": levels });
    let design = |title: &str, more: serde_json::Value| {
        let mut design = json!({ "title": title, "metric": "goodput", "factors": factors.map(two) });
        for (key, value) in more.as_object().expect("an object") {
            design[key] = value.clone();
        }
        design
    };
    let manifest = json!({
        "schema": 1, "lasthop": "0.1.0", "kernel": "6.1", "clock": "real", "seed": 7, "repetitions": 3,
        "plan": { "name": "jain", "title": "", "description": "", "file": "", "text": "" },
        "started_unix_ns": 1, "ended_unix_ns": 2,
        "machine": { "architecture": "", "processor": "", "processors": 0, "memory_bytes": 0 },
        "factors": factors.map(|(name, levels)| json!({ "name": name, "title": name, "levels": levels })),
        "cells": (0..4).map(cell).collect::<Vec<_>>(),
        "runs": [], "expectations": [], "units": {},
        "factorial": [
            design("memory and cache", json!({ "fixed": [level("system", "a")] })),
            design("in factors", json!({ "log": true })),
            design("systems", json!({ "compared": { "factor": "system", "levels": ["b", "a"], "by": "ratio" } })),
        ],
    });
    fs::write(folder.path().join("manifest.json"), manifest.to_string()).expect("a manifest");
    let responses = [[15, 18, 12], [25, 28, 19], [45, 48, 51], [75, 75, 81]];
    let mut lines = String::new();
    for (cell, responses) in responses.iter().enumerate() {
        for (repetition, kilobits) in responses.iter().enumerate() {
            let bad = failed && (cell, repetition) == (1, 2);
            let run = json!({
                "cell": cell, "repetition": repetition, "verdict": if bad { "failed" } else { "good" },
                "reasons": if bad { vec!["connection reset"] } else { Vec::new() }, "started_unix_ns": 1,
                "seconds": 1.0, "wall_seconds": 1.0, "links": [], "captures": [], "events": [], "logs": [],
            });
            let connection = results::Connection {
                workload: "download".into(),
                // Over 8 s, the number of bytes equals the goodput in bit/s.
                bytes: kilobits * 1000,
                end_ns: 8_000_000_000,
                ..results::Connection::default()
            };
            lines += &json!({ "run": run, "connections": [connection] }).to_string();
            lines.push('\n');
        }
    }
    fs::write(folder.path().join("runs.jsonl"), lines).expect("runs");
    let directory = Directory::open(folder.path()).expect("a campaign");
    (folder, directory)
}

#[test]
fn effects_are_printed_with_the_largest_share_first() {
    let (_folder, directory) = campaign(false);
    insta::assert_snapshot!(text(&directory, Besides::default()));
}

#[test]
fn an_analysis_that_is_not_possible_says_why() {
    let (_folder, directory) = campaign(true);
    let text = text(&directory, Besides::default());
    let why = "not analysed: repetition 2 of memory=4MB, cache=2kB, system=a failed: connection reset";
    assert_eq!(text.matches(why).count(), 2, "{text}");
    let object = json(&directory, Besides::default());
    assert_eq!((&object[0]["analysis"], object[0]["note"].as_str()), (&Value::Null, Some(&why[14..])));
}

#[test]
fn json_has_the_design_and_the_analysis() {
    let (_folder, directory) = campaign(false);
    let all = json(&directory, Besides::default());
    let of = &all[0];
    assert_eq!((of["title"].as_str(), of["metric"].as_str()), (Some("memory and cache"), Some("goodput")));
    assert_eq!(of["factors"][0], json!({ "factor": "memory", "levels": ["4MB", "16MB"] }));
    let effects = of["analysis"]["effects"].as_array().expect("effects");
    assert_eq!(effects[0]["factors"], json!(["memory"]));
    assert_eq!((effects[0]["effect"].as_f64(), effects.len()), (Some(21_500.0), 3));
    assert_eq!(of["analysis"]["unit"], "bit/s");
}

/// Effects beyond the twenty largest are summed.
#[test]
fn many_effects_are_cut_off() {
    let effect = |number: usize| results::factorial::Combination {
        factors: vec![format!("f{number}")],
        share: 0.03,
        effect: 1.0,
        interval: None,
        significant: None,
        factor: None,
    };
    let analysis = Analysis {
        workload: "w".into(),
        unit: "s",
        response: "completion of w".into(),
        repetitions: 1,
        mean: results::statistics::Coefficient { value: 2.0, interval: None },
        effects: (0..31).map(effect).collect(),
        main_share: 0.93,
        interaction_share: 0.07,
        error_share: None,
        notes: Vec::new(),
    };
    let (_folder, directory) = campaign(false);
    let text = of(&directory.manifest.factorial[0], &analysis);
    assert!(text.contains("\n 11 more effects with 33.00 % together"), "{text}");
    assert!(text.contains(" f19 ") && !text.contains(" f20 "), "{text}");
}
