//! Any number of nodes and links between them, each node in its own network namespace.
//!
//! A node has one IPv4 and one IPv6 address, both on its loopback device. Its links are unnumbered,
//! as on a router. So packets carry the address by which a node is known, whatever path they take.
//! A node can have further networks behind it, with devices of the caller
//! ([`attachment`](crate::attachment)).
//! Each link is a TUN device at either end, named after the link. Routes are given, not computed:
//! one for each node and each destination.
//!
//! No object has a name outside these namespaces, so everything vanishes with the process.

use crate::error::Result;
use crate::route::{self, Metrics, Prefix, Route};
use crate::tun::{self, Tun};
use crate::{Namespace, address, interface, sysctl};
use packet::Layer;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Options of a node.
#[derive(Debug)]
pub struct NodeOptions {
    /// Its IPv4 address.
    pub address: Ipv4Addr,
    /// Its IPv6 address.
    pub address6: Ipv6Addr,
    /// Names and values of sysctls, set in this order.
    pub sysctls: Vec<(String, String)>,
    /// TCP metrics of all routes of this node.
    pub metrics: Metrics,
    /// Its namespace, if it exists already ([`Borrowed`](crate::Borrowed)).
    pub namespace: Option<Namespace>,
    /// Networks behind this node, which other nodes reach as they reach it.
    pub networks: Vec<Prefix>,
}

/// Options of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkOptions {
    /// Name of the devices at both ends, at most 15 bytes.
    pub name: String,
    /// Indices of the nodes at its two ends.
    pub between: [usize; 2],
    /// Largest IP packet in bytes.
    pub mtu: u16,
    /// Whether segments stay whole; see [`tun`].
    pub whole_segments: bool,
    /// Capacity of a device's queue towards the emulator in packets; not the link's queue.
    pub queue_length: u32,
}

/// A route: the link by which a node forwards packets for another node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// The node that forwards.
    pub at: usize,
    /// The node that is the destination.
    pub to: usize,
    /// The link to take.
    pub by: usize,
}

/// A network of nodes and links that is up.
#[derive(Debug)]
pub struct Mesh {
    namespaces: Vec<Namespace>,
    ends: Vec<[Tun; 2]>,
}

impl Mesh {
    /// Builds nodes, links and routes.
    ///
    /// # Errors
    /// If the kernel refuses: the error names the object, or the available congestion controls.
    pub fn build(nodes: &[NodeOptions], links: &[LinkOptions], hops: &[Hop]) -> Result<Self> {
        let namespaces = nodes.iter().map(build_node).collect::<Result<Vec<_>>>()?;
        let ends = links
            .iter()
            .map(|link| {
                let [first, second] = link.between;
                Ok([build_end(&namespaces[first], link)?, build_end(&namespaces[second], link)?])
            })
            .collect::<Result<Vec<_>>>()?;
        let mesh = Self { namespaces, ends };
        for hop in hops {
            mesh.add_route(nodes, links, *hop)?;
        }
        Ok(mesh)
    }

    /// Returns the namespace of a node.
    #[must_use]
    pub fn node(&self, number: usize) -> &Namespace {
        &self.namespaces[number]
    }

    /// Returns both ends of each link, in the order of [`LinkOptions::between`].
    #[must_use]
    pub fn ends(&self) -> &[[Tun; 2]] {
        &self.ends
    }

    /// Returns how many packets the kernel dropped because the emulator did not read them in time.
    pub fn dropped_by_kernel(&self) -> Result<u64> {
        self.ends.iter().flatten().try_fold(0, |sum, end| Ok(sum + end.statistics()?.tx_dropped))
    }

    fn add_route(&self, nodes: &[NodeOptions], links: &[LinkOptions], hop: Hop) -> Result<()> {
        let namespace = &self.namespaces[hop.at];
        let side = usize::from(links[hop.by].between[0] != hop.at);
        let index = self.ends[hop.by][side].index();
        let (own, other) = (&nodes[hop.at], &nodes[hop.to]);
        let ipv6 = links[hop.by].mtu >= MINIMUM_IPV6_MTU && sysctl::has_ipv6(namespace);
        let own_addresses = [IpAddr::V4(own.address), IpAddr::V6(own.address6)];
        let others = [IpAddr::V4(other.address), IpAddr::V6(other.address6)].map(Prefix::host);
        for destination in others.iter().chain(&other.networks) {
            let is_ipv6 = destination.address.is_ipv6();
            if is_ipv6 && !ipv6 {
                continue;
            }
            let mut route = Route::on_link(*destination, index, own.metrics.clone());
            route.source = Some(own_addresses[usize::from(is_ipv6)]);
            route::add(namespace, &route)?;
        }
        Ok(())
    }
}

/// Smallest MTU that IPv6 allows (RFC 8200 section 5).
pub const MINIMUM_IPV6_MTU: u16 = 1280;

fn build_node(node: &NodeOptions) -> Result<Namespace> {
    let namespace = match &node.namespace {
        Some(namespace) => namespace.try_clone()?,
        None => Namespace::new()?,
    };
    interface::loopback_up(&namespace)?;
    sysctl::calm(&namespace)?;
    sysctl::write(&namespace, "net.ipv4.ip_forward", "1")?;
    let ipv6 = sysctl::has_ipv6(&namespace);
    if ipv6 {
        sysctl::write(&namespace, "net.ipv6.conf.all.forwarding", "1")?;
    }
    for (key, value) in &node.sysctls {
        sysctl::write(&namespace, key, value)?;
    }
    let loopback = interface::find(&namespace, "lo")?.index;
    for address in own_addresses(node, ipv6) {
        let Prefix { address, length } = Prefix::host(address);
        address::add(&namespace, address::Address { index: loopback, address, prefix_length: length })?;
    }
    Ok(namespace)
}

fn own_addresses(node: &NodeOptions, ipv6: bool) -> impl Iterator<Item = IpAddr> {
    std::iter::once(IpAddr::V4(node.address)).chain(ipv6.then_some(IpAddr::V6(node.address6)))
}

fn build_end(namespace: &Namespace, link: &LinkOptions) -> Result<Tun> {
    let options = tun::TunOptions {
        name: link.name.clone(),
        layer: Layer::Ip,
        mtu: link.mtu.into(),
        queue_length: link.queue_length,
        whole_segments: link.whole_segments,
        device: tun::device_of_links().to_owned(),
        ..tun::TunOptions::default()
    };
    Tun::open(namespace, &options)
}
