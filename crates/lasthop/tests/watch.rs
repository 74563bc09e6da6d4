//! Tests of `lasthop watch` and of what it asks a running link.

mod world;

use std::process::Output;
use world::{World, text};

/// Starts a web server with a file of 3 MB, and a link behind which a program waits for the file
/// `done`. `lasthop` finds the link by itself: it is the only one.
const PREPARE: &str = r#"
set -e
export TERM=xterm
ip link set lo up
cd "$FOLDER"
head -c 3000000 /dev/zero >data
python3 -m http.server 8000 >/dev/null 2>&1 &
trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT
until (exec 3<>/dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done
lasthop link -q --down rate=4mbit,delay=20ms,loss=lite-4 --seed 1 \
    -- bash -c 'touch up; until [ -e done ]; do sleep 0.05; done' &
link=$!
until [ -e up ] && lasthop link list 2>/dev/null | grep -q '^link'; do sleep 0.05; done
download() { lasthop link exec 1 -- curl -s --max-time 60 -o copy http://host.lasthop:8000/data; }
"#;

/// Runs a script beside the link; `None` if that is impossible here.
fn run(script: &str) -> Option<(World, Output)> {
    let world = World::new()?;
    let output = world.run(&format!("{PREPARE}\n{script}"));
    Some((world, output))
}

/// The states tell of the download: the flow with its addresses, what arrived, and the losses with
/// their cause. The last one is complete, because the link answers until it ends.
#[test]
fn the_states_of_a_link_during_a_download() {
    let Some((_world, output)) = run("lasthop watch --json --interval 50 >states & watch=$!
         download; sleep 0.2; touch done; wait $link; wait $watch; echo status $? >&2; cat states")
    else {
        return;
    };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(err.ends_with("status 0\n"), "{err}");
    let states: Vec<serde_json::Value> =
        out.lines().map(|line| serde_json::from_str(line).expect("a JSON object")).collect();
    let last = states.last().expect("a state");
    let number = |pointer: &str| last.pointer(pointer).and_then(serde_json::Value::as_u64).unwrap_or(0);
    // The file, with headers.
    assert!(number("/down/delivered_bytes") > 3_000_000, "{last}");
    assert_eq!(number("/down/rate"), 4_000_000, "{last}");
    assert_eq!(number("/down/delay_ns"), 20_000_000, "{last}");
    assert_eq!(number("/down/lost"), number("/down/lost_by_reason/error"), "{last}");
    let flow = &last["flows"][0];
    assert_eq!(flow["protocol"], "tcp", "{last}");
    assert!(flow["outside"].as_str().is_some_and(|outside| outside.ends_with(":8000")), "{last}");
    assert_eq!(flow["down"]["lost"], last["down"]["lost"], "{last}");
    let bytes = |which: &str| flow[which]["bytes"].as_u64().unwrap_or(0);
    assert!(bytes("down") > 3_000_000 && bytes("up") > 0, "{last}");
    // No packet can be faster than the link's delay.
    let mean = number("/down/delay_sum_ns") / number("/down/delivered");
    assert!(mean >= 20_000_000, "{last}");
    let at: Vec<_> = states.iter().filter_map(|state| state["at_ns"].as_u64()).collect();
    assert!(at.len() > 20 && at.is_sorted(), "{at:?}");
}

/// Keys in a terminal change the link: its rate, an outage, another profile. `q` leaves the link
/// alone and the terminal as it was.
#[test]
fn keys_change_the_link() {
    let Some((world, output)) = run(r#"
        mkfifo keys
        script -q -e -c 'stty cols 120 rows 40; lasthop watch; echo "status $?"; stty -a' /dev/null <keys >screen &
        watch=$!
        exec 3>keys
        # Types, and waits until the link is as it should be then.
        press() { printf "$1" >&3; for i in $(seq 200); do lasthop link list | grep -q "$2" && { echo "$2"; return; }; sleep 0.05; done; lasthop link list; }
        until grep -q quit screen; do sleep 0.05; done
        press '\t\t:rate=1mbit\r' 'down .*bottleneck: 1Mbit/s'
        press '+' 'down .*bottleneck: 1.25Mbit/s'
        press o 'down .*outage: on command'
        press 'pumts\r' 'down .*bottleneck: 384kbit/s.*delay: 70ms$'
        printf c >&3; until [ -s link-1.pcapng ]; do sleep 0.05; done
        lasthop link exec 1 -- ping -c 3 -i 0.2 -q host.lasthop >ping
        printf c >&3; until lasthop watch --json --interval 50 | head -n 1 | grep -q '"capture":null'; do :; done
        printf q >&3; wait $watch; cat screen; touch done; wait $link"#)
    else {
        return;
    };
    let out = text(&output.stdout);
    let (changes, screen) = out.split_once("\u{1b}[?1049h").expect("a screen of its own");
    assert_eq!(
        changes.lines().collect::<Vec<_>>(),
        [
            "down .*bottleneck: 1Mbit/s",
            "down .*bottleneck: 1.25Mbit/s",
            "down .*outage: on command",
            "down .*bottleneck: 384kbit/s.*delay: 70ms$",
        ],
        "{out}"
    );
    let (_, after) = screen.split_once("status ").expect("an exit status");
    // Three pings and their answers, each at both ends of the link, which loses nothing now.
    let capture = capture::packets::Reader::open(&world.path("link-1.pcapng")).expect("a capture");
    let packets: Vec<_> = capture.map(|packet| packet.expect("whole")).collect();
    assert_eq!(packets.len(), 12, "{packets:?}");
    assert!(packets.iter().all(|packet| packet.bytes.len() == 84), "{packets:?}");
    // The terminal echoes again, and its normal screen is back.
    assert!(after.starts_with('0') && after.contains(" echo ") && screen.contains("\u{1b}[?1049l"), "{out}");
}

/// W3: a handover from UMTS to Wi-Fi during a download, as a switch of the profile. Without an
/// outage nothing is lost by it; with one, packets are, and the download completes nevertheless.
#[test]
fn a_handover_during_a_download() {
    for (change, is_lossy) in [("profile=wifi-b", false), ("profile=wifi-b,outage=now+300ms", true)] {
        let script = format!(
            "lasthop link set 1 both profile=umts,loss=none >/dev/null
             download & download=$!
             until lasthop link list | awk '/^  down/ && $2 > 20 {{ found = 1 }} END {{ exit !found }}'; do sleep 0.05; done
             lasthop link set 1 both {change} >/dev/null
             wait $download; echo status $? >&2
             lasthop watch --json | head -n 1; cmp data copy && echo the same; touch done; wait $link"
        );
        let Some((_world, output)) = run(&script) else { return };
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(err.contains("status 0") && out.ends_with("the same\n"), "{out}{err}");
        let state: serde_json::Value =
            serde_json::from_str(out.lines().next().expect("a line")).expect("a JSON object");
        assert_eq!(state["down"]["rate"], 11_000_000, "{state}");
        let lost = [&state["up"], &state["down"]].map(|way| way["lost_by_reason"]["outage"].as_u64());
        assert_eq!(lost.iter().flatten().sum::<u64>() > 0, is_lossy, "{change}: {state}");
    }
}

/// A change that a direction refuses changes neither, and a program without a terminal is told what
/// to use instead.
#[test]
fn refusals() {
    let Some((_world, output)) = run(r"
        lasthop watch </dev/null 2>&1 || echo status $?
        lasthop watch 7 2>&1 || echo status $?
        touch done; wait $link
        lasthop watch 2>&1 || echo status $?")
    else {
        return;
    };
    insta::assert_snapshot!(text(&output.stdout));
}
