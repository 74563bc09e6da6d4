//! Building a link in an order that leaves nothing behind if it stops at any moment.
//!
//! First come the objects that vanish by themselves (namespace, devices), then the keeper. Last
//! come the objects that must be removed; each is recorded before it is made.

use super::attachments;
use super::{HostLink, HostLinkOptions};
use crate::attachment::{self, Attached, INSIDE};
use crate::cgroup::Cgroup;
use crate::dns::Forwarder;
use crate::error::{Error, Result};
use crate::keeper::KeptRun;
use crate::names::{self, RESOLV_CONF};
use crate::nat::{self, Rules, firewall};
use crate::plan::{self, Addresses, Network};
use crate::route::{self, Prefix, Route};
use crate::signals::Quiet;
use crate::state::{Made, NamespaceId, Run, State, remembered};
use crate::tun::{self, Tun};
use crate::{Namespace, Rights, address, interface, listening, neighbour, sysctl};
use packet::Layer;
use std::net::{IpAddr, SocketAddr};

/// Hardware addresses on Ethernet: locally administered, the same in every run.
const INSIDE_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 1];
const OUTSIDE_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 2];
/// How many names are tried for the outside device.
const MOST_NAMES: u32 = 99;
/// DNS (RFC 1035).
const DNS: u16 = 53;

pub(super) fn build(mut run: Run, rights: &Rights, options: &HostLinkOptions) -> Result<HostLink> {
    let quiet = Quiet::begin()?;
    let mut notes = rights.notes().to_vec();
    let outside_namespace = Namespace::current()?;
    let resolv_conf = std::fs::read_to_string(RESOLV_CONF).unwrap_or_default();
    let name_servers = names::servers(&resolv_conf);

    listening::check_free(&outside_namespace, &options.publish)?;
    if !options.attachments.is_empty() && rights.outside_is_private() {
        return Err(attachment::needs_root());
    }
    attachment::check(&outside_namespace, &options.attachments)?;
    let (addresses, networks) = claim(&mut run, &outside_namespace, &name_servers, options)?;
    let leaves = network_beyond(&route::list(&outside_namespace)?);
    notes.extend(leaves.notes.iter().cloned());
    let beyond = rights.host().filter(|_| !options.host_is_outside);
    let host = beyond.unwrap_or(IpAddr::V4(addresses.outside));

    // Vanishes with the last process in it.
    let inside_namespace = Namespace::new()?;
    run.record_inside(&inside_namespace)?;
    let open = |namespace: &Namespace, name: &str, hardware_address| {
        let options = tun::TunOptions {
            name: name.to_owned(),
            layer: options.layer,
            hardware_address,
            mtu: options.mtu.into(),
            queue_length: options.queue_length,
            whole_segments: options.whole_segments,
            device: options.device.clone(),
            ..tun::TunOptions::default()
        };
        Tun::open(namespace, &options)
    };
    interface::loopback_up(&inside_namespace)?;
    sysctl::calm(&inside_namespace)?;
    let inside = open(&inside_namespace, INSIDE, INSIDE_MAC)?;
    let outside = first_free(run.id(), |name| open(&outside_namespace, name, OUTSIDE_MAC))?;
    let device = outside.name().to_owned();
    let ipv6 =
        sysctl::has_ipv6(&inside_namespace) && sysctl::has_ipv6(&outside_namespace) && options.mtu >= 1280;
    let ends = [(&inside_namespace, &inside), (&outside_namespace, &outside)]
        .map(|(namespace, tun)| End { namespace, index: tun.index() });
    connect(ends, addresses, ipv6, leaves.ipv6, options)?;
    sysctl::socket_buffers(&inside_namespace, options.bandwidth_delay_product)?;
    if rights.outside_is_private() {
        sysctl::socket_buffers(&outside_namespace, options.bandwidth_delay_product)?;
    }

    // If anything below fails, dropping it undoes the run.
    let mut kept = KeptRun::start(run, &[&inside_namespace])?;
    let run = &mut kept.run;
    // For the program; ordinary users seldom may create one, and then the run goes on without it.
    let cgroup = Cgroup::of_run(run).ok().map(|group| group.path().to_owned());
    let ipv6_leaves = ipv6 && leaves.ipv6;
    translate(run, &outside_namespace, &device, addresses, &networks, ipv6_leaves, beyond, options)?;
    let attached = Attached::all(&options.attachments, &networks, ipv6_leaves);
    attachments::attach(run, ends, addresses, &options.metrics, &attached)?;
    notes.extend(pass_firewall(run, &outside_namespace, &device, host)?);
    let (forwarder, name_server) =
        name_service(&outside_namespace, rights, addresses, &name_servers, &mut notes)?;
    let overlays = names::write(&run.directory(), addresses, host, name_server)?;
    let name_server = name_server.or_else(|| name_servers.iter().copied().find(|its| !its.is_loopback()));
    Ok(HostLink {
        kept,
        _forwarder: forwarder,
        inside,
        outside,
        inside_namespace,
        addresses,
        host,
        name_server,
        attached,
        overlays,
        cgroup,
        notes,
        not_started: None,
        quiet,
    })
}

