//! A device with nothing of lasthop in it, attached by a cable to an interface of this host. The
//! cable is a veth pair, the device a namespace with a DHCP client.

use super::World;
use std::fs;
use std::process::Output;

/// Makes this host (`up0` leads to the Internet, `eth1` to the device), the Internet with a web
/// server, and the device.
const PREPARE: &str = r#"
set -e
mount -t tmpfs tmpfs /run
ip link set lo up
for name in internet device; do ip netns add $name; ip -n $name link set lo up; done
ip link add up0 type veth peer name host0 netns internet
ip link add eth1 type veth peer name wlan0 netns device
ip link set up0 up; ip -n internet link set host0 up; ip -n device link set wlan0 up
ip address add 10.9.0.2/24 dev up0; ip route add default via 10.9.0.1
ip address add fd09::2/64 dev up0 nodad; ip route add default via fd09::1
ip -n internet address add 10.9.0.1/24 dev host0
ip -n internet address add fd09::1/64 dev host0 nodad
cd "$FOLDER"
ip netns exec internet python3 -m http.server --bind :: 8000 >/dev/null 2>&1 &
until ip netns exec internet bash -c 'exec 3<>/dev/tcp/127.0.0.1/8000' 2>/dev/null; do sleep 0.05; done
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
# What must be the same before and after.
snapshot() {
    ip -br link; ip -4 -br address; ip route; ip -6 route show table all | grep -v fe80
    nft list ruleset; sysctl net.ipv4.ip_forward net.ipv6.conf.all.forwarding
}
# The link is up as soon as it says what is behind it.
link() {
    : >log
    lasthop link "$@" 2>log &
    link=$!
    until grep -q 'is behind the link' log; do kill -0 $link || { cat log; exit 9; }; sleep 0.05; done
}
# Sets what a lease says, as the script of a distribution does.
cat >lease <<'END'
#!/bin/sh
[ "$1" = bound ] || exit 0
ip address add "$ip/$mask" dev "$interface"
ip link set "$interface" mtu "$mtu"
ip route add default via "$router"
echo "nameserver $dns" >"$FOLDER/resolv.conf"
echo "lease of $ip/$mask, router $router, mtu $mtu"
END
chmod +x lease
on() { ip netns exec device "$@"; }
ask_for_an_address() { on udhcpc -f -q -n -t 10 -O mtu -i wlan0 -s "$FOLDER/lease" 2>/dev/null; }
"#;

/// Runs a script as this host; `None` if that is impossible here.
pub fn run(script: &str) -> Option<(World, Output)> {
    for program in ["dnsmasq", "udhcpc"] {
        if netlab::nat::program(program).is_none() {
            skip::skip!("{program} is not installed");
            return None;
        }
    }
    let world = World::new()?;
    fs::write(world.path("data"), vec![b'x'; 200_000]).expect("a file");
    let output = world.run(&format!("{PREPARE}\n{script}"));
    Some((world, output))
}
