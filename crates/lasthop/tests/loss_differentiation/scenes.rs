//! Plans in which several senders, each with its own congestion control, lose packets.

use std::fmt::Write as _;

/// All congestion controls with a detector, by their names in the kernel.
pub const DETECTORS: [&str; 7] = ["newzag", "newzag_v1", "zigzag", "spike", "biaz", "mbiaz", "lh-veno"];

/// File name and text of a link profile whose queue marks packets of ECN connections (RFC 3168)
/// instead of dropping them.
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

/// Whether each sender has its own link or all share one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Links {
    /// Each mobile has a link to the server.
    Each,
    /// All share the link between a router and the server, with intermittent datagrams; each mobile
    /// has a link of 1 ms to the router.
    Shared,
}

/// Bulk TCP from a server to mobiles, one for each congestion control.
#[derive(Debug, Clone, Copy)]
pub struct Scene {
    /// Name of the scene.
    pub name: &'static str,
    /// Arrangement of the links.
    pub links: Links,
    /// More fields of the links.
    pub link: &'static str,
    /// Parameters of the direction from the server.
    pub down: &'static str,
    /// Parameters of the direction to the server.
    pub up: &'static str,
    /// Sysctls of all nodes.
    pub sysctls: &'static str,
    /// Duration, in seconds.
    pub seconds: u32,
}

impl Scene {
    /// Returns the plan of the scene, with more fields of the scenario.
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
