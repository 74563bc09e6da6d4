//! Tests of the roles of nodes in plans: remote sockets and split proxies, by both clocks.

mod lab;

use lab::Lab;
use serde_json::Value;
use std::fs;

/// Returns a plan with a mobile host, an access point and a server, and with these lines for nodes
/// and workloads.
fn plan(nodes: &str, workloads: &str) -> String {
    format!(
        "seed = 7\n[scenario]\nstack = \"2001\"\n{nodes}\n\
         [[scenario.links]]\nname = \"air\"\nbetween = [\"mobile\", \"access\"]\n\
         up = \"rate=2mbit,delay=20ms\"\ndown = \"rate=2mbit,delay=20ms\"\n\
         [[scenario.links]]\nname = \"wire\"\nbetween = [\"access\", \"server\"]\n\
         up = \"rate=10mbit,delay=10ms\"\ndown = \"rate=10mbit,delay=10ms\"\n\
         {workloads}\n[capture]\nkeep = \"all\"\n"
    )
}

fn remote(carrier: &str) -> String {
    format!("[[scenario.nodes]]\nname = \"mobile\"\nsockets = {{ at = \"access\", carrier = \"{carrier}\" }}")
}

/// The nodes with a proxy at the access point.
const SPLIT: &str =
    "[[scenario.nodes]]\nname = \"mobile\"\n[[scenario.nodes]]\nname = \"access\"\nproxy = \"haproxy\"";

/// Every kind of workload in both directions.
const ALL: &str = "\
[[workloads]]\nname = \"page\"\nkind = \"request\"\nfrom = \"mobile\"\nto = \"server\"\nresponse = \"30kB\"\ntimes = 2\n\
[[workloads]]\nname = \"up\"\nkind = \"bulk\"\nfrom = \"mobile\"\nto = \"server\"\nbytes = \"100kB\"\n\
[[workloads]]\nname = \"down\"\nkind = \"bulk\"\nfrom = \"server\"\nto = \"mobile\"\nbytes = \"100kB\"\nconnections = 2\n\
[[workloads]]\nname = \"dots\"\nkind = \"datagrams\"\nfrom = \"server\"\nto = \"mobile\"\nrate = \"80kbit\"\nsize = \"100B\"\nduration = \"1s\"\n\
[[workloads]]\nname = \"said\"\nkind = \"command\"\nnode = \"mobile\"\n\
command = \"python3 -c 'import socket; s = socket.create_connection((\\\"{address.server}\\\", 7000)); s.sendall(b\\\"x\\\" * 5000); s.shutdown(1); assert s.recv(9) == b\\\"5000\\\"'\"\n\
[[workloads]]\nname = \"hears\"\nkind = \"command\"\nnode = \"server\"\nbackground = true\nlistens = 7000\n\
command = \"exec python3 -c 'import socket; l = socket.create_server((\\\"\\\", 7000)); c = l.accept()[0]; n = sum(map(len, iter(lambda: c.recv(4096), b\\\"\\\"))); c.sendall(str(n).encode()); c.close(); l.accept()'\"\n";

/// Two requests.
const PAGES: &str = "[[workloads]]\nname = \"page\"\nkind = \"request\"\nfrom = \"mobile\"\nto = \"server\"\n\
                     response = \"30kB\"\ntimes = 2\n";

/// Returns the rows of a workload.
fn rows<'a>(run: &'a Value, workload: &str) -> Vec<&'a Value> {
    let all = run["connections"].as_array().expect("connections");
    all.iter().filter(|row| row["workload"] == workload).collect()
}

/// Checks that every workload is complete. The command has a row of its own and one of its
/// connection.
fn check(run: &Value) {
    // By the real clock, a busy machine overloads a run, whose connections are complete all the
    // same.
    let verdict = &run["run"]["verdict"];
    assert!(verdict == "good" || verdict == "overloaded", "{:#}", run["run"]["reasons"]);
    for (workload, count, bytes) in
        [("page", 2, 30_100), ("up", 1, 100_000), ("down", 2, 100_000), ("dots", 1, 10_000), ("said", 2, 0)]
    {
        let rows = rows(run, workload);
        assert_eq!(rows.len(), count, "{workload}");
        for row in rows {
            assert_eq!((&row["complete"], &row["error"]), (&true.into(), &Value::Null), "{row:#}");
            assert!(bytes == 0 || row["bytes"] == bytes, "{row:#}");
        }
    }
}

/// Returns a run's addresses on a link: those of senders and receivers of TCP.
fn tcp_addresses(lab: &Lab, link: usize) -> Vec<[u8; 4]> {
    let capture = lab.path("out").join("captures/c000-r00.pcapng");
    let mut reader = capture::packets::Reader::open(&capture).expect("a capture");
    let mut found = Vec::new();
    while let Some(view) = reader.view() {
        let view = view.expect("a packet");
        let ip = view.bytes;
        if view.number / 2 == link && ip[0] >> 4 == 4 && ip[9] == 6 {
            for at in [12, 16] {
                let address = [ip[at], ip[at + 1], ip[at + 2], ip[at + 3]];
                if !found.contains(&address) {
                    found.push(address);
                }
            }
        }
    }
    found.sort_unstable();
    found
}

