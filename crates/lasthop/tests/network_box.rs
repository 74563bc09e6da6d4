//! Tests of plans with interfaces and namespaces of this host at nodes (`attach`): the network box
//! of ltcp-newzag, section 4. The wired part and its links are in the plan; the device outside has
//! nothing of lasthop in it.

mod world;

use std::process::{Command, Output};
use world::device::run;
use world::{World, text};

/// A run of `plan.toml` that lasts until there is a file `over`, and what follows it. `ask`
/// repeats a command until the network answers.
const BOX: &str = r#"
begin() {
    : >log
    lasthop run plan.toml --out "$FOLDER/out" "$@" 2>log >summary &
    campaign=$!
    until grep -q 'is behind' log; do kill -0 $campaign || { cat log; exit 9; }; sleep 0.05; done
}
end() { touch over; wait $campaign; echo "status $?"; }
ask() { for try in $(seq 100); do "$@" 2>/dev/null && return; sleep 0.1; done; return 1; }
"#;

/// Traffic of a plan whose server and duration are at the fixed host.
const TRAFFIC: &str = r#"
[[workloads]]
name = "www"
kind = "command"
node = "fh"
command = "exec python3 -m http.server --bind :: --directory {plan-folder} 80"
background = true
listens = 80
[[workloads]]
name = "until"
kind = "command"
node = "fh"
command = "until test -e {plan-folder}/over; do sleep 0.1; done"
"#;

fn in_box(scenario: &str, script: &str) -> Option<(World, Output)> {
    run(&format!("{BOX}\ncat >plan.toml <<'END'\n{scenario}\n{TRAFFIC}\nEND\n{script}"))
}

