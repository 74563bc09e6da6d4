//! Tests of plans: their meaning, and the errors in invalid ones.

use super::*;
use crate::workload::{Amount, Traffic};
use link::units::{BitRate, ByteCount};

/// A plan with a factor whose levels carry a variable.
const PLAN: &str = r#"
title = "A plan"
repetitions = 3

[[factors]]
name = "loss"
levels = ["lite-0", "lite-1"]

[[factors]]
name = "link"
title = "link profile"
levels = [{ name = "umts", size = "3MB" }, { name = "wifi-b", size = "60MB" }]

[scenario]
stack = "2001"
[[scenario.nodes]]
name = "server"
congestion-control = "cubic"
[[scenario.links]]
name = "air"
between = ["mobile", "server"]
profile = "{link}"
loss = "{loss}"

[[workloads]]
name = "download"
kind = "bulk"
from = "server"
to = "mobile"
bytes = "{size}"

[[workloads]]
name = "ping"
kind = "command"
node = "mobile"
command = "ping -c {repetition} {address.server} | awk '{ print $1 }'"
"#;

fn plan(text: &str) -> Plan {
    Plan::parse("plan.toml", text).unwrap_or_else(|error| panic!("{error}"))
}

fn error(from: &str, to: &str) -> String {
    assert!(PLAN.contains(from), "{from}");
    Plan::parse("plan.toml", &PLAN.replacen(from, to, 1)).expect_err("a wrong plan").to_string()
}

#[test]
fn cells_are_all_combinations_the_last_factor_fastest() {
    let labels: Vec<_> = plan(PLAN).cells().iter().map(Cell::label).collect();
    let expected = [
        "loss=lite-0, link=umts",
        "loss=lite-0, link=wifi-b",
        "loss=lite-1, link=umts",
        "loss=lite-1, link=wifi-b",
    ];
    assert_eq!(labels, expected);
}

#[test]
fn levels_and_their_variables_are_filled_in() {
    let plan = plan(PLAN);
    let cell = &plan.cells()[3];
    let experiment = plan.experiment(cell, 2, 7).unwrap();
    let Traffic::Bulk { amount, from, to, .. } = &experiment.workloads[0].kind else { panic!("bulk") };
    assert_eq!(*amount, Amount::Bytes(ByteCount::new(60_000_000)));
    assert_eq!(
        (*from, *to),
        (experiment.scenario.node("server").unwrap(), experiment.scenario.node("mobile").unwrap())
    );
    let link = &experiment.scenario.links[0];
    assert_eq!(link.profile.down.rate(), BitRate::from_bits_per_second(11_000_000));
    assert!(link.profile.down.find("errors").is_some() && link.title == "wifi-b+lite-1");
    let Traffic::Command { line, .. } = &experiment.workloads[1].kind else { panic!("command") };
    assert_eq!(line, "ping -c 2 10.0.0.1 | awk '{ print $1 }'");
    assert_eq!(experiment.measure, "download");
}

/// So a value can depend on two factors: a window in packets on the size of a packet.
#[test]
fn a_variable_may_name_another() {
    let text = PLAN
        .replace("\"lite-0\", \"lite-1\"", "{ name = \"lite-0\", few = \"1kB\" }")
        .replace("size = \"3MB\"", "size = \"{few}\"");
    let plan = plan(&text);
    let experiment = plan.experiment(&plan.cells()[0], 0, 7).unwrap();
    let Traffic::Bulk { amount, .. } = &experiment.workloads[0].kind else { panic!("bulk") };
    assert_eq!(*amount, Amount::Bytes(ByteCount::new(1000)));
}

#[test]
fn a_node_s_tcp_differs_where_it_says_so() {
    let plan = plan(PLAN);
    let scenario = plan.experiment(&plan.cells()[0], 0, 0).unwrap().scenario;
    let [server, mobile] = &scenario.nodes[..] else { panic!("two nodes") };
    assert_eq!((server.name.as_str(), server.stack.congestion_control.as_str()), ("server", "cubic"));
    assert_eq!((mobile.name.as_str(), mobile.stack.congestion_control.as_str()), ("mobile", "reno"));
    assert!(server.stack.cuts_segments(), "the scenario's generation stays");
}

