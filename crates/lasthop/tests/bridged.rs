//! Tests of `lasthop link --bridge`: two hosts in one Ethernet, with the link between them.

mod world;

use std::process::{Command, Output};
use world::{World, text};

/// Makes this host with the interfaces `eth1`, at which the host `phone` is, and `eth2`, at which
/// the host `server` is. Their addresses are static.
const PREPARE: &str = r#"
set -e
mount -t tmpfs tmpfs /run
ip link set lo up
for host in phone:eth1:1 server:eth2:2; do
    IFS=: read -r name port number <<<"$host"
    ip netns add $name; ip -n $name link set lo up
    ip link add $port type veth peer name eth0 netns $name
    ip -n $name link set eth0 up
    ip -n $name address add 10.1.0.$number/24 dev eth0
    ip -n $name address add fd01::$number/64 dev eth0 nodad
done
ip link set eth1 up
until ip -br link show eth1 | grep -q ' UP '; do sleep 0.05; done
cd "$FOLDER"
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
snapshot() { ip -br link; ip -4 -br address; ip route; nft list ruleset; sysctl net.ipv4.ip_forward; }
bridge() {
    : >log
    lasthop link "$@" --bridge eth1 eth2 2>log &
    link=$!
    until grep -q 'are the two ends' log; do kill -0 $link || { cat log; exit 9; }; sleep 0.05; done
}
phone() { ip netns exec phone "$@"; }
server() { ip netns exec server "$@"; }
# Whole milliseconds of the shortest of three round trips.
least() { phone ping -c 3 -i 0.2 -q "$@" | sed -n 's,.*= \([0-9]*\).*,\1,p'; }
serve() {
    server python3 -m http.server --directory . 80 >/dev/null 2>&1 &
    until server bash -c 'exec 3<>/dev/tcp/127.0.0.1/80' 2>/dev/null; do sleep 0.05; done
}
"#;

fn run(script: &str) -> Option<(World, Output)> {
    let world = World::new()?;
    std::fs::write(world.path("data"), vec![b'x'; 3_000_000]).expect("a file");
    let output = world.run(&format!("{PREPARE}\n{script}"));
    Some((world, output))
}

/// E4, E6: ARP, neighbour discovery, IP, tagged frames, and frames of other protocols cross the
/// link with its delay, and its losses. There is no router: the time to live stays. Afterwards both
/// interfaces are as before.
#[test]
fn frames_of_every_protocol_cross_the_link() {
    let script = r#"
        snapshot >before
        bridge --up delay=15ms --down delay=25ms --seed 7 --capture x.pcapng --json x.json
        [ $(least 10.1.0.2) -ge 40 ] && echo IPv4
        phone ping -c 1 10.1.0.2 | grep -o 'ttl=[0-9]*'
        phone ip neighbour show 10.1.0.2 | grep -c "$(server cat /sys/class/net/eth0/address)"
        [ $(least fd01::2) -ge 40 ] && echo IPv6
        [ $(least -s 1472 -M do 10.1.0.2) -ge 40 ] && echo a full frame
        serve
        phone curl -s http://10.1.0.2/data | cmp - data && echo bulk
        cat >frames.py <<'END'
import socket, struct, sys
# Each kind by its destination, and its bytes after the addresses: a protocol for local experiments,
# the same with a VLAN tag and with two, LLDP, spanning tree (802.3 with LLC), LACP.
PAYLOAD = b"frame" * 10
LARGE = b"x" * 1500
KINDS = {
    "local": ("ffffffffffff", b"\x88\xb5" + PAYLOAD),
    "tag": ("ffffffffffff", b"\x81\x00\x00\x07\x88\xb5" + LARGE),
    "two tags": ("ffffffffffff", b"\x88\xa8\x00\x07\x81\x00\x00\x08\x88\xb5" + LARGE[:1492]),
    "LLDP": ("0180c200000e", b"\x88\xcc" + PAYLOAD),
    "spanning tree": ("0180c2000000", b"\x00\x32" + PAYLOAD),
    "LACP": ("0180c2000002", b"\x88\x09" + PAYLOAD),
}
OWN = b"\2\0\0\0\0\x09"
SOL_PACKET, PACKET_AUXDATA = 263, 8
port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
port.bind(("eth0", 0))
if sys.argv[1] == "send":
    for destination, rest in KINDS.values():
        port.send(bytes.fromhex(destination) + OWN + rest)
else:
    # The kernel takes the outer tag out of the frame.
    port.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    print("ready", flush=True)
    port.settimeout(20)
    missing = set(KINDS)
    try:
        while missing:
            frame, extra, _, _ = port.recvmsg(2000, 64)
            tag = b""
            for _, _, data in extra:
                status, _, _, _, _, tci, kind = struct.unpack("=IIIHHHH", data[:20])
                if status & 0x10:
                    tag = struct.pack(">HH", kind, tci)
            if frame[6:12] == OWN:
                arrived = (frame[:6].hex(), tag + frame[12:])
                missing -= {name for name, sent in KINDS.items() if sent == arrived}
        print("all kinds of frames")
    except TimeoutError:
        print("missing:", *missing)
END
        server python3 frames.py receive >received & receiver=$!
        until grep -q ready received; do sleep 0.05; done
        phone python3 frames.py send
        wait $receiver; tail -n 1 received
        lasthop link list --json | grep -o '"command":"[^"]*"'
        lasthop link set 1 up loss=100% >/dev/null
        phone ping -c 2 -i 0.2 -W 1 -q 10.1.0.2 | grep -o '100% packet loss'
        lasthop link exec 1 -- true || echo no program
        kill $link; wait $link; echo "status $?"
        snapshot >after; diff before after && echo as before
    "#;
    let Some((world, output)) = run(script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        out.lines().collect::<Vec<_>>(),
        [
            "IPv4",
            "ttl=64",
            "1",
            "IPv6",
            "a full frame",
            "bulk",
            "all kinds of frames",
            "\"command\":\"eth1 - eth2\"",
            "100% packet loss",
            "no program",
            "status 0",
            "as before",
        ],
        "{err}\n{}",
        world.read("log")
    );
    // Only what the two hosts and the script sent crossed the link: nothing of the box itself.
    let tshark = ["-r", "x.pcapng", "-T", "fields", "-e", "eth.src"];
    let sources = Command::new("tshark").args(tshark).current_dir(world.folder()).output().expect("tshark");
    let mut sources: Vec<String> = text(&sources.stdout).lines().map(str::to_owned).collect();
    sources.sort();
    sources.dedup();
    assert_eq!(sources.len(), 3, "phone, server, frames.py: {sources:?}");
}