const MOBILE: [u8; 4] = [10, 0, 0, 1];
const ACCESS: [u8; 4] = [10, 0, 0, 2];
const SERVER: [u8; 4] = [10, 0, 0, 3];

/// All workloads run on remote sockets as on the kernel's, and no TCP crosses the last hop.
#[test]
fn workloads_run_unchanged_on_remote_sockets() {
    let Some(lab) = Lab::new() else { return };
    for carrier in ["udp", "bare", "none"] {
        let _ = fs::remove_dir_all(lab.path("out"));
        lab.succeed(&plan(&remote(carrier), ALL), &[]);
        check(&lab.journal()[0]);
        let (air, wire) = if carrier == "none" {
            (vec![MOBILE, SERVER], vec![MOBILE, SERVER])
        } else {
            (vec![], vec![ACCESS, SERVER])
        };
        assert_eq!((tcp_addresses(&lab, 0), tcp_addresses(&lab, 1)), (air, wire), "{carrier}");
    }
}

/// A transparent proxy ends each connection at the access point: both sides see each other's
/// addresses, and each hop has a handshake of its own.
#[test]
fn a_split_proxy_is_transparent() {
    let Some(lab) = Lab::new() else { return };
    if std::process::Command::new("haproxy").arg("-v").output().is_err() {
        skip::skip!("haproxy is not installed");
        return;
    }
    lab.succeed(&plan(SPLIT, ALL), &[]);
    let run = &lab.journal()[0];
    check(run);
    assert_eq!(tcp_addresses(&lab, 0), [MOBILE, SERVER]);
    assert_eq!(tcp_addresses(&lab, 1), [MOBILE, SERVER]);
    // By way of both links, connecting takes 60 ms and more.
    for row in rows(run, "up") {
        let of = |field: &str| row[field].as_u64().expect("a time");
        let handshake = of("established_ns") - of("start_ns");
        assert!((40_000_000..59_000_000).contains(&handshake), "{handshake}");
    }
}

/// A guest repeats a run with roles to the byte.
#[test]
fn a_guest_repeats_roles() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    for nodes in [remote("udp"), remote("bare"), remote("quic"), SPLIT.to_owned()] {
        let _ = fs::remove_dir_all(lab.path("out"));
        lab.succeed(&plan(&nodes, ALL), &["--clock", "virtual", "--verify"]);
        check(&lab.journal()[0]);
    }
}

/// A server of remote sockets does some of its work once a minute.
#[test]
fn a_guest_serves_remote_sockets_for_minutes() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let slow = plan(&remote("bare"), PAGES).replace("rate=2mbit", "rate=2400bit").replace("30kB", "20kB");
    lab.succeed(&slow, &["--clock", "virtual"]);
    let run = &lab.journal()[0];
    assert_eq!(run["run"]["verdict"], "good", "{:#}", run["run"]["reasons"]);
    assert!(run["run"]["seconds"].as_f64().is_some_and(|seconds| seconds > 120.0), "{:#}", run["run"]);
}

/// The receive window at the access point grows with the reader behind the last hop (RFC 7323's
/// buffers of 64 KiB would take 4 s).
#[test]
fn a_window_grows_with_the_reader_behind_a_hop() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let hop = |text: &str| {
        let text = text.replace("stack = \"2001\"", "stack = \"modern\"").replace("30kB", "2MB");
        text.replace("rate=2mbit,delay=20ms", "rate=20mbit,delay=50ms").replace("rate=10mbit", "rate=100mbit")
    };
    for carrier in ["udp", "quic", "bare"] {
        let _ = fs::remove_dir_all(lab.path("out"));
        lab.succeed(&hop(&plan(&remote(carrier), PAGES)), &["--clock", "virtual"]);
        let run = &lab.journal()[0];
        let seconds = run["run"]["seconds"].as_f64().expect("a time");
        assert!(seconds < 2.0 * 2.0, "two times 2 MB in {seconds} s by {carrier}");
    }
}

/// M7: the client reports each message that is read, if the plan says so; otherwise every second.
#[test]
fn every_read_is_reported_if_asked_for() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let [seldom, each] = ["", ", report-after = \"1B\""].map(|reports| {
        let _ = fs::remove_dir_all(lab.path("out"));
        let nodes = remote("bare").replace(" }", &format!("{reports} }}"));
        lab.succeed(&plan(&nodes, PAGES), &["--clock", "virtual"]);
        let packets = |direction| {
            let journal = lab.journal();
            let links = journal[0]["run"]["links"].as_array().expect("links").clone();
            let link = links.iter().find(|link| link["link"] == "air" && link["direction"] == direction);
            link.and_then(|link| link["packets"].as_u64()).expect("a number")
        };
        (packets("up"), packets("down"))
    });
    assert!(each.0 >= each.1, "{} datagrams up and {} down", each.0, each.1);
    assert!(each.0 * 2 > seldom.0 * 3, "{} datagrams up, and {} without", each.0, seldom.0);
}