#[test]
fn a_node_accepts_damage_as_it_says_or_as_the_scenario_does() {
    let lites = |plan_text: &str| -> Vec<_> {
        let plan = plan(plan_text);
        let scenario = plan.experiment(&plan.cells()[0], 0, 0).unwrap().scenario;
        let nodes = scenario.nodes.iter().map(|node| format!("{} {}", node.name, node.lite));
        nodes.chain([scenario.acceptance().to_string()]).collect()
    };
    assert_eq!(lites(PLAN), ["server off", "mobile off", "off"]);
    let all = PLAN.replace("stack = \"2001\"", "lite = \"strict\"");
    assert_eq!(lites(&all), ["server strict", "mobile strict", "strict"]);
    let but = all.replace("name = \"server\"", "name = \"server\"\nlite = \"off\"");
    assert_eq!(lites(&but), ["server off", "mobile strict", "strict"]);
    let one = PLAN.replace("name = \"server\"", "name = \"server\"\nlite = \"{accept}\"");
    let levels = r#"{ name = "lite-0", accept = "thesis" }, { name = "lite-1", accept = "off" }"#;
    let one = one.replace("\"lite-0\", \"lite-1\"", levels);
    assert_eq!(lites(&one), ["server thesis", "mobile off", "thesis"]);
}

#[test]
fn a_link_layer_with_retransmissions() {
    let link = |rest: &str| {
        let text = format!(
            "[scenario]\n[[scenario.links]]\nbetween = [\"mobile\", \"server\"]\n{rest}\n[[workloads]]\nname = \"w\"\nkind = \"bulk\"\nfrom = \"server\"\nto = \"mobile\"\nbytes = \"1kB\"\n"
        );
        Plan::parse("plan.toml", &text)
    };
    let arq = |rest: &str| {
        let plan = link(rest).unwrap_or_else(|error| panic!("{error}"));
        plan.experiment(&plan.cells()[0], 0, 0).unwrap().scenario.links[0].profile.arq
    };
    assert_eq!(arq("arq = \"rlp:n2=3\""), Some("rlp:n2=3".parse().expect("a link layer")));
    assert_eq!(arq("profile = \"gsm-rlp\""), Some("rlp".parse().expect("a link layer")));
    assert_eq!(arq("profile = \"gsm-rlp\"\narq = \"none\""), None);
    let wrong = |rest: &str| link(rest).map(|_| ()).expect_err("it cannot be had").to_string();
    assert!(
        wrong("arq = \"lapb\"").contains("there is no link layer `lapb`: use rlp["),
        "{}",
        wrong("arq = \"lapb\"")
    );
    let timer = wrong("arq = \"rlp:delay=1s\"");
    assert!(timer.contains("make T1 longer"), "{timer}");
    let without_rate = wrong("arq = \"llp\"");
    assert!(without_rate.contains("LLP runs at the link's rate"), "{without_rate}");
}

/// LL-07: both must be requested, like other recordings; by default they cost nothing.
#[test]
fn what_is_recorded_of_link_layers() {
    let kept = |rest: &str| {
        let plan = plan(&format!("{PLAN}\n[capture]\n{rest}\n"));
        let capture = plan.experiment(&plan.cells()[0], 0, 0).unwrap().capture;
        (capture.link_layer, capture.blocks)
    };
    assert_eq!(kept(""), (Keep::None, Keep::None));
    assert_eq!(kept("link-layer = \"all\""), (Keep::All, Keep::None));
    assert_eq!(kept("link-layer = \"first\"\nblocks = \"failed\""), (Keep::First, Keep::Failed));
}

#[test]
fn only_some_cells() {
    let plan = plan(PLAN);
    let numbers = |only: &[&str]| {
        let only: Vec<_> = only.iter().map(|&text| text.to_owned()).collect();
        plan.cells_of(&only).map(|cells| cells.iter().map(|cell| cell.number).collect::<Vec<_>>())
    };
    assert_eq!(numbers(&["link=wifi-b"]).unwrap(), [1, 3]);
    assert_eq!(numbers(&["link=umts,wifi-b", "loss=lite-1"]).unwrap(), [2, 3]);
    assert_eq!(numbers(&["loss=lite-1,link=umts"]).unwrap(), [2], "two factors in one word");
    assert_eq!(numbers(&["loss=lite-0,lite-1,link=umts"]).unwrap(), [0, 2]);
    assert_eq!(
        numbers(&["los=lite-1"]).unwrap_err(),
        "`los=lite-1`: there is no factor `los`: did you mean `loss`?"
    );
    let error = numbers(&["loss=lite1"]).unwrap_err();
    assert_eq!(error, "`loss=lite1`: there is no `loss` level `lite1`: did you mean `lite-1`?");
    assert!(numbers(&["loss"]).unwrap_err().contains("FACTOR=LEVEL"));
    let none = numbers(&["loss=lite-0", "loss=lite-1"]).unwrap_err();
    assert!(none.starts_with("`loss=lite-1`: no cell has all these levels"), "{none}");
}

