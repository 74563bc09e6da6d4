//! The nodes and links of one cell, from which the network is built.

use crate::acceptance::Acceptance;
use crate::parameters::Parameter;
use crate::routes::{self, Hop};
use crate::stack::Stack;
use link::Direction;
use link::profile::LinkProfile;
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
    /// Returns the name of the node with this address.
    #[must_use]
    pub fn node_at(&self, address: IpAddr) -> Option<&str> {
        let its = |node: &&Node| match address {
            IpAddr::V4(address) => node.address() == address,
            IpAddr::V6(address) => node.address6() == address,
        };
        self.nodes.iter().find(its).map(|node| node.name.as_str())
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
}
