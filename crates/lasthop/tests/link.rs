//! `lasthop link` as a user runs it: the built binary, real programs, the kernel's TCP.
//!
//! Each test has a network namespace of its own as "the caller's network", so that the machine's is never touched, and a
//! state directory of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// What a test runs in; see the [module](self).
struct World {
    folder: tempfile::TempDir,
}

impl World {
    /// A world, or `None` with the reason on the output where there cannot be one.
    fn new() -> Option<Self> {
        let possible = Command::new("unshare").args(["--net", "--mount", "true"]).output();
        if !possible.is_ok_and(|output| output.status.success()) {
            println!("skipped: making network namespaces needs root");
            return None;
        }
        Some(Self { folder: tempfile::tempdir().expect("a folder") })
    }

    /// Runs a script of bash in a new network namespace, with `lasthop` on its path and a web server on port 8000 that
    /// has a file `data` of 200 000 bytes.
    fn run(&self, script: &str) -> Output {
        let folder = self.folder.path();
        fs::write(folder.join("data"), vec![b'x'; 200_000]).expect("a file");
        let prepare = r#"
            ip link set lo up
            cd "$FOLDER"
            python3 -m http.server 8000 >/dev/null 2>&1 &
            server=$!
            trap 'kill $server' EXIT
            until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done
        "#;
        let binary = Path::new(env!("CARGO_BIN_EXE_lasthop"));
        let path = format!(
            "{}:{}",
            binary.parent().expect("a folder").display(),
            std::env::var("PATH").unwrap_or_default()
        );
        Command::new("unshare")
            .args(["--net", "--mount", "bash", "-c", &format!("{prepare}\n{script}")])
            .env("PATH", path)
            .env("FOLDER", folder)
            .env("LASTHOP_STATE_DIR", folder.join("state"))
            .output()
            .expect("unshare runs")
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_download_behind_a_link_and_its_summary() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "lasthop link --profile wifi-b --seed 7 --json x.json -- \
         sh -c 'echo $LASTHOP_HOST; curl -s http://host.lasthop:8000/data | wc -c; exit 3'",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "the exit status is the command's: {err}");
    let mut lines = out.lines();
    assert!(lines.next().is_some_and(|host| host.starts_with("100.")), "{out}");
    assert_eq!(lines.next(), Some("200000"), "standard output belongs to the command alone: {out}{err}");
    assert_eq!(lines.next(), None);

    let summary: serde_json::Value = serde_json::from_str(&world.read("x.json")).expect("one JSON object");
    assert_eq!(summary["seed"], 7);
    for direction in ["up", "down"] {
        for field in ["packets", "lost", "damaged", "duplicated", "reordered", "bytes"] {
            assert!(summary[direction][field].is_u64(), "{direction}.{field}: {summary}");
        }
    }
    assert!(summary["down"]["bytes"].as_u64() > Some(200_000));
    assert!(summary["overloaded"].is_boolean());
    // 802.11b of the TCP Lite work: 576-byte packets.
    assert!(err.contains("MTU 576"), "{err}");
}

#[test]
fn delay_and_loss_are_what_was_asked_for() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "lasthop link -q --up delay=30ms --down delay=40ms -- ping -c 3 -i 0.2 host.lasthop; \
         lasthop link -q --down loss=100% -- ping -c 2 -i 0.2 -W 1 host.lasthop; echo status $?",
    );
    let out = text(&output.stdout);
    let minimum =
        out.lines().find_map(|line| line.strip_prefix("rtt min/avg/max/mdev = ")?.split('/').next());
    let minimum: f64 = minimum.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{out}"));
    assert!(minimum >= 70.0, "never early: {minimum} ms");
    assert!(out.contains("100% packet loss") && out.contains("status 1"), "{out}");
}

#[test]
fn tshark_reads_the_capture_and_the_fates_in_it() {
    let Some(world) = World::new() else { return };
    if !Command::new("tshark").arg("--version").output().is_ok_and(|output| output.status.success()) {
        println!("skipped: tshark is not installed (apt-get install tshark)");
        return;
    }
    let output = world.run(
        "lasthop link -q --profile wifi-b --down loss=5%,queue=inf --seed 3 --capture x.pcapng --events x.parquet \
             --json x.json -- curl -s -o /dev/null http://host.lasthop:8000/data
         tshark -r x.pcapng -T fields -e frame.interface_name -e frame.comment 2>/dev/null",
    );
    let out = text(&output.stdout);
    let summary: serde_json::Value = serde_json::from_str(&world.read("x.json")).expect("one JSON object");
    let count = |wanted: &str| out.lines().filter(|line| line.contains(wanted)).count() as u64;
    let lost = summary["down"]["lost_by_reason"]["error"].as_u64().expect("some of 380 packets are lost");
    assert_eq!(count("lost: wireless error"), lost, "{out}");
    let of = |direction: &str, field: &str| summary[direction][field].as_u64().expect("a number");
    let entered = of("up", "packets") + of("down", "packets");
    let left = of("up", "delivered") + of("down", "delivered");
    assert_eq!(
        out.lines().count() as u64,
        entered + left,
        "every packet stands where it enters and where it leaves"
    );
    assert!(count("host end") > 0 && count("network end") > 0, "{out}");
    let fates =
        capture::table::Reader::open(&world.folder.path().join("x.parquet")).expect("the Parquet file");
    assert_eq!(fates.count() as u64, entered);
}

