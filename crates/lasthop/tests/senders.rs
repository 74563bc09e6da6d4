//! The per-ACK recorder of `lasthop run`, held against the capture of the same run.

use capture::packets;
use capture::senders::{CongestionState, INFINITE_SSTHRESH, Reader, SenderState};
use packet::Tcp;
use packet::segment::{Content, Segment};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Bulk TCP from `server` with reno; packet 300 towards `mobile` is lost and nothing else.
const PLAN: &str = r#"
seed = 7
[scenario]
congestion-control = "reno"
[[scenario.links]]
name = "air"
between = ["mobile", "server"]
loss = "one.toml"
down = "rate=10mbit,delay=10ms,queue=10000p"
up = "rate=10mbit,delay=10ms"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "3MB"
[capture]
senders = "all"
"#;

const LOSS: &str = r#"
kind = "loss"
title = "One packet"
source = "ours"
directions = ["down"]
[errors]
process = { packets = "300" }
effect = "lose"
"#;

/// Why the recorder cannot work here, if it cannot.
fn impossible() -> Option<&'static str> {
    let namespaces = Command::new("unshare").args(["--net", "--mount", "--pid", "--fork", "true"]).output();
    if !namespaces.is_ok_and(|output| output.status.success()) {
        return Some("making namespaces needs root");
    }
    (!Path::new("/sys/kernel/btf/vmlinux").exists()).then_some("this kernel does not describe itself (BTF)")
}

fn lasthop(folder: &Path, arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .current_dir(folder)
        .args(arguments)
        .output()
        .expect("lasthop runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Numbers that `mobile` acknowledged, as they came to `server`, the SYN left out.
fn acknowledged(capture: &Path) -> Vec<u32> {
    let mut reader = packets::Reader::open(capture).expect("a capture");
    let mut numbers = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        // The second end of the link is that of the server.
        if let Ok(Content::Tcp(segment)) = Segment::read(view.bytes)
            && view.number == 1
            && segment.source_port == 5001
            && segment.tcp.flags & Tcp::SYN == 0
        {
            numbers.push(segment.tcp.acknowledgment);
        }
    }
    numbers
}

#[test]
fn states_agree_with_the_capture_and_reno_halves_its_window_at_the_loss() {
    if let Some(why) = impossible() {
        println!("skipped: {why}");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("plan.toml"), PLAN).expect("a plan");
    fs::write(folder.path().join("one.toml"), LOSS).expect("a loss profile");
    lasthop(folder.path(), &["run", "plan.toml", "--out", "out"]);
    let out = folder.path().join("out");
    let journal = fs::read_to_string(out.join("runs.jsonl")).expect("a journal");
    let journal: Value = serde_json::from_str(journal.lines().next().expect("a run")).expect("JSON");
    assert_eq!(
        journal["run"]["senders"],
        serde_json::json!(["events/c000-r00-senders.parquet"]),
        "{journal}"
    );

    let table = out.join("events/c000-r00-senders.parquet");
    let reader = Reader::open(&table).expect("a table");
    assert_eq!((reader.lost(), reader.tail()), (0, "complete"));
    assert_eq!(reader.header().nodes, ["mobile", "server"]);
    let states: Vec<_> = reader.map(|state| state.expect("a state")).collect();
    let sender: Vec<&SenderState> = states.iter().filter(|state| state.remote.port() == 5001).collect();
    assert!(sender.iter().all(|state| state.node == 1 && state.local.ip().to_string() == "10.0.0.2"));

    // Each state is that between two acknowledgements of the capture. Some may reach TCP together, while its program holds
    // the socket.
    let numbers = acknowledged(&out.join("captures/c000-r00.pcapng"));
    let mut coming = numbers.iter().peekable();
    let mut highest = sender[0].snd_una;
    let mut passed = 0;
    for state in &sender {
        while highest != state.snd_una {
            let next = *coming.next().unwrap_or_else(|| panic!("nobody acknowledged {}", state.snd_una));
            passed += 1;
            if next.wrapping_sub(highest) < 1 << 31 {
                highest = next;
            }
        }
    }
    assert!(sender.len() <= numbers.len(), "{} states, {} segments", sender.len(), numbers.len());
    assert!(sender.len() * 10 > passed * 8, "{} states, {passed} segments", sender.len());

    // RFC 5681 section 3.2: half of the window that was in use when the loss was noticed.
    let recovery = sender.iter().position(|state| state.state == Some(CongestionState::Recovery));
    let recovery = recovery.expect("a recovery");
    let (before, after) = (sender[recovery - 1], sender[recovery]);
    assert_eq!(before.ssthresh, Some(INFINITE_SSTHRESH));
    assert_eq!(after.ssthresh, Some(before.cwnd / 2));
    assert_eq!((before.retransmitted, after.retransmitted), (Some(0), Some(1)));
    let reopened = sender[recovery..].iter().find(|state| state.state == Some(CongestionState::Open));
    let window = reopened.expect("the end of recovery").cwnd;
    // The acknowledgement that ends the recovery may be the one that makes the window a segment larger.
    assert!((before.cwnd / 2..=before.cwnd / 2 + 1).contains(&window), "{window} after {}", before.cwnd);
    let fates = capture::table::Reader::open(&out.join("events/c000-r00.parquet")).expect("fates");
    let lost: Vec<_> = fates.map(|fate| fate.expect("a fate")).filter(|fate| fate.lost.is_some()).collect();
    assert_eq!(lost.len(), 1, "the queue is endless");
    assert!(lost[0].left < before.at && after.at.since(lost[0].left).as_nanos() < 1_000_000_000);

    // The same as CSV.
    let output = lasthop(&out, &["trace", "--senders", "events/c000-r00-senders.parquet"]);
    let text = String::from_utf8(output.stdout).expect("text");
    let (head, first) = text.split_once('\n').expect("lines");
    let field = |name: &str| {
        let place = head.split(',').position(|column| column == name).expect("a column");
        first.lines().next().and_then(|line| line.split(',').nth(place)).expect("a cell")
    };
    assert_eq!(text.lines().count(), states.len() + 1);
    assert_eq!(field("time_ns"), states[0].at.as_nanos().to_string());
    assert_eq!(field("node"), if states[0].node == 1 { "server" } else { "mobile" });
    assert_eq!(field("cwnd_segments"), states[0].cwnd.to_string());
}
