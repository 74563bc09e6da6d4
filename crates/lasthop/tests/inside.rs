//! Tests of `lasthop link --inside`: a device with nothing of lasthop in it, attached by a cable to
//! an interface of this host. The cable is a veth pair, the device a namespace with a DHCP client.

mod world;

use std::fs;
use std::path::Path;
use std::process::Command;
use world::device::run;
use world::{World, text};

/// E1, E5, E6, W4: a device that knows nothing of lasthop gets an address and names by DHCP, an
/// IPv6 address by router advertisements, and reaches the Internet over the link in both. What it
/// sends crosses the link under its own address. Afterwards this host is as before.
#[test]
fn a_device_at_an_interface_is_behind_the_link() {
    let script = r"
        snapshot >before
        link --up delay=30ms --down delay=30ms --mtu 1400 --seed 7 --capture x.pcapng --json x.json --inside eth1
        ask_for_an_address
        on sh -c 'mount --bind resolv.conf /etc/resolv.conf; getent hosts host.lasthop'
        on curl -s http://10.9.0.1:8000/data | wc -c
        on ping -c 3 -i 0.2 -q 10.9.0.1 | sed -n 's,.*= \([0-9.]*\)/.*,\1,p' >rtt
        # Until it is no longer tentative: before, a program would send from the link-local address.
        until on ip -6 address show wlan0 scope global -tentative | grep -q fd6c; do sleep 0.1; done
        on curl -s 'http://[fd09::1]:8000/data' | wc -c
        kill $link; wait $link
        snapshot >after; diff before after && echo the host is as before
    ";
    let Some((world, output)) = run(script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let log = fs::read_to_string(world.path("log")).unwrap_or_default();
    let lines: Vec<&str> = out.lines().collect();
    let [lease, host, bytes, bytes6, restored] = lines[..] else { panic!("{out}\n{err}\n{log}") };
    assert!(lease.starts_with("lease of 192.168.200."), "{lease}");
    assert!(lease.ends_with("/24, router 192.168.200.1, mtu 1400"), "{lease}");
    assert!(host.starts_with("100.64.") && host.ends_with("host.lasthop"), "{host}");
    assert_eq!([bytes, bytes6, restored], ["200000", "200000", "the host is as before"]);
    let rtt = fs::read_to_string(world.path("rtt")).expect("a time");
    assert!(rtt.trim().parse::<f64>().expect("milliseconds") >= 60.0, "{rtt}");
    assert_eq!(output.status.code(), Some(0), "{err}");
    assert!(
        log.contains("eth1 is behind the link: 192.168.200.0/24, fd6c:6173:7468:c8::/64, gateway"),
        "{log}"
    );

    let tshark = ["-r", "x.pcapng", "-Y", "tcp.dstport == 8000", "-T", "fields", "-e", "ip.src"];
    let sources = Command::new("tshark").args(tshark).current_dir(world.folder()).output().expect("tshark");
    let sources = text(&sources.stdout);
    assert!(sources.lines().any(|source| source.starts_with("192.168.200.")), "{sources}");
    assert!(!sources.contains("100.64."), "the link sees the device's own address: {sources}");
}

/// Two devices have a network each and share the link, and reach each other.
#[test]
fn devices_at_two_interfaces_share_the_link() {
    let script = r#"
        ip netns add other; ip link add eth2 type veth peer name wlan0 netns other; ip -n other link set wlan0 up
        link --up delay=1ms --inside eth1 --inside eth2 -- sleep 1000
        ask_for_an_address | cut -d, -f1
        ip netns exec other udhcpc -f -q -n -t 10 -O mtu -i wlan0 -s "$FOLDER/lease" 2>/dev/null | cut -d, -f1
        ip -n other -4 -br address show wlan0 | tr / ' ' | { read -r _ _ address _; on ping -c 1 -q $address >/dev/null && echo reached; }
        ip netns exec other curl -s http://10.9.0.1:8000/data | wc -c
    "#;
    let Some((_world, output)) = run(script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let lines: Vec<&str> = out.lines().collect();
    let [first, second, reached, bytes] = lines[..] else { panic!("{out}\n{err}") };
    assert!(first.starts_with("lease of 192.168.200."), "{first}");
    assert!(second.starts_with("lease of 192.168.201."), "{second}");
    assert_eq!([reached, bytes], ["reached", "200000"]);
}

/// A device at a bridge of this host is behind a link at one end of a veth pair whose other end is
/// in the bridge. This is how an access point's phones are (docs/how-to/phone.md): there, hostapd
/// puts the Wi-Fi interface into the bridge, here it is `eth1`.
#[test]
fn a_device_at_a_bridge_is_behind_the_link() {
    let script = r"
        ip link add ap0 type bridge
        ip link set eth1 master ap0; ip link set eth1 up
        ip link add lan0 type veth peer name lan1
        ip link set lan1 master ap0; ip link set lan1 up; ip link set ap0 up
        # Bridges call netfilter on hosts with Docker, whose policy is this one.
        sysctl -q net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1 2>/dev/null ||
            { echo none; exit; }
        nft 'add table ip filter; add chain ip filter FORWARD { type filter hook forward priority 0; policy drop; }
             add rule ip filter FORWARD iifname ap0 oifname ap0 accept'
        link --up delay=30ms --down delay=30ms --inside lan0
        ask_for_an_address | cut -d, -f1
        on curl -s --max-time 20 http://10.9.0.1:8000/data | wc -c
        until on ip -6 address show wlan0 scope global -tentative | grep -q fd6c; do sleep 0.1; done
        on curl -s --max-time 20 'http://[fd09::1]:8000/data' | wc -c
    ";
    let Some((_world, output)) = run(&format!("set +e; {script}")) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    if out == "none\n" {
        skip::skip!("bridges of this kernel do not call netfilter (br_netfilter)");
        return;
    }
    let lines: Vec<&str> = out.lines().collect();
    let [lease, bytes, bytes6] = lines[..] else { panic!("{out}\n{err}") };
    assert!(lease.starts_with("lease of 192.168.200."), "{lease}");
    assert_eq!([bytes, bytes6], ["200000", "200000"]);
}

/// A namespace, such as that of a container, gets a way over the link, goes before the one that it
/// has, and has it again when the link ends.
#[test]
fn a_namespace_is_behind_the_link() {
    let script = r"
        ip -n device address add 10.3.0.2/24 dev wlan0; ip -n device route add default via 10.3.0.1
        ip -n device route >before
        link --up delay=30ms --down delay=30ms --inside netns:device --json x.json -- sleep 1000
        on ip route get 10.9.0.1 | head -n 1 | cut -d' ' -f1-7
        on curl -s http://10.9.0.1:8000/data | wc -c
        on curl -s 'http://[fd09::1]:8000/data' | wc -c
        on ip route show 10.3.0.0/24 | cut -d' ' -f1-3
        lasthop link --inside netns:device; lasthop link --inside pid:self; lasthop link --inside netns:none
        kill $link; wait $link
        ip -n device route >after; diff before after && echo as before
    ";
    let Some((world, output)) = run(&format!("set +e; {script}")) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines,
        [
            "10.9.0.1 via 192.168.200.1 dev lasthop0 src 192.168.200.2",
            "200000",
            "200000",
            "10.3.0.0/24 dev wlan0",
            "as before",
        ],
        "{err}"
    );
    let log = fs::read_to_string(world.path("log")).expect("messages");
    assert!(log.contains("netns:device is behind the link: 192.168.200.0/24, "), "{log}");
    insta::assert_snapshot!(err);
}

/// A firewall that drops forwarded packets by policy, such as Docker's, lets the link's pass while
/// it is up: also a second link, and a link that is killed leaves no rule.
#[test]
fn a_firewall_that_drops_forwarded_packets() {
    let script = r"
        nft -f - <<'END'
        table ip filter {
            chain DOCKER { }
            chain FORWARD { type filter hook forward priority filter; policy drop; jump DOCKER; }
        }
        table inet filter {
            chain forward { type filter hook forward priority filter; policy drop; }
        }
END
        snapshot >before
        link --inside netns:device
        grep -o 'note: this host drops.*' log
        on curl -s http://10.9.0.1:8000/data | wc -c
        on curl -s 'http://[fd09::1]:8000/data' | wc -c
        lasthop link -q -- curl -s http://10.9.0.1:8000/data | wc -c
        on curl -s http://10.9.0.1:8000/data | wc -c
        kill -9 $link
        for i in $(seq 200); do snapshot >after; cmp -s before after && break; sleep 0.1; done
        diff before after && echo as before
    ";
    let Some((_world, output)) = run(script) else { return };
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    let note = "note: this host drops forwarded packets (ip filter FORWARD, inet filter forward): rules let lasthop-1 pass";
    assert_eq!(
        lines,
        [note, "200000", "200000", "200000", "200000", "as before"],
        "{}",
        text(&output.stderr)
    );
}

/// If lasthop is killed, the interface still comes back, up as it was, and nothing is left.
#[test]
fn the_interface_comes_back_when_lasthop_is_killed() {
    let script = r#"
        ip link set eth1 up
        until ip -br link show eth1 | grep -q ' UP '; do sleep 0.05; done
        snapshot >before
        link --inside eth1
        ip link show eth1 >/dev/null 2>&1 || echo gone
        pgrep -f "conf-file=$FOLDER" >/dev/null && echo dnsmasq
        kill -9 $link
        for i in $(seq 200); do snapshot >after; cmp -s before after && break; sleep 0.1; done
        diff before after && echo back
        pgrep -f "conf-file=$FOLDER" || echo no dnsmasq
        ls state | grep -v lock || echo no state
    "#;
    let Some((_world, output)) = run(script) else { return };
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines, ["gone", "dnsmasq", "back", "no dnsmasq", "no state"], "{}", text(&output.stderr));
}

