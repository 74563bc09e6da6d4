//! Tests of TCP Lite in runs: the effect of a plan's `lite` on connections with both clocks, and
//! the clean-up after such a run.

mod lab;

use lab::plan::{air, download, program, web_server};
use lab::{Lab, VIRTUAL, send, text};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Returns a mobile that accepts damage.
fn mobile(lite: &str) -> String {
    format!("[[scenario.nodes]]\nname = \"mobile\"\nlite = \"{lite}\"\n")
}

/// Returns a download over a link with errors, without Lite and with it at the receiver.
fn plan(mode: &str, errors: &str) -> String {
    let link =
        format!("down = \"rate=10mbit,delay=5ms,queue=1000p,{errors}\"\nup = \"rate=10mbit,delay=5ms\"\n");
    let factor = format!("[[factors]]\nname = \"lite\"\nlevels = [\"off\", \"{mode}\"]\n");
    let rest =
        [&mobile("{lite}"), &download("1MB"), "connections = 3\n", &factor, "[capture]\nkeep = \"none\"\n"];
    air(&link, &rest.concat())
}

/// Returns both runs of such a plan, without Lite and with it.
fn run(lab: &Lab, plan: &str, arguments: &[&str]) -> [Value; 2] {
    let output = lab.run(plan, arguments);
    assert!(output.status.success(), "{}{:?}", text(&output.stderr), lab.journal());
    let mut journal = lab.journal();
    journal.sort_by_key(|ended| ended["run"]["cell"].as_u64());
    let [off, on] = <[Value; 2]>::try_from(journal).expect("two runs");
    for row in [&off, &on].iter().flat_map(|ended| ended["connections"].as_array().expect("rows")) {
        assert_eq!((&row["bytes"], &row["complete"]), (&1_000_000.into(), &true.into()), "{row}");
        assert_eq!(row["misplaced"], 0, "{row}");
    }
    [off, on]
}

fn sum(ended: &Value, column: &str) -> u64 {
    let rows = ended["connections"].as_array().expect("rows").iter();
    rows.map(|row| row[column].as_u64().unwrap_or_else(|| panic!("{column} of {row}"))).sum()
}

fn count(ended: &Value, counter: &str) -> u64 {
    ended["run"]["lite"][counter].as_u64().unwrap_or_else(|| panic!("{counter} of {}", ended["run"]))
}

/// Creates a lab where programs can attach to control groups, or returns `None` after printing the
/// reason.
fn lab(virtual_clock: bool) -> Option<Lab> {
    let lab = if virtual_clock { Lab::with_virtual_clock()? } else { Lab::new()? };
    if !virtual_clock && groups().is_none() {
        skip::skip!("TCP Lite needs control groups of version 2");
        return None;
    }
    Some(lab)
}

/// Returns the mount point of control groups of version 2.
fn groups() -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let mount = mounts.lines().find(|line| line.contains(" - cgroup2 "))?.split(' ').nth(4)?;
    Some(PathBuf::from(mount))
}

/// TL-02, TL-03, TL-13: spoiled checksums cause retransmissions without Lite, and no retransmission
/// of data with it.
fn spoiled_checksums(virtual_clock: bool, arguments: &[&str]) {
    let Some(lab) = lab(virtual_clock) else { return };
    let [off, on] = run(&lab, &plan("thesis", "loss=2%,damage=checksum"), arguments);
    assert!(off["run"].get("lite").is_none(), "{}", off["run"]);
    // Except for data sent during connection setup, TCP retransmits the damaged data.
    let damaged = |ended: &Value| ended["run"]["links"][1]["damaged"].as_u64().expect("a count");
    assert!(sum(&off, "retransmissions") + 6 >= damaged(&off) && damaged(&off) > 20, "{off}");
    assert!(count(&on, "damaged") > 20 && count(&on, "damaged") <= damaged(&on), "{on}");
    assert_eq!(count(&on, "accepted"), count(&on, "damaged"), "all of them: {on}");
    assert_eq!((sum(&off, "wrong_bytes"), sum(&on, "wrong_bytes")), (0, 0), "data were not touched");
    if virtual_clock {
        // With the real clock, a timer may expire on a busy machine.
        assert_eq!(sum(&on, "retransmissions"), 0, "{on}");
    }
}

#[test]
fn spoiled_checksums_are_accepted_by_the_real_clock() {
    spoiled_checksums(false, &[]);
}

#[test]
fn spoiled_checksums_are_accepted_by_the_virtual_clock() {
    spoiled_checksums(true, VIRTUAL);
}

/// TL-24: with TCP Lite attached and the option off, damage is retransmitted as without it.
/// experiments/tcp-lite-off.toml compares the figures.
#[test]
fn nothing_is_accepted_for_programs_that_do_not_request_it() {
    let Some(lab) = lab(true) else { return };
    let [off, attached] = run(&lab, &plan("on-request", "loss=2%,damage=checksum"), VIRTUAL);
    assert_eq!((count(&attached, "accepted"), sum(&attached, "wrong_bytes")), (0, 0), "{attached}");
    let retransmissions = [&off, &attached].map(|ended| sum(ended, "retransmissions"));
    assert!(retransmissions.iter().all(|count| (20..80).contains(count)), "{retransmissions:?}");
}

