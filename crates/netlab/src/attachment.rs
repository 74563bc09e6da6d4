//! Attachments: interfaces of the caller with the devices at them, such as a phone at an access
//! point, and namespaces, such as that of a container. They are behind a router in a namespace of
//! ours: the wireless host of a link, or a node of a plan.
//!
//! Each has a [`Network`], between which and its other networks the router forwards.
//!
//! * **An interface** moves into the router's namespace. [`dnsmasq`] serves DHCP
//!   there. At the end, the keeper moves the interface back. If the keeper is killed too, the
//!   kernel moves an interface of hardware back to the first namespace, and removes a virtual one.
//! * **A namespace** gets an end of a veth pair, with an address and a default route. They vanish
//!   with the other end, which the keeper removes, or the kernel with the router's namespace.

use crate::error::{Error, Result};
use crate::plan::Network;
use crate::route::{self, Metrics, Prefix, Route};
use crate::state::{Made, NamespaceId, Run};
use crate::{Namespace, address, dnsmasq, interface, veth};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Name of the interface that an attached namespace gets, and of the wireless host's own.
pub(crate) const INSIDE: &str = "lasthop0";
/// Container engines, by the names of their commands.
const CONTAINERS: [&str; 2] = ["podman", "docker"];

/// Type of an Ethernet interface (ARPHRD_ETHER, `linux/if_arp.h`).
const ETHERNET: u16 = 1;

/// An interface or a namespace to attach to a router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Reads an attachment: the name of an interface, or the namespace `netns:NAME`, `netns:/PATH`,
    /// `pid:PID`, `podman:CONTAINER` or `docker:CONTAINER`. The engine is asked for the first
    /// process of a container.
    ///
    /// # Errors
    /// If a container does not run, or its engine is not installed.
    pub fn read(value: &str) -> Result<Self> {
        let namespace = |path: String| Self::Namespace { name: value.to_owned(), path: path.into() };
        Ok(match value.split_once(':') {
            Some(("netns", path)) if path.contains('/') => namespace(path.to_owned()),
            Some(("netns", name)) => namespace(format!("/run/netns/{name}")),
            Some(("pid", pid)) => namespace(format!("/proc/{pid}/ns/net")),
            Some((program, container)) if CONTAINERS.contains(&program) => {
                namespace(format!("/proc/{}/ns/net", first_process(program, container)?))
            }
            _ => Self::Interface(value.to_owned()),
        })
    }

    /// Returns the name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Interface(name) | Self::Namespace { name, .. } => name,
        }
    }
}

/// Asks the container engine for the first process of a container.
fn first_process(program: &str, container: &str) -> Result<u32> {
    let failed =
        |why: String, remedy: String| Err(Error::missing(format!("{program}:{container}: {why}"), remedy));
    let output = Command::new(program)
        .args(["container", "inspect", "--format", "{{.State.Pid}}", container])
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => {
            return failed(format!("cannot start {program}: {error}"), format!("install {program}"));
        }
    };
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return failed(why, "name a container that runs".to_owned());
    }
    match String::from_utf8_lossy(&output.stdout).trim().parse() {
        Ok(pid) if pid > 0 => Ok(pid),
        _ => failed("the container does not run".to_owned(), "start it first".to_owned()),
    }
}

/// Opens the namespace that is called `name`.
fn open(name: &str, path: &Path) -> Result<Namespace> {
    Namespace::at(&path.to_string_lossy()).map_err(|error| {
        Error::missing(format!("no network namespace {name}: {error}"), "name one that exists")
    })
}

/// An attachment with its addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached {
    /// The interface or namespace.
    pub attachment: Attachment,
    /// Addresses of its network.
    pub network: Network,
    /// Whether the network has IPv6, which is then forwarded.
    pub ipv6: bool,
    /// Name of its interface in the router's namespace.
    pub interface: String,
}

impl Attached {
    /// Gives each attachment its network.
    pub(crate) fn all(attachments: &[Attachment], networks: &[Network], ipv6: bool) -> Vec<Self> {
        let one = |(place, (attachment, network)): (usize, (&Attachment, &Network))| Self {
            attachment: attachment.clone(),
            network: *network,
            ipv6,
            interface: match attachment {
                Attachment::Interface(name) => name.clone(),
                Attachment::Namespace { .. } => format!("behind{place}"),
            },
        };
        attachments.iter().zip(networks).enumerate().map(one).collect()
    }

