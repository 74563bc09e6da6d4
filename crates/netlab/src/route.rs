//! Routes, each with its congestion control.
//!
//! A host's default congestion control may be anything (bbr on some), and child namespaces inherit
//! it. `cubic` may not even be *allowed* as a child's default. A route's `congctl` metric
//! (RTAX_CC_ALGO) avoids both problems and affects nothing outside the namespace. So every route
//! that this crate adds has one. Connections accepted over a route use it too.

use crate::address::family;
use crate::error::{Error, Result, Trying};
use crate::netlink::{Existing, Netlink};
use crate::{Namespace, sysctl};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A block of addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// An address in the block.
    pub address: IpAddr,
    /// Prefix length in bits.
    pub length: u8,
}

impl Prefix {
    /// Returns the block that contains only `address`.
    #[must_use]
    pub fn host(address: IpAddr) -> Self {
        Self { address, length: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// All IPv4 addresses: the destination of a default route.
    pub const DEFAULT_V4: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), length: 0 };
    /// All IPv6 addresses: the destination of an IPv6 default route.
    pub const DEFAULT_V6: Self = Self { address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), length: 0 };

    /// Returns whether the two blocks have an address in common.
    #[must_use]
    pub fn overlaps(self, other: Self) -> bool {
        let common = u32::from(self.length.min(other.length));
        match (self.address, other.address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                (a.to_bits() ^ b.to_bits()).checked_shr(32 - common).is_none_or(|x| x == 0)
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                (a.to_bits() ^ b.to_bits()).checked_shr(128 - common).is_none_or(|x| x == 0)
            }
            _ => false,
        }
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.address, self.length)
    }
}

/// TCP settings of connections over a route; `None` is the kernel's default.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metrics {
    /// Congestion control by the kernel's name; always set.
    pub congestion_control: String,
    /// Initial congestion window in segments.
    pub initial_congestion_window: Option<u32>,
    /// Initial receive window in segments.
    pub initial_receive_window: Option<u32>,
    /// Path MTU in bytes, instead of the device's.
    pub mtu: Option<u32>,
    /// Maximum segment size to announce, in bytes (`advmss`).
    pub announced_segment_size: Option<u32>,
    /// Largest receive window to advertise, in bytes (`window`). It also limits the window scale
    /// that is offered.
    pub window: Option<u32>,
    /// Whether to acknowledge each segment at once, for experiments without delayed
    /// acknowledgements.
    pub quick_acknowledgements: bool,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            congestion_control: "cubic".into(),
            initial_congestion_window: None,
            initial_receive_window: None,
            mtu: None,
            announced_segment_size: None,
            window: None,
            quick_acknowledgements: false,
        }
    }
}

/// A route to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Destination of the route.
    pub destination: Prefix,
    /// Next hop; `None` when the destination is on the link.
    pub via: Option<IpAddr>,
    /// Index of the interface.
    pub index: u32,
    /// Source address of packets that have none yet.
    pub source: Option<IpAddr>,
    /// Priority; the lowest is preferred.
    pub priority: Option<u32>,
    /// TCP settings of connections over this route.
    pub metrics: Metrics,
}

impl Route {
    /// Returns a route to `destination`, on the link of interface `index`.
    #[must_use]
    pub fn on_link(destination: Prefix, index: u32, metrics: Metrics) -> Self {
        Self { destination, via: None, index, source: None, priority: None, metrics }
    }

    /// Returns a route to `destination` through the next hop `via`.
    #[must_use]
    pub fn by_way_of(destination: Prefix, via: IpAddr, index: u32, metrics: Metrics) -> Self {
        Self { via: Some(via), ..Self::on_link(destination, index, metrics) }
    }
}

/// Adds `route`.
///
/// # Errors
/// If the kernel refuses. If it lacks the congestion control, the error names the available ones.
pub fn add(namespace: &Namespace, route: &Route) -> Result<()> {
    let result =
        Netlink::open(namespace)?.change(RouteNetlinkMessage::NewRoute(compose(route)), Existing::Refuse);
    if let Err(error) = &result
        && matches!(error.raw_os_error(), Some(libc::EINVAL | libc::ENOENT))
    {
        let available = sysctl::read(namespace, "net.ipv4.tcp_available_congestion_control")?;
        if !available.split_whitespace().any(|name| name == route.metrics.congestion_control) {
            let name = route.metrics.congestion_control.clone();
            return Err(Error::CongestionControl { name, available });
        }
    }
    result.trying(|| format!("add route to {} on interface {}", route.destination, route.index))
}

