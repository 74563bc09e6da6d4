//! Attachments: interfaces of the caller with the devices at them, such as a phone at an access
//! point, and namespaces, such as that of a container. They are behind the link like the program.
//!
//! The wireless host routes between them and the link. Each has a [`Network`], and the caller
//! masquerades its packets, as it does for the wireless host.
//!
//! * **An interface** moves into the wireless host's namespace. The user of this crate serves DHCP
//!   there. When the link ends, the keeper moves the interface back. If the keeper is killed too,
//!   the kernel moves an interface of hardware back to the first namespace, and removes a virtual
//!   one.
//! * **A namespace** gets an end of a veth pair, with an address and a default route. They vanish
//!   with the other end, which the keeper removes, or the kernel with the wireless host's
//!   namespace.

use super::build::{End, INSIDE};
use crate::error::{Error, Result};
use crate::plan::{Addresses, Network};
use crate::route::{self, Metrics, Prefix, Route};
use crate::state::{Made, Run};
use crate::{Namespace, Rights, address, interface, nat, sysctl, veth};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

/// Type of an Ethernet interface (ARPHRD_ETHER, `linux/if_arp.h`).
const ETHERNET: u16 = 1;

/// An interface or a namespace to attach to the wireless host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attachment {
    /// An Ethernet interface of the caller, with all devices that are attached to it.
    Interface(String),
    /// A network namespace.
    Namespace {
        /// Name for people.
        name: String,
        /// File of the namespace: `/proc/PID/ns/net`.
        path: PathBuf,
    },
}

impl Attachment {
    /// Returns the name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Interface(name) | Self::Namespace { name, .. } => name,
        }
    }
}

/// Opens the namespace that is called `name`.
fn open(name: &str, path: &Path) -> Result<Namespace> {
    Namespace::at(&path.to_string_lossy()).map_err(|error| {
        Error::missing(format!("no network namespace {name}: {error}"), "name one that exists")
    })
}

/// An attachment with its addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attached {
    /// The interface or namespace.
    pub attachment: Attachment,
    /// Addresses of its network.
    pub network: Network,
    /// Whether the network has IPv6, which the caller then forwards.
    pub ipv6: bool,
}

impl Attached {
    /// Returns the blocks of the network that are in use, each with its gateway.
    fn blocks(&self) -> impl Iterator<Item = (Prefix, IpAddr)> {
        let gateways = [IpAddr::V4(self.network.gateway), IpAddr::V6(self.network.gateway6)];
        self.network.blocks().into_iter().zip(gateways).take(1 + usize::from(self.ipv6))
    }
}

/// Refuses attachments that cannot be behind a link, before anything is made.
pub(super) fn check(outside: &Namespace, rights: &Rights, all: &[Attachment]) -> Result<()> {
    if !all.is_empty() && rights.outside_is_private() {
        return Err(Error::missing(
            "only root can put an interface or a namespace of this host behind a link",
            "run it with sudo",
        ));
    }
    for (place, one) in all.iter().enumerate() {
        let name = one.name();
        if all[..place].contains(one) {
            return Err(Error::missing(format!("{name} is named twice"), "name it once"));
        }
        match one {
            Attachment::Interface(name) => check_interface(outside, name)?,
            Attachment::Namespace { path, .. } => {
                let theirs = open(name, path)?;
                if theirs.inode()? == outside.inode()? {
                    return Err(Error::missing(
                        format!("{name} has this host's own network"),
                        "name a process or container with a network namespace of its own",
                    ));
                }
                if interface::find(&theirs, INSIDE).is_ok() {
                    return Err(Error::missing(
                        format!("{name} is behind a link already: it has an interface {INSIDE}"),
                        "end that link first",
                    ));
                }
            }
        }
    }
    Ok(())
}

