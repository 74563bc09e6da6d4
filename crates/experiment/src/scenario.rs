//! The nodes and links of one cell, from which the network is built.

use crate::acceptance::Acceptance;
use crate::parameters::Parameter;
use crate::roles::remote_sockets::RemoteSockets;
use crate::roles::split_proxy::SplitProxy;
use crate::routes::{self, Hop};
use crate::stack::Stack;
use link::Direction;
use link::profile::LinkProfile;
use link::units::Span;
use netlab::mesh::MINIMUM_IPV6_MTU;
use netlab::plan::Network;
use netlab::route::Prefix;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Nodes and links.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Nodes, by their index.
    pub nodes: Vec<Node>,
    /// Links, in the order of the plan.
    pub links: Vec<Link>,
    /// Parameters of congestion controls in the kernel of the run.
    pub parameters: Vec<Parameter>,
    /// Tick of the virtual clock; `None`: each timer ends at its own nanosecond (ltcp-newzag
    /// 1.8.1).
    pub clock_tick: Option<Span>,
}

/// A node: a host or a router.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Last part of its addresses, 1 to 253.
    pub number: u8,
    /// Its TCP settings.
    pub stack: Stack,
    /// How it treats damaged segments.
    pub lite: Acceptance,
    /// Where the TCP of its programs runs, if not on this node.
    pub sockets: Option<RemoteSockets>,
    /// The proxy that splits the connections that cross it.
    pub proxy: Option<SplitProxy>,
    /// Interfaces and namespaces of the host that are attached to it.
    pub attach: Vec<Attach>,
}

/// An interface or a namespace of the host that is attached to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attach {
    /// Its name, which [`netlab::Attachment::read`] reads.
    pub name: String,
    /// Addresses of its network.
    pub network: Network,
}

/// A link.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Indices of its ends in [`Scenario::nodes`]; up is from the first to the second.
    pub between: [usize; 2],
    /// Model of both directions.
    pub profile: LinkProfile,
    /// Names of its profiles, for captures.
    pub title: String,
    /// Largest IP packet in bytes.
    pub mtu: u16,
}

/// Largest number of nodes in a scenario: 254 means no node (ltcp-newzag 1.4).
pub const MOST_NODES: usize = 253;

impl Node {
    /// Returns its address: `10.0.0.NUMBER`.
    #[must_use]
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, self.number)
    }

    /// Returns its IPv6 address: `fd00::NUMBER`, with the digits of the number in the IPv4 address.
    #[must_use]
    pub fn address6(&self) -> Ipv6Addr {
        let number = u16::from(self.number);
        // The decimal digits, read as hexadecimal ones.
        let group = number / 100 * 256 + number / 10 % 10 * 16 + number % 10;
        Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, group)
    }
}

impl Link {
    /// Returns the name of its devices: its own if the kernel accepts it, otherwise `linkN` (N from
    /// 1).
    #[must_use]
    pub fn device(&self, place: usize) -> String {
        let usable = self.name.len() <= 15
            && self.name != "lo"
            && self.name.chars().all(|each| each.is_ascii_alphanumeric() || matches!(each, '-' | '_'));
        if usable { self.name.clone() } else { format!("link{}", place + 1) }
    }
}

impl Scenario {
    /// Returns the name of the node with this address, or of the attachment with the device that
    /// has it.
    #[must_use]
    pub fn node_at(&self, address: IpAddr) -> Option<&str> {
        let its = |node: &&Node| match address {
            IpAddr::V4(address) => node.address() == address,
            IpAddr::V6(address) => node.address6() == address,
        };
        let node = self.nodes.iter().find(its).map(|node| node.name.as_str());
        let attached = self.nodes.iter().flat_map(|node| &node.attach);
        let has = |attach: &&Attach| {
            attach.network.blocks().iter().any(|block| block.overlaps(Prefix::host(address)))
        };
        node.or_else(|| attached.clone().find(has).map(|attach| attach.name.as_str()))
    }

