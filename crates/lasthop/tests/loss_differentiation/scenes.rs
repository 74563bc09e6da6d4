//! Plans in which several senders, each with a congestion control of its own, lose packets.

use std::fmt::Write as _;

/// All that judge, by the names that the kernel knows them by.
pub const DETECTORS: [&str; 7] = ["newzag", "newzag_v1", "zigzag", "spike", "biaz", "mbiaz", "lh-veno"];

/// A link profile whose queue marks what it would lose, of connections that take part (RFC 3168),
/// and the name it goes by.
pub const MARKING: (&str, &str) = (
    "marking.toml",
    r#"
kind = "link"
title = "CoDel that marks"
source = "ours"
[down]
rate = "6mbit"
delay = "10ms"
queue = { kind = "codel", ecn = true }
[up]
rate = "6mbit"
delay = "10ms"
"#,
);

/// A link for each, or one for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Each has a link between itself and the server.
    Each,
    /// All share the link between a router and the server, behind which each has one of 1 ms, with
    /// datagrams that come and go.
    Shared,
}

/// Bulk TCP from a server to mobiles, one for each congestion control.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// What it is.
    pub name: &'static str,
    /// Whose link it is.
    pub links: Links,
    /// More fields of the links.
    pub link: &'static str,
    /// The way from the server.
    pub down: &'static str,
    /// The way to it.
    pub up: &'static str,
    /// Sysctls of all nodes.
    pub sysctls: &'static str,
    /// How long.
    pub seconds: u32,
}

impl Scene {
    /// The plan of it, with more fields of the scenario.
    pub fn plan(&self, more: &str) -> String {
        let sysctls = self.sysctls;
        let mut plan =
            format!("seed = 7\n[scenario]\ncongestion-control = \"reno\"\nsysctls = {{ {sysctls} }}\n{more}");
        let fields = self.link;
        let mut link = |ends: [&str; 2], down: &str, up: &str| {
            let [far, near] = ends;
            let head = format!("[[scenario.links]]\nbetween = [\"{far}\", \"{near}\"]\n{fields}\n");
            write!(plan, "{head}down = \"{down}\"\nup = \"{up}\"\n").expect("a text");
        };
        let near = if self.links == Links::Shared {
            link(["router", "server"], self.down, self.up);
            "router"
        } else {
            "server"
        };
        for number in 0..DETECTORS.len() {
            let (down, up) =
                if self.links == Links::Shared { ("delay=1ms", "delay=1ms") } else { (self.down, self.up) };
            link([&format!("m{number}"), near], down, up);
        }
        for (number, name) in DETECTORS.iter().enumerate() {
            let head = format!(
                "[[workloads]]\nname = \"{name}\"\nkind = \"bulk\"\ncongestion-control = \"{name}\"\n"
            );
            let seconds = self.seconds;
            write!(plan, "{head}from = \"server\"\nto = \"m{number}\"\nduration = \"{seconds}s\"\n")
                .expect("a text");
        }
        if self.links == Links::Shared {
            plan += "[[workloads]]\nname = \"cross\"\nkind = \"datagrams\"\nfrom = \"server\"\nto = \"router\"\nrate = \"4mbit\"\n\
                     duration = \"1h\"\non = \"300ms\"\noff = \"500ms\"\nbackground = true\n";
        }
        plan + "[capture]\nkeep = \"none\"\nsenders = \"all\"\n"
    }
}
