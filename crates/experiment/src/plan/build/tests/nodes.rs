//! Tests of nodes and links.

use super::{BULK, SCENARIO, built, refused};
use crate::plan::Experiment;
use link::units::{BitRate, ByteCount, Span};
use link::{Direction, profile::LinkProfile};

/// Builds a plan whose scenario has these tables.
fn scenario(tables: &str) -> Experiment {
    built(&format!("{tables}\n{BULK}"))
}

fn refused_scenario(tables: &str) -> (Option<usize>, String) {
    refused(&format!("{tables}\n{BULK}"))
}

/// Each attachment has a network, in the order of the plan, and none is ambiguous.
#[test]
fn attachments_of_nodes() {
    let attach = |list: &str| format!("[[scenario.nodes]]\nname = \"b\"\nattach = {list}\n{SCENARIO}");
    let nodes = scenario(&attach("[\"eth1\", \"netns:x\"]")).scenario.nodes;
    let names: Vec<_> = nodes[0].attach.iter().map(|attach| attach.name.as_str()).collect();
    assert_eq!((nodes[0].name.as_str(), names, nodes[1].attach.len()), ("b", vec!["eth1", "netns:x"], 0));
    let gateways: Vec<_> = nodes[0].attach.iter().map(|attach| attach.network.gateway.to_string()).collect();
    assert_eq!(gateways, ["192.168.200.1", "192.168.201.1"]);
    let refused = |list: &str| refused_scenario(&attach(list));
    assert_eq!(
        refused("[\"eth1\", \"eth1\"]"),
        (Some(3), "`eth1` is attached twice: name it at one node".into())
    );
    assert_eq!(
        refused("[\"a-b\"]"),
        (Some(3), "`a-b` is also the name of link `a-b`: give the link another `name`".into())
    );
    assert!(refused("[\"\"]").1.starts_with("`attach` is empty: name an interface"));
}

/// The settings of a generation replace those of the scenario; without one they are inherited.
#[test]
fn a_node_of_another_generation_inherits_nothing() {
    let text = format!(
        "[scenario]\nstack = \"2001\"\ncongestion-control = \"vegas\"\nreceive-window = \"8kB\"\n\
         initial-window = 3\nsysctls = {{ \"net.ipv4.tcp_ecn\" = 1 }}\n\
         [[scenario.nodes]]\nname = \"b\"\nstack = \"modern\"\n\
         [[scenario.nodes]]\nname = \"c\"\ninitial-window = 5\nreceive-window = \"9kB\"\n\
         sysctls = {{ \"net.ipv4.tcp_frto\" = 2 }}\n\
         {SCENARIO}[[scenario.links]]\nbetween = [\"b\", \"c\"]\n"
    );
    let nodes = scenario(&text).scenario.nodes;
    let [b, c, a] = &nodes[..] else { panic!("three nodes") };
    assert_eq!([&*b.name, &*c.name, &*a.name], ["b", "c", "a"], "nodes of the plan come first");
    assert_eq!((b.stack.congestion_control.as_str(), b.stack.receive_window), ("cubic", None));
    assert!(b.stack.sysctls().is_empty() && !b.stack.cuts_segments());
    let of = |text: &str| text.to_owned();
    assert_eq!(a.stack.initial_window, Some(3));
    assert_eq!(a.stack.receive_window, Some(ByteCount::new(8000)));
    assert_eq!(a.stack.sysctls, [(of("net.ipv4.tcp_ecn"), of("1"))]);
    assert_eq!((c.stack.congestion_control.as_str(), c.stack.initial_window), ("vegas", Some(5)));
    assert_eq!(c.stack.receive_window, Some(ByteCount::new(9000)));
    let both = [(of("net.ipv4.tcp_ecn"), of("1")), (of("net.ipv4.tcp_frto"), of("2"))];
    assert_eq!(c.stack.sysctls, both, "the node's come last, and win");
}

/// The settings of the second one would be ignored.
#[test]
fn a_node_is_described_once() {
    let node = "[[scenario.nodes]]\nname = \"a\"\n";
    let (line, said) = refused_scenario(&format!("{SCENARIO}{node}{node}stack = \"2001\"\n"));
    assert_eq!((line, said.as_str()), (Some(6), "there are two nodes `a`"));
}