    /// Returns the names of all interfaces and namespaces that are attached to nodes.
    pub fn attachments(&self) -> impl Iterator<Item = &str> {
        self.nodes.iter().flat_map(|node| &node.attach).map(|attach| attach.name.as_str())
    }

    /// Returns whether an interface or a namespace is attached to a node.
    #[must_use]
    pub fn attaches(&self) -> bool {
        self.attachments().next().is_some()
    }

    /// Returns the largest IP packet that all links of a node carry, in bytes.
    #[must_use]
    pub fn mtu_at(&self, node: usize) -> u16 {
        self.links
            .iter()
            .filter(|link| link.between.contains(&node))
            .map(|link| link.mtu)
            .min()
            .unwrap_or(u16::MAX)
    }

    /// Returns whether IPv6 crosses all links of a node.
    #[must_use]
    pub fn has_ipv6_at(&self, node: usize) -> bool {
        self.mtu_at(node) >= MINIMUM_IPV6_MTU
    }

    /// Returns how its nodes accept damage, if any does; all of them do it in the same way.
    #[must_use]
    pub fn acceptance(&self) -> Acceptance {
        let mut each = self.nodes.iter().map(|node| node.lite);
        each.find(|lite| *lite != Acceptance::Off).unwrap_or_default()
    }

    /// Returns whether this node accepts damage.
    #[must_use]
    pub fn accepts(&self, node: usize) -> bool {
        self.nodes[node].lite != Acceptance::Off
    }

    /// Returns the node at which the TCP of a node's programs runs.
    #[must_use]
    pub fn tcp_at(&self, node: usize) -> usize {
        self.nodes[node].sockets.as_ref().map_or(node, |sockets| sockets.at)
    }

    /// Returns the address that the sockets of a node's programs have.
    #[must_use]
    pub fn tcp_address(&self, node: usize) -> Ipv4Addr {
        self.nodes[self.tcp_at(node)].address()
    }

    /// Returns the index of the node with this name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Returns the link that each node takes towards each other node.
    #[must_use]
    pub fn hops(&self) -> Vec<Hop> {
        let ends: Vec<_> = self.links.iter().map(|link| link.between).collect();
        routes::shortest(self.nodes.len(), &ends)
    }

    /// Returns the lines of `/etc/hosts`.
    #[must_use]
    pub fn hosts(&self) -> String {
        let line = |node: &Node| {
            let name = &node.name;
            format!("{} {name} {name}.lasthop\n{} {name} {name}.lasthop\n", node.address(), node.address6())
        };
        format!("127.0.0.1 localhost\n::1 localhost\n{}", self.nodes.iter().map(line).collect::<String>())
    }

    /// Returns the links from one node to another in order; empty if there is no path.
    #[must_use]
    pub fn path(&self, from: usize, to: usize) -> Vec<usize> {
        let hops = self.hops();
        let mut path = Vec::new();
        let mut at = from;
        while at != to {
            let Some(hop) = hops.iter().find(|hop| (hop.at, hop.to) == (at, to)) else { return Vec::new() };
            path.push(hop.by);
            let [first, second] = self.links[hop.by].between;
            at = if first == at { second } else { first };
        }
        path
    }

    /// Returns the packets per second that cross these links if a flow uses all of them.
    ///
    /// The slowest link limits the flow, and as many packets go back. If no link has a constant
    /// rate, a million is assumed.
    #[must_use]
    pub fn packets_per_second(&self, path: &[usize]) -> f64 {
        let fastest = |&link: &usize| {
            let Link { profile, mtu, .. } = &self.links[link];
            let rates = Direction::BOTH.map(|direction| profile.rate(direction));
            let packets =
                |rate: link::units::BitRate| rate.as_bits_per_second() as f64 / 8.0 / f64::from(*mtu);
            // The slow direction of an asymmetric link carries the acknowledgements, so each
            // direction limits the other.
            rates.into_iter().flatten().map(packets).fold(f64::INFINITY, f64::min)
        };
        let slowest = path.iter().map(fastest).fold(f64::INFINITY, f64::min);
        let crossings = 2.0 * path.len() as f64;
        if slowest.is_finite() { slowest * crossings } else { 1e6 }
    }