    /// Returns where it is, and the addresses that a device without DHCP needs; `router` is what it
    /// is behind.
    #[must_use]
    pub fn describe(&self, router: &str) -> String {
        let blocks: Vec<_> = self.blocks().map(|(block, _)| block.to_string()).collect();
        let (name, blocks, gateway) = (self.attachment.name(), blocks.join(", "), self.network.gateway);
        format!("{name} is behind {router}: {blocks}, gateway {gateway}")
    }

    /// Returns the blocks of the network that are in use, each with its gateway.
    pub fn blocks(&self) -> impl Iterator<Item = (Prefix, IpAddr)> {
        let gateways = [IpAddr::V4(self.network.gateway), IpAddr::V6(self.network.gateway6)];
        self.network.blocks().into_iter().zip(gateways).take(1 + usize::from(self.ipv6))
    }
}

/// Returns the error for a user who may not attach anything.
pub(crate) fn needs_root() -> Error {
    Error::missing(
        "only root can put an interface or a namespace of this host behind a link",
        "run it with sudo",
    )
}

/// Refuses attachments that cannot be behind a link, before anything is made; also interfaces if
/// there is no dnsmasq for their devices.
pub(crate) fn check(outside: &Namespace, all: &[Attachment]) -> Result<()> {
    for (place, one) in all.iter().enumerate() {
        let name = one.name();
        if all[..place].contains(one) {
            return Err(Error::missing(format!("{name} is named twice"), "name it once"));
        }
        match one {
            Attachment::Interface(name) => {
                check_interface(outside, name)?;
                dnsmasq::program()?;
            }
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

/// Refuses an interface that the caller itself needs.
pub(crate) fn check_interface(outside: &Namespace, name: &str) -> Result<()> {
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

/// Attaches it to the router in `router`, with the addresses of its network at both ends.
pub(crate) fn attach(
    run: &mut Run,
    router: &Namespace,
    outside: &Namespace,
    metrics: &Metrics,
    attached: &Attached,
) -> Result<()> {
    let index = match &attached.attachment {
        Attachment::Interface(name) => move_interface(run, router, outside, name)?,
        Attachment::Namespace { name, path } => {
            attach_namespace(run, router, &open(name, path)?, metrics, attached)?
        }
    };
    for (block, gateway) in attached.blocks() {
        add_network(router, index, block, gateway, metrics)?;
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

/// Moves an interface of the caller to another namespace, and sets it up; returns its index there.
pub(crate) fn move_interface(run: &mut Run, to: &Namespace, outside: &Namespace, name: &str) -> Result<u32> {
    let is_up = interface::find(outside, name)?.up;
    let namespace = NamespaceId::of(to)?;
    run.record(Made::MovedInterface { interface: name.to_owned(), is_up, namespace })?;
    interface::set_namespace(outside, name, to)?;
    set_up(to, name)
}

/// Connects another namespace, whose packets then take the link unless a route of its own is more
/// specific than a half of all addresses. Returns the index of the router's interface.
fn attach_namespace(
    run: &mut Run,
    router: &Namespace,
    theirs: &Namespace,
    metrics: &Metrics,
    attached: &Attached,
) -> Result<u32> {
    let name = &attached.interface;
    let [.., number, _] = attached.network.gateway.octets();
    let end =
        |namespace, name, last| veth::End { namespace, name, hardware_address: [2, 0, 0, 1, number, last] };
    run.record(Made::VethPair { interface: name.clone(), namespace: NamespaceId::of(router)? })?;
    veth::pair(end(router, name, 1), end(theirs, INSIDE, 2))?;
    let index = set_up(theirs, INSIDE)?;
    let known = route::list(theirs)?;
    for (block, gateway) in attached.blocks() {
        let address = next_address(gateway);
        add_network(theirs, index, block, address, metrics)?;
        for destination in default_destinations(&known, gateway) {
            let mut out = Route::by_way_of(destination, gateway, index, metrics.clone());
            out.source = Some(address);
            route::add(theirs, &out)?;
        }
    }
    set_up(router, name)
}

/// Sets an interface up; returns its index.
pub(crate) fn set_up(namespace: &Namespace, name: &str) -> Result<u32> {
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

    #[test]
    fn names_of_attachments() {
        let read = |values: [&str; 4]| values.map(|value| Attachment::read(value).expect("a value"));
        let namespace =
            |name: &str, path: &str| Attachment::Namespace { name: name.into(), path: path.into() };
        assert_eq!(
            read(["eth1", "netns:phone", "netns:/run/x", "pid:7"]),
            [
                Attachment::Interface("eth1".into()),
                namespace("netns:phone", "/run/netns/phone"),
                namespace("netns:/run/x", "/run/x"),
                namespace("pid:7", "/proc/7/ns/net"),
            ]
        );
    }

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