/// Interfaces that the host itself needs are refused before anything is made.
#[test]
fn interfaces_that_cannot_be_behind_the_link() {
    let script = r"
        set +e
        snapshot >before
        lasthop link --inside eth9
        lasthop link --inside up0
        lasthop link --inside lo
        lasthop link --inside eth1 --inside eth1
        ip address add 10.3.0.1/24 dev eth1; lasthop link --inside eth1; ip address del 10.3.0.1/24 dev eth1
        ip link add br0 type bridge; ip link set dev eth1 master br0; lasthop link --inside eth1; ip link del br0
        lasthop link --clock virtual --inside eth1
        snapshot >after; diff before after
    ";
    let Some((_world, output)) = run(script) else { return };
    assert_eq!(text(&output.stdout), "");
    insta::assert_snapshot!(text(&output.stderr));
}

/// Many devices at once share a link, at one interface behind a switch, and at an interface each.
/// `scripts/bench/devices` does the same with 200.
#[test]
fn many_devices_share_the_link() {
    for program in ["dnsmasq", "udhcpc"] {
        if netlab::nat::program(program).is_none() {
            skip::skip!("{program} is not installed");
            return;
        }
    }
    if World::new().is_none() {
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/bench/devices");
    for form in ["switch", "interfaces"] {
        let output = Command::new(&script)
            .args([env!("CARGO_BIN_EXE_lasthop"), "12", form])
            .env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()))
            .output()
            .expect("bash");
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{out}\n{err}");
        assert!(out.contains("12 whole pages in"), "{out}\n{err}");
    }
}
