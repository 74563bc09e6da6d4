//! Tests of run control by precision (M18) as a user sees it: each cell is repeated until the
//! interval of a mean is narrow enough.

mod lab;

use lab::{Lab, VIRTUAL, json, text};
use serde_json::Value;
use std::fs;

/// Without losses all runs of a cell are equal. With 5 % they differ, and so do their ratios.
const PLAN: &str = r#"
seed = 7
repetitions = 10
max-repetitions = 14
[[factors]]
name = "window"
levels = ["8kB", "32kB"]
[[factors]]
name = "loss"
levels = [{ name = "none", share = "0%" }, { name = "some", share = "5%" }]
[scenario]
receive-window = "{window}"
[[scenario.links]]
between = ["mobile", "server"]
up = "rate=1mbit,delay=10ms"
down = "rate=1mbit,delay=10ms,loss={share}"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "60kB"
[capture]
keep = "none"
[precision]
within = "2 %"
looks = "every"
"#;

/// The ratio of both windows.
fn pairs() -> String {
    PLAN.replace("within = ", "against = { window = \"8kB\" }\nwithin = ")
}

/// Returns cell, reference, repetitions and whether the rule was reached, of each stop.
fn stops(lab: &Lab, out: &str) -> Vec<(u64, Option<u64>, u64, bool)> {
    let manifest = json(&lab.path(out).join("manifest.json"));
    let stops = manifest["precision"]["stops"].as_array().expect("stops");
    let number = |stop: &Value, field: &str| stop[field].as_u64();
    let stop = |stop: &Value| {
        let cell = number(stop, "cell").expect("a cell");
        let repetitions = number(stop, "repetitions").expect("a number");
        (cell, number(stop, "reference"), repetitions, stop["reached"] == true)
    };
    stops.iter().map(stop).collect()
}

/// Number of runs of each cell.
fn runs(lab: &Lab) -> [usize; 4] {
    let journal = lab.journal();
    [0, 1, 2, 3].map(|cell| journal.iter().filter(|run| run["run"]["cell"] == cell).count())
}

#[test]
fn m18_cells_are_repeated_until_they_are_precise() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let output = lab.succeed(PLAN, VIRTUAL);
    let found = stops(&lab, "out");
    let (exact, random): (Vec<_>, Vec<_>) = found.iter().partition(|(cell, ..)| cell % 2 == 0);
    assert!(exact.iter().all(|(_, _, repetitions, reached)| *repetitions == 10 && *reached), "{found:?}");
    assert!(random.iter().any(|(_, _, repetitions, reached)| *repetitions == 14 && !reached), "{found:?}");
    let expected: Vec<_> = found.iter().map(|(_, _, repetitions, _)| *repetitions as usize).collect();
    assert_eq!(runs(&lab)[..], expected[..]);
    let said = text(&output.stdout);
    let rule = "Repeated 10 to 14 times, until the 95 % interval of the mean of goodput is within 2 % of it:";
    assert!(said.contains(rule) && said.contains("did not reach it with 14 repetitions"), "{said}");
    assert!(said.contains("mean, bit/s"), "{said}");
    let told = text(&output.stderr);
    assert!(told.contains("10 to 14 repetitions") && told.contains("are not precise enough"), "{told}");
}

/// Both cells of a pair are repeated, and the same plan gives the same bytes, whatever runs at a
/// time and wherever it was interrupted.
#[test]
fn m18_pairs_are_repeated_together_and_repeatably() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    lab.succeed(&pairs(), &["--clock", "virtual", "--jobs", "1"]);
    let (found, rows) = (stops(&lab, "out"), fs::read(lab.path("out/results.parquet")).expect("rows"));
    assert_eq!(found[0], (2, Some(0), 10, true));
    let (cell, reference, repetitions, reached) = found[1];
    assert_eq!((cell, reference, repetitions, reached), (3, Some(1), 14, false));
    assert_eq!(runs(&lab), [10, 14, 10, 14]);
    lab.succeed(&pairs(), &["--clock", "virtual", "--jobs", "3", "--out", "again"]);
    assert_eq!(
        (stops(&lab, "again"), fs::read(lab.path("again/results.parquet")).expect("rows")),
        (found.clone(), rows.clone())
    );
    // As if it had been killed in the middle of the last stage.
    let journal = fs::read_to_string(lab.path("out/runs.jsonl")).expect("a journal");
    let kept = journal.split_inclusive('\n').take(43).collect::<String>();
    fs::write(lab.path("out/runs.jsonl"), kept).expect("a journal");
    let resumed = lab.lasthop(&["run", "--resume", "out"]).output().expect("lasthop runs");
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    assert_eq!((stops(&lab, "out"), fs::read(lab.path("out/results.parquet")).expect("rows")), (found, rows));
}

/// The command line sets the rule of a plan that has none, changes it, or switches it off.
#[test]
fn the_command_line_sets_the_rule() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let without = &PLAN[..PLAN.find("[precision]").expect("one")];
    let asked = [
        "--precision",
        "40",
        "--precision-of",
        "completion",
        "--max-repetitions",
        "12",
        "--only",
        "window=8kB",
    ];
    lab.succeed(without, &[VIRTUAL, &asked, &["--quiet"]].concat());
    let manifest = json(&lab.path("out/manifest.json"));
    let rule = &manifest["precision"]["rule"];
    assert_eq!((&rule["metric"], &rule["within"]), (&"completion".into(), &0.4.into()));
    assert_eq!(manifest["looks"], serde_json::json!([10, 12]));
    assert!(stops(&lab, "out").iter().all(|(_, _, repetitions, reached)| *repetitions == 10 && *reached));
    let off = ["--precision", "off", "-n", "2", "--out", "off", "--only", "loss=none"];
    lab.succeed(PLAN, &[VIRTUAL, &off].concat());
    assert!(json(&lab.path("off/manifest.json")).get("precision").is_none());
}

/// What cannot be is said before anything runs.
#[test]
fn rules_that_cannot_be() {
    let lab = Lab::here();
    let wrong = |arguments: &[&str]| {
        let output = lab.run(PLAN, &[arguments, &["--list"]].concat());
        assert!(!output.status.success(), "{arguments:?}");
        format!("$ lasthop run plan.toml {}\n{}\n", arguments.join(" "), text(&output.stderr))
    };
    let all = [
        wrong(&["--precision", "200"]),
        wrong(&["--precision", "off", "--max-repetitions", "20"]),
        wrong(&["-n", "5"]),
        wrong(&["--max-repetitions", "5"]),
        wrong(&["--precision", "2", "--precision-against", "loss=nnoe"]),
        wrong(&["--precision", "2", "--precision-against", "loss=none", "--only", "loss=some"]),
        wrong(&["--shard", "1/2"]),
    ];
    insta::assert_snapshot!(all.concat());
}
