//! Shards as a user meets them: merged, they are the campaign that ran in one piece.
//!
//! The tests of the virtual clock need its kernel (`lasthop kernel build`) and are skipped without
//! it.

mod lab;

use lab::plan::download;
use lab::{Lab, VIRTUAL, json, send, text};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

/// Four runs by default: a download over a GSM link with two loss profiles, two repetitions each.
fn plan() -> String {
    let head = "title = \"Shards\"\nseed = 7\nrepetitions = 2\n[[factors]]\nname = \"loss\"\nlevels = [\"lite-0\", \"lite-4\"]\n";
    let scenario = "[[scenario.links]]\nname = \"air\"\nbetween = [\"mobile\", \"server\"]\nprofile = \"gsm\"\nloss = \"{loss}\"\n";
    let capture = "[capture]\nsenders = \"first\"\nlosses = \"all\"\n";
    format!("{head}{scenario}{}{capture}", download("20kB"))
}

/// Returns all files of a run directory that depend only on plan, seed and kernel, by their names.
fn files(out: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for folder in [".", "captures", "events", "logs"] {
        for entry in fs::read_dir(out.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The manifest has the host's times, and the journal the order in which runs ended.
            if entry.path().is_file() && !["manifest.json", "runs.jsonl"].contains(&name.as_str()) {
                all.insert(format!("{folder}/{name}"), fs::read(entry.path()).expect("a file"));
            }
        }
    }
    all
}

fn assert_same(one: &Path, other: &Path) {
    let (one, other) = (files(one), files(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(*bytes == other[name], "{name} differs: {} and {} bytes", bytes.len(), other[name].len());
    }
}

/// Merges the shards 1 to `n` in the folder `n` of the lab, in the order of their names.
fn merge(lab: &Lab, n: u32, out: &str) -> Output {
    let shards: Vec<_> = (1..=n).map(|number| format!("{n}/{number}")).collect();
    let mut command = lab.lasthop(&["merge", "--out", out]);
    command.args(shards).output().expect("lasthop runs")
}

fn succeeded(output: &Output) {
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

/// Two campaigns of the same plan and seed have the same files, and so has one of any number of
/// shards, although their processes end their runs in any order.
#[test]
fn merged_shards_are_the_campaign_in_one_piece() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let plan = plan();
    succeeded(&lab.run(&plan, &[VIRTUAL, &["--jobs", "1"]].concat()));
    let whole = files(&lab.path("out"));
    for name in ["results.parquet", "losses.parquet", "report.html"] {
        assert!(whole.contains_key(&format!("./{name}")), "{name}: {:?}", whole.keys());
    }
    let kept = |folder: &str| whole.keys().filter(|name| name.starts_with(folder)).count();
    assert_eq!((kept("captures/"), kept("events/")), (2, 4), "of the first repetition of each cell");
    succeeded(&lab.run(&plan, &[VIRTUAL, &["--jobs", "2", "--out", "again"]].concat()));
    assert_same(&lab.path("out"), &lab.path("again"));
    for n in [1, 2, 7, 64] {
        for number in 1..=n {
            let (shard, out) = (format!("{number}/{n}"), format!("{n}/{number}"));
            succeeded(&lab.run(&plan, &[VIRTUAL, &["--shard", &shard, "--out", &out, "--quiet"]].concat()));
        }
        let merged = format!("merged-{n}");
        succeeded(&merge(&lab, n, &merged));
        assert_same(&lab.path("out"), &lab.path(&merged));
        let manifest = json(&lab.path(&merged).join("manifest.json"));
        assert_eq!(manifest["merged"].as_array().map(Vec::len), Some(n as usize));
        assert_eq!(
            (&manifest["shard"], manifest["runs"].as_array().map(Vec::len)),
            (&serde_json::Value::Null, Some(4))
        );
    }
    // What was merged is a campaign like any other: nothing is left to run.
    let resumed =
        lab.lasthop(&["run", "--resume", "merged-7", "--clock", "virtual"]).output().expect("lasthop runs");
    succeeded(&resumed);
    assert!(text(&resumed.stderr).contains(" 0 runs to do"), "{}", text(&resumed.stderr));
    assert_same(&lab.path("out"), &lab.path("merged-7"));
}

/// A shard that was killed is refused by `merge`, and has the same files once it was resumed.
#[test]
fn a_killed_shard_is_resumed_and_merged() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let plan = plan();
    let repetitions: &[&str] = &["--repetitions", "4", "--jobs", "1"];
    succeeded(&lab.run(&plan, &[VIRTUAL, repetitions].concat()));
    let shard = |number: &str, out: &str| {
        lab.command(&plan, &[VIRTUAL, repetitions, &["--shard", number, "--out", out]].concat())
    };
    succeeded(&shard("2/2", "2/2").output().expect("lasthop runs"));
    let mut killed =
        shard("1/2", "2/1").stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("lasthop runs");
    let ended =
        |lab: &Lab| fs::read_to_string(lab.path("2/1/runs.jsonl")).map_or(0, |text| text.lines().count());
    lab.wait_until("the first run of the shard", |lab| ended(lab) > 0);
    send("-KILL", killed.id());
    killed.wait().expect("ended");
    let planned = 8 - fs::read_to_string(lab.path("2/2/runs.jsonl")).expect("a journal").lines().count();
    let before = ended(&lab);
    assert!(before < planned, "it was killed too late to show anything: {before} of {planned} runs");
    let refused = merge(&lab, 2, "merged");
    assert_eq!(refused.status.code(), Some(1));
    let told = format!(
        "lasthop: shard 1/2 is unfinished, {before} of {planned} runs have ended: finish it with `lasthop run --resume 2/1`\n"
    );
    assert_eq!(text(&refused.stderr), told);
    assert!(!lab.path("merged").exists());
    succeeded(&lab.lasthop(&["run", "--resume", "2/1"]).output().expect("lasthop runs"));
    succeeded(&merge(&lab, 2, "merged"));
    assert_same(&lab.path("out"), &lab.path("merged"));
}

