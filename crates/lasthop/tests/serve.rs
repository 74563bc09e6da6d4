//! Tests of `lasthop serve`: its HTTP interface to a link that runs.

mod world;

use std::process::Output;
use world::{World, text};

/// Starts a link and the server. `api METHOD PATH [BODY]` calls the interface.
const PREPARE: &str = r#"
set -e
ip link set lo up
cd "$FOLDER"
lasthop link -q --down rate=4mbit,delay=20ms --seed 1 \
    -- bash -c 'touch up; until [ -e done ]; do sleep 0.05; done' &
link=$!
lasthop serve --listen 127.0.0.1:0 >printed &
serve=$!
trap 'kill $serve 2>/dev/null; touch done; wait' EXIT
until [ -s printed ] && [ -e up ] && lasthop link list 2>/dev/null | grep -q '^link'; do sleep 0.05; done
url=$(sed 's/#.*//' printed); token=$(sed 's/.*#token=//' printed)
api() { curl -s --max-time 20 -X "$1" -H "Authorization: Bearer $token" ${3:+--data "$3"} "${url}api/$2"; }
"#;

/// Runs a script beside the link; `None` if that is impossible here.
fn run(script: &str) -> Option<(World, Output)> {
    let world = World::new()?;
    let output = world.run(&format!("{PREPARE}\n{script}"));
    Some((world, output))
}

/// The link is found, changed as by `lasthop link set`, and captured; the capture can be fetched.
#[test]
fn a_link_is_changed_and_captured_by_http() {
    let script = r#"
        api GET links; echo
        # From the first look on, flows are counted.
        api GET links/1 >/dev/null
        api POST links/1/set '{"direction": "down", "parameters": "profile=umts,loss=none"}'; echo
        lasthop link list | tail -n 1
        api POST links/1/set '{"direction": "down", "parameters": "rate=fast"}'; echo
        api POST links/1/capture '{"record": true}'; echo
        lasthop link exec 1 -- ping -c 2 -i 0.2 -q host.lasthop >/dev/null
        api POST links/1/capture '{"record": false}'; echo
        api GET links/1/capture/file >fetched; cmp fetched link-1.pcapng && echo the same
        api GET links/1 | grep -o '"protocol":"icmp"' | head -n 1
        touch done; wait $link
        api GET links; echo; api GET links/1; echo"#;
    let Some((world, output)) = run(script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 10, "{out}{err}");
    assert!(lines[0].starts_with(r#"[{"id":"1""#), "{out}");
    assert_eq!(
        lines[1],
        r#"{"now":[["down","bottleneck: 384kbit/s counted at IP, drop-tail 50p; delay: 70ms"]]}"#
    );
    assert!(lines[2].contains("384kbit/s"), "{out}");
    assert!(lines[3].starts_with(r#"{"error":""#) && lines[3].contains("rate=fast"), "{out}");
    assert!(lines[4].starts_with(r#"{"file":"link-1.pcapng""#), "{out}");
    assert!(lines[5].starts_with(r#"{"file":null"#), "{out}");
    assert_eq!(lines[6..9], ["the same", r#""protocol":"icmp""#, "[]"]);
    let capture = capture::packets::Reader::open(&world.path("fetched")).expect("a capture");
    let packets: Vec<_> = capture.map(|packet| packet.expect("whole")).collect();
    assert_eq!(packets.len(), 8, "two pings at both ends: {packets:?}");
    assert!(lines[9].contains("matches no link"), "{out}");
}

/// The page loads nothing from elsewhere, and the interface tells nothing without the token.
#[test]
fn the_page_and_what_is_told_without_a_token() {
    let script = r#"
        curl -s "$url" >page; token=wrong; api GET links; echo
        curl -s "${url}api/openapi.json" >openapi.json
        lasthop serve --listen 127.0.0.1:"$(echo "$url" | tr -dc '0-9:' | cut -d: -f3)" || echo status $?
        lasthop serve --captures nowhere || echo status $?"#;
    let Some((world, output)) = run(script) else { return };
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let page = world.read("page");
    assert!(page.contains("connect-src 'self'") && page.contains("<main id=\"live\">"), "{page}");
    assert!(!page.contains("src=\"http"), "nothing is loaded from elsewhere");
    assert!(world.read("openapi.json").contains("/api/links/{id}/set"));
    assert!(out.starts_with(r#"{"error":"the token is missing or wrong"#), "{out}");
    assert_eq!(out.matches("status 1").count(), 2, "{out}{err}");
    assert!(err.contains("cannot listen"), "{err}");
    assert!(err.contains("--captures nowhere: there is no such directory"), "{err}");
}
