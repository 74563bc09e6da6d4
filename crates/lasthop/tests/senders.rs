//! Tests of the per-ACK recorder of `lasthop run`, compared with the capture of the same run.

mod lab;

use capture::packets;
use capture::senders::{CongestionState, INFINITE_SSTHRESH, Reader, SenderState};
use lab::Lab;
use packet::Tcp;
use packet::segment::{Content, Segment};
use std::fs;
use std::path::Path;
use std::process::Command;

const VIRTUAL: &[&str] = &["--clock", "virtual"];
const TABLE: &str = "events/c000-r00-senders.parquet";
/// Maximum bytes in a segment: 1500 less IP, TCP and timestamps.
const SEGMENT: u32 = 1448;

/// Bulk TCP from `server` with reno; only packet 300 towards `mobile` is lost.
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

/// Returns the numbers that `mobile` acknowledged, as they arrived at `server`, without the SYN.
fn acknowledged(capture: &Path) -> Vec<u32> {
    let mut reader = packets::Reader::open(capture).expect("a capture");
    let mut numbers = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        // The second end of the link is the server's.
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
    let Some(lab) = Lab::new() else { return };
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        skip::skip!("the recorder: this kernel does not describe itself (BTF)");
        return;
    }
    let states = record(&lab, &[], "ebpf tp_btf/tcp_probe");
    agrees_with_capture(&lab.path("out"), &states);
    halves_at_the_loss(&lab.path("out"), &states);
    shown_as_table(&lab, &states);
}

#[test]
fn the_virtual_clock_has_the_same_recorder() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let states = record(&lab, VIRTUAL, "tracefs tcp/tcp_probe");
    agrees_with_capture(&lab.path("out"), &states);
    goes_on_after_a_close(&lab.path("out"), &states);
    halves_at_the_loss(&lab.path("out"), &states);
    shown_as_table(&lab, &states);
    let first = fs::read(lab.path("out").join(TABLE)).expect("a table");
    fs::remove_dir_all(lab.path("out")).expect("removed");
    record(&lab, VIRTUAL, "tracefs tcp/tcp_probe");
    assert!(first == fs::read(lab.path("out").join(TABLE)).expect("a table"), "the same bytes again");
}

/// Runs the plan and returns the recorded states; `source` is the expected source of the records.
fn record(lab: &Lab, arguments: &[&str], source: &str) -> Vec<SenderState> {
    fs::write(lab.path("one.toml"), LOSS).expect("a loss profile");
    let output = lab.run(PLAN, arguments);
    assert!(output.status.success(), "{}", lab::text(&output.stderr));
    let run = &lab.journal()[0]["run"];
    assert_eq!(run["senders"], serde_json::json!([TABLE]), "{run}");
    let reader = Reader::open(&lab.path("out").join(TABLE)).expect("a table");
    assert_eq!((reader.lost(), reader.tail()), (0, "complete"));
    assert_eq!(
        (reader.header().nodes.as_slice(), reader.header().source.as_str()),
        (["mobile".to_owned(), "server".to_owned()].as_slice(), source)
    );
    reader.map(|state| state.expect("a state")).collect()
}

/// Returns only the states of the data sender.
fn of_sender(states: &[SenderState]) -> Vec<&SenderState> {
    states.iter().filter(|state| state.remote.port() == 5001).collect()
}

/// Each state is the one between two acknowledgements in the capture. Several may reach TCP
/// together while its program holds the socket.
fn agrees_with_capture(out: &Path, states: &[SenderState]) {
    let sender = of_sender(states);
    assert!(sender.iter().all(|state| state.node == 1 && state.local.ip().to_string() == "10.0.0.2"));
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

    // The segments cover the outstanding sequence numbers, and some may be short.
    for state in &sender {
        let bytes = state.snd_nxt.wrapping_sub(state.snd_una);
        assert!(state.packets_out.is_some_and(|out| out * SEGMENT >= bytes), "{state:?}");
        assert!(
            state.in_flight() <= state.packets_out.zip(state.retrans_out).map(|(out, again)| out + again),
            "{state:?}"
        );
    }
}

