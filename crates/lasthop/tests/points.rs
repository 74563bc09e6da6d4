//! Tests of the four points of measurement (M19): what every connection had at both hosts and at
//! both interfaces of the access point, against the captures and the kernel's counters.

mod lab;

use capture::columnar::Table;
use lab::Lab;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// A transfer over a wireless hop and an Internet that loses packets.
fn plan(carrier: &str) -> String {
    format!(
        r#"
seed = 3
[scenario]
stack = "ns-2"
sysctls = {{ "net.ipv6.conf.all.disable_ipv6" = 1 }}
[[scenario.nodes]]
name = "mobile"
sockets = {{ at = "access", carrier = "{carrier}" }}
[[scenario.links]]
name = "air"
between = ["mobile", "access"]
up = "rate=2mbit,delay=20ms"
down = "rate=2mbit,delay=20ms"
[[scenario.links]]
name = "internet"
between = ["access", "server"]
up = "rate=10mbit,delay=10ms"
down = "rate=10mbit,delay=10ms,loss=3%"
[[workloads]]
name = "page"
kind = "request"
from = "mobile"
to = "server"
response = "200kB"
times = 2
[capture]
keep = "all"
events = "none"
points = "all"
"#
    )
}

/// A row of points.parquet, by the names of its columns.
type Row = BTreeMap<String, String>;

fn rows(lab: &Lab) -> Vec<Row> {
    let table = Table::read(&lab.path("out/points.parquet")).expect("a table");
    let cell = |row: usize| {
        let columns = table.columns.iter();
        columns.map(|column| (column.name.clone(), column.values.text(row).unwrap_or_default())).collect()
    };
    (0..table.rows()).map(cell).collect()
}

fn number(row: &Row, column: &str) -> u64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} of {row:?}"))
}

/// Sums a column over the rows that satisfy the condition.
fn sum(rows: &[Row], column: &str, wanted: impl Fn(&Row) -> bool) -> u64 {
    rows.iter().filter(|row| wanted(row)).map(|row| number(row, column)).sum()
}

/// Packets and bytes of each interface in the capture, counted without any analysis.
fn in_the_capture(lab: &Lab) -> BTreeMap<(String, String), (u64, u64)> {
    let mut reader =
        capture::packets::Reader::open(&lab.path("out/captures/c000-r00.pcapng")).expect("a capture");
    let mut counted: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        let (link, end) = view.captured_at.name.split_once(' ').expect("a link and its end");
        let nodes = if link == "air" { ["mobile", "access"] } else { ["access", "server"] };
        let node = nodes[usize::from(end == "network end")];
        let counts = counted.entry((link.to_owned(), node.to_owned())).or_default();
        *counts = (counts.0 + 1, counts.1 + u64::from(view.length));
    }
    counted
}

fn check(lab: &Lab, carrier: &str) {
    let (rows, journal) = (rows(lab), lab.journal());
    let run = &journal[0];
    assert_eq!(run["run"]["verdict"], "good", "{:#}", run["run"]["reasons"]);
    // Each point has what the capture has there.
    let counted = in_the_capture(lab);
    assert_eq!(counted.len(), 4, "four points");
    for ((link, node), (packets, bytes)) in &counted {
        let here = |row: &Row| row["link"] == *link && row["node"] == *node;
        let ours = (sum(&rows, "packets", here), sum(&rows, "bytes", here));
        assert_eq!(ours, (*packets, *bytes), "{carrier}: {node} at {link}");
    }
    // What entered a link is what the link counted.
    for way in run["run"]["links"].as_array().expect("links") {
        let (link, is_up) = (way["link"].as_str().expect("a link"), way["direction"] == "up");
        let ends = if link == "air" { ["mobile", "access"] } else { ["access", "server"] };
        let [from, to] = if is_up { ends } else { [ends[1], ends[0]] };
        let behind = |node: &str| -> &[&str] {
            match (link, node) {
                ("air", "mobile") => &["mobile"],
                ("air", _) => &["access", "server"],
                (_, "server") => &["server"],
                _ => &["access", "mobile"],
            }
        };
        let at = |place: &str| {
            let passing = |row: &Row| {
                row["link"] == link && row["node"] == place && behind(from).contains(&row["from"].as_str())
            };
            sum(&rows, "bytes", passing)
        };
        assert_eq!(at(from), way["bytes"].as_u64().expect("bytes"), "{carrier}: {link} from {from}");
        let delivered = way["delivered_bytes"].as_u64().expect("bytes");
        assert_eq!(at(to), delivered, "{carrier}: {link} at {to}");
    }
    // What the sender's kernel sent again is what its own point saw.
    for connection in run["connections"].as_array().expect("connections") {
        let of = |field: &str| connection[field].as_u64().expect("a number");
        let at_the_server = |row: &Row| {
            row["link"] == "internet"
                && row["node"] == "server"
                && row["from"] == "server"
                && row["workload"] == "page"
                && number(row, "number") == of("number")
        };
        let ours = (sum(&rows, "retransmissions", at_the_server), sum(&rows, "data_segments", at_the_server));
        assert_eq!(ours, (of("retransmissions"), of("segments")), "{carrier}: {connection:#}");
    }
    assert!(sum(&rows, "retransmissions", |row| row["node"] == "server") > 0, "nothing was lost");
    assert_eq!(sum(&rows, "undecided", |_| true), 0, "{carrier}");
    let on_the_air = |row: &Row| row["link"] == "air" && row["protocol"] == "tcp";
    assert_eq!(sum(&rows, "packets", on_the_air) > 0, carrier == "none", "TCP crosses no remote sockets");
    by_tshark(lab, &rows);
}