/// By the real clock, each machine and its times are kept.
#[test]
fn real_clocks_are_merged_too() {
    let Some(lab) = Lab::new() else { return };
    let plan = plan().replace("profile = \"gsm\"", "profile = \"wifi-b\"");
    for number in ["1", "2"] {
        succeeded(&lab.run(&plan, &["--shard", &format!("{number}/2"), "--out", &format!("2/{number}")]));
    }
    succeeded(&merge(&lab, 2, "merged"));
    let merged = json(&lab.path("merged/manifest.json"));
    let machines =
        [1, 2].map(|number| json(&lab.path(&format!("2/{number}/manifest.json")))["machine"].clone());
    for (part, machine) in merged["merged"].as_array().expect("shards").iter().zip(&machines) {
        assert_eq!(part["machine"], *machine);
        assert!(part["started_unix_ns"].as_u64() <= part["ended_unix_ns"].as_u64());
    }
    let report = fs::read_to_string(lab.path("merged/report.html")).expect("a report");
    let processor = machines[0]["processor"].as_str().expect("a processor");
    assert!(processor.is_empty() || report.contains(processor), "the report of real time names the machine");
    // Another seed is another campaign.
    succeeded(&lab.run(&plan, &["--shard", "2/2", "--out", "2/2-other", "--seed", "8"]));
    fs::rename(lab.path("2/2"), lab.path("2/2-own")).expect("renamed");
    fs::rename(lab.path("2/2-other"), lab.path("2/2")).expect("renamed");
    let refused = merge(&lab, 2, "other");
    assert_eq!(refused.status.code(), Some(1));
    let told = "lasthop: shards of different campaigns: the seed is 7 in 2/1, but 8 in 2/2\n";
    assert_eq!(text(&refused.stderr), told);
    let left: Vec<PathBuf> =
        fs::read_dir(lab.folder()).expect("entries").flatten().map(|entry| entry.path()).collect();
    assert!(
        !left.iter().any(|path| path.ends_with("other") || path.to_string_lossy().contains(".lasthop-")),
        "{left:?}"
    );
}

#[test]
fn a_shard_needs_a_seed_that_all_have() {
    let lab = Lab::here();
    let plan = plan().replace("seed = 7\n", "");
    let refused = lab.run(&plan, &["--shard", "1/2"]);
    assert_eq!(refused.status.code(), Some(1));
    let told = "lasthop: --shard 1/2 needs a seed, or each shard draws another one: add --seed NUMBER, the same for all shards, or `seed = NUMBER` to the plan\n";
    assert_eq!(text(&refused.stderr), told);
    assert!(!lab.path("out").exists());
}

/// The plan alone gives bounds.
#[test]
fn a_list_ends_with_bounds() {
    let lab = Lab::here();
    let said = lab.run(&plan(), &["--list", "--shard", "1/1"]);
    succeeded(&said);
    let told = "2 cells × 2 repetitions, shard 1/1: 4 runs\n\
                time of the links, by the plan: at least 67 s, at most 4 h 0 min (every run at its time limit)\n";
    assert_eq!(text(&said.stderr), told);
}