/// The example scenario of LTCP (ltcp-newzag 1.3, T3.1): hosts 1 and 2, routers 3 and 4.
#[test]
fn a_scenario_table_of_ltcp() {
    let plan = plan(
        r#"
        [scenario]
        table = [
          [1, 1, 3, 10, 7, 0], [2, 3, 1, 10, 7, 0],
          [3, 3, 4, 10, 7, 0.1], [4, 4, 3, 10, 7, 0],
          [5, 4, 2, 10, 7, 0], [6, 2, 4, 10, 7, 0],
        ]
        [[workloads]]
        name = "ping"
        kind = "command"
        node = "1"
        command = "ping -c 5 {address.2}"
        "#,
    );
    let experiment = plan.experiment(&plan.cells()[0], 0, 0).unwrap();
    let scenario = &experiment.scenario;
    assert_eq!(scenario.links.len(), 3);
    let addresses: Vec<_> =
        scenario.nodes.iter().map(|node| (node.name.as_str(), node.address().octets()[3])).collect();
    assert_eq!(addresses, [("1", 1), ("3", 3), ("4", 4), ("2", 2)]);
    assert!(scenario.links[1].profile.up.find("errors").is_some(), "0.1 % from 3 to 4");
    assert!(scenario.links[1].profile.down.find("errors").is_none(), "none from 4 to 3");
    let Traffic::Command { line, .. } = &experiment.workloads[0].kind else { panic!("command") };
    assert_eq!(line, "ping -c 5 10.0.0.2");
}

#[test]
fn what_a_run_costs_is_what_its_slowest_link_lets_through() {
    let plan = plan(
        r#"
        [scenario]
        mtu = 1000
        [[scenario.links]]
        between = ["server", "router"]
        up = "rate=100mbit"
        down = "rate=100mbit"
        [[scenario.links]]
        between = ["router", "mobile"]
        up = "rate=8mbit"
        down = "rate=8mbit"
        [[workloads]]
        name = "download"
        kind = "bulk"
        from = "server"
        to = "mobile"
        bytes = "1MB"
        "#,
    );
    let experiment = plan.experiment(&plan.cells()[0], 0, 0).unwrap();
    assert_eq!(experiment.scenario.path(0, 2), [0, 1]);
    // A thousand packets per second over two links, in both directions.
    assert!((experiment.packets_per_second() - 4000.0).abs() < 1e-6);
}

#[test]
fn what_is_wrong_is_said_with_its_place_and_the_nearest_right_word() {
    let cases = [
        ("title =", "titel ="),
        ("bytes = \"{size}\"", "bites = \"{size}\""),
        ("bytes = \"{size}\"", "bytes = \"{sice}\""),
        ("bytes = \"{size}\"", "bytes = \"4XB\""),
        ("bytes = \"{size}\"", "bytes = \"300K\""),
        ("bytes = \"{size}\"", "run = \"iperf3 -c server\""),
        ("bytes = \"{size}\"", "bytes = \"1MB\"\nduration = \"3s\""),
        ("bytes = \"{size}\"", "response = \"1MB\""),
        ("kind = \"bulk\"", "kind = \"bulc\""),
        ("from = \"server\"", "from = \"sever\""),
        ("from = \"server\"", ""),
        ("profile = \"{link}\"", "profile = \"{link}x\""),
        ("loss = \"{loss}\"", "loss = \"umts\""),
        ("loss = \"{loss}\"", "down = \"rat=2mbit\""),
        ("loss = \"{loss}\"", "down = \"rate=2mbps\""),
        ("loss = \"{loss}\"", "down = \"rate=2mbit,delay=1ms,rate=1mbit\""),
        ("loss = \"{loss}\"", "down = \"trace=cell.trace,rate=1mbit\""),
        (
            "[scenario]",
            "[[expect]]\ntitle = \"t\"\nmetric = \"goodput\"\nworkload = \"downlod\"\nlow = 1\nhigh = 2\nunit = \"bit/s\"\nsource = \"s\"\n[scenario]",
        ),
        (
            "[scenario]",
            "[[expect]]\ntitle = \"t\"\nmetric = \"goodput\"\nwhere = { loss = \"lite-2\" }\nlow = 1\nhigh = 2\nunit = \"bit/s\"\nsource = \"s\"\n[scenario]",
        ),
        ("stack = \"2001\"", "stack = \"2002\""),
        ("stack = \"2001\"", "mtu = 20"),
        ("stack = \"2001\"", "lite = \"on\""),
        ("stack = \"2001\"", "lite = \"tesis\""),
        ("stack = \"2001\"", "lite = \"thesis\"\n[[scenario.nodes]]\nname = \"mobile\"\nlite = \"bold\""),
        ("repetitions = 3", "repetitions = 0"),
        ("levels = [\"lite-0\", \"lite-1\"]", "levels = []"),
        ("levels = [\"lite-0\", \"lite-1\"]", "levels = [\"lite-0\", \"lite-0\"]"),
        ("between = [\"mobile\", \"server\"]", "between = [\"server\", \"server\"]"),
        ("{address.server}", "{address.serve}"),
        ("title = \"A plan\"", "title = \"A plan"),
    ];
    let said: Vec<_> =
        cases.iter().map(|(from, to)| format!("{from} -> {to}\n{}", error(from, to))).collect();
    insta::assert_snapshot!("wrong", said.join("\n\n"));
}

