//! Tests of links with a retransmitting link layer, as a user runs them with the virtual clock.
//!
//! These tests need the kernel (`lasthop kernel build`, which `make test` does once) and are
//! skipped without it.

mod lab;

use lab::plan::{KEEP_ALL, air, download};
use lab::{Lab, VIRTUAL, text};
use serde_json::Value;
use std::fs;

/// RLP below the real TCP: 20 kB take the time of 1200 octets per second, less headers. Blocks lost
/// on the air cost time, but TCP sees no loss. The same seed gives the same packets.
#[test]
fn a_download_over_the_radio_link_protocol() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let page: Vec<u8> = (0..20_000u32).map(|at| (at * at / 7) as u8).collect();
    fs::write(lab.path("page"), &page).expect("written");
    let link = |parameters: &str, name: &str| {
        let (capture, json) = (format!("{name}.pcapng"), format!("{name}.json"));
        let output = lab
            .lasthop(&["link", "--clock", "virtual", "--seed", "7", "--profile", "gsm", "--arq", "rlp:n2=inf"])
            .args(["--down", parameters, "--serve", "python3 -m http.server 80 2>/dev/null"])
            .args(["--capture", &capture, "--json", &json, "--keep", name, "--", "sh", "-c"])
            .arg("curl -s -w '%{time_total} %{time_starttransfer}' -o $LASTHOP_KEEP/got http://host.lasthop/page")
            .output()
            .expect("lasthop runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(fs::read(lab.path(name).join("got")).expect("kept") == page, "the data are intact");
        let stdout = text(&output.stdout);
        let (total, first) = stdout.split_once(' ').expect("two times");
        let seconds = total.parse::<f64>().expect("a number") - first.parse::<f64>().expect("a number");
        let summary: Value =
            serde_json::from_slice(&fs::read(lab.path(&json)).expect("written")).expect("JSON");
        (seconds, summary, fs::read(lab.path(&capture)).expect("a capture"))
    };
    let (clean, summary, _) = link("queue=50p", "clean");
    // 576 octets carry 524 of data, and the link layer adds 7 to each packet: 1079 octets of data
    // per second.
    let rate = 20_000.0 / clean;
    assert!((1000.0..1150.0).contains(&rate), "{rate} octets/s");
    assert_eq!(summary["down"]["link_layer"]["again"], 0, "{summary}");
    let (lossy, summary, capture) = link("queue=50p,loss=10%", "lossy");
    assert!(lossy > clean * 1.05, "{lossy} s and {clean} s");
    for direction in ["up", "down"] {
        assert_eq!(summary[direction]["lost"], 0, "{summary}");
    }
    let counted = &summary["down"]["link_layer"];
    assert!(counted["erased"].as_u64() > Some(50) && counted["again"].as_u64() > Some(50), "{summary}");
    let (_, _, again) = link("queue=50p,loss=10%", "again");
    assert!(capture == again, "the same packets");
}

/// LL-07: the records of both ends, as a table beside the event log, as RLP traces, from which
/// blocks are made (LL-36), and the blocks themselves. All agree with the counters and with each
/// other.
#[test]
fn what_the_ends_of_a_link_layer_noted() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    fs::write(lab.path("page"), vec![7; 5000]).expect("written");
    let link = |more: &[&str]| {
        let output = lab
            .lasthop(&[
                "link",
                "--clock",
                "virtual",
                "--seed",
                "7",
                "--profile",
                "gsm-rlp",
                "--down",
                "loss=10%",
            ])
            .args(["--json", "s.json", "--serve", "python3 -m http.server 80 2>/dev/null"])
            .args(more)
            .args(["--", "curl", "-s", "-o", "/dev/null", "http://host.lasthop/page"])
            .output()
            .expect("lasthop runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    link(&["--events", "x.parquet", "--rlpdump", "call.rlp"]);
    let summary: Value =
        serde_json::from_slice(&fs::read(lab.path("s.json")).expect("written")).expect("JSON");
    let counted =
        |direction: &str, what: &str| summary[direction]["link_layer"][what].as_u64().expect("a number");
    let rows: Vec<_> = capture::link_layer::Reader::open(&lab.path("x-link-layer.parquet"))
        .expect("a table")
        .map(|row| row.expect("a row"))
        .collect();
    let noted = |end, event: &str| {
        rows.iter().filter(|row| (row.end, row.record.event.word()) == (end, event)).count() as u64
    };
    let (up, down) = (capture::Direction::Up, capture::Direction::Down);
    assert_eq!(
        (noted(up, "DATA"), noted(down, "DATA")),
        (counted("up", "frames"), counted("down", "frames"))
    );
    assert_eq!(noted(down, "XMIT"), counted("down", "again"));
    // Blocks of the last 120 ms have not arrived.
    let lost = counted("down", "erased");
    assert!(noted(down, "XMIT") > 5 && (lost - 6..=lost).contains(&noted(up, "ERAS")), "{summary}");
    let trace = |end: &str| fs::read_to_string(lab.path(&format!("call-{end}.rlp"))).expect("a trace");
    for end in ["mobile", "network"] {
        let printed = lab
            .lasthop(&["analyze", "--rlpdump", "--end", end, "x-link-layer.parquet"])
            .output()
            .expect("runs");
        assert_eq!(text(&printed.stdout), trace(end), "{}", text(&printed.stderr));
    }
    let blocks = lab.lasthop(&["retracer", "blocks", "call-mobile.rlp"]).output().expect("runs");
    let erased = text(&blocks.stdout)
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::chars)
        .filter(|c| *c == '1')
        .count();
    assert_eq!(erased as u64, noted(up, "ERAS"), "{}", text(&blocks.stderr));

    // The same call again, with every block of it at both ends.
    link(&["--rlpdump", "call.pcapng"]);
    let capture = fs::File::open(lab.path("call.pcapng")).expect("a capture");
    let packets: Vec<_> =
        capture::packets::Reader::new(capture).expect("one").map(|packet| packet.expect("whole")).collect();
    let arrived = |up: bool, right: bool| {
        let at = |packet: &&capture::packets::Packet| {
            packet.inbound == Some(true) && (packet.interface == 0) == up
        };
        packets
            .iter()
            .filter(at)
            .filter(|packet| packet::rlp::Frame::parse(&packet.bytes[44..]).is_ok() == right)
            .count() as u64
    };
    assert_eq!((arrived(true, false), arrived(true, true)), (noted(up, "ERAS"), noted(up, "OK")));
    assert_eq!((arrived(false, false), arrived(false, true)), (0, noted(down, "OK")));
    assert!(!lab.path("call-link-layer.parquet").exists(), "nobody asked for the table");
}