/// Compares bytes by interface and protocol with those of tshark, if it is installed.
fn by_tshark(lab: &Lab, rows: &[Row]) {
    let capture = lab.path("out/captures/c000-r00.pcapng");
    let fields = ["frame.interface_name", "ip.proto", "ip.src", "ip.len"];
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(capture)
        .args(["-T", "fields", "-E", "occurrence=f"])
        .args(fields.iter().flat_map(|field| ["-e", *field]));
    let Ok(output) = command.output() else {
        skip::skip!("tshark is not installed: its bytes are not compared");
        return;
    };
    let mut theirs: BTreeMap<(String, String), u64> = BTreeMap::new();
    for line in lab::text(&output.stdout).lines() {
        let cells: Vec<_> = line.split('\t').collect();
        let [interface, protocol, _, length] = cells[..] else { panic!("{line}") };
        let protocol = match protocol {
            "6" => "tcp",
            "17" => "udp",
            _ => "other",
        };
        let length: u64 = length.parse().expect("a length");
        *theirs.entry((interface.to_owned(), protocol.to_owned())).or_default() += length;
    }
    for ((interface, protocol), bytes) in theirs {
        let (link, end) = interface.split_once(' ').expect("a link and its end");
        let node = match (link, end) {
            ("air", "host end") => "mobile",
            ("internet", "network end") => "server",
            _ => "access",
        };
        let here = |row: &Row| row["link"] == link && row["node"] == node && row["protocol"] == protocol;
        assert_eq!(sum(rows, "bytes", here), bytes, "{interface}, {protocol}");
    }
}

#[test]
fn m19_every_point_has_the_counters_of_its_capture() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    for carrier in ["none", "bare"] {
        let _ = std::fs::remove_dir_all(lab.path("out"));
        lab.succeed(&plan(carrier), lab::VIRTUAL);
        check(&lab, carrier);
        let capture = lab.path("out/captures/c000-r00.pcapng");
        let printed =
            lab.lasthop(&["analyze", "--points", "--json"]).arg(&capture).output().expect("printed");
        let printed = lab::text(&printed.stdout);
        let bytes = printed
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["bytes"].as_u64().expect("bytes"));
        assert_eq!(bytes.sum::<u64>(), sum(&rows(&lab), "bytes", |_| true));
    }
}

/// E2: an outage of a reliable link loses nothing. All that the server sends again is spurious, at
/// each of the points.
#[test]
fn m19_what_a_reliable_link_delays_is_sent_again_in_vain() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let plan = plan("none")
        .replace("loss=3%", "queue=inf")
        .replace("name = \"air\"\n", "name = \"air\"\narq = \"llp\"\n")
        .replace("delay=20ms", "delay=20ms,outage=300ms+2500ms")
        .replace("times = 2", "times = 1");
    lab.succeed(&plan, lab::VIRTUAL);
    let rows = rows(&lab);
    for (link, node) in [("internet", "server"), ("internet", "access"), ("air", "access"), ("air", "mobile")]
    {
        let here = |row: &Row| row["link"] == link && row["node"] == node && row["from"] == "server";
        let again = sum(&rows, "retransmissions", here);
        assert_eq!(sum(&rows, "spurious", here), again, "{node} at {link}");
        assert!(again > 0, "{node} at {link}");
    }
}