/// Hosts in a VLAN, and in one within it: whole segments with tags cross the link, too.
#[test]
fn hosts_in_vlans() {
    let probe = "ip link add d0 type dummy && ip link add v0 link d0 type vlan id 7";
    let Some(world) = World::new() else { return };
    if !world.run(probe).status.success() {
        skip::skip!("this kernel has no VLAN interfaces (8021q)");
        return;
    }
    let script = r"
        for host in phone:1 server:2; do
            IFS=: read -r name number <<<$host
            ip -n $name link add vlan7 link eth0 type vlan id 7
            ip -n $name address add 10.7.0.$number/24 dev vlan7; ip -n $name link set vlan7 up
            ip -n $name link add vlan8 link vlan7 type vlan id 8
            ip -n $name address add 10.8.0.$number/24 dev vlan8; ip -n $name link set vlan8 up
        done
        bridge --up delay=15ms --down delay=25ms
        [ $(least 10.7.0.2) -ge 40 ] && echo a tag
        [ $(least 10.8.0.2) -ge 40 ] && echo two tags
        [ $(least -s 1472 -M do 10.7.0.2) -ge 40 ] && echo a full frame
        serve
        for vlan in 7 8; do phone curl -s http://10.$vlan.0.2/data | cmp - data && echo bulk; done
    ";
    let Some((_world, output)) = run(script) else { return };
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines, ["a tag", "two tags", "a full frame", "bulk", "bulk"], "{}", text(&output.stderr));
}

/// A link that damages bytes handles each frame by itself.
#[test]
fn damaged_frames() {
    let script = r"
        bridge --down damage=checksum,ber=1e-6 --seed 7
        serve
        phone curl -s http://10.1.0.2/data | cmp - data && echo bulk
        kill $link; wait $link
        grep -o 'damaged' log | head -n 1
    ";
    let Some((world, output)) = run(script) else { return };
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines, ["bulk", "damaged"], "{}\n{}", text(&output.stderr), world.read("log"));
}

/// If lasthop is killed, both interfaces come back, each up or down as it was, and nothing is left.
#[test]
fn both_interfaces_come_back_when_lasthop_is_killed() {
    let script = r"
        snapshot >before
        bridge
        ip link show eth1 >/dev/null 2>&1 || ip link show eth2 >/dev/null 2>&1 || echo gone
        kill -9 $link
        for try in $(seq 200); do snapshot >after; cmp -s before after && break; sleep 0.1; done
        diff before after && echo back
        ls state | grep -v lock || echo no state
    ";
    let Some((_world, output)) = run(script) else { return };
    let out = text(&output.stdout);
    assert_eq!(out.lines().collect::<Vec<_>>(), ["gone", "back", "no state"], "{}", text(&output.stderr));
}

/// Interfaces that cannot be bridged are refused before anything is made.
#[test]
fn bridges_that_are_refused() {
    let script = r"
        set +e
        snapshot >before
        lasthop link --bridge eth1 eth9
        lasthop link --bridge eth1 eth1
        lasthop link --bridge eth1 lo
        ip address add 10.3.0.1/24 dev eth2; lasthop link --bridge eth1 eth2; ip address del 10.3.0.1/24 dev eth2
        lasthop link --bridge eth1 eth2 --mtu 1400 2>&1 | head -n 1 >&2
        snapshot >after; diff before after && echo as before
    ";
    let Some((_world, output)) = run(script) else { return };
    assert_eq!(text(&output.stdout), "as before\n");
    insta::assert_snapshot!(text(&output.stderr));
}