/// A plan can give a link a link layer. Packets that the link layer gave up appear with that fate
/// in the event log and the captures.
#[test]
fn a_plan_with_a_link_layer() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let link = "profile = \"gsm\"\nloss = \"lite-4\"\narq = \"rlp:n2=1,give-up\"";
    let output = lab.run(&air(link, &[KEEP_ALL, &download("20kB")].concat()), VIRTUAL);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(lab.journal()[0]["run"]["verdict"], "good");
    let capture = fs::read(lab.path("out/captures/c000-r00.pcapng")).expect("a capture");
    let says = |what: &str| capture.windows(what.len()).any(|bytes| bytes == what.as_bytes());
    assert!(says("given up by the link layer"), "the fate of a packet is its comment");
    assert!(says("rlp:n2=1,give-up"), "the link's description names its link layer");
    assert!(!lab.path("out/events/c000-r00-link-layer.parquet").exists(), "not asked for");
    let counted = |direction: usize, what: &str| {
        lab.journal()[0]["run"]["links"][direction]["link_layer"][what].as_u64().expect("a number")
    };
    assert!(counted(1, "frames") > 800 && counted(1, "again") > 0 && counted(1, "erased") > 0);

    let keep = "[capture]\nkeep = \"none\"\nlink-layer = \"all\"\nblocks = \"all\"\n";
    let output =
        lab.run(&air(link, &[keep, &download("20kB")].concat()), &[VIRTUAL, &["--out", "dump"]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = capture::link_layer::Reader::open(&lab.path("dump/events/c000-r00-link-layer.parquet"))
        .expect("a table");
    let data = rows.map(|row| row.expect("a row")).filter(|row| row.record.event.word() == "DATA");
    assert_eq!(
        data.count() as u64,
        counted(0, "frames") + counted(1, "frames"),
        "the same seed, the same frames"
    );
    assert!(lab.path("dump/captures/c000-r00-blocks.pcapng").exists());
    assert!(!lab.path("dump/captures/c000-r00.pcapng").exists());
}
/// LL-35: a run with a dropped call is marked, is not a failure, and counts only on request.
#[test]
fn ll_35_a_dropped_call() {
    let link = "profile = \"gsm\"\nloss = \"lite-4\"\narq = \"rlp:n2=1,disconnect\"";
    let plan = air(link, &["[stop]\nafter = \"10m\"\n", &download("20kB")].concat());
    let ran = |besides: &[&str]| -> Option<(Value, Value)> {
        let lab = Lab::with_virtual_clock()?;
        let output = lab.run(&plan, &[VIRTUAL, &["--json"], besides].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let summary: Value = serde_json::from_str(text(&output.stdout).trim()).expect("JSON");
        Some((summary["cells"][0].clone(), lab.journal()[0]["run"].clone()))
    };
    let Some((cell, run)) = ran(&[]) else { return };
    assert_eq!(
        (&cell["dropped_calls"], &cell["failed"], &cell["goodput"]),
        (&1.into(), &0.into(), &Value::Null)
    );
    assert_eq!(run["verdict"], "dropped-call");
    let why = run["reasons"][0].as_str().expect("a reason");
    assert!(why.starts_with("the link layer of `air`"), "{why}");
    let (asked, _) = ran(&["--dropped-calls"]).expect("the clock is there");
    assert_eq!(asked["goodput"]["count"], 1, "{asked}");
}