fn check_interface(outside: &Namespace, name: &str) -> Result<()> {
    let found = interface::find(outside, name)?;
    if found.loopback || found.link_layer != ETHERNET {
        return Err(Error::missing(
            format!("interface {name} is no Ethernet interface"),
            "name the interface that the devices are attached to",
        ));
    }
    if let Some(index) = found.controller {
        let controller = interface::list(outside)?.into_iter().find(|its| its.index == index);
        let controller = controller.map_or_else(|| index.to_string(), |its| its.name);
        return Err(Error::missing(
            format!("interface {name} belongs to {controller}, which it would leave for good"),
            format!("ip link set dev {name} nomaster"),
        ));
    }
    let its = |route: &route::Listed| route.index == Some(found.index) && route.destination.length == 0;
    if route::list(outside)?.iter().any(its) {
        return Err(Error::missing(
            format!("interface {name} has this host's default route: the host would lose its network"),
            "name the interface that the devices are attached to",
        ));
    }
    let its = |its: &address::Address| its.index == found.index && !is_link_local(its.address);
    if let Some(address) = address::list(outside)?.into_iter().find(its) {
        return Err(Error::missing(
            format!(
                "interface {name} has the address {}/{}, which it would lose",
                address.address, address.prefix_length
            ),
            format!("ip address flush dev {name}"),
        ));
    }
    Ok(())
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// Attaches all of them, and makes the wireless host their router.
pub(super) fn attach(
    run: &mut Run,
    [inside, outside]: [End<'_>; 2],
    addresses: Addresses,
    metrics: &Metrics,
    attached: &[Attached],
) -> Result<()> {
    for (place, one) in attached.iter().enumerate() {
        let index = match &one.attachment {
            Attachment::Interface(name) => attach_interface(run, inside.namespace, outside.namespace, name)?,
            Attachment::Namespace { name, path } => {
                attach_namespace(run, inside.namespace, &open(name, path)?, place as u8, metrics, one)?
            }
        };
        for (block, gateway) in one.blocks() {
            add_network(inside.namespace, index, block, gateway, metrics)?;
            let router = if gateway.is_ipv4() { addresses.inside.into() } else { addresses.inside6.into() };
            route::add(outside.namespace, &Route::by_way_of(block, router, outside.index, metrics.clone()))?;
        }
    }
    if !attached.is_empty() {
        for (key, value) in nat::sysctls(attached.iter().any(|one| one.ipv6)) {
            sysctl::write(inside.namespace, key, value)?;
        }
    }
    Ok(())
}

/// Gives an interface an address, and the route to the network around it.
fn add_network(
    namespace: &Namespace,
    index: u32,
    block: Prefix,
    address: IpAddr,
    metrics: &Metrics,
) -> Result<()> {
    address::add(namespace, address::Address { index, address, prefix_length: block.length })?;
    let mut on_link = Route::on_link(block, index, metrics.clone());
    on_link.source = Some(address);
    route::add(namespace, &on_link)
}

/// Moves an interface of the caller to the wireless host; returns its index there.
fn attach_interface(run: &mut Run, inside: &Namespace, outside: &Namespace, name: &str) -> Result<u32> {
    let is_up = interface::find(outside, name)?.up;
    run.record(Made::MovedInterface { interface: name.to_owned(), is_up })?;
    interface::set_namespace(outside, name, inside)?;
    set_up(inside, name)
}

/// Connects another namespace, whose packets then take the link unless a route of its own is more
/// specific than a half of all addresses. Returns the index of the wireless host's interface.
fn attach_namespace(
    run: &mut Run,
    inside: &Namespace,
    theirs: &Namespace,
    place: u8,
    metrics: &Metrics,
    attached: &Attached,
) -> Result<u32> {
    let name = format!("behind{place}");
    let end =
        |namespace, name, last| veth::End { namespace, name, hardware_address: [2, 0, 0, 1, place, last] };
    run.record(Made::VethPair { interface: name.clone() })?;
    veth::pair(end(inside, &name, 1), end(theirs, INSIDE, 2))?;
    let index = set_up(theirs, INSIDE)?;
    let routes = route::list(theirs)?;
    for (block, gateway) in attached.blocks() {
        let address = next_address(gateway);
        add_network(theirs, index, block, address, metrics)?;
        for destination in default_destinations(&routes, gateway) {
            let mut out = Route::by_way_of(destination, gateway, index, metrics.clone());
            out.source = Some(address);
            route::add(theirs, &out)?;
        }
    }
    set_up(inside, &name)
}

/// Sets an interface up; returns its index.
fn set_up(namespace: &Namespace, name: &str) -> Result<u32> {
    let index = interface::find(namespace, name)?.index;
    interface::change(namespace, index, &interface::Change::up())?;
    Ok(index)
}

/// Returns the address after that of the gateway.
fn next_address(gateway: IpAddr) -> IpAddr {
    match gateway {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() + 1)),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() + 1)),
    }
}

/// Returns destinations that are all addresses of the gateway's family together: a default route,
/// or two halves, which go before a default route that is there and leave it as it is.
fn default_destinations(routes: &[route::Listed], gateway: IpAddr) -> Vec<Prefix> {
    let (default, half) = match gateway {
        IpAddr::V4(_) => (Prefix::DEFAULT_V4, IpAddr::V4(Ipv4Addr::from_bits(1 << 31))),
        IpAddr::V6(_) => (Prefix::DEFAULT_V6, IpAddr::V6(Ipv6Addr::from_bits(1 << 127))),
    };
    if !routes.iter().any(|route| route.leads_out && route.destination == default) {
        return vec![default];
    }
    vec![Prefix { length: 1, ..default }, Prefix { address: half, length: 1 }]
}

/// Moves an interface back, and sets it up if it was. Returns whether it had to be moved.
pub(crate) fn detach(inside: &Namespace, outside: &Namespace, name: &str, is_up: bool) -> Result<bool> {
    if interface::find(inside, name).is_err() {
        return Ok(false);
    }
    interface::set_namespace(inside, name, outside)?;
    let change = interface::Change { up: Some(is_up), ..interface::Change::default() };
    interface::change(outside, interface::find(outside, name)?.index, &change)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A default route that is there stays, and is used again when the link ends.
    #[test]
    fn a_default_route_is_covered_by_two_halves() {
        let route = |destination, leads_out| route::Listed {
            destination,
            via: None,
            index: Some(2),
            congestion_control: None,
            from_router_advertisement: false,
            leads_out,
        };
        let everywhere = |routes: &[route::Listed], gateway: &str| -> Vec<String> {
            let gateway = gateway.parse().expect("an address");
            super::default_destinations(routes, gateway).iter().map(ToString::to_string).collect()
        };
        assert_eq!(everywhere(&[], "192.168.200.1"), ["0.0.0.0/0"]);
        assert_eq!(everywhere(&[route(Prefix::DEFAULT_V6, true)], "192.168.200.1"), ["0.0.0.0/0"]);
        assert_eq!(everywhere(&[route(Prefix::DEFAULT_V4, false)], "192.168.200.1"), ["0.0.0.0/0"]);
        let both = [route(Prefix::DEFAULT_V4, true), route(Prefix::DEFAULT_V6, true)];
        assert_eq!(everywhere(&both, "192.168.200.1"), ["0.0.0.0/1", "128.0.0.0/1"]);
        assert_eq!(everywhere(&both, "fd6c::1"), ["::/1", "8000::/1"]);
        assert_eq!(next_address("fd6c::1".parse().expect("an address")).to_string(), "fd6c::2");
    }
}