/// An end of the link: its device, for addresses and routes.
#[derive(Clone, Copy)]
pub(super) struct End<'a> {
    pub(super) namespace: &'a Namespace,
    /// Index of the link's device.
    pub(super) index: u32,
}

/// Opens the outside device under the first free name: `lasthop-ID`, `lasthop-ID-2` and so on.
///
/// The first name may be taken: by a link of another state directory, or by the link that had this
/// id before. The id is free when the keeper has undone that link, which is before the link's own
/// process closes its device.
fn first_free(id: &str, open: impl Fn(&str) -> Result<Tun>) -> Result<Tun> {
    let mut opened = open(&format!("lasthop-{id}"));
    for number in 2..=MOST_NAMES {
        match opened {
            Err(error) if error.errno() == Some(libc::EBUSY) => {
                opened = open(&format!("lasthop-{id}-{number}"));
            }
            other => return other,
        }
    }
    opened
}

/// Chooses addresses that are unused here, and records them and the published ports.
///
/// No other run in this namespace can then choose the same.
fn claim(
    run: &mut Run,
    outside: &Namespace,
    name_servers: &[IpAddr],
    options: &HostLinkOptions,
) -> Result<(Addresses, Vec<Network>)> {
    let id = NamespaceId::of(outside)?;
    let registry = run.registry().clone();
    let _locked = registry.lock()?;
    let others = registry.list()?;
    for port in options.publish.iter().map(|publish| publish.outside.get()) {
        let taken = |other: &&State| other.outside == Some(id) && other.published.contains(&port);
        if let Some(other) = others.iter().find(taken) {
            return Err(Error::missing(
                format!("port {port} is already published by link {}", other.id),
                "end that link, or publish another port",
            ));
        }
    }
    let mut taken: Vec<Prefix> = name_servers.iter().copied().map(Prefix::host).collect();
    taken.extend(
        address::list(outside)?.iter().map(|its| Prefix { address: its.address, length: its.prefix_length }),
    );
    taken.extend(route::list(outside)?.iter().map(|its| its.destination));
    taken.extend(others.iter().filter_map(|other| other.addresses).flat_map(Addresses::blocks));
    taken.extend(others.iter().flat_map(|other| &other.networks).flat_map(|network| network.blocks()));
    let addresses = plan::choose(&taken)?;
    let networks = plan::choose_networks(&taken, options.attachments.len())?;
    run.update(|state| {
        state.networks.clone_from(&networks);
        state.outside = Some(id);
        state.addresses = Some(addresses);
        state.published = options.publish.iter().map(|publish| publish.outside.get()).collect();
    })?;
    Ok((addresses, networks))
}