fn compose(route: &Route) -> RouteMessage {
    let mut message = RouteMessage::default();
    message.header.address_family = family(route.destination.address);
    message.header.destination_prefix_length = route.destination.length;
    message.header.table = RouteHeader::RT_TABLE_MAIN;
    message.header.protocol = RouteProtocol::Static;
    message.header.scope = if route.via.is_none() && route.destination.address.is_ipv4() {
        RouteScope::Link
    } else {
        RouteScope::Universe
    };
    message.header.kind = RouteType::Unicast;
    if route.destination.length > 0 {
        message.attributes.push(RouteAttribute::Destination(RouteAddress::from(route.destination.address)));
    }
    message.attributes.extend(route.via.map(|via| RouteAttribute::Gateway(RouteAddress::from(via))));
    message.attributes.push(RouteAttribute::Oif(route.index));
    message
        .attributes
        .extend(route.source.map(|source| RouteAttribute::PrefSource(RouteAddress::from(source))));
    message.attributes.extend(route.priority.map(RouteAttribute::Priority));
    let metrics = &route.metrics;
    let mut attributes = vec![RouteMetric::CcAlgo(metrics.congestion_control.clone())];
    attributes.extend(metrics.initial_congestion_window.map(RouteMetric::InitCwnd));
    attributes.extend(metrics.initial_receive_window.map(RouteMetric::InitRwnd));
    attributes.extend(metrics.mtu.map(RouteMetric::Mtu));
    attributes.extend(metrics.announced_segment_size.map(RouteMetric::Advmss));
    attributes.extend(metrics.window.map(RouteMetric::Window));
    attributes.extend(metrics.quick_acknowledgements.then_some(RouteMetric::QuickAck(1)));
    message.attributes.push(RouteAttribute::Metrics(attributes));
    message
}

/// A route as the kernel lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Destination of the route.
    pub destination: Prefix,
    /// Next hop, if not on the link.
    pub via: Option<IpAddr>,
    /// Index of the interface, if any.
    pub index: Option<u32>,
    /// Congestion control that the route sets, if any.
    pub congestion_control: Option<String>,
    /// Whether the route comes from a router advertisement.
    pub from_router_advertisement: bool,
    /// Whether packets can leave by this route (unicast), unlike by local, blackhole and similar
    /// routes.
    pub leads_out: bool,
}

/// Returns all routes in all tables of `namespace`.
pub fn list(namespace: &Namespace) -> Result<Vec<Listed>> {
    let mut netlink = Netlink::open(namespace)?;
    let mut routes = Vec::new();
    for any in [Prefix::DEFAULT_V4, Prefix::DEFAULT_V6] {
        let mut question = RouteMessage::default();
        question.header.address_family = family(any.address);
        for answer in netlink.dump(&RouteNetlinkMessage::GetRoute(question))? {
            if let RouteNetlinkMessage::NewRoute(message) = answer {
                routes.push(parse(&message, any.address));
            }
        }
    }
    Ok(routes)
}

