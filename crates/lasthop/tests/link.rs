//! Tests of `lasthop link` as a user runs it.

mod world;

use std::fs;
use std::process::{Command, Output};
use world::{World, text};

/// Starts a web server on port 8000 with a file `data` of 200 000 bytes.
const PREPARE: &str = r#"
ip link set lo up
cd "$FOLDER"
head -c 200000 /dev/zero | tr '\0' x >data
python3 -m http.server 8000 >/dev/null 2>&1 &
server=$!
trap 'kill $server' EXIT
until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done
"#;

/// Runs a script beside the web server.
fn run(world: &World, script: &str) -> Output {
    world.run(&format!("{PREPARE}\n{script}"))
}

#[test]
fn a_download_behind_a_link_and_its_summary() {
    let Some(world) = World::new() else { return };
    let output = run(
        &world,
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
    assert_eq!((&summary["seed"], &summary["clock"]), (&7.into(), &"real".into()));
    assert!(summary["lateness_ns"]["mean"].is_u64() && summary["link_time_mean_ns"].as_u64() > Some(0));
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

/// The server of `--serve` is the other end for an ordinary user, too, although pasta connects that
/// end with the host.
#[test]
fn an_ordinary_user_reaches_the_server_at_the_other_end() {
    let Some(world) = World::new() else { return };
    fs::copy(env!("CARGO_BIN_EXE_lasthop"), world.folder().join("lasthop")).expect("a copy for everybody");
    let output = run(
        &world,
        r"
        chmod 755 . && mknod -m 666 tun c 10 200 && : 3<>tun || exit 77
        ip link add v0 type veth peer name v1 && ip address add 192.0.2.1/24 dev v0
        ip link set v0 up && ip link set v1 up && ip route add default via 192.0.2.2
        mkdir work && cp data work/other && chown -R 65534:65534 work
        mount --make-rprivate / && mount --bind tun /dev/net/tun
        cd work && unset LASTHOP_STATE_DIR && setpriv --reuid 65534 --regid 65534 --clear-groups -- \
            ../lasthop link -q --serve 'exec python3 -m http.server 8000 2>/dev/null >&2' -- \
            sh -c 'curl -s --max-time 20 http://host.lasthop:8000/other | wc -c'
        ",
    );
    if output.status.code() == Some(77) {
        skip::skip!("no device node can be made in the temporary folder");
        return;
    }
    assert_eq!(text(&output.stdout).trim(), "200000", "{}", text(&output.stderr));
}

/// A port in use by a server of the host or by another link stays in use: nothing is run, and the
/// error names the port.
#[test]
fn a_port_that_is_taken_is_not_published() {
    let Some(world) = World::new() else { return };
    let output = run(
        &world,
        "lasthop link --publish 8000 -- touch ran; echo status $?
         lasthop link -q --publish 8001:8000 -- touch other; echo status $?
         lasthop link -q --publish 8002 -- sh -c 'touch up; exec sleep 600' & link=$!
         until [ -e up ]; do sleep 0.05; done
         lasthop link --publish 8002 -- touch ran; echo status $?
         kill $link; wait $link",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "status 125\nstatus 0\nstatus 125\n", "{err}");
    let expected = "cannot publish port 8000: a server of this host uses it (tcp 0.0.0.0:8000); stop that server, \
                    or publish another port with --publish OTHER:8000";
    assert!(err.contains(expected), "{err}");
    assert!(err.contains("port 8002 is already published by link 1; end that link"), "{err}");
    assert!(!world.folder().join("ran").exists() && world.folder().join("other").exists());
}

/// A file that cannot be written is reported before the program runs.
#[test]
fn files_are_checked_before_the_program_runs() {
    let Some(world) = World::new() else { return };
    for option in ["--json", "--capture", "--events", "--arq rlp --rlpdump"] {
        let output = run(&world, &format!("lasthop link {option} missing/x -- touch ran; echo status $?"));
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(out, "status 125\n", "{option}: {err}");
        let expected = "directory missing does not exist: create it first";
        assert!(err.contains("cannot write missing/x") && err.contains(expected), "{option}: {err}");
        assert!(!world.folder().join("ran").exists(), "{option}");
    }
    // A symbolic link at the summary's temporary name is not followed, and a pipe is written to.
    let output = run(
        &world,
        "touch precious; ln -s precious x.json.new; lasthop link -q --json x.json -- true
         lasthop link -q --json /dev/stdout -- true | grep -o '\"seed\"'; wc -c < precious",
    );
    assert_eq!(text(&output.stdout), "\"seed\"\n0\n", "{}", text(&output.stderr));
    assert!(world.read("x.json").contains("\"seed\""));
}

/// The source of RLP traces is stored elsewhere: an existing table stays unchanged.
#[test]
fn a_table_beside_rlp_traces_stays() {
    let Some(world) = World::new() else { return };
    let output = run(
        &world,
        "echo precious > call-link-layer.parquet
         lasthop link -q --arq rlp --rlpdump call.rlp -- ping -c 1 host.lasthop >/dev/null
         cat call-link-layer.parquet; ls call-mobile.rlp call-network.rlp",
    );
    let expected = "precious\ncall-mobile.rlp\ncall-network.rlp\n";
    assert_eq!(text(&output.stdout), expected, "{}", text(&output.stderr));
}

/// As with env(1), timeout(1) and mahimahi: 125 is a failure of lasthop, 126 and 127 are failures
/// to start the program.
#[test]
fn exit_statuses_tell_the_programs_failure_from_ours() {
    let Some(world) = World::new() else { return };
    let output = run(
        &world,
        "try() { \"$@\" >/dev/null 2>&1; echo \"$? $*\"; }
         try lasthop link -- false
         try lasthop link --profile umtss -- true
         try lasthop link --qiet -- true
         try lasthop link -- no-such-program
         try lasthop link -- /etc/hosts
         try lasthop link list --qiet
         try lasthop link --help
         try lasthop link -- lasthop tcp-lite run -- sh -c 'exit 7'
         try lasthop link -- lasthop tcp-lite run -- no-such-program
         try lasthop link -- lasthop tcp-lite run -- /etc/hosts
         try lasthop link -- lasthop tcp-lite run --interface lo -- true
         try lasthop tcp-lite run --qiet -- true
         try lasthop tcp-lite status --qiet
         try lasthop resoa run --agent nowhere -- true",
    );
    let out = text(&output.stdout);
    let statuses: Vec<_> = out.lines().map(|line| line.split(' ').next().expect("a status")).collect();
    let expected = ["1", "125", "125", "127", "126", "2", "0", "7", "127", "126", "125", "125", "2", "125"];
    assert_eq!(statuses, expected, "{out}{}", text(&output.stderr));
}

/// A process that is stopped while the link is empty reads no packet, so no packet is late by its
/// logical time.
#[test]
fn a_stopped_emulator_says_how_long_it_did_not_run() {
    let Some(world) = World::new() else { return };
    let output = run(&world,
        "lasthop link --json x.json --up delay=1ms --down delay=1ms -- ping -c 20 -i 0.3 host.lasthop >pings 2>said &
         link=$!
         until grep -q 'bytes from' pings; do sleep 0.1; kill -0 $link || exit 1; done
         kill -STOP $link; sleep 3; kill -CONT $link
         wait $link; cat said",
    );
    let said = text(&output.stdout);
    let summary: serde_json::Value = serde_json::from_str(&world.read("x.json")).expect("one JSON object");
    let pauses = &summary["pauses"];
    let total = pauses["total_ns"].as_u64().expect("a number");
    assert!(total > 2_000_000_000, "stopped for 3 s: {summary}");
    assert!(pauses["packets_waited"].as_u64() > Some(2), "ten pings a 3 s: {summary}");
    assert_eq!(summary["overloaded"], true, "{summary}");
    assert!(summary["overload_reasons"].to_string().contains("did not run for"), "{summary}");
    assert!(said.contains("the emulator did not run for"), "{said}");
}

#[test]
fn delay_and_loss_are_what_was_asked_for() {
    let Some(world) = World::new() else { return };
    let output = run(
        &world,
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
        skip::skip!("tshark is not installed (apt-get install tshark)");
        return;
    }
    let output = run(&world,
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
    let fates = capture::fates::Reader::open(&world.folder().join("x.parquet")).expect("the Parquet file");
    assert_eq!(fates.count() as u64, entered);
}

#[test]
fn nothing_is_left_after_kill_9() {
    let Some(world) = World::new() else { return };
    let output = run(&world,
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
    let output = run(
        &world,
        "lasthop link -q --up delay=400ms -- sh -c 'OUTER=$LASTHOP_HOST exec lasthop link -q --down delay=15ms -- \
         sh -c \"ping -c 1 \\$LASTHOP_HOST; ping -c 1 \\$OUTER\"'",
    );
    let out = text(&output.stdout);
    let time = |line: &str| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok();
    let times: Vec<_> = out.lines().filter_map(time).collect();
    // Only the inner link counts towards the near end, both links towards the far end.
    let &[near, far] = times.as_slice() else { panic!("{out}{}", text(&output.stderr)) };
    assert!((15.0..400.0).contains(&near) && far >= 415.0, "{near} ms, {far} ms");
}

#[test]
fn a_running_link_is_listed_and_changed() {
    let Some(world) = World::new() else { return };
    let output = run(&world,
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
    assert!(err.contains("`sideways` is not a direction: use up, down or both"), "{err}");
    let time =
        out.lines().find_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok());
    assert!(time.is_some_and(|time| time >= 60.0), "{out}");
}

/// A further program has the link's network and names, its own exit status, and ends with the link.
#[test]
fn another_program_behind_a_running_link() {
    let Some(world) = World::new() else { return };
    let output = run(&world,
        "lasthop link -q --down delay=60ms -- sh -c 'until [ -e done ]; do sleep 0.05; done' & main=$!
         until id=$(lasthop link list --json | sed -n 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/p'); [ -n \"$id\" ]; do sleep 0.05; done
         lasthop link exec $id -- sh -c 'ping -c 1 host.lasthop; echo $LASTHOP $LASTHOP_HOST $PPID; exit 3'; echo status $? $$ $id
         lasthop link exec $id -- no-such-program; echo status $?
         lasthop link exec $id -- /etc/hosts; echo status $?
         lasthop link exec $id -- sh -c 'echo $$ > pid; exec sleep 1000' & other=$!
         until [ -s pid ]; do sleep 0.05; done
         touch done; wait $main; wait $other; echo status $?; [ $other = $(cat pid) ] && echo in its place
         lasthop link exec $id -- true; echo status $?",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let time =
        out.lines().find_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok());
    assert!(time.is_some_and(|time| time >= 60.0), "{out}{err}");
    let mut said = out.lines().skip_while(|line| !line.starts_with("1 100."));
    // The shell of this test is the parent of both: the program takes the command's place.
    let names: Vec<_> = said.next().expect("the names").split(' ').collect();
    assert_eq!(said.next(), Some(&*format!("status 3 {} {}", names[2], names[0])), "{out}{err}");
    let rest: Vec<_> = said.collect();
    assert_eq!(rest, ["status 127", "status 126", "status 143", "in its place", "status 125"], "{out}{err}");
    assert!(err.contains("no-such-program: command not found"), "{err}");
    assert!(err.contains("matches no link, or more than one (no link is running)"), "{err}");
}

/// A stage added to a running link has a name in the event log, which also has a note of the
/// change.
#[test]
fn the_event_log_knows_of_changes() {
    let Some(world) = World::new() else { return };
    let output = run(&world,
        "lasthop link -q --down delay=1ms --events x.parquet -- sh -c \
           'ping -c 1 host.lasthop; until [ -e changed ]; do sleep 0.05; done; ping -c 1 -W 1 host.lasthop' & main=$!
         until id=$(lasthop link list --json | sed -n 's/.*\"id\":\"\\([0-9a-f]*\\)\".*/\\1/p'); [ -n \"$id\" ]; do sleep 0.05; done
         lasthop link set $id down loss=100%
         touch changed; wait $main",
    );
    let err = text(&output.stderr);
    let mut events = capture::fates::Reader::open(&world.folder().join("x.parquet")).expect("an event log");
    let notes: Vec<_> = events.notes().iter().map(|note| note.text.clone()).collect();
    assert!(notes.iter().any(|note| note.contains("down changed (loss=100%)")), "{notes:?}{err}");
    let lost = events.find_map(|fate| fate.ok().filter(|fate| fate.lost.is_some())).expect("a lost packet");
    assert_eq!(lost.stage.as_deref(), Some("errors"), "{lost:?}");
}

#[test]
fn a_program_that_cannot_run_says_so_as_in_a_shell() {
    let Some(world) = World::new() else { return };
    let output = run(
        &world,
        "lasthop link -q -- no-such-program; echo $?; lasthop link -q -- ./data; echo $?; \
         lasthop link -q -- sh -c 'kill -TERM $$'; echo $?",
    );
    assert_eq!(text(&output.stdout), "127\n126\n143\n", "{}", text(&output.stderr));
}

/// D5 of issue 20: the link reports which check of the receiver detects each damaged packet, and
/// the receiver's counters agree. No counter counts TCP headers that claim to be longer than their
/// segment.
#[test]
fn each_damaged_packet_is_in_the_counter_that_the_summary_names() {
    let Some(world) = World::new() else { return };
    fs::write(world.folder().join("sink.py"), SINK).expect("a file");
    fs::write(world.folder().join("upload.py"), UPLOAD).expect("a file");
    // The downlink carries only acknowledgements. A third of them are damaged, most of them by one
    // bit.
    let output = run(
        &world,
        "python3 sink.py & trap 'kill $server $!' EXIT; \
         until (exec 3<>/dev/tcp/127.0.0.1/9000) 2>/dev/null; do sleep 0.05; done; \
         lasthop link --up rate=100mbit,delay=2ms --down delay=2ms,ber=1e-3,damage=flip --seed 3 --json x.json -- python3 upload.py",
    );
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let counters: serde_json::Value = serde_json::from_str(&out).unwrap_or_else(|_| panic!("{out}{err}"));
    let summary: serde_json::Value = serde_json::from_str(&world.read("x.json")).expect("one JSON object");
    let found = |check: &str| summary["down"]["damaged_found_by"][check].as_u64().unwrap_or(0);
    let counter = |name: &str| counters[name].as_u64().unwrap_or_else(|| panic!("{name}: {counters}"));
    let said = format!("{summary}\n{counters}\n{err}");
    assert_eq!(counter("TcpInCsumErrors"), found("tcp-checksum"), "{said}");
    assert_eq!(counter("IpExtInCsumErrors"), found("ipv4-checksum"), "{said}");
    assert_eq!(counter("IpInHdrErrors"), found("ipv4-checksum") + found("ipv4-header"), "{said}");
    assert_eq!(counter("rx_dropped"), found("ip-version"), "{said}");
    assert_eq!(counter("Ip6InTruncatedPkts"), found("ipv6-length"), "{said}");
    // TCP also refuses segments whose damaged content has a matching checksum.
    let errors = found("tcp-checksum") + found("tcp-header");
    assert!((errors..=errors + found("nothing")).contains(&counter("TcpInErrs")), "{said}");
    let all = summary["down"]["damaged_found_by"].as_object().expect("checks");
    let sum: u64 = all.values().filter_map(serde_json::Value::as_u64).sum();
    assert_eq!(sum, summary["down"]["damaged"].as_u64().expect("a number"), "{said}");
    assert!(sum > 200 && found("tcp-end") > 0, "{said}");
    assert!(err.contains("by a TCP header longer than its segment (not counted)"), "{err}");
}

/// Receives everything, and reports when it has all.
const SINK: &str = r#"
import socket, threading
def take(connection):
    while connection.recv(65536):
        pass
    connection.sendall(b"x")
    connection.recv(1)
listener = socket.create_server(("", 9000))
while True:
    threading.Thread(target=take, args=(listener.accept()[0],), daemon=True).start()
"#;

/// Sends 32 MB, ends with a reset, after which nothing is sent back, and prints the counters when
/// they stop changing.
const UPLOAD: &str = r#"
import json, socket, struct, time
def counters():
    found = {}
    for file in ("/proc/net/snmp", "/proc/net/netstat"):
        lines = open(file).read().splitlines()
        for names, values in zip(lines[::2], lines[1::2]):
            kind = names.split(":")[0]
            found.update(zip((kind + name for name in names.split()[1:]), map(int, values.split()[1:])))
    found.update((name, int(value)) for name, value in (line.split() for line in open("/proc/net/snmp6")))
    device = next(line for line in open("/proc/net/dev") if "lasthop0" in line)
    found["rx_dropped"] = int(device.split(":")[1].split()[3])
    return found
connection = socket.create_connection(("host.lasthop", 9000))
for _ in range(512):
    connection.sendall(bytes(65536))
connection.shutdown(socket.SHUT_WR)
connection.recv(1)
connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
connection.close()
before = None
while before != (now := counters()):
    before = now
    time.sleep(3)
print(json.dumps(now))
"#;