#[test]
fn only_sysctls_of_the_network_belong_to_a_node() {
    let (line, said) = refused_scenario(&format!(
        "{SCENARIO}[[scenario.nodes]]\nname = \"a\"\n[scenario.nodes.sysctls]\n\"kernel.panic\" = 1\n"
    ));
    assert_eq!((line, said.starts_with("sysctl `kernel.panic`")), (Some(6), true), "{said}");
}

#[test]
fn parameters_of_congestion_controls_have_a_module() {
    let with = |key: &str| format!("[scenario.congestion-parameters]\n\"{key}\" = 5\n{SCENARIO}");
    let parameters = scenario(&with("newzag.gain")).scenario.parameters;
    let [one] = &parameters[..] else { panic!("one parameter") };
    assert_eq!([&*one.module, &*one.name, &*one.value], ["newzag", "gain", "5"]);
    assert_eq!(refused_scenario(&with("gain")).0, Some(2));
}

#[test]
fn the_virtual_clock_may_have_a_tick() {
    let with = |tick: &str| format!("[scenario]\nclock-tick = \"{tick}\"\n{SCENARIO}");
    let coarse = scenario(&with("5us")).scenario;
    assert_eq!(coarse.clock_tick, Some(Span::from_micros(5)));
    let refused = coarse.check_host().expect_err("a host's timers have no tick");
    assert!(refused.starts_with("clock-tick `5us` is one of the virtual clock"), "{refused}");
    for tick in ["0s", "2s", "5"] {
        assert_eq!(refused_scenario(&with(tick)).0, Some(2), "{tick}");
    }
}

#[test]
fn the_mtu_of_the_link_then_the_plan_then_the_profile() {
    let mtu = |of_plan: &str, of_link: &str| {
        scenario(&format!("[scenario]\n{of_plan}\n{SCENARIO}{of_link}")).scenario.links[0].mtu
    };
    let of_profile = mtu("", "profile = \"gsm\"");
    assert_ne!(of_profile, 1500, "a profile with an MTU of its own");
    assert_eq!(mtu("", ""), 1500);
    assert_eq!(mtu("mtu = 700", "profile = \"gsm\""), 700);
    assert_eq!(mtu("mtu = 700", "profile = \"gsm\"\nmtu = 68"), 68);
    let (line, said) = refused_scenario(&format!("[scenario]\n{SCENARIO}mtu = 67"));
    assert_eq!((line, said.starts_with("an MTU of 67 bytes")), (Some(4), true), "{said}");
}

#[test]
fn up_is_from_the_first_node_to_the_second() {
    let links = scenario(&format!(
        "{SCENARIO}up = \"rate=1mbit,delay=3ms\"\ndown = \"rate=2mbit,delay=4ms\"\n\
         [[scenario.links]]\nbetween = [\"b\", \"c\"]\nprofile = \"gsm\"\nloss = \"lite-1\"\ndown = \"rate=5kbit\"\n"
    ))
    .scenario
    .links;
    let of = |profile: &LinkProfile| {
        Direction::BOTH.map(|way| (profile.rate(way).map(BitRate::as_bits_per_second), profile.one_way(way)))
    };
    let ms = Span::from_millis;
    assert_eq!(of(&links[0].profile), [(Some(1_000_000), ms(3)), (Some(2_000_000), ms(4))]);
    assert_eq!((links[0].between, links[0].title.as_str()), ([0, 1], "a-b"));
    let gsm = scenario(&format!("{SCENARIO}profile = \"gsm\"\n")).scenario.links.remove(0);
    assert_eq!(of(&links[1].profile)[0], of(&gsm.profile)[0], "only down differs from the profile");
    assert_eq!(links[1].profile.rate(Direction::Down).map(BitRate::as_bits_per_second), Some(5000));
    assert_eq!((links[1].title.as_str(), gsm.title.as_str()), ("gsm+lite-1", "gsm"));
}