fn parse(message: &RouteMessage, unspecified: IpAddr) -> Listed {
    let mut listed = Listed {
        destination: Prefix { address: unspecified, length: message.header.destination_prefix_length },
        via: None,
        index: None,
        congestion_control: None,
        from_router_advertisement: message.header.protocol == RouteProtocol::Ra,
        leads_out: message.header.kind == RouteType::Unicast,
    };
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => {
                listed.destination.address = ip(address).unwrap_or(listed.destination.address);
            }
            RouteAttribute::Gateway(address) => listed.via = ip(address),
            RouteAttribute::Oif(index) => listed.index = Some(*index),
            RouteAttribute::Metrics(metrics) => {
                listed.congestion_control = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::CcAlgo(name) => Some(name.clone()),
                    _ => None,
                });
            }
            _ => {}
        }
    }
    listed
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some(IpAddr::V4(*address)),
        RouteAddress::Inet6(address) => Some(IpAddr::V6(*address)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        let (address, length) = text.split_once('/').expect("a prefix");
        Prefix { address: address.parse().expect("an address"), length: length.parse().expect("a length") }
    }

    #[test]
    fn blocks_overlap_when_the_shorter_prefix_holds_the_longer() {
        assert!(prefix("100.64.0.0/30").overlaps(prefix("100.64.0.2/32")));
        assert!(prefix("100.64.0.2/32").overlaps(prefix("100.64.0.0/10")));
        assert!(!prefix("100.64.0.0/30").overlaps(prefix("100.64.0.4/30")));
        assert!(prefix("0.0.0.0/0").overlaps(prefix("10.0.0.0/8")));
        assert!(prefix("::/0").overlaps(prefix("fd00::/64")));
        assert!(prefix("fd00::1/128").overlaps(prefix("fd00::/64")));
        assert!(!prefix("fd00:0:0:1::/64").overlaps(prefix("fd00::/64")));
        assert!(!prefix("0.0.0.0/0").overlaps(prefix("::/0")));
    }

    #[test]
    fn each_metric_is_in_its_own_attribute() {
        let metrics = Metrics {
            congestion_control: "reno".into(),
            initial_congestion_window: Some(1),
            initial_receive_window: Some(2),
            mtu: Some(3),
            announced_segment_size: Some(4),
            window: Some(5),
            quick_acknowledgements: true,
        };
        let on_link = Route::on_link(prefix("10.1.0.0/16"), 7, metrics);
        let route = Route { source: Some([10, 0, 0, 1].into()), priority: Some(9), ..on_link };
        let message = compose(&route);
        let expected = [
            RouteAttribute::Destination(RouteAddress::Inet([10, 1, 0, 0].into())),
            RouteAttribute::Oif(7),
            RouteAttribute::PrefSource(RouteAddress::Inet([10, 0, 0, 1].into())),
            RouteAttribute::Priority(9),
            RouteAttribute::Metrics(vec![
                RouteMetric::CcAlgo("reno".into()),
                RouteMetric::InitCwnd(1),
                RouteMetric::InitRwnd(2),
                RouteMetric::Mtu(3),
                RouteMetric::Advmss(4),
                RouteMetric::Window(5),
                RouteMetric::QuickAck(1),
            ]),
        ];
        assert_eq!(message.attributes, expected);
        let plain = compose(&Route::on_link(Prefix::DEFAULT_V4, 7, Metrics::default()));
        let cubic = RouteAttribute::Metrics(vec![RouteMetric::CcAlgo("cubic".into())]);
        assert_eq!(plain.attributes, [RouteAttribute::Oif(7), cubic], "a default route has no destination");
    }

    #[test]
    fn a_listed_route_is_the_one_that_was_added() {
        for (to, via) in [("10.1.0.0/16", "10.0.0.2"), ("0.0.0.0/0", "10.0.0.2"), ("fd01::/64", "fd00::2")] {
            let via: IpAddr = via.parse().expect("an address");
            let unspecified = if via.is_ipv4() { Prefix::DEFAULT_V4 } else { Prefix::DEFAULT_V6 }.address;
            let route = Route::by_way_of(prefix(to), via, 7, Metrics::default());
            let mut message = compose(&route);
            let mut expected = Listed {
                destination: route.destination,
                via: Some(via),
                index: Some(7),
                congestion_control: Some("cubic".into()),
                from_router_advertisement: false,
                leads_out: true,
            };
            assert_eq!(parse(&message, unspecified), expected);
            message.header.protocol = RouteProtocol::Ra;
            message.header.kind = RouteType::BlackHole;
            (expected.from_router_advertisement, expected.leads_out) = (true, false);
            assert_eq!(parse(&message, unspecified), expected);
        }
    }

    /// The kernel takes a next hop only if a route of a narrower scope leads to it.
    #[test]
    fn only_ipv4_routes_without_a_next_hop_have_the_scope_of_the_link() {
        let scope = |to: &str, via: Option<&str>| {
            let via = via.map(|text| text.parse().expect("an address"));
            let route = Route { via, ..Route::on_link(prefix(to), 7, Metrics::default()) };
            compose(&route).header.scope
        };
        assert_eq!(scope("10.1.0.0/16", None), RouteScope::Link);
        assert_eq!(scope("10.1.0.0/16", Some("10.0.0.2")), RouteScope::Universe);
        assert_eq!(scope("fd01::/64", None), RouteScope::Universe);
    }
}
