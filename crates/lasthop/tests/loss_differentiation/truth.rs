//! Classifications of losses compared with their true causes.

use crate::lab::plan::{KEEP_ALL, air, download};
use crate::lab::{Lab, VIRTUAL};
use capture::Cause;
use capture::columnar::Table;
use capture::senders::{LossVerdict, Reason};
use results::{LossEvent, LossKind};
use std::fs;

/// A loss profile that loses exactly these packets.
const LISTED: &str = r#"
kind = "loss"
title = "One packet, and three"
source = "ours"
directions = ["down"]
[errors]
process = { packets = "300,900-902" }
effect = "lose"
"#;

/// Datagrams for 150 ms at four times the rate of the link, 2 s after the start.
const CROWD: &str = r#"
[[workloads]]
name = "crowd"
kind = "datagrams"
from = "server"
to = "mobile"
start = "2s"
rate = "40mbit"
duration = "150ms"
background = true
"#;

/// Runs a plan and returns the loss events of the download.
fn losses(lab: &Lab, link: &str, congestion_control: &str, rest: &str) -> Vec<LossEvent> {
    fs::write(lab.path("listed.toml"), LISTED).expect("a loss profile");
    let scenario =
        format!("[scenario]\nreceive-window = \"65535B\"\ncongestion-control = \"{congestion_control}\"\n");
    let capture = format!("{KEEP_ALL}losses = \"all\"\n");
    let plan = air(link, &[&download("4MB"), rest, &capture].concat()).replacen("[scenario]\n", &scenario, 1);
    lab.succeed(&plan, VIRTUAL);
    let events = &lab.journal()[0]["connections"][0]["losses"];
    let events: Vec<LossEvent> = serde_json::from_value(events.clone()).expect("loss events");
    in_table(lab, &events);
    events
}

/// Checks that losses.parquet equals the journal.
fn in_table(lab: &Lab, events: &[LossEvent]) {
    let table = Table::read(&lab.path("out/losses.parquet")).expect("a table");
    let rows = |name: &str| -> Vec<String> {
        let values = &table.column(name).expect("a column").values;
        (0..table.rows()).map(|row| values.text(row).unwrap_or_default()).collect()
    };
    let expected = |text: fn(&LossEvent) -> String| -> Vec<String> { events.iter().map(text).collect() };
    assert_eq!(rows("at_ns"), expected(|event| event.at_ns.to_string()));
    assert_eq!(rows("kind"), expected(|event| event.kind.name().into()));
    assert_eq!(rows("cause"), expected(|event| event.cause.name().into()));
    assert_eq!(rows("n"), expected(|event| event.n.map(|n| n.to_string()).unwrap_or_default()));
    assert_eq!(rows("lost"), expected(|event| event.lost.to_string()));
    let verdict = |event: &LossEvent| event.verdict.map(|verdict| verdict.name().into()).unwrap_or_default();
    assert_eq!(rows("verdict"), expected(verdict));
}

/// Returns the number of data packets of the download that a full queue dropped before `end_ns`. At
/// `end_ns` itself, an acknowledgement lets the sender send another, which belongs to no event yet.
fn without_room(lab: &Lab, end_ns: u64) -> u32 {
    let events =
        capture::fates::Reader::open(&lab.path("out/events/c000-r00.parquet")).expect("an event log");
    let fates = events.map(|fate| fate.expect("a fate"));
    let lost = fates.filter(|fate| {
        let port = fate.flow.and_then(|flow| flow.ports).map(|(_, destination)| destination);
        fate.lost.is_some() && fate.stage.as_deref() == Some("bottleneck") && port == Some(5001)
    });
    lost.filter(|fate| fate.left.as_nanos() < end_ns).count() as u32
}

