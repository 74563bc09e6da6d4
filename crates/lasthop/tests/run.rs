//! Tests of `lasthop run` as a user runs it: plans, real TCP in namespaces of its own, the run
//! directory.

mod lab;

use lab::plan::{FLOW, KEEP_ALL, air, program, web_server};
use lab::{Lab, json, send, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Two loss profiles, two repetitions.
const SMALL: &str = r#"
title = "small"
seed = 7
repetitions = 2
[[factors]]
name = "rate"
levels = ["4mbit", "8mbit"]
[scenario]
[[scenario.links]]
name = "air"
between = ["mobile", "server"]
down = "rate={rate},delay=5ms,queue=50p,loss=2%"
up = "rate={rate},delay=5ms"
[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "200kB"
[[expect]]
id = "X-1"
title = "as fast as the link"
metric = "goodput"
where = { rate = "4mbit" }
low = 1
high = 4
unit = "Mbit/s"
source = "arithmetic"
"#;

#[test]
fn a_campaign_leaves_all_that_is_needed() {
    let Some(lab) = Lab::new() else { return };
    let output = lab.succeed(SMALL, &["--json"]);
    let out = text(&output.stdout);
    let summary: Value = serde_json::from_str(out.lines().last().expect("a line")).expect("one object");
    assert_eq!((&summary["run_directory"], &summary["workload"]), (&"out".into(), &"download".into()));
    let cells = summary["cells"].as_array().expect("cells");
    assert_eq!(cells.len(), 2);
    for (number, (cell, (rate, megabits))) in cells.iter().zip([("4mbit", 4e6), ("8mbit", 8e6)]).enumerate() {
        assert_eq!((&cell["cell"], &cell["levels"]["rate"]), (&number.into(), &rate.into()));
        assert_eq!((&cell["repetitions"], &cell["failed"]), (&2.into(), &0.into()));
        let goodput = cell["goodput"]["median"].as_f64();
        // An overloaded run has no figure; overload depends on the machine, not on the program.
        if cell["overloaded"] == 0 {
            let goodput = goodput.expect("a goodput");
            assert!(goodput > 0.0 && goodput < megabits, "{goodput}");
            for field in ["mean", "q1", "q3", "min", "max"] {
                assert!(cell["goodput"][field].is_number(), "{cell}");
            }
            assert!(cell["goodput"]["interval"].is_null(), "two runs are too few: {cell}");
            assert!(cell["retransmissions"]["median"].is_number());
        }
    }
    let expected = &summary["expectations"][0];
    assert_eq!((&expected["id"], &expected["unit"]), (&"X-1".into(), &"Mbit/s".into()));
    assert_eq!(expected["published"], serde_json::json!({ "low": 1.0, "high": 4.0 }));
    assert_eq!(expected["ours"].is_null(), expected["within"].is_null(), "{expected}");
    let manifest = json(&lab.path("out/manifest.json"));
    assert_eq!(manifest["seed"], 7);
    assert_eq!(manifest["runs"].as_array().map(Vec::len), Some(4));
    assert!(manifest["ended_unix_ns"].is_number());
    assert!(manifest["machine"]["processors"].as_u64() >= Some(1));
    let names = |folder: &str| {
        let entries = fs::read_dir(lab.path(folder)).expect("a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    // The first repetition of each cell is kept.
    assert_eq!(names("out/captures"), ["c000-r00.pcapng", "c001-r00.pcapng"]);
    assert_eq!(names("out/events"), ["c000-r00.parquet", "c001-r00.parquet"]);
    assert!(lab.path("out/results.parquet").exists() && lab.path("out/report.html").exists());
    assert!(!lab.path("out/unfinished").exists());
    for ended in lab.journal() {
        let connection = &ended["connections"][0];
        assert_eq!((&connection["bytes"], &connection["complete"]), (&200_000.into(), &true.into()));
        assert_eq!((&connection["from"], &connection["to"]), (&"server".into(), &"mobile".into()));
        // TCP retransmits at least the data that the link lost.
        let lost: u64 = ended["run"]["links"][1]["lost"]["error"].as_u64().unwrap_or(0);
        let again = connection["retransmissions"].as_u64().expect("a count");
        assert!(again + 2 >= lost, "{again} of {lost}: {ended}");
    }
    assert!(lab.processes().is_empty());
    let again = lab.run(SMALL, &[]);
    assert!(text(&again.stderr).contains("--resume"), "what is there is not overwritten");
}

/// Returns the state of the channel by tick, for packets that met it well inside the tick.
fn states(events: &Path) -> BTreeMap<u64, bool> {
    const TICK: u64 = 10_000_000;
    let mut states = BTreeMap::new();
    for fate in capture::fates::Reader::open(events).expect("an event log") {
        let fate = fate.expect("a fate");
        let at = fate.sending.end.as_nanos();
        if fate.direction == capture::Direction::Down
            && let Some(channel) = fate.channel
            && (TICK / 10..TICK * 9 / 10).contains(&(at % TICK))
        {
            states.insert(at / TICK, channel == capture::ChannelState::Bad);
        }
    }
    states
}

/// The same seed gives the same schedule of errors, whatever the packets; another repetition gives
/// another schedule.
#[test]
fn errors_come_at_the_same_times_again() {
    let Some(lab) = Lab::new() else { return };
    let plan = air(r#"loss = "lite-4""#, &[FLOW, KEEP_ALL].concat());
    let mut seen = Vec::new();
    for seed in ["1", "1", "2"] {
        lab.succeed(&plan, &["-n", "2", "--seed", seed]);
        for repetition in ["r00", "r01"] {
            seen.push(states(&lab.path(&format!("out/events/c000-{repetition}.parquet"))));
        }
        fs::remove_dir_all(lab.path("out")).expect("removed");
    }
    let agree = |a: &BTreeMap<u64, bool>, b: &BTreeMap<u64, bool>| {
        let common: Vec<_> = a.keys().filter(|tick| b.contains_key(tick)).collect();
        assert!(common.len() > 100, "{} ticks", common.len());
        common.iter().all(|tick| a[tick] == b[tick])
    };
    assert!(agree(&seen[0], &seen[2]), "repetition 0 again");
    assert!(agree(&seen[1], &seen[3]), "repetition 1 again");
    let all: Vec<_> = [0, 1, 4, 5].iter().map(|&n: &usize| &seen[n]).collect();
    assert!(all.iter().any(|states| states.values().any(|bad| *bad)), "some burst in twelve seconds");
    assert!(!agree(&seen[0], &seen[1]) || !agree(&seen[0], &seen[4]), "others differ");
}

/// M1 and M2 (resoa-evaluation 2.2, 2.3): request and response over the time from connect to the
/// last byte.
#[test]
fn requests_and_responses() {
    let Some(lab) = Lab::new() else { return };
    let plan = r#"
        [scenario]
        [[scenario.links]]
        between = ["client", "router"]
        up = "rate=10mbit,delay=10ms"
        down = "rate=10mbit,delay=10ms"
        [[scenario.links]]
        between = ["router", "server"]
        up = "delay=15ms"
        down = "delay=15ms"
        [[workloads]]
        name = "web"
        kind = "request"
        from = "client"
        to = "server"
        request = "100B"
        response = "50kB"
        times = 3
        pause = "20ms"
    "#;
    lab.succeed(plan, &[]);
    let journal = lab.journal();
    let rows = journal[0]["connections"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    for row in rows {
        assert_eq!(
            (&row["bytes"], &row["from"], &row["to"]),
            (&50_100.into(), &"server".into(), &"client".into())
        );
        let nanos = |field: &str| row[field].as_u64().expect("a time");
        let took = nanos("end_ns") - nanos("start_ns");
        // At least two round trips of 50 ms, and 50 kB at 10 Mbit/s.
        assert!(took > 140_000_000, "{took} ns");
        assert!(nanos("established_ns") - nanos("start_ns") >= 50_000_000);
        let goodput = row["goodput_bps"].as_f64().expect("a goodput");
        assert!((goodput / (50_100.0 * 8e9 / took as f64) - 1.0).abs() < 1e-9);
    }
}

#[test]
fn datagrams_and_what_was_lost_of_them() {
    let Some(lab) = Lab::new() else { return };
    // With an MTU of 1280 or more the hosts would also use IPv6, and sometimes lose such a packet.
    let plan = r#"
        [scenario]
        [[scenario.links]]
        name = "air"
        between = ["mobile", "server"]
        mtu = 1279
        down = "delay=20ms,loss=10%"
        [[workloads]]
        name = "voice"
        kind = "datagrams"
        from = "server"
        to = "mobile"
        rate = "400kbit"
        size = "100B"
        duration = "2s"
        [[workloads]]
        name = "background"
        kind = "datagrams"
        from = "mobile"
        to = "server"
        rate = "400kbit"
        on = "50ms"
        off = "50ms"
        background = true
    "#;
    lab.succeed(plan, &[]);
    let journal = lab.journal();
    let [voice, background] = &journal[0]["connections"].as_array().expect("rows")[..] else {
        panic!("two rows")
    };
    assert_eq!(voice["segments"], 1000);
    let down = &journal[0]["run"]["links"][1];
    assert_eq!(down["direction"], "down");
    assert_eq!(voice["lost"], down["lost"]["error"], "{down}");
    assert!(voice["round_trips"]["min_ns"].as_u64().expect("a delay") >= 20_000_000, "never early");
    // On for half of the time, with 50 datagrams of 1000 bytes per second while on: far from none
    // and from all.
    let sent = background["segments"].as_u64().expect("a count");
    assert!((10..190).contains(&sent), "{sent}");
}

/// LL-08: a ping that continues whatever happened to earlier requests, and keeps a link busy that
/// needs more than a second for one.
#[test]
fn ll_08_a_ping_that_never_stops() {
    let Some(lab) = Lab::new() else { return };
    // 1279 octets with headers take 107 ms at 12000 octets per second, and there is one each 20 ms,
    // so the queue always overflows.
    let plan = r#"
        [scenario]
        [[scenario.links]]
        name = "air"
        between = ["mobile", "server"]
        mtu = 1279
        up = "rate=96kbit,queue=8p"
        down = "delay=5ms"
        [[workloads]]
        name = "echo"
        kind = "ping"
        from = "mobile"
        to = "server"
        size = "1251B"
        interval = "20ms"
        duration = "2s"
    "#;
    lab.succeed(plan, &[]);
    let journal = lab.journal();
    let [row] = &journal[0]["connections"].as_array().expect("rows")[..] else { panic!("a row") };
    assert_eq!((&row["protocol"], &row["segments"]), (&"icmp".into(), &100.into()));
    let up = &journal[0]["run"]["links"][0];
    assert_eq!(up["direction"], "up");
    assert_eq!(row["lost"], up["lost"]["queue-full"], "{up}");
    // 18 in two seconds, plus the 8 that are waiting at the end.
    assert!((60..80).contains(&row["lost"].as_u64().expect("a count")), "{row}");
    assert!(row["round_trips"]["min_ns"].as_u64().expect("a time") >= 111_000_000, "never early: {row}");
}

/// E3-1 and E3-5 (ltcp-newzag 1.13): real programs on the nodes of T3.1, and their names.
#[test]
fn programs_on_a_scenario_of_four_nodes() {
    let Some(lab) = Lab::new() else { return };
    let scenario = r"
        seed = 7
        [scenario]
        table = [
          [1, 1, 3, 10, 7, 0], [2, 3, 1, 10, 7, 0], [3, 3, 4, 10, 7, 0.1],
          [4, 4, 3, 10, 7, 0], [5, 4, 2, 10, 7, 0], [6, 2, 4, 10, 7, 0],
        ]
    ";
    let hops =
        "ping -n -c 1 -t 3 {address.2} && ! ping -n -c 1 -W 1 -t 2 {address.2} && getent hosts 2.lasthop";
    let programs = [
        program("hops", "1", hops),
        web_server("2", 100_000),
        program("fetch", "1", "curl -4 -sf -o got http://2.lasthop/file && cmp got file"),
    ];
    let plan = scenario.to_owned() + &programs.concat();
    let output = lab.run(&plan, &[]);
    let logs = fs::read_to_string(lab.path("out/logs/c000-r00-hops.log")).unwrap_or_default();
    assert!(output.status.success(), "{}{logs}", text(&output.stderr));
    let time = logs.split("time=").nth(1).and_then(|rest| rest.split(' ').next());
    let milliseconds: f64 = time.and_then(|time| time.parse().ok()).expect("a time");
    assert!(milliseconds >= 42.0, "six times 7 ms: {logs}");
    assert!(logs.contains("10.0.0.2"), "{logs}");
    // The connection of curl was found in the capture.
    let journal = lab.journal();
    let rows = journal[0]["connections"].as_array().expect("rows");
    let tcp: Vec<_> = rows.iter().filter(|row| row["protocol"] == "tcp").collect();
    let [fetched] = tcp[..] else { panic!("{tcp:?}") };
    assert_eq!(
        (&fetched["workload"], &fetched["from"], &fetched["to"]),
        (&"fetch".into(), &"2".into(), &"1".into())
    );
    assert!(fetched["bytes"].as_u64() > Some(100_000), "the file and the header: {fetched}");
}

/// The server is first in the plan, and one of two runs has a capture.
#[test]
fn the_summary_says_whose_figures_it_has_and_of_how_many_runs() {
    let Some(lab) = Lab::new() else { return };
    let fetch = program("fetch", "mobile", "curl -4 -sf -o got http://server.lasthop/file");
    let plan = air("down = \"rate=8mbit,delay=5ms\"", &(web_server("server", 20_000) + &fetch));
    let output = lab.succeed(&plan, &["-n", "2", "--overloaded"]);
    let said = text(&output.stdout);
    assert!(said.starts_with("figures of workload fetch; others: server (background)\n"), "{said}");
    assert!(said.contains("(1 of 2 runs)") && said.contains("n too small"), "{said}");
    let manifest = json(&lab.path("out/manifest.json"));
    assert_eq!(manifest["measure"], "fetch");
    assert_eq!(manifest["workloads"][0], serde_json::json!({ "name": "server", "background": true }));
    let report = fs::read_to_string(lab.path("out/report.html")).expect("a report");
    let data = report.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let page: Value = serde_json::from_str(data.expect("the numbers")).expect("JSON");
    assert_eq!(page["measures"][0]["workload"], "fetch");
}

#[test]
fn a_failed_run_is_kept_and_says_why() {
    let Some(lab) = Lab::new() else { return };
    let plan = r#"
        [scenario]
        [[scenario.links]]
        between = ["a", "b"]
        [[workloads]]
        name = "bad"
        kind = "command"
        node = "a"
        command = "echo no such thing >&2; exit 4"
        [capture]
        keep = "failed"
    "#;
    let output = lab.run(plan, &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("ended with status 4; it said: no such thing"), "{said}");
    let run = &lab.journal()[0]["run"];
    assert_eq!(run["verdict"], "failed");
    assert_eq!(run["captures"][0], "captures/c000-r00.pcapng");
    assert!(lab.path("out/captures/c000-r00.pcapng").exists());
}

/// A directory that the campaign would remove at its end, but did not create, exists before it
/// begins.
#[test]
fn a_folder_of_somebody_else_in_the_run_directory_stays() {
    let Some(lab) = Lab::new() else { return };
    let letter = lab.path("out/unfinished/letter");
    fs::create_dir_all(lab.path("out/unfinished")).expect("made");
    fs::write(&letter, "dear").expect("written");
    let output = lab.run(SMALL, &["-n", "1"]);
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("out/unfinished already exists") && said.contains("--out"), "{said}");
    assert!(letter.exists() && !lab.path("out/manifest.json").exists());
}

/// The owner of a run directory decides which files are written, and which programs a resumed
/// campaign runs.
#[test]
fn a_run_directory_of_another_user_is_refused() {
    let Some(lab) = Lab::new() else { return };
    lab.succeed(SMALL, &["--only", "rate=4mbit", "-n", "1"]);
    fs::create_dir(lab.path("theirs")).expect("made");
    for given in ["out", "theirs"] {
        if std::os::unix::fs::chown(lab.path(given), Some(65_534), None).is_err() {
            skip::skip!("only root gives files to another user");
            return;
        }
    }
    let before = fs::read(lab.path("out/manifest.json")).expect("a manifest");
    let resumed = lab.lasthop(&["run", "--resume", "out"]).output().expect("lasthop runs");
    let begun = lab.run(SMALL, &["-n", "1", "--out", "theirs"]);
    for (output, name) in [(resumed, "out"), (begun, "theirs")] {
        assert_eq!(output.status.code(), Some(1));
        let said = text(&output.stderr);
        let expected = format!("{name} belongs to user 65534: choose a directory of your own, or chown it");
        assert!(said.contains(&expected), "{said}");
    }
    assert_eq!(fs::read(lab.path("out/manifest.json")).expect("a manifest"), before);
    assert_eq!(fs::read_dir(lab.path("theirs")).expect("a folder").count(), 0);
}

#[test]
fn a_run_that_takes_too_long_is_ended() {
    let Some(lab) = Lab::new() else { return };
    let plan = SMALL.replace("200kB", "1GB") + "[stop]\nafter = \"500ms\"\n";
    let output = lab.run(&plan, &["--only", "rate=4mbit", "-n", "1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("time limit exceeded"), "{}", text(&output.stderr));
    let row = &lab.journal()[0]["connections"][0];
    assert_eq!(row["complete"], false);
    assert!(row["bytes"].as_u64() > Some(0), "what arrived until then counts: {row}");
}

/// A plan whose runs last until they are ended.
const ENDLESS: &str = r#"
    repetitions = 3
    [scenario]
    [[scenario.links]]
    between = ["a", "b"]
    [[workloads]]
    name = "quick"
    kind = "command"
    node = "a"
    command = "test {repetition} = 0 || test -e go || exec sleep 1000 lasthop-test-marker; :"
"#;

#[test]
fn an_interrupted_campaign_goes_on_where_it_was() {
    let Some(lab) = Lab::new() else { return };
    let plan = ENDLESS.replace("test -e go", &format!("test -e {}", lab.path("go").display()));
    let plan = plan.replace("sleep 1000 lasthop-test-marker", "sleep 1000");
    let mut campaign = lab.spawn(&plan);
    lab.wait_until("the first run's end", |lab| {
        fs::read_to_string(lab.path("out/runs.jsonl")).is_ok_and(|text| text.lines().count() == 1)
    });
    send("-INT", campaign.id());
    assert_eq!(campaign.wait().expect("it ends").code(), Some(130));
    assert_eq!(json(&lab.path("out/manifest.json"))["ended_unix_ns"], Value::Null);
    fs::write(lab.path("go"), "").expect("a file");
    let output = lab.lasthop(&["run", "--resume", "out"]).output().expect("lasthop runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let repetitions: Vec<_> = lab.journal().iter().map(|ended| ended["run"]["repetition"].clone()).collect();
    assert_eq!(repetitions.len(), 3);
    assert_eq!(repetitions[0], 0, "the first one was not run again");
    assert!(json(&lab.path("out/manifest.json"))["ended_unix_ns"].is_number());
}

#[test]
fn nothing_is_left_of_a_campaign_that_was_killed() {
    let Some(lab) = Lab::new() else { return };
    let marker = format!("1000 # {}", lab.folder().display());
    let plan = ENDLESS
        .replace("test -e go || exec sleep 1000 lasthop-test-marker; :", &format!("sh -c 'sleep {marker}'"));
    let mut campaign = lab.spawn(&plan);
    lab.wait_until("a sleeping program", |lab| {
        lab.processes().iter().any(|line| line.contains("sleep 1000"))
    });
    campaign.kill().expect("killed");
    campaign.wait().expect("gone");
    lab.wait_until("the end of all processes", |lab| lab.processes().is_empty());
}

/// In a user namespace of its own. The test makes /dev/net/tun accessible, which may be accessible
/// only to root.
#[test]
fn an_ordinary_user_runs_campaigns_too() {
    let Some(lab) = Lab::new() else { return };
    let plan = SMALL.replace("repetitions = 2", "repetitions = 1");
    fs::write(lab.path("plan.toml"), plan).expect("a plan");
    fs::copy(env!("CARGO_BIN_EXE_lasthop"), lab.path("lasthop")).expect("a copy that everybody can read");
    let script = r"
        chmod 755 . && mknod -m 666 tun c 10 200 && : 3<>tun || exit 77
        mkdir work && chown 65534:65534 work && mount --make-rprivate / && mount --bind tun /dev/net/tun
        cd work && exec setpriv --reuid 65534 --regid 65534 --clear-groups -- ../lasthop run ../plan.toml --out out
    ";
    let output = Command::new("unshare")
        .current_dir(lab.folder())
        .args(["--mount", "bash", "-c", script])
        .output()
        .expect("unshare runs");
    if output.status.code() == Some(77) {
        skip::skip!("no device node can be made in the temporary folder");
        return;
    }
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let manifest = json(&lab.path("work/out/manifest.json"));
    assert_eq!(manifest["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_unknown_congestion_control_names_those_that_there_are() {
    let Some(lab) = Lab::new() else { return };
    let plan = SMALL.replace("[scenario]", "[scenario]\ncongestion-control = \"nosuch\"");
    let output = lab.run(&plan, &["-n", "1", "--only", "rate=4mbit"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("nosuch") && text(&output.stderr).contains("cubic"),
        "{}",
        text(&output.stderr)
    );
}

/// The shipped plans can be read, and their schema equals the one beside them.
#[test]
fn the_plans_of_the_project() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let lasthop = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_lasthop"))
            .current_dir(&folder)
            .args(arguments)
            .output()
            .expect("it runs")
    };
    let mut plans = 0;
    let entries = [".", "applications"].map(|part| fs::read_dir(folder.join(part)).expect("plans"));
    for entry in entries.into_iter().flatten().flatten() {
        let name = entry.path().to_string_lossy().into_owned();
        if Path::new(&name).extension().is_some_and(|ending| ending == "toml") {
            plans += 1;
            let listed = lasthop(&["run", "--list", &name]);
            assert!(listed.status.success(), "{name}: {}", text(&listed.stderr));
        }
    }
    assert!(plans >= 5);
    let schema = text(&lasthop(&["run", "--schema"]).stdout);
    let kept = fs::read_to_string(folder.join("plan.schema.json")).expect("the schema");
    assert!(schema == kept, "write it anew: lasthop run --schema > experiments/plan.schema.json");
}