/// `bulk` closes its side as soon as the last byte is in the send buffer. States go on until the
/// FIN is acknowledged (kernel/patches/07).
fn goes_on_after_a_close(out: &Path, states: &[SenderState]) {
    let numbers = acknowledged(&out.join("captures/c000-r00.pcapng"));
    let last = of_sender(states).pop().expect("a state");
    assert_eq!(Some(&last.snd_nxt), numbers.last(), "the number behind the FIN: {last:?}");
}

/// RFC 5681 section 3.2: the threshold is half of the window that was in use when the loss was
/// noticed. RFC 6298: the timeout is the smoothed round-trip time plus four times its variation. In
/// Linux it is at least 200 ms more than the smoothed round-trip time.
fn halves_at_the_loss(out: &Path, states: &[SenderState]) {
    let sender = of_sender(states);
    let recovery = sender.iter().position(|state| state.state == Some(CongestionState::Recovery));
    let recovery = recovery.expect("a recovery");
    let (before, after) = (sender[recovery - 1], sender[recovery]);
    assert_eq!(before.ssthresh, Some(INFINITE_SSTHRESH));
    assert_eq!(after.ssthresh, Some(before.cwnd / 2));
    assert_eq!((before.retransmitted, after.retransmitted), (Some(0), Some(1)));
    let reopened = sender[recovery..].iter().find(|state| state.state == Some(CongestionState::Open));
    let window = reopened.expect("the end of recovery").cwnd;
    // The acknowledgement that ends the recovery may also increase the window by a segment.
    assert!((before.cwnd / 2..=before.cwnd / 2 + 1).contains(&window), "{window} after {}", before.cwnd);
    let fates = capture::fates::Reader::open(&out.join("events/c000-r00.parquet")).expect("fates");
    let lost: Vec<_> = fates.map(|fate| fate.expect("a fate")).filter(|fate| fate.lost.is_some()).collect();
    assert_eq!(lost.len(), 1, "the queue is endless");
    assert!(lost[0].left < before.at && after.at.since(lost[0].left).as_nanos() < 1_000_000_000);

    for state in &sender {
        let (srtt, rto) = (state.srtt_us.expect("a round trip"), state.rto_us.expect("a timeout"));
        assert!(rto >= u64::from(srtt) + 199_000, "{state:?}");
        assert!(
            state.rttvar_us.is_some_and(|variation| u64::from(srtt + 4 * variation) <= rto + 1000),
            "{state:?}"
        );
    }
}

/// Checks the states as CSV.
fn shown_as_table(lab: &Lab, states: &[SenderState]) {
    let output = Command::new(env!("CARGO_BIN_EXE_lasthop"))
        .current_dir(lab.path("out"))
        .args(["analyze", "--senders", TABLE])
        .output()
        .expect("lasthop runs");
    assert!(output.status.success(), "{}", lab::text(&output.stderr));
    let text = lab::text(&output.stdout);
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

/// ltcp-newzag E5-3: a window of 69 segments is the maximum all the time, also after the first
/// segments have shown how much memory they take and the buffer has grown (kernel/patches/09), and
/// the sender fills it.
#[test]
fn the_window_of_a_scenario_limits_for_the_whole_connection() {
    const WINDOW: u32 = 69 * SEGMENT;
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let scenario = format!("[scenario]\nreceive-window = \"{WINDOW}B\"\n");
    lab.succeed(
        &PLAN.replacen("[scenario]\n", &scenario, 1).replacen("loss = \"one.toml\"\n", "", 1),
        VIRTUAL,
    );
    let rows: Vec<SenderState> = Reader::open(&lab.path("out").join(TABLE))
        .expect("states of senders")
        .collect::<Result<_, _>>()
        .expect("rows");
    let rows: Vec<&SenderState> =
        rows.iter().filter(|row| row.local.port() == 5001 || row.remote.port() == 5001).collect();
    let largest = rows.iter().map(|row| row.snd_wnd).max().expect("windows");
    assert!((WINDOW - SEGMENT..=WINDOW).contains(&largest), "{largest} of {WINDOW}");
    let most = rows.iter().map(|row| row.snd_nxt.wrapping_sub(row.snd_una)).max().expect("rows");
    assert!((WINDOW - 2 * SEGMENT..=WINDOW).contains(&most), "{most} outstanding of {WINDOW}");
}