/// The receiver's window is too small to fill the queue. The only losses are therefore packets 300,
/// at 0.4 s, and 900 to 902, at 1.1 s, and those that find the queue full of datagrams, from 2.0 s
/// on.
#[test]
fn one_packet_is_wireless_and_a_full_queue_is_congestion() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let link = "loss = \"listed.toml\"\ndown = \"rate=10mbit,delay=25ms,queue=60p\"\nup = \"rate=10mbit,delay=25ms\"";
    for name in ["newzag", "spike", "newreno", "reno"] {
        let events = losses(&lab, link, name, CROWD);
        for event in &events {
            println!("{name}: {event:?}");
        }
        let [one, three, behind @ ..] = &events[..] else { panic!("{name}: {events:?}") };
        for (event, lost, from_ms) in [(one, 1, 300), (three, 3, 1000)] {
            assert_eq!((event.kind, event.cause, event.lost), (LossKind::Recovery, Cause::Wireless, lost));
            assert!((from_ms..from_ms + 500).contains(&(event.at_ns / 1_000_000)), "{event:?}");
        }
        let [crowded, ..] = behind else { panic!("{name}: the queue was full") };
        assert!(behind.iter().all(|event| event.cause == Cause::Congestion), "{behind:?}");
        assert!((2_000_000_000..2_300_000_000).contains(&crowded.at_ns), "{crowded:?}");
        assert_eq!((crowded.kind, crowded.lost), (LossKind::Recovery, without_room(&lab, crowded.at_ns)));
        assert!(crowded.lost >= 10, "{crowded:?}");
        if name == "reno" {
            assert!(events.iter().all(|event| event.n.is_none() && event.verdict.is_none()), "{events:?}");
        } else {
            assert_eq!(
                (one.n, three.n),
                (Some(1), Some(3)),
                "SACK tells all three when it tells that they are lost"
            );
            // Of the losses to the crowd, it knows only those that the first acknowledgements after
            // a hole reported.
            assert!(crowded.n.is_some_and(|n| n >= 1 && u32::from(n) <= crowded.lost), "{crowded:?}");
            judged_as(name, one, crowded);
        }
        fs::remove_dir_all(lab.path("out")).expect("removed");
    }
}

/// Before the crowd the queue is steady and shorter than 5 ms, with the crowd it is 72 ms: Spike
/// distinguishes the two. NewZag decides as its values require.
fn judged_as(name: &str, first: &LossEvent, crowded: &LossEvent) {
    match name {
        "newreno" => assert_eq!((first.verdict, crowded.verdict), (None, None)),
        "spike" => {
            assert_eq!((first.verdict, first.reason), (Some(LossVerdict::Wireless), Some(Reason::Detector)));
            assert_eq!(
                (crowded.verdict, crowded.reason),
                (Some(LossVerdict::Congestion), Some(Reason::Detector))
            );
        }
        _ => {
            let below =
                |event: &LossEvent, limit_ns| u64::from(event.rtt_us.expect("a time")) * 1000 < limit_ns;
            let mean_ns = first.mean_ns.expect("a mean");
            assert_eq!(first.verdict == Some(LossVerdict::Wireless), below(first, mean_ns), "{first:?}");
            let (mean_ns, dev_ns) = crowded.mean_ns.zip(crowded.dev_ns).expect("statistics");
            assert!(!below(crowded, mean_ns + dev_ns / 2), "a queue that fills: {crowded:?}");
            assert_eq!(crowded.verdict, Some(LossVerdict::Congestion));
        }
    }
}

/// An outage loses all packets in transit, and some of their retransmissions while it lasts.
#[test]
fn an_outage_is_neither() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let link = "down = \"rate=10mbit,delay=10ms,queue=60p,outage=1s+700ms\"\nup = \"rate=10mbit,delay=10ms\"";
    let events = losses(&lab, link, "newzag", "");
    println!("{events:?}");
    let timeout = events.iter().find(|event| event.kind == LossKind::Timeout).expect("a timeout");
    assert_eq!((timeout.cause, timeout.n), (Cause::Outage, None));
    assert_eq!((timeout.verdict, timeout.reason), (Some(LossVerdict::Congestion), Some(Reason::Timeout)));
    assert!(timeout.lost >= 10, "a window: {timeout:?}");
    assert_eq!(timeout.ssthresh, Some((timeout.cwnd / 2).max(2)));
    assert!(events.iter().all(|event| event.cause != Cause::Wireless && event.cause != Cause::Congestion));
}
