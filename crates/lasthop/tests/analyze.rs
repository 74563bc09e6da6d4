//! Tests of `lasthop analyze` on the captures of crate `capture-analysis`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../capture-analysis/tests/captures").join(name)
}

fn lasthop(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("analyze").args(arguments);
    command
}

/// Runs in the directory of the captures, so that only their names are printed.
fn run(arguments: &[&str]) -> Output {
    lasthop(arguments).current_dir(capture("")).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn both_ends_of_a_link_are_analysed_each_on_its_own() {
    let output = run(&["errors.pcapng"]);
    assert!(output.status.success());
    insta::assert_snapshot!("errors", text(&output.stdout));
}

#[test]
fn the_long_text_of_one_end() {
    let output = run(&["--long", "--interface", "1", "outage.pcapng", "--silence", "0.25"]);
    insta::assert_snapshot!("long", text(&output.stdout));
}

#[test]
fn json_has_an_object_a_connection() {
    let output = run(&["--json", "again.pcap", "ipv6.pcap"]);
    let rows: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    let connections: Vec<_> = rows.iter().map(|row| (row["file"].as_str(), row["status"].as_str())).collect();
    let again = Some("again.pcap");
    assert_eq!(
        connections,
        [
            (again, Some("complete")),
            (again, Some("reset")),
            (again, Some("reset")),
            (Some("ipv6.pcap"), Some("complete"))
        ]
    );
    assert_eq!(rows[0]["directions"][0]["unique_bytes"], 5);
    assert_eq!(rows[0]["directions"][1]["unique_bytes"], 13);
}

#[test]
fn a_pipe_can_be_read() {
    let mut child =
        lasthop(&["-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
    let bytes = std::fs::read(capture("ethernet.pcap")).expect("a capture");
    child.stdin.take().expect("a pipe").write_all(&bytes).expect("it is read");
    let output = child.wait_with_output().expect("it ends");
    assert!(text(&output.stdout).contains("(complete)"));
}

#[test]
fn what_is_cut_off_is_told_and_the_rest_analysed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cut.pcap");
    let bytes = std::fs::read(capture("ethernet.pcap")).expect("a capture");
    std::fs::write(&path, &bytes[..bytes.len() - 10]).expect("written");
    let output = lasthop(&[path.to_str().expect("a name")]).output().expect("the binary runs");
    assert!(output.status.success());
    let note = text(&output.stderr);
    assert!(note.contains("cut.pcap: cut off in the middle of a record"), "{note}");
    assert!(text(&output.stdout).contains("a2b"));
}

#[test]
fn errors_name_the_file_and_the_way_out() {
    let cases: [(&[&str], &str); 4] = [
        (&["make"], "make: this is neither pcapng nor pcap"),
        (&["no-such.pcap"], "`no-such.pcap`"),
        (
            &["--interface", "7", "errors.pcapng"],
            "no packets of interface `7`; the interfaces with packets are: 0 (",
        ),
        (
            &["--connection", "9", "again.pcap"],
            "again.pcap: no connection 9: the capture has 3, counted from 1",
        ),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}

/// Writes a run and returns its stem: two packets are lost, one to an error and one to a full
/// queue, and the sender classifies both as wireless.
fn run_with_losses(folder: &Path) -> PathBuf {
    use capture::senders::{CongestionState, Header, LossVerdict, Reason, Record, SenderState, Writer};
    use capture::{Direction, EndedPacket, Fate, Flow, LinkId, Loss, Reason as Why, Tail, Time, WallTime};
    let stem = folder.join("c000-r00");
    let started = WallTime::from_nanos(7);
    let ends =
        ["10.0.0.1:5000", "10.0.0.2:80"].map(|end| end.parse::<std::net::SocketAddr>().expect("an end"));

    let fate = |at_ms: u64, sequence: u32, lost: Option<Loss>| {
        let at = Time::from_nanos(at_ms * 1_000_000);
        Fate {
            lost: lost.map(Why::Known),
            ..EndedPacket::untouched(LinkId(0), Direction::Down, 0, 152, at, at).fate(
                None,
                Some(Flow {
                    source: ends[0].ip(),
                    destination: ends[1].ip(),
                    protocol: 6,
                    ports: Some((ends[0].port(), ends[1].port())),
                    tcp_sequence: Some(sequence),
                    payload: Some(100),
                }),
            )
        }
    };
    let header = capture::Header::new("0.1.0", started, 1, Vec::new());
    let output = std::fs::File::create(stem.with_extension("parquet")).expect("a file");
    let mut table = capture::fates::Writer::new(output, header).expect("a table");
    for fate in [
        fate(1, 1000, None),
        fate(5, 1100, Some(Loss::Error)),
        fate(6, 1200, None),
        fate(50, 1300, Some(Loss::QueueFull)),
        fate(51, 1400, None),
    ] {
        table.add(capture::fates::Record::Row(fate)).expect("a row");
    }
    table.finish(Tail::Complete).expect("an event log");

    let header = Header {
        schema: capture::senders::SCHEMA,
        lasthop: "0.1.0".into(),
        started,
        seed: 1,
        source: "test".into(),
        nodes: vec!["server".into()],
    };
    let output = std::fs::File::create(folder.join("c000-r00-senders.parquet")).expect("a file");
    let mut table = Writer::new(output, header).expect("a table");
    let state = |at_ms: u64, snd_una, snd_nxt, state, events: u32| SenderState {
        at: Time::from_nanos(at_ms * 1_000_000),
        snd_una,
        snd_nxt,
        cwnd: 10,
        ssthresh: Some(8),
        state: Some(state),
        loss: Some(capture::senders::LossState {
            algorithm: capture::senders::Algorithm::NewZag,
            mean_ns: 54_500_000,
            dev_ns: 1_000_000,
            rtt_us: 53_000,
            samples: 9,
            n: 1,
            verdict: (events > 0).then_some(LossVerdict::Wireless),
            reason: (events > 0).then_some(Reason::Detector),
            base: 10,
            events,
            wireless: events,
            ..capture::senders::LossState::NOTHING_YET
        }),
        ..SenderState::nothing_known(ends[0], ends[1])
    };
    for state in [
        state(10, 1000, 1300, CongestionState::Open, 0),
        state(20, 1100, 1300, CongestionState::Recovery, 1),
        state(40, 1300, 1500, CongestionState::Open, 1),
        state(60, 1300, 1500, CongestionState::Open, 1),
        state(70, 1300, 1500, CongestionState::Recovery, 2),
    ] {
        table.add(Record::Row(state)).expect("a row");
    }
    table.finish(Tail::Complete).expect("a table of senders");
    stem
}

#[test]
fn loss_events_are_printed_with_what_they_were_taken_for() {
    let folder = tempfile::tempdir().expect("a folder");
    run_with_losses(folder.path());
    let run =
        |arguments: &[&str]| lasthop(arguments).current_dir(folder.path()).output().expect("the binary runs");
    let output = run(&["--losses", "--receiver", "c000-r00"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!("losses", text(&output.stdout));

    let output = run(&["--losses", "--json", "--receiver", "c000-r00-senders.parquet", "c000-r00.parquet"]);
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    let causes: Vec<_> = [0, 1].map(|event| &line["events"][event]["cause"]).into();
    assert_eq!(causes, ["wireless", "congestion"]);
    assert_eq!(line["verdicts"][1]["wireless"]["of"], 1);
    assert_eq!(line["receiver"].as_array().map(Vec::len), Some(4));
    assert_eq!(line["receiver"][0]["holes"], 2);

    let output = run(&["--losses", "--csv", "c000-r00"]);
    let csv = text(&output.stdout);
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(csv.starts_with("from,to,at_ns,kind,n,lost,cause,verdict,reason,rtt_us,"), "{csv}");
    let first = "10.0.0.1:5000,10.0.0.2:80,10000000,recovery,1,1,wireless,wireless,detector,53000,54500000,1000000,10,8";
    assert_eq!(csv.lines().nth(1), Some(first));

    let output = run(&["--losses", "c001-r00"]);
    assert!(
        text(&output.stderr).contains("`c001-r00-senders.parquet` does not exist"),
        "{}",
        text(&output.stderr)
    );
    assert!(!run(&["--receiver", "c000-r00"]).status.success(), "without --losses there are no verdicts");
}

/// An outage loses a whole window. Both ends are in the capture, and the event log has the fate of
/// each packet.
#[test]
fn retransmissions_are_told_with_their_evidence() {
    let output = run(&["--spurious", "--truth", "outage.parquet", "outage.pcapng"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!("spurious", text(&output.stdout));

    let output = run(&["--spurious", "--json", "--truth", "outage.parquet", "outage.pcapng"]);
    let lines: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    let download = lines.iter().find(|line| line["from"] != lines[0]["from"]).unwrap_or(&lines[0]);
    let rows = download["retransmissions"].as_array().expect("rows");
    assert!(!rows.is_empty());
    for row in rows {
        assert_eq!(row["arrivals"], row["truth"], "{row}");
        assert_eq!(row["verdict"], row["truth"], "{row}");
    }

    // One end alone, as in a usual capture: no additional lines.
    let output = run(&["--spurious", "--csv", "--interface", "1", "outage.pcapng"]);
    let csv = text(&output.stdout);
    assert!(
        csv.starts_with(
            "from,to,time_ns,number,sequence,bytes,length,repeated,cause,verdict,evidence,truth,"
        ),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + rows.len());
    assert!(csv.lines().skip(1).all(|line| line.split(',').nth(13) == Some("unknown")), "no arrivals: {csv}");

    for (arguments, expected) in [
        (&["--truth", "outage.parquet", "outage.pcapng"][..], "--spurious"),
        (
            &["--spurious", "--connection", "9", "outage.pcapng"],
            "no connection 9: the capture has 1, counted from 1",
        ),
        (&["--spurious", "--truth", "outage.pcapng", "outage.pcapng"], "outage.pcapng"),
    ] {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}

#[test]
fn parquet_and_graphs_are_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let table = folder.path().join("x.parquet");
    let graphs = folder.path().join("graphs");
    let [table_name, graphs_name] = [&table, &graphs].map(|path| path.to_str().expect("a name"));
    assert!(run(&["--parquet", table_name, "errors.pcapng"]).status.success());
    let table = capture::columnar::Table::read(&table).expect("a table");
    // Two interfaces, one connection each, two directions.
    assert_eq!(table.rows(), 4);
    let column = |name: &str| {
        let values = &table.column(name).expect("the column").values;
        (0..4).map(|row| values.text(row).unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(column("interface"), ["0", "0", "1", "1"]);
    assert_eq!(column("sport")[1], "8193");
    // The network end retransmitted lost segments, and the host end never saw them twice.
    let again: Vec<u64> =
        column("retransmitted_packets").iter().map(|cell| cell.parse().expect("a number")).collect();
    assert!(again[3] > again[1], "{again:?}");
    assert!(run(&["--xpl", graphs_name, "errors.pcapng"]).status.success());
    for end in ["0", "1"] {
        for name in ["a2b_tsg.xpl", "b2a_tsg.xpl"] {
            assert!(graphs.join(end).join(name).is_file());
        }
    }
}

/// LL-16, LL-17: a capture of both ends with its event log beside it. xplot and SVG have L's
/// labels, and runs form a table.
#[test]
fn layers_of_a_link_are_laid_beside_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let (svg, page, graphs) = (path("x.svg"), path("x.html"), path("graphs"));
    let asked = [("--svg", &svg), ("--html", &page), ("--xpl", &graphs)];
    let asked = asked.iter().flat_map(|(option, file)| [*option, file.to_str().expect("text")]);
    let output = run(&["--layers", "outage.pcapng"].into_iter().chain(asked).collect::<Vec<_>>());
    assert!(output.status.success(), "{}", text(&output.stderr));
    insta::assert_snapshot!("layers", text(&output.stdout));
    let said = text(&output.stderr);
    for written in [&svg, &page, &graphs.join("layers.xpl")] {
        assert!(said.contains(written.to_str().expect("text")), "{written:?} is named: {said}");
    }
    let svg = std::fs::read_to_string(svg).expect("a figure");
    let xpl = std::fs::read_to_string(graphs.join("layers.xpl")).expect("graphs");
    let page = std::fs::read_to_string(page).expect("a page");
    for label in ["TcpSnd_Data", "TcpSnd_Ack", "TcpSnd_Lost", "TcpRcv_Data", "TcpRcv_Ack"] {
        assert!([&svg, &xpl, &page].iter().all(|file| file.contains(label)), "{label}");
    }

    let output =
        run(&["--layers", "--json", "--clocks", "estimate", "--from", "3s", "--to", "4s", "outage.pcapng"]);
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    assert_eq!(row["link"]["flagged"], "idle, timeout");
    assert!(row["clocks"]["drift"].as_f64().is_some_and(|drift| drift.abs() < 1e-3), "{}", row["clocks"]);
    let graphs = row["view"]["graphs"].as_array().expect("graphs");
    let graph = |label: &str| graphs.iter().find(|graph| graph["label"] == label).expect("the graph");
    assert_eq!(graph("TcpRcv_Data")["offset"], 10_000.0);
    // Downlink data according to the event log.
    let lost = graph("TcpSnd_Lost")["points"].as_array().expect("points").len();
    assert_eq!(lost as u64, lost_data("outage.parquet"));
    assert!(row["view"]["regressions"][0]["from_ns"].as_i64().is_some_and(|from| from >= 3_000_000_000));

    std::fs::create_dir(path("captures")).expect("a folder");
    std::fs::create_dir(path("events")).expect("a folder");
    for (from, to) in [
        ("outage.pcapng", "captures/a.pcapng"),
        ("outage.parquet", "events/a.parquet"),
        ("errors.pcapng", "captures/b.pcapng"),
    ] {
        std::fs::copy(capture(from), path(to)).expect("a copy");
    }
    let output = run(&["--layers", folder.path().to_str().expect("text")]);
    insta::assert_snapshot!("layers_runs", text(&output.stdout));
}

/// Returns the number of data segments that a link lost on the downlink, according to its event
/// log.
fn lost_data(events: &str) -> u64 {
    let fates = capture::fates::Reader::open(&capture(events)).expect("an event log");
    let is_lost = |fate: &capture::Fate| {
        let tcp = fate.flow.as_ref().filter(|flow| flow.tcp_sequence.is_some());
        let payload = tcp.and_then(|flow| flow.payload).unwrap_or(0);
        fate.direction == capture::Direction::Down && fate.lost.is_some() && payload > 0
    };
    fates.map(|fate| fate.expect("a fate")).filter(is_lost).count() as u64
}

/// LL-07: an RLP trace as text serves as the layer below TCP, from the SYN on.
#[test]
fn an_rlp_trace_is_the_layer_below() {
    let folder = tempfile::tempdir().expect("a folder");
    let rlp = folder.path().join("call.rlp");
    let frame = |place: u64| format!("{} S DATA {} 0 24\n", 1_000_000 + 20_000 * place, place % 62);
    std::fs::write(&rlp, (0..100).map(frame).collect::<String>()).expect("a trace");
    let output = run(&["--layers", "--json", "--rlp", rlp.to_str().expect("text"), "outage.pcapng"]);
    let row: serde_json::Value = serde_json::from_slice(&output.stdout).expect("an object");
    let rate = &row["view"]["regressions"][1];
    assert_eq!(rate["label"], "RlpSnd_Data");
    assert!(rate["slope"].as_f64().is_some_and(|slope| (slope - 1200.0).abs() < 1e-6), "{rate}");
    assert_eq!((&rate["from_ns"], &rate["to_ns"]), (&0.into(), &1_980_000_000.into()));
    assert_eq!(row["link"]["octets"], 2400);
}

#[test]
fn what_layers_cannot_be_laid_beside_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let empty = folder.path().to_str().expect("text");
    let cases = [
        (&["--rlp", "x", "outage.pcapng"][..], "--layers"),
        (&["--layers", "--spurious", "outage.pcapng"], "cannot be used with"),
        (
            &["--layers", "--connection", "9", "outage.pcapng"],
            "no connection 9: the capture has 1, counted from 1",
        ),
        (&["--layers", "refused.pcap"], "refused.pcap: no TCP connection with data"),
        (&["--layers", "--rlp", "outage.pcapng", "outage.pcapng"], "outage.pcapng"),
        (&["--layers", "--from", "soon", "outage.pcapng"], "--from"),
        (&["--layers", empty], "no captures in"),
    ];
    for (arguments, expected) in cases {
        let output = run(arguments);
        let said = text(&output.stderr);
        assert!(!output.status.success() && said.contains(expected), "{arguments:?}: {said}");
    }
}