#[test]
fn nothing_is_left_after_kill_9() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "cat /proc/sys/net/ipv4/ip_forward
         lasthop link -q -- sh -c 'echo $$ > pid; exec sleep 1000' & main=$!
         until [ -s pid ]; do sleep 0.05; done
         ip -br link | grep -q lasthop && nft list tables | grep -q lasthop || echo nothing was made
         kill -9 $main
         for _ in $(seq 100); do
             ip -br link | grep -q lasthop || nft list tables | grep -q lasthop || ls state | grep -qv lock || kill -0 $(cat pid) 2>/dev/null || break
             sleep 0.05
         done
         ip -br link | grep lasthop; nft list tables; ls state | grep -v lock; kill -0 $(cat pid) 2>/dev/null && echo it runs
         cat /proc/sys/net/ipv4/ip_forward",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let lines: Vec<_> = out.lines().collect();
    assert_eq!(lines.len(), 2, "left behind: {out}{err}");
    assert_eq!(lines[0], lines[1], "ip_forward is what it was");
}

#[test]
fn links_nest() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "lasthop link -q --up delay=400ms -- sh -c 'OUTER=$LASTHOP_HOST exec lasthop link -q --down delay=15ms -- \
         sh -c \"ping -c 1 \\$LASTHOP_HOST; ping -c 1 \\$OUTER\"'",
    );
    let out = text(&output.stdout);
    let time = |line: &str| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok();
    let times: Vec<_> = out.lines().filter_map(time).collect();
    // To the near end only the inner link counts, to the far end both.
    let &[near, far] = times.as_slice() else { panic!("{out}{}", text(&output.stderr)) };
    assert!((15.0..400.0).contains(&near) && far >= 415.0, "{near} ms, {far} ms");
}

#[test]
fn a_running_link_is_listed_and_changed() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "lasthop link -q -- sh -c 'until [ -e changed ]; do sleep 0.05; done; ping -c 1 host.lasthop' & main=$!
         until id=$(lasthop link list --json | sed -n 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/p'); [ -n \"$id\" ]; do sleep 0.05; done
         lasthop link list
         lasthop link set $id down delay=60ms
         lasthop link set $id sideways delay=60ms
         touch changed; wait $main",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(out.contains("perfect"), "{out}{err}");
    assert!(out.contains("down delay: 60ms"), "{out}{err}");
    assert!(err.contains("`sideways` is no direction: say up, down or both"), "{err}");
    let time =
        out.lines().find_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok());
    assert!(time.is_some_and(|time| time >= 60.0), "{out}");
}

/// A stage that comes while the link runs has a name in the event log, and the change stands there as a note.
#[test]
fn the_event_log_knows_of_changes() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "lasthop link -q --down delay=1ms --events x.parquet -- sh -c \
           'ping -c 1 host.lasthop; until [ -e changed ]; do sleep 0.05; done; ping -c 1 -W 1 host.lasthop' & main=$!
         until id=$(lasthop link list --json | sed -n 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/p'); [ -n \"$id\" ]; do sleep 0.05; done
         lasthop link set $id down loss=100%
         touch changed; wait $main",
    );
    let err = text(&output.stderr);
    let mut events =
        capture::table::Reader::open(&world.folder.path().join("x.parquet")).expect("an event log");
    let notes: Vec<_> = events.notes().iter().map(|note| note.text.clone()).collect();
    assert!(notes.iter().any(|note| note.contains("down changed (loss=100%)")), "{notes:?}{err}");
    let lost = events.find_map(|fate| fate.ok().filter(|fate| fate.lost.is_some())).expect("a lost packet");
    assert_eq!(lost.stage.as_deref(), Some("errors"), "{lost:?}");
}

#[test]
fn a_program_that_cannot_run_says_so_as_in_a_shell() {
    let Some(world) = World::new() else { return };
    let output = world.run(
        "lasthop link -q -- no-such-program; echo $?; lasthop link -q -- ./data; echo $?; \
         lasthop link -q -- sh -c 'kill -TERM $$'; echo $?",
    );
    assert_eq!(text(&output.stdout), "127\n126\n143\n", "{}", text(&output.stderr));
}