/// Returns the fields that tshark finds in the capture of the run, a line for each packet.
fn fields(world: &World, filter: &str, fields: &[&str]) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-r", "out/captures/c000-r00.pcapng", "-Y", filter, "-T", "fields"]);
    let output = tshark
        .args(fields.iter().flat_map(|field| ["-e", field]))
        .current_dir(world.folder())
        .output()
        .expect("tshark");
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// E1, E2, E4, E6, E7f, E11, W4: FH, R1 and R2 are in the box, the device is outside, behind a
/// wireless link of the plan. It gets an address and all names, sees a hop for each node and the
/// delay of all links, and downloads a file. Losses are on the wireless link only. Afterwards this
/// host is as before.
#[test]
fn a_device_behind_the_nodes_of_a_plan() {
    let plan = r#"
        [capture]
        snap-length = 200
        [[scenario.nodes]]
        name = "ap"
        attach = ["eth1"]
        [[scenario.links]]
        name = "air"
        between = ["ap", "r2"]
        down = "rate=20mbit,delay=5ms,loss=3%"
        up = "rate=20mbit,delay=5ms"
        [[scenario.links]]
        name = "r2-r1"
        between = ["r2", "r1"]
        up = "rate=100mbit"
        down = "rate=100mbit"
        [[scenario.links]]
        name = "r1-fh"
        between = ["r1", "fh"]
        up = "rate=100mbit,delay=5ms"
        down = "rate=100mbit,delay=5ms"
    "#;
    let script = r"
        snapshot >before
        begin --seed 7
        ask_for_an_address
        on sh -c 'mount --bind resolv.conf /etc/resolv.conf; getent hosts fh.lasthop'
        ask on curl -s http://10.0.0.4/data | wc -c
        on ping -c 5 -i 0.2 10.0.0.4 >pings
        until on ip -6 address show wlan0 scope global -tentative | grep -q fd6c; do sleep 0.1; done
        ask on curl -s 'http://[fd00::4]/data' | wc -c
        end
        snapshot >after; diff before after && echo the host is as before
    ";
    let Some((world, output)) = in_box(plan, script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let log = world.read("log");
    let lines: Vec<&str> = out.lines().collect();
    let [lease, host, bytes, bytes6, status, restored] = lines[..] else { panic!("{out}\n{err}\n{log}") };
    assert!(lease.starts_with("lease of 192.168.200."), "{lease}");
    assert!(lease.ends_with("/24, router 192.168.200.1, mtu 1500"), "{lease}");
    assert!(host.starts_with("fd00::4") || host.starts_with("10.0.0.4"), "{host}");
    assert_eq!(
        [bytes, bytes6, status, restored],
        ["200000", "200000", "status 0", "the host is as before"],
        "{err}\n{log}"
    );
    assert!(log.contains("eth1 is behind ap: 192.168.200.0/24, fd6c:6173:7468:c8::/64, gateway"), "{log}");

    // Three routers: the access point, R2 and R1. 5 ms each way on two links.
    let pings = world.read("pings");
    let reply = pings.lines().find(|line| line.contains("ttl=")).expect("a reply");
    assert!(reply.contains("ttl=61"), "{reply}");
    let shortest = pings.split("= ").nth(1).and_then(|times| times.split('/').next()).expect("times");
    assert!(shortest.parse::<f64>().expect("milliseconds") >= 20.0, "{pings}");

    let manifest: serde_json::Value = serde_json::from_str(&world.read("out/manifest.json")).expect("JSON");
    let counters = manifest["runs"][0]["links"].as_array().expect("links").clone();
    assert_eq!(counters.len(), 6);
    for link in counters {
        let lost = link["lost"].as_object().expect("losses").len();
        let is_air = link["link"] == "air" && link["direction"] == "down";
        assert_eq!(lost > 0, is_air, "{link}");
    }
    // The capture shows the device's own address, and its download is a row of the results.
    let sources = fields(&world, "tcp.dstport == 80", &["ip.src"]);
    assert!(sources.iter().any(|source| source.starts_with("192.168.200.")), "{sources:?}");
    let rows = world.read("out/runs.jsonl");
    assert!(rows.contains(r#""from":"fh","to":"eth1""#), "{rows}");
}

/// E3: ten routers are ten hops, in both directions.
#[test]
fn ten_routers_are_ten_hops() {
    let links: Vec<String> = (1..=10)
        .map(|number| {
            let next = if number == 10 { "fh".to_owned() } else { format!("r{}", number + 1) };
            format!("[[scenario.links]]\nbetween = [\"r{number}\", \"{next}\"]\nup = \"rate=100mbit\"\n")
        })
        .collect();
    let plan = format!(
        "[capture]\nkeep = \"none\"\n[[scenario.nodes]]\nname = \"r1\"\nattach = [\"eth1\"]\n{}",
        links.concat()
    );
    let script = r"
        begin
        ask_for_an_address >/dev/null
        ask on ping -c 1 -W 5 10.0.0.11 | grep -o 'ttl=[0-9]*'
        for ttl in $(seq 11); do on ping -c 1 -W 5 -t $ttl 10.0.0.11 | sed -n '2s/^\(From\|64 bytes from\) \([0-9.]*\).*/\2/p'; done
        end
    ";
    let Some((world, output)) = in_box(&plan, script) else { return };
    let out = text(&output.stdout);
    let hops = (2..=11).map(|number| format!("10.0.0.{number}"));
    let expected: Vec<String> = ["ttl=54".to_owned(), "192.168.200.1".to_owned()]
        .into_iter()
        .chain(hops)
        .chain(["status 0".to_owned()])
        .collect();
    assert_eq!(out.lines().collect::<Vec<_>>(), expected, "{}\n{}", text(&output.stderr), world.read("log"));
}

/// E7d: with an MTU of 512 on one link, the segments of a download by a device follow it.
#[test]
fn segments_follow_the_mtu_of_a_link() {
    let plan = r#"
        [[scenario.nodes]]
        name = "r2"
        attach = ["eth1"]
        [[scenario.links]]
        name = "wired"
        between = ["r2", "r1"]
        [[scenario.links]]
        name = "narrow"
        between = ["r1", "fh"]
        mtu = 512
    "#;
    let script = r"
        begin
        ask_for_an_address >/dev/null
        ask on curl -s http://10.0.0.3/data | wc -c
        end
    ";
    let Some((world, output)) = in_box(plan, script) else { return };
    let out = text(&output.stdout);
    assert_eq!(out.lines().collect::<Vec<_>>(), ["200000", "status 0"], "{}", text(&output.stderr));
    let lengths: Vec<u32> = fields(&world, "tcp.srcport == 80 && tcp.len > 0", &["ip.len"])
        .iter()
        .map(|length| length.parse().expect("a length"))
        .collect();
    assert!(lengths.len() > 200_000 / 472, "{lengths:?}");
    assert_eq!(lengths.iter().max(), Some(&512));
}

/// Several devices at once: two with a link each, and a namespace that shares one of them. All
/// reach each other and the fixed host.
#[test]
fn devices_with_links_of_their_own() {
    let plan = r#"
        [capture]
        keep = "none"
        [[scenario.nodes]]
        name = "fast"
        attach = ["eth1", "netns:box"]
        [[scenario.nodes]]
        name = "slow"
        attach = ["eth2"]
        [[scenario.links]]
        between = ["fast", "r"]
        up = "delay=1ms"
        [[scenario.links]]
        between = ["slow", "r"]
        up = "delay=40ms"
        [[scenario.links]]
        between = ["r", "fh"]
    "#;
    let script = r#"
        for name in other box; do ip netns add $name; ip -n $name link set lo up; done
        ip link add eth2 type veth peer name wlan0 netns other; ip -n other link set wlan0 up
        snapshot >before; ip -n box route >box.before
        begin
        ask_for_an_address | cut -d, -f1
        ip netns exec other udhcpc -f -q -n -t 10 -O mtu -i wlan0 -s "$FOLDER/lease" 2>/dev/null | cut -d, -f1
        for name in device other box; do ask ip netns exec $name curl -s http://10.0.0.4/data | wc -c; done
        least() { ip netns exec $1 ping -c 3 -i 0.2 -q $2 | sed -n 's,.*= \([0-9]*\).*,\1,p'; }
        [ $(least device 10.0.0.4) -ge 1 ] && [ $(least other 10.0.0.4) -ge 40 ] && echo each its own delay
        address=$(ip -n other -4 -br address show wlan0 | sed 's,.* \([0-9.]*\)/.*,\1,')
        [ $(least box $address) -ge 41 ] && echo reached
        end
        snapshot >after; diff before after && echo as before
        for try in $(seq 100); do ip -n box route >box.after; cmp -s box.before box.after && break; sleep 0.1; done
        diff box.before box.after && echo the namespace as well
    "#;
    let Some((world, output)) = in_box(plan, script) else { return };
    let out = text(&output.stdout);
    let lines: Vec<&str> = out.lines().collect();
    let (leases, rest) = lines.split_at(2.min(lines.len()));
    let message = format!("{out}\n{}\n{}", text(&output.stderr), world.read("log"));
    assert!(leases[0].starts_with("lease of 192.168.200."), "{message}");
    assert!(leases[1].starts_with("lease of 192.168.202."), "{message}");
    assert_eq!(
        rest,
        [
            "200000",
            "200000",
            "200000",
            "each its own delay",
            "reached",
            "status 0",
            "as before",
            "the namespace as well"
        ],
        "{message}"
    );
}

/// If the campaign is killed, the interface comes back, up as it was, and nothing is left: also if
/// only the run's process is killed, which is then a failed run.
#[test]
fn an_interface_comes_back_from_a_killed_campaign() {
    let plan = r#"
        [[scenario.nodes]]
        name = "r"
        attach = ["eth1"]
        [[scenario.links]]
        between = ["r", "fh"]
    "#;
    let script = r#"
        ip link set eth1 up
        until ip -br link show eth1 | grep -q ' UP '; do sleep 0.05; done
        snapshot >before
        restored() {
            for try in $(seq 200); do snapshot >after; cmp -s before after && break; sleep 0.1; done
            diff before after && echo $1
        }
        begin
        ask_for_an_address >/dev/null
        ask on curl -s http://10.0.0.2/data | wc -c
        ip link show eth1 >/dev/null 2>&1 || echo gone
        kill -9 $campaign
        restored back
        pgrep -f "conf-file=$FOLDER" || echo no dnsmasq
        ls state | grep -v lock || echo no state
        rm -r out
        begin
        pkill -9 -f "__run $FOLDER/out"
        wait $campaign || echo "status $?"
        restored "back again"
    "#;
    let Some((world, output)) = in_box(plan, script) else { return };
    let out = text(&output.stdout);
    assert_eq!(
        out.lines().collect::<Vec<_>>(),
        ["200000", "gone", "back", "no dnsmasq", "no state", "status 1", "back again"],
        "{}\n{}",
        text(&output.stderr),
        world.read("log")
    );
}

/// Attachments that a run cannot have are refused with what would be right, and nothing changes.
#[test]
fn attachments_that_are_refused() {
    let script = r#"
        set +e
        snapshot >before
        plan() { # ATTACH [LINK]
            printf '[[scenario.nodes]]\nname = "r"\nattach = %s\n[[scenario.links]]\nbetween = ["r", "fh"]\n' "$1"
            [ -z "$2" ] || echo "name = \"$2\""
            printf '[[workloads]]\nname = "w"\nkind = "command"\nnode = "fh"\ncommand = "true"\n'
        }
        refused() { plan "$@" >p.toml; rm -rf out; lasthop run p.toml --out out --seed 1; }
        refused '["eth9"]'
        refused '["up0"]'
        refused '["eth1", "eth1"]'
        refused '["eth1"]' eth1
        refused '[""]'
        refused '["netns:none"]'
        snapshot >after; diff before after && echo as before
    "#;
    let Some((_world, output)) = run(script) else { return };
    assert!(text(&output.stdout).ends_with("as before\n"), "{}", text(&output.stdout));
    insta::assert_snapshot!(text(&output.stderr));
}