/// One wrong bit anywhere in a TCP segment.
const ONE_BIT: &str = r#"
kind = "loss"
title = "One wrong bit in 2 % of the segments"
source = "this test"
[errors]
process = { loss = "2%" }
effect = { flip = { region = "segment", bits = 1 } }
"#;

/// TL-14, TL-33: wrong bits. The wrong bytes are exactly the delivered damage, in the right places.
fn wrong_bits(virtual_clock: bool, arguments: &[&str]) {
    let Some(lab) = lab(virtual_clock) else { return };
    fs::write(lab.path("one-bit.toml"), ONE_BIT).expect("a profile");
    let [off, on] = run(&lab, &plan("normal", "loss=./one-bit.toml"), arguments);
    assert_eq!(sum(&off, "wrong_bytes"), 0, "no checksum is right with one wrong bit");
    let accepted = count(&on, "accepted");
    assert!(accepted > 0 && accepted <= count(&on, "damaged"), "{on}");
    let wrong = sum(&on, "wrong_bytes");
    assert!(wrong > 0 && wrong <= accepted, "at most one in a segment: {on}");
    let discarded = on["run"]["lite"]["discarded"].as_object().expect("reasons");
    let discarded: u64 = discarded.values().filter_map(Value::as_u64).sum();
    assert_eq!(accepted + discarded, count(&on, "damaged"), "each has one outcome (TL-27): {on}");
}

#[test]
fn wrong_bits_are_delivered_in_place_by_the_real_clock() {
    wrong_bits(false, &[]);
}

#[test]
fn wrong_bits_are_delivered_in_place_by_the_virtual_clock() {
    wrong_bits(true, VIRTUAL);
}

/// Lite checks segments with complete checksums one by one, also on a link without errors: no
/// segment is unverifiable.
#[test]
fn segments_of_a_link_without_errors_can_be_judged() {
    let Some(lab) = lab(false) else { return };
    let [_, on] = run(&lab, &plan("normal", "loss=none"), &[]);
    assert_eq!((count(&on, "damaged"), count(&on, "unverifiable")), (0, 0), "{on}");
}

/// Programs are in the control group, as lasthop's own workloads are.
#[test]
fn connections_of_programs_accept_damage() {
    let Some(lab) = lab(false) else { return };
    let link = r#"
        down = "rate=20mbit,delay=2ms,queue=1000p,loss=2%,damage=checksum"
        up = "rate=20mbit,delay=2ms"
    "#;
    let fetch = program("fetch", "mobile", "curl -4 -sf -o got http://server/file && cmp got file");
    let rest = [mobile("thesis"), web_server("server", 1_000_000), fetch].concat();
    lab.succeed(&air(link, &rest), &[]);
    let ended = &lab.journal()[0];
    assert!(count(ended, "accepted") > 5 && count(ended, "accepted") == count(ended, "damaged"), "{ended}");
}

/// Returns the control groups of runs of the campaign with this PID.
fn groups_of(campaign: u32) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = groups().into_iter().collect();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.path().is_dir()) {
            if entry.file_name().to_string_lossy().starts_with(&format!("lasthop-{campaign}-")) {
                found.push(entry.path());
            }
            folders.push(entry.path());
        }
    }
    found
}

/// A run that is killed with its campaign leaves its control group, empty, and a note of it; an
/// interrupted run leaves nothing.
#[test]
fn no_control_group_is_left() {
    let Some(lab) = lab(false) else { return };
    let state = lab.path("state");
    let endless = program("endless", "mobile", &format!("sleep 1000 # {}", lab.folder().display()));
    let plan = air(r#"down = "rate=1mbit""#, &[mobile("thesis"), endless].concat());
    for (signal, left) in [("-INT", 0), ("-KILL", 1)] {
        let mut command = lab.command(&plan, &[]);
        let quiet = command.env("LASTHOP_STATE_DIR", &state).stdout(Stdio::null()).stderr(Stdio::null());
        let mut campaign = quiet.spawn().expect("lasthop runs");
        lab.wait_until("a sleeping program", |lab| {
            lab.processes().iter().any(|line| line.contains("sleep 1000 #"))
        });
        let [group] = &groups_of(campaign.id())[..] else { panic!("one control group") };
        let inside = fs::read_to_string(group.join("cgroup.procs")).expect("processes");
        assert!(inside.lines().count() >= 2, "the run and its program: {inside}");
        send(signal, campaign.id());
        campaign.wait().expect("gone");
        lab.wait_until("the end of all processes", |lab| lab.processes().is_empty());
        assert_eq!(groups_of(campaign.id()).len(), left, "{signal}");
        let output = lab.lasthop(&["clean"]).env("LASTHOP_STATE_DIR", &state).output().expect("lasthop runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert_eq!(groups_of(campaign.id()), Vec::<PathBuf>::new(), "{}", text(&output.stdout));
        assert!(!has_runs(&state), "{signal}");
        fs::remove_dir_all(lab.path("out")).expect("removed");
    }
}

/// Returns whether the state directory contains a run.
fn has_runs(state: &Path) -> bool {
    fs::read_dir(state).expect("the state directory").flatten().any(|entry| entry.path().is_dir())
}