/// A server comes first, because it must start first; the figures describe what a run waits for.
#[test]
fn figures_are_about_the_first_workload_in_the_foreground() {
    let first = "[[workloads]]\nname = \"download\"";
    let server = "[[workloads]]\nname = \"nginx\"\nkind = \"command\"\nbackground = true\nnode = \"server\"\ncommand = \"nginx\"\n\n";
    let text = PLAN.replace(first, &format!("{server}{first}"));
    let plan_of = plan(&text);
    let (measure, workloads) = plan_of.workloads(&plan_of.cells()).unwrap();
    assert_eq!(measure, "download");
    let named: Vec<_> = workloads.iter().map(|known| (known.name.as_str(), known.background)).collect();
    assert_eq!(named, [("nginx", true), ("download", false), ("ping", false)]);
    let other = plan(&format!("measure = \"ping\"\n{text}"));
    assert_eq!(other.workloads(&other.cells()).unwrap().0, "ping");
}

#[test]
fn a_plan_in_which_nothing_ends_a_run() {
    let text = PLAN.replace("kind = ", "background = true\nkind = ");
    let message = Plan::parse("plan.toml", &text).expect_err("nothing in the foreground").to_string();
    assert!(message.contains("all workloads are in the background"), "{message}");
}

#[test]
fn more_cells_than_anybody_can_run() {
    let levels: Vec<_> = (0..200).map(|level| format!("\"{level}\"")).collect();
    let levels = format!("levels = [{}]", levels.join(", "));
    let factor = |name: &str| format!("[[factors]]\nname = \"{name}\"\n{levels}\n");
    let rest = &PLAN[PLAN.find("[scenario]").unwrap()..];
    let text = format!("{}{}{rest}", factor("a"), factor("b"));
    let message = Plan::parse("plan.toml", &text).expect_err("too many").to_string();
    assert!(message.contains("200 × 200 cells are too many"), "{message}");
}

#[test]
fn the_schema_has_every_field() {
    let schema = serde_json::to_string(&schemars::schema_for!(PlanFile)).unwrap();
    for field in ["snap-length", "congestion-control", "between", "listens", "lite", "repetitions"] {
        assert!(schema.contains(&format!("\"{field}\"")), "{field}");
    }
}

/// LL-08: the defaults of `ping`, and invalid values.
#[test]
fn ll_08_pings() {
    let command = r#"kind = "command"
node = "mobile"
command = "ping -c {repetition} {address.server} | awk '{ print $1 }'""#;
    let ping = |fields: &str| {
        let text =
            PLAN.replace(command, &format!("kind = \"ping\"\nfrom = \"mobile\"\nto = \"server\"\n{fields}"));
        assert_ne!(text, PLAN);
        Plan::parse("plan.toml", &text)
    };
    let kind = |fields| {
        let plan = ping(fields).unwrap_or_else(|error| panic!("{error}"));
        let experiment = plan.experiment(&plan.cells()[0], 0, 1).unwrap_or_else(|error| panic!("{error}"));
        experiment.workloads[1].kind.clone()
    };
    let second = link::units::Span::from_secs(1);
    let usual = |kind| match kind {
        Traffic::Ping { size, interval, duration, .. } => Some((size, interval, duration)),
        _ => None,
    };
    assert_eq!(usual(kind("")), Some((ByteCount::new(56), second, None)));
    let four_hours = Some(link::units::Span::from_secs(4 * 3600));
    assert_eq!(
        usual(kind("size = \"8B\"\nduration = \"4h\"")),
        Some((ByteCount::new(8), second, four_hours))
    );
    let wrong = |fields| ping(fields).expect_err("a wrong plan").to_string();
    assert!(
        wrong("size = \"7B\"")
            .contains("invalid size 7B of echo requests: expected 8 to 65507 bytes of data")
    );
    assert!(wrong("size = \"65508B\"").contains("8 to 65507 bytes"));
    assert!(wrong("interval = \"0s\"").contains("`interval` is 0: use at least 1ns"));
    assert!(wrong("rate = \"1mbit\"").contains(
        "a ping workload has no field `rate`: its fields are `from`, `to`, `size`, `interval`, `duration`"
    ));
}