#[test]
fn links_have_two_ends_and_a_name_of_their_own() {
    let link = |ends: &str, name: &str| format!("[[scenario.links]]\nbetween = {ends}\nname = \"{name}\"\n");
    let (_, said) = refused_scenario(&(link("[\"a\", \"b\"]", "x") + &link("[\"b\", \"c\"]", "x")));
    assert_eq!(said, "there are two links `x`: give each its own `name`");
    assert_eq!(
        refused_scenario(&link("[\"a\", \"a\"]", "x")).1,
        "link from `a` to itself: its ends must be two different nodes"
    );
    assert!(refused_scenario("[scenario]").1.starts_with("the scenario has no links"));
}

/// Nodes get addresses by their number, which must be different for each.
#[test]
fn numbers_of_nodes() {
    let numbers = |ends: [&str; 4]| {
        let [a, b, c, d] = ends;
        let text = format!(
            "[[scenario.links]]\nbetween = [\"{a}\", \"{b}\"]\n[[scenario.links]]\nbetween = [\"{c}\", \"{d}\"]\n\
             [[workloads]]\nname = \"w\"\nkind = \"command\"\nnode = \"{a}\"\ncommand = \"true\"\n"
        );
        built(&text).scenario.nodes.iter().map(|node| node.number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(["253", "7", "7", "1"]), [253, 7, 1], "their names");
    assert_eq!(numbers(["253", "7", "7", "x"]), [1, 2, 3], "their order, if one has no number");
}

#[test]
fn names_of_nodes_are_those_of_hosts() {
    for name in ["a_b", "a.b", "localhost", "", "1a", "a b", "0", "254", "07", "+7"] {
        let (line, said) = refused(&format!("[[scenario.links]]\nbetween = [\"{name}\", \"b\"]\n{BULK}"));
        assert_eq!(line, Some(2), "{name}");
        assert!(said.contains("is not a valid node name"), "{said}");
    }
}

#[test]
fn there_are_addresses_for_253_nodes() {
    let nodes = |count: usize| -> String {
        let link = |to| format!("[[scenario.links]]\nbetween = [\"a\", \"n{to}\"]\n");
        (1..count).map(link).collect()
    };
    let text = |count| nodes(count) + &BULK.replace("\"b\"", "\"n1\"");
    let all = built(&text(253)).scenario.nodes;
    assert_eq!((all.len(), all[252].number), (253, 253));
    assert!(refused(&text(254)).1.starts_with("254 nodes are too many: a scenario has at most 253"));
}

/// ltcp-newzag 1.3: each row is a direction; the first of a pair is up.
#[test]
fn rows_of_a_scenario_table() {
    let table = |rows: &str| {
        format!(
            "[scenario]\nmtu = 900\ntable = [{rows}]\n[[workloads]]\nname = \"w\"\nkind = \"command\"\nnode = \"5\"\ncommand = \"true\"\n"
        )
    };
    let links =
        built(&table("[7, 5, 6, 1, 2, 0], [8, 5, 6, 3, 4, 0], [9, 6, 5, 5, 6, 1], [1, 6, 5, 7, 8, 0]"))
            .scenario
            .links;
    let seen: Vec<_> = links
        .iter()
        .map(|link| {
            let megabits = Direction::BOTH
                .map(|way| link.profile.rate(way).map_or(0, BitRate::as_bits_per_second) / 1_000_000);
            (link.name.as_str(), link.between, megabits, link.mtu)
        })
        .collect();
    // Of two equal rows, the first way back belongs to the first one.
    assert_eq!(seen, [("link7", [0, 1], [1, 5], 900), ("link8", [0, 1], [3, 7], 900)]);
    assert_eq!(links[0].profile.one_way(Direction::Down), Span::from_millis(6));
    assert!(links[0].profile.down.find("errors").is_some() && links[0].profile.up.find("errors").is_none());
    let said = |rows: &str| refused(&table(rows)).1;
    assert_eq!(
        said("[1, 5, 6, 1, 2, 0], [2, 6, 5, 1, 2, 0], [3, 5, 254, 1, 2, 0]"),
        "scenario.table, row 3: invalid node number 254: expected 1 to 253"
    );
    assert!(said("[1, 5, 6.5, 1, 2, 0]").contains("row 1: invalid node number 6.5"));
    assert!(said("[1, 5, 6, 1, 2, 101]").contains("row 1: "));
    assert!(said("[1, 5, 6, 1, 2, 0]").contains("a link from 5 to 6 but none from 6 to 5"));
}