/// M7: with a request that goes along with the one to connect (mode 2), a transfer takes a round
/// trip of the last hop less than with one that waits for the connection (mode 0). The hop of this
/// plan takes 40 ms for a round trip.
#[test]
fn a_request_that_goes_with_the_connect() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let pages = |fast: bool| PAGES.replace("times = 2", &format!("times = 2\nfast-open = {fast}"));
    let times = |plan: &str| {
        let _ = fs::remove_dir_all(lab.path("out"));
        lab.succeed(plan, &["--clock", "virtual"]);
        let run = &lab.journal()[0];
        let time = |row: &&Value| {
            assert_eq!((&row["complete"], &row["bytes"]), (&true.into(), &30_100.into()), "{row:#}");
            let at = |name: &str| row[name].as_u64().expect("a time") as f64 / 1e6;
            at("end_ns") - at("start_ns")
        };
        rows(run, "page").iter().map(time).collect::<Vec<_>>()
    };
    for carrier in ["bare", "udp", "tcp"] {
        let [waits, fast] = [false, true].map(|fast| times(&plan(&remote(carrier), &pages(fast))));
        for (waits, fast) in waits.iter().zip(&fast) {
            assert!((40.0..43.0).contains(&(waits - fast)), "{waits} ms, and {fast} ms by {carrier}");
        }
    }
    // The kernel's own sockets have no cookie of the server.
    let modern = plan("", &pages(true)).replace("stack = \"2001\"", "stack = \"modern\"");
    assert_eq!(times(&modern).len(), 2);
}

/// A hop with an MTU of 242 bytes: datagrams of the default carrier have that length, and QUIC says
/// why it cannot be used.
#[test]
fn a_hop_of_short_packets() {
    let Some(lab) = Lab::with_virtual_clock() else { return };
    let hop = |text: &str| {
        let air = "up = \"rate=2mbit,delay=20ms\"\ndown = \"rate=2mbit,delay=20ms\"";
        text.replacen(air, "profile = \"lora\"", 1).replace("30kB", "2kB")
    };
    lab.succeed(&hop(&plan(&remote("udp"), PAGES)), &["--clock", "virtual"]);
    assert_eq!(lab.journal()[0]["run"]["verdict"], "good");
    let _ = fs::remove_dir_all(lab.path("out"));
    let output = lab.run(&hop(&plan(&remote("quic"), PAGES)), &["--clock", "virtual"]);
    assert!(!output.status.success());
    let reasons = lab.journal()[0]["run"]["reasons"].to_string();
    assert!(reasons.contains("the path's MTU is too small for this carrier"), "{reasons}");
}

/// M20: the programs that measure between real hosts, given to three nodes by the real clock.
#[test]
fn pairs_between_hosts() {
    let Some(lab) = Lab::new() else { return };
    let plan = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/resoa-pairs.toml");
    let mut command = lab.lasthop(&["run", plan, "--out", "out"]);
    let output = command.env("LASTHOP", env!("CARGO_BIN_EXE_lasthop")).output().expect("lasthop runs");
    // A busy machine overloads the run, whose pairs are complete all the same.
    let verdict = lab.journal()[0]["run"]["verdict"].clone();
    assert!(verdict == "good" || verdict == "overloaded", "{}", lab::text(&output.stderr));
    let table = fs::read_to_string(lab.path("out/logs/c000-r00-mobile.log")).expect("a log");
    for size in ["1448", "10136", "50680"] {
        for transport in ["tcp", "sockets"] {
            assert!(table.contains(&format!("| {size} B | 3 | {transport} | ")), "{table}");
        }
    }
}

/// Errors name the place in the plan.
#[test]
fn roles_that_cannot_be() {
    let lab = Lab::here();
    let wrong = |nodes: &str| {
        let output = lab.run(&plan(nodes, ALL), &["--list"]);
        assert!(!output.status.success());
        lab::text(&output.stderr)
    };
    insta::assert_snapshot!(wrong(&remote("upd")));
    insta::assert_snapshot!(wrong("[[scenario.nodes]]\nname = \"mobile\"\nsockets = { at = \"acces\" }"));
    insta::assert_snapshot!(wrong("[[scenario.nodes]]\nname = \"mobile\"\nsockets = { at = \"mobile\" }"));
    insta::assert_snapshot!(wrong(
        "[[scenario.nodes]]\nname = \"mobile\"\nsockets = { at = \"access\" }\n\
         [[scenario.nodes]]\nname = \"access\"\nsockets = { at = \"server\" }"
    ));
    insta::assert_snapshot!(wrong("[[scenario.nodes]]\nname = \"access\"\nproxy = \"nginx\""));
}
