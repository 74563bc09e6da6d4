//! lasthop's congestion controls compared with those of Linux.

use crate::lab::plan::{KEEP_ALL, air, download};
use crate::lab::{Lab, VIRTUAL};
use crate::scenes::MARKING;
use serde_json::Value;
use std::fs;

/// A web-like workload that is seldom limited by its window: it starts late, and its 20 connections
/// follow each other.
const REQUESTS: &str = r#"
[[workloads]]
name = "web"
kind = "request"
from = "mobile"
to = "server"
start = "730ms"
response = "90kB"
times = 20
pause = "170ms"
"#;

/// Runs the plan with this congestion control at both nodes. Returns the bytes of the capture, and
/// the connections.
fn captured(lab: &Lab, plan: &str, congestion_control: &str) -> (Vec<u8>, Value) {
    let chosen = format!("[scenario]\ncongestion-control = \"{congestion_control}\"\n");
    lab.succeed(&plan.replacen("[scenario]\n", &chosen, 1), VIRTUAL);
    let capture = fs::read(lab.path("out/captures/c000-r00.pcapng")).expect("a capture");
    let connections = lab.journal()[0]["connections"].clone();
    fs::remove_dir_all(lab.path("out")).expect("removed");
    (capture, connections)
}

/// Returns a plan with these parameters of the downlink, and the rest of the plan.
fn plan(down: &str, rest: &str) -> String {
    let link = format!("down = \"rate=8mbit,delay=10ms,{down}\"\nup = \"rate=8mbit,delay=10ms\"");
    air(&link, &[KEEP_ALL, rest].concat())
}

/// Adds these sysctls to a plan.
fn with(sysctls: &str, plan: &str) -> String {
    plan.replacen("[scenario]\n", &format!("[scenario]\nsysctls = {{ {sysctls} }}\n"), 1)
}

fn sum(connections: &Value, field: &str) -> u64 {
    let rows = connections.as_array().expect("connections").iter();
    rows.map(|row| row[field].as_u64().expect("a number")).sum()
}

/// newreno has the window rules of Linux's reno (RFC 5681, RFC 6582), and recovery is the kernel's
/// in both, so both send the same packets at the same times. newzag has other thresholds, so the
/// comparison would show a difference.
#[test]
fn newreno_is_reno() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let bulk = download("3MB");
    let sack_off = "\"net.ipv4.tcp_sack\" = 0";
    fs::write(lab.path(MARKING.0), MARKING.1).expect("a profile");
    let link = format!("profile = \"{}\"\ndown = \"loss=0.2%\"", MARKING.0);
    let marked = air(&link, &[KEEP_ALL, &bulk].concat());
    let cases = [
        ("random losses", plan("queue=200p,loss=1%", &bulk)),
        ("a small queue", plan("queue=10p", &bulk)),
        ("bursts", plan("queue=60p,loss=2%,burst=30ms", &bulk)),
        ("limited by the application", plan("queue=200p,loss=1%", REQUESTS)),
        ("without ECN", with("\"net.ipv4.tcp_ecn\" = 0", &plan("queue=30p,loss=0.5%", &bulk))),
        ("with ECN marks", with("\"net.ipv4.tcp_ecn\" = 1", &marked)),
        ("without SACK", with(sack_off, &plan("queue=200p,loss=1%", &bulk))),
        ("without SACK, a small queue", with(sack_off, &plan("queue=10p", &bulk))),
    ];
    for (name, plan) in &cases {
        let (reno, connections) = captured(&lab, plan, "reno");
        let (newreno, ours) = captured(&lab, plan, "newreno");
        assert!(connections.to_string().contains("\"congestion_control\":\"reno\""), "{connections}");
        assert!(ours.to_string().contains("\"congestion_control\":\"newreno\""), "{ours}");
        let repaired = sum(&connections, "retransmissions");
        println!("{name}: {} bytes of packets, {repaired} segments sent again", reno.len());
        assert!(reno.len() > 200_000 && repaired >= 5, "{name}: {} bytes, {repaired} again", reno.len());
        let differs = reno.iter().zip(&newreno).position(|(one, other)| one != other);
        assert!(reno == newreno, "{name}: {} and {} bytes, first at {differs:?}", reno.len(), newreno.len());
    }
    let (_, plan) = &cases[0];
    let [reno, newzag] = ["reno", "newzag"].map(|name| captured(&lab, plan, name).0);
    assert!(reno != newzag, "newzag keeps more of its window");
}

/// Vegas, Veno and Westwood are new implementations of their papers, with fewer shortcuts than
/// Linux's, but of the same ideas. The accepted ranges are wide: they detect a wrong unit or a
/// wrong sign, not a rounding.
#[test]
fn others_come_near_to_linuxs_own() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let bulk = download("4MB");
    for (name, plan) in [
        ("no losses, a large queue", plan("queue=200p", &bulk)),
        ("random losses", plan("queue=200p,loss=0.5%", &bulk)),
        ("a small queue", plan("queue=15p", &bulk)),
    ] {
        for linux in ["vegas", "veno", "westwood"] {
            let measured = |control: &str| {
                let (_, connections) = captured(&lab, &plan, control);
                let goodput = connections[0]["goodput_bps"].as_f64().expect("a goodput") / 1e6;
                let rtt = connections[0]["round_trips"]["median_ns"].as_f64().expect("a time") / 1e6;
                (goodput, rtt)
            };
            let (theirs, ours) = (measured(linux), measured(&format!("lh-{linux}")));
            println!("{name}: {linux} {theirs:.2?}, lh-{linux} {ours:.2?}, in Mbit/s and ms (median RTT)");
            let (goodput, rtt) = (ours.0 / theirs.0, ours.1 / theirs.1);
            assert!(
                (0.8..1.25).contains(&goodput),
                "{name}: lh-{linux} has {goodput:.2} of {linux}'s goodput"
            );
            assert!(
                (0.6..1.6).contains(&rtt),
                "{name}: lh-{linux} has {rtt:.2} of {linux}'s round-trip time"
            );
        }
    }
}