    /// Checks that a guest can run this scenario, with its virtual clock.
    ///
    /// # Errors
    /// If an interface or a namespace is attached to a node: devices live by the real clock.
    pub fn check_guest(&self) -> Result<(), String> {
        match self.nodes.iter().find_map(|node| node.attach.first().map(|attach| (node, attach))) {
            None => Ok(()),
            Some((node, attach)) => Err(format!(
                "`{}` is attached to node `{}` and lives by the real clock: use `--clock real`, or remove `attach`",
                attach.name, node.name
            )),
        }
    }

    /// Checks that a host can run this scenario, with its real clock.
    ///
    /// # Errors
    /// If only the kernel of the virtual clock can: what needs it, and what to do.
    pub fn check_host(&self) -> Result<(), String> {
        if let Some(node) = self.nodes.iter().find(|node| node.stack.generation.needs_guest()) {
            return Err(format!(
                "stack `{}` of node `{}` needs the kernel of the virtual clock: use `--clock virtual`",
                node.stack.generation.name(),
                node.name
            ));
        }
        if let Some(tick) = self.clock_tick {
            return Err(format!("clock-tick `{tick}` is one of the virtual clock: use `--clock virtual`"));
        }
        match self.parameters.first() {
            None => Ok(()),
            Some(Parameter { module, name, value }) => Err(format!(
                "congestion-parameters `{module}.{name}` applies to the whole host, so a run does not set it: use `--clock virtual`, or load \
                 the congestion control with it (`lasthop cc load {module} {name}={value}`)"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::stage::bottleneck::{BottleneckSpec, RateSpec};
    use link::units::BitRate;
    use proptest::prelude::*;

    fn node(name: &str, number: u8) -> Node {
        let stack = crate::stack::Generation::Modern.stack();
        Node {
            name: name.to_owned(),
            number,
            stack,
            lite: Acceptance::Off,
            sockets: None,
            proxy: None,
            attach: Vec::new(),
        }
    }

    /// Returns a link with these rates up and down, in bit/s.
    fn link(name: &str, between: [usize; 2], mtu: u16, rates: [Option<u64>; 2]) -> Link {
        let mut profile = LinkProfile::default();
        for (direction, rate) in [&mut profile.up, &mut profile.down].into_iter().zip(rates) {
            if let Some(rate) = rate.and_then(BitRate::from_bits_per_second) {
                let rate = RateSpec::Constant(rate);
                let spec = BottleneckSpec { rate, ..BottleneckSpec::default() };
                direction.put(link::spec::StageSpec::Bottleneck(spec));
            }
        }
        Link { name: name.to_owned(), between, profile, title: String::new(), mtu }
    }

    /// Nodes `a`, `b`, `c` and `d`; `d` is alone.
    fn chain() -> Scenario {
        Scenario {
            nodes: [("a", 1), ("b", 2), ("c", 253), ("d", 4)].map(|(name, number)| node(name, number)).into(),
            links: vec![
                link("bc", [1, 2], 1000, [Some(8_000_000), Some(800_000)]),
                link("ab", [0, 1], 500, [Some(8_000_000), Some(80_000_000)]),
                link("free", [0, 1], 1500, [None, None]),
            ],
            parameters: Vec::new(),
            clock_tick: None,
        }
    }

    proptest! {
        /// So `fd00::123` and `10.0.0.123` are recognized as the same node.
        #[test]
        fn both_addresses_have_the_same_digits(number in 1..=253_u8) {
            let node = node("n", number);
            prop_assert_eq!(node.address().to_string(), format!("10.0.0.{number}"));
            prop_assert_eq!(node.address6().to_string(), format!("fd00::{number}"));
        }
    }

    #[test]
    fn devices_have_the_names_of_links_that_the_kernel_accepts() {
        let device = |name: &str| link(name, [0, 1], 1500, [None, None]).device(6);
        for name in ["air", "a-b_2", "fifteen-letters"] {
            assert_eq!(device(name), name);
        }
        for name in ["sixteen--letters", "lo", "a.b", "a b", "a/b", "ä"] {
            assert_eq!(device(name), "link7", "{name}");
        }
    }

    #[test]
    fn every_node_is_found_by_name_and_by_both_addresses() {
        let scenario = chain();
        assert_eq!(
            scenario.hosts(),
            "127.0.0.1 localhost\n::1 localhost\n\
             10.0.0.1 a a.lasthop\nfd00::1 a a.lasthop\n10.0.0.2 b b.lasthop\nfd00::2 b b.lasthop\n\
             10.0.0.253 c c.lasthop\nfd00::253 c c.lasthop\n10.0.0.4 d d.lasthop\nfd00::4 d d.lasthop\n"
        );
        assert_eq!(scenario.node_at("10.0.0.253".parse().expect("an address")), Some("c"));
        assert_eq!(scenario.node_at("fd00::253".parse().expect("an address")), Some("c"));
        assert_eq!(scenario.node_at("10.0.0.3".parse().expect("an address")), None);
        assert_eq!((scenario.node("c"), scenario.node("e")), (Some(2), None));
    }

    /// Captures show the addresses of devices. Results name the interface that a device is attached
    /// to.
    #[test]
    fn devices_are_found_by_their_network() {
        let mut scenario = chain();
        let networks = netlab::plan::choose_networks(&[], 2).expect("networks");
        scenario.nodes[1].attach = ["eth1", "pid:7"]
            .into_iter()
            .zip(networks)
            .map(|(name, network)| Attach { name: name.to_owned(), network })
            .collect();
        let at = |address: &str| scenario.node_at(address.parse().expect("an address"));
        assert_eq!([at("192.168.200.17"), at("192.168.201.2")], [Some("eth1"), Some("pid:7")]);
        assert_eq!([at("fd6c:6173:7468:c8::17"), at("192.168.202.1")], [Some("eth1"), None]);
        assert_eq!(at("10.0.0.2"), Some("b"));
        assert!(scenario.attaches() && scenario.check_host().is_ok());
        let error = scenario.check_guest().expect_err("it lives by the real clock");
        assert!(error.starts_with("`eth1` is attached to node `b`"), "{error}");
        assert_eq!([scenario.mtu_at(1), scenario.mtu_at(2)], [500, 1000]);
    }

    #[test]
    fn a_path_has_its_links_in_order() {
        let scenario = chain();
        assert_eq!(scenario.path(0, 2), [1, 0]);
        assert_eq!(scenario.path(2, 0), [0, 1]);
        assert!(scenario.path(0, 3).is_empty() && scenario.path(1, 1).is_empty());
    }

    /// The slowest direction of any link limits in packets, and each link is crossed twice.
    #[test]
    fn packets_of_a_flow_over_several_links() {
        let scenario = chain();
        let close = |path: &[usize], expected: f64| {
            let rate = scenario.packets_per_second(path);
            assert!((rate - expected).abs() < 1e-6, "{path:?}: {rate}");
        };
        close(&[0], 2.0 * 100.0);
        close(&[1], 2.0 * 2000.0);
        close(&[1, 0], 4.0 * 100.0);
        close(&[2], 1e6);
        close(&[2, 1], 4.0 * 2000.0);
    }

    #[test]
    fn who_accepts_damage() {
        let mut scenario = chain();
        assert_eq!(scenario.acceptance(), Acceptance::Off);
        scenario.nodes[1].lite = Acceptance::Thesis;
        assert_eq!(scenario.acceptance(), Acceptance::Thesis);
        assert_eq!([0, 1, 2, 3].map(|node| scenario.accepts(node)), [false, true, false, false]);
    }
}