/// Connectivity beyond the caller.
struct Beyond {
    ipv6: bool,
    notes: Vec<String>,
}

/// Judges the routes of the caller.
fn network_beyond(routes: &[route::Listed]) -> Beyond {
    let mut defaults =
        routes.iter().filter(|route| route.destination.length == 0 && route.leads_out).peekable();
    let mut notes = Vec::new();
    if defaults.peek().is_none() {
        notes.push(
            "no default route here: programs behind the link reach only this network namespace".to_owned(),
        );
    }
    let mut six = defaults.filter(|route| route.destination.address.is_ipv6()).peekable();
    let (has_six, learned) = (six.peek().is_some(), six.any(|route| route.from_router_advertisement));
    if learned {
        notes.push(
            "no IPv6 beyond this host: its default route comes from a router advertisement, and the kernel would \
             drop that route if forwarding were enabled"
                .to_owned(),
        );
    }
    Beyond { ipv6: has_six && !learned, notes }
}

/// Adds the addresses and routes of both ends.
fn connect(
    [inside, outside]: [End<'_>; 2],
    addresses: Addresses,
    ipv6: bool,
    ipv6_leaves: bool,
    options: &HostLinkOptions,
) -> Result<()> {
    let mut pairs =
        vec![(IpAddr::V4(addresses.inside), IpAddr::V4(addresses.outside), Some(Prefix::DEFAULT_V4))];
    if ipv6 {
        let default = ipv6_leaves.then_some(Prefix::DEFAULT_V6);
        pairs.push((IpAddr::V6(addresses.inside6), IpAddr::V6(addresses.outside6), default));
    }
    for (ours, theirs, default) in pairs {
        for (End { namespace, index }, own, peer, mac_of_peer) in
            [(inside, ours, theirs, OUTSIDE_MAC), (outside, theirs, ours, INSIDE_MAC)]
        {
            let Prefix { address, length } = Prefix::host(own);
            address::add(namespace, address::Address { index, address, prefix_length: length })?;
            let mut to_peer = Route::on_link(Prefix::host(peer), index, options.metrics.clone());
            to_peer.source = Some(own);
            route::add(namespace, &to_peer)?;
            if options.layer == Layer::Ethernet {
                neighbour::add(namespace, index, peer, mac_of_peer)?;
            }
        }
        if let Some(default) = default {
            let mut out = Route::by_way_of(default, theirs, inside.index, options.metrics.clone());
            out.source = Some(ours);
            route::add(inside.namespace, &out)?;
        }
    }
    Ok(())
}

/// Sets up forwarding and NAT in the caller's namespace.
#[allow(clippy::too_many_arguments, reason = "each is a part of the rules")]
fn translate(
    run: &mut Run,
    outside: &Namespace,
    device: &str,
    addresses: Addresses,
    networks: &[Network],
    ipv6: bool,
    echo: Option<IpAddr>,
    options: &HostLinkOptions,
) -> Result<()> {
    let registry = run.registry().clone();
    let id = NamespaceId::of(outside)?;
    for (key, value) in nat::sysctls(ipv6) {
        let _locked = registry.lock()?;
        let former = match remembered(&registry, id, key)? {
            Some(former) => former,
            None => sysctl::read(outside, key)?,
        };
        run.record(Made::Sysctl { key: key.to_owned(), former })?;
        if sysctl::read(outside, key)? != value {
            sysctl::write(outside, key, value)?;
        }
    }
    // These two belong to the device and vanish with it. The first lets 127.0.0.1 be published; the
    // second accepts replies that strict reverse-path filtering would drop.
    sysctl::write(outside, &format!("net.ipv4.conf.{device}.route_localnet"), "1")?;
    sysctl::write(outside, &format!("net.ipv4.conf.{device}.rp_filter"), "0")?;
    let table = nat::table(device);
    run.record(Made::Table { name: table.clone() })?;
    let publish = &options.publish;
    nat::add(outside, &Rules { table: &table, device, addresses, ipv6, echo, publish, networks })
}

/// Lets the link's packets pass the caller's firewall; returns a note of what was done.
fn pass_firewall(run: &mut Run, outside: &Namespace, device: &str, host: IpAddr) -> Result<Option<String>> {
    let chains = firewall::dropping_chains(outside).unwrap_or_default();
    if chains.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = chains.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    run.record(Made::FirewallRules { device: device.to_owned() })?;
    Ok(Some(match firewall::add(outside, device, &chains) {
        Ok(()) => format!("this host drops forwarded packets ({names}): rules let {device} pass"),
        Err(error) => format!(
            "this host drops forwarded packets ({names}), so only {host} is reachable; cannot let {device} pass: \
             {error}"
        ),
    }))
}

/// Returns a name server that can be reached from behind the link: the caller's own, or a forwarder
/// in front of it.
fn name_service(
    outside: &Namespace,
    rights: &Rights,
    addresses: Addresses,
    servers: &[IpAddr],
    notes: &mut Vec<String>,
) -> Result<(Option<Forwarder>, Option<IpAddr>)> {
    if let Some(server) = rights.name_server() {
        return Ok((None, Some(server)));
    }
    let Some(server) = servers.first().copied().filter(IpAddr::is_loopback) else { return Ok((None, None)) };
    if rights.outside_is_private() {
        notes.push(format!("no DNS: name server {server} is unreachable from this private network"));
        return Ok((None, None));
    }
    let listen = SocketAddr::new(IpAddr::V4(addresses.outside), DNS);
    match Forwarder::start(outside, listen, SocketAddr::new(server, DNS)) {
        Ok(forwarder) => Ok((forwarder, Some(listen.ip()))),
        Err(error @ Error::System { .. }) => {
            notes.push(format!("no DNS: {error}"));
            Ok((None, None))
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn default(destination: Prefix) -> route::Listed {
        route::Listed {
            destination,
            via: None,
            index: Some(2),
            congestion_control: None,
            from_router_advertisement: false,
            leads_out: true,
        }
    }

    /// Forwarding would make the kernel forget a default route that a router advertised, and the
    /// caller its network.
    #[test]
    fn ipv6_crosses_a_caller_that_keeps_its_routes() {
        let beyond = |routes: &[route::Listed]| {
            let Beyond { ipv6, notes } = network_beyond(routes);
            (ipv6, notes.iter().map(|note| note.split(':').next().unwrap_or_default().to_owned()).collect())
        };
        let (four, six) = (default(Prefix::DEFAULT_V4), default(Prefix::DEFAULT_V6));
        let learned = route::Listed { from_router_advertisement: true, ..six.clone() };
        let nowhere = |route: &route::Listed| route::Listed { leads_out: false, ..route.clone() };
        let inner = |route: &route::Listed| {
            let destination = Prefix { length: 64, ..route.destination };
            route::Listed { destination, from_router_advertisement: true, ..route.clone() }
        };
        let none = || vec!["no default route here".to_owned()];
        let ends = || vec!["no IPv6 beyond this host".to_owned()];
        assert_eq!(beyond(&[]), (false, none()));
        assert_eq!(beyond(std::slice::from_ref(&four)), (false, Vec::new()));
        assert_eq!(beyond(&[four.clone(), six.clone()]), (true, Vec::new()));
        assert_eq!(beyond(&[six.clone(), inner(&six)]), (true, Vec::new()), "only default routes count");
        assert_eq!(beyond(&[four.clone(), six.clone(), learned.clone()]), (false, ends()));
        assert_eq!(beyond(&[four, nowhere(&six)]), (false, Vec::new()));
        assert_eq!(beyond(&[nowhere(&learned)]), (false, none()));
    }
}
