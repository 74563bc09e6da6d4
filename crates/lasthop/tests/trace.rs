//! `lasthop trace` on the captures that the crate `trace` keeps.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/captures").join(name)
}

fn lasthop(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lasthop"));
    command.arg("trace").args(arguments);
    command
}

/// Run where the captures are, so that only their names are printed.
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
    insta::assert_snapshot!("trace_errors", text(&output.stdout));
}

#[test]
fn the_long_text_of_one_end() {
    let output = run(&["--long", "--interface", "1", "outage.pcapng", "--silence", "0.25"]);
    insta::assert_snapshot!("trace_long", text(&output.stdout));
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
        (&["--interface", "7", "errors.pcapng"], "no packets of an interface `7`; there are some of: 0 ("),
        (&["--connection", "9", "again.pcap"], "again.pcap: no connection 9: there are 3, counted from 1"),
    ];
    for (arguments, expected) in cases {
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
    // Lost segments were sent again by the network's end, and never seen twice at the host's.
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
