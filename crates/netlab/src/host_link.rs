//! The two ends of a link around a program: one in a namespace of its own, where the program runs, and one in the caller's
//! network.
//!
//! Addresses come from the number of the run: a /30 of 100.64.0.0/10 (shared address space, RFC 6598, which neither the
//! Internet nor private networks use) and a /64 of fd6c:6173:7468::/48 (unique local, RFC 4193). A number whose addresses
//! overlap with anything the caller's namespace knows is passed over, so links nest.
//!
//! Inside, everything goes to the other end. Outside, IPv4 is masqueraded towards the rest of the network. IPv6 goes only as
//! far as the caller's host, unless that forwards IPv6 already: turning forwarding on would make a host deaf to router
//! advertisements.

use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use crate::nat::Nat;
use crate::netlink::{Netlink, Prefix, Route};
use crate::state::Claim;
use crate::sysctl;
use crate::tun::{self, TunOptions};
use packet::Layer;
use std::fmt::Write;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// Packets that wait at a device until the emulator reads them. Enough for what TCP sends in one go while the emulator is
/// kept from the processor for a moment; a packet dropped here is an overload, not a loss of the link.
const DEVICE_QUEUE: u32 = 10_000;

/// Name of the interface behind the link.
pub const INSIDE_INTERFACE: &str = "lasthop0";

/// What the ends are to be like.
#[derive(Debug, Clone)]
pub struct HostLinkOptions {
    /// IP packets or Ethernet frames.
    pub layer: Layer,
    /// Whether segments come whole.
    pub whole_segments: bool,
    /// Maximum transmission unit in bytes.
    pub mtu: u16,
    /// Congestion control of both ends.
    pub congestion_control: String,
    /// Ports that lead from the caller's addresses to behind the link.
    pub publish: Vec<u16>,
    /// Bytes in flight on the link, for the socket buffers behind it.
    pub bandwidth_delay_product: u64,
    /// The program, for people.
    pub command: String,
}

/// Addresses of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    /// The caller's end.
    pub outside: Ipv4Addr,
    /// The program's end.
    pub inside: Ipv4Addr,
    /// The caller's end.
    pub outside6: Ipv6Addr,
    /// The program's end.
    pub inside6: Ipv6Addr,
}

/// One end: a descriptor that packets are read from and written to.
#[derive(Debug)]
pub struct End {
    /// The TUN or TAP descriptor, non-blocking.
    pub fd: OwnedFd,
    /// Name of its interface.
    pub interface: String,
    /// Number of its interface in its namespace.
    pub index: u32,
}

/// Both ends, and what is around them.
pub struct HostLink {
    claim: Claim,
    outside: Namespace,
    inside: Namespace,
    addresses: Addresses,
    ends: Option<(End, End)>,
    counters: [(Netlink, u32); 2],
}

impl Addresses {
    /// Addresses of the run with this number.
    #[must_use]
    pub fn of(id: u32) -> Self {
        let v4 = |host: u32| Ipv4Addr::from(u32::from(Ipv4Addr::new(100, 64, 0, 0)) + id * 4 + host);
        let v6 = |host: u16| Ipv6Addr::new(0xfd6c, 0x6173, 0x7468, (id >> 16) as u16, id as u16, 0, 0, host);
        Self { outside: v4(1), inside: v4(2), outside6: v6(1), inside6: v6(2) }
    }

    fn is_free(&self, taken: &[Prefix]) -> bool {
        let ours = [
            Prefix { address: self.outside.into(), length: 30 },
            Prefix { address: self.outside6.into(), length: 80 },
        ];
        !taken.iter().any(|taken| taken.length > 0 && ours.iter().any(|prefix| prefix.overlaps(taken)))
    }
}

impl HostLink {
    /// Makes everything. If something cannot be made, what was made before is undone.
    pub fn set_up(options: &HostLinkOptions) -> Result<Self, NetlabError> {
        let outside = Namespace::current()?;
        let taken = Netlink::open(&outside)?.prefixes()?;
        let mut claim = Claim::take(&options.command, |id| Addresses::of(id).is_free(&taken))?;
        match make(&mut claim, &outside, options) {
            Ok((inside, ends, counters)) => {
                let addresses = Addresses::of(claim.id());
                Ok(Self { claim, outside, inside, addresses, ends: Some(ends), counters })
            }
            Err(error) => {
                // The first error is the one to tell; what cannot be undone now is swept by the next run.
                let _ = claim.release(&outside);
                Err(error)
            }
        }
    }

    /// Number of the run.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.claim.id()
    }

    /// Addresses of both ends.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// The namespace behind the link.
    #[must_use]
    pub fn inside(&self) -> &Namespace {
        &self.inside
    }

    /// The caller's namespace.
    #[must_use]
    pub fn outside(&self) -> &Namespace {
        &self.outside
    }

    /// The number, state and folder of the run.
    pub fn claim(&mut self) -> &mut Claim {
        &mut self.claim
    }

    /// The descriptors, for the emulator: the program's end, then the caller's.
    ///
    /// # Panics
    /// If they were taken before.
    pub fn take_ends(&mut self) -> (End, End) {
        self.ends.take().expect("the ends are taken once")
    }

    /// Packets that the kernel dropped at either end because nobody read them in time. Only while the ends are open.
    pub fn dropped_by_kernel(&self) -> Result<u64, NetlabError> {
        self.counters.iter().map(|(netlink, index)| netlink.dropped(*index)).sum()
    }

    /// Undoes everything.
    pub fn tear_down(self) -> Result<(), NetlabError> {
        let Self { claim, outside, .. } = self;
        claim.release(&outside)
    }

    /// A private `/etc/hosts` in the folder of the run: the caller's, and the names of the other end.
    pub fn hosts_file(&self) -> Result<PathBuf, NetlabError> {
        let mut hosts =
            fs::read_to_string("/etc/hosts").unwrap_or_else(|_| "127.0.0.1 localhost\n".to_owned());
        if !hosts.ends_with('\n') {
            hosts.push('\n');
        }
        // The IPv6 name is another one: most servers that people try things with listen on IPv4 only.
        let Addresses { outside, outside6, .. } = self.addresses;
        // Writing to a String cannot fail.
        let _ = write!(hosts, "{outside} host.lasthop\n{outside6} host6.lasthop\n");
        let path = self.claim.folder().join("hosts");
        fs::write(&path, hosts).attempt(format!("write {}", path.display()))?;
        Ok(path)
    }
}

type Made = (Namespace, (End, End), [(Netlink, u32); 2]);

fn make(claim: &mut Claim, outside: &Namespace, options: &HostLinkOptions) -> Result<Made, NetlabError> {
    let id = claim.id();
    let addresses = Addresses::of(id);
    let inside = Namespace::new()?;
    let number = inside.inode()?;
    claim.record(|state| state.inside = Some(number))?;
    check_congestion_control(&inside, &options.congestion_control)?;
    prepare_inside(&inside, options)?;

    let outside_name = format!("lasthop{id}");
    let inside_end = end(&inside, INSIDE_INTERFACE, options)?;
    let outside_end = end(outside, &outside_name, options)?;
    let [inner, outer] = [Netlink::open(&inside)?, Netlink::open(outside)?];
    inner.bring_up(inner.index("lo")?, None, None)?;
    let near = Side { netlink: &inner, end: &inside_end, options };
    let far = Side { netlink: &outer, end: &outside_end, options };
    let pairs: [(IpAddr, IpAddr); 2] = [
        (addresses.inside.into(), addresses.outside.into()),
        (addresses.inside6.into(), addresses.outside6.into()),
    ];
    for side in [&near, &far] {
        side.netlink.bring_up(side.end.index, Some(options.mtu.into()), Some(DEVICE_QUEUE))?;
    }
    // IPv6 is off where the host has none at all, and on links whose MTU is below its minimum (RFC 8200 section 5).
    let has_ipv6 = options.mtu >= 1280 && sysctl::get(&inside, "net.ipv6.conf.all.disable_ipv6").is_ok();
    for (inside_address, outside_address) in pairs {
        if inside_address.is_ipv6() && !has_ipv6 {
            continue;
        }
        near.connect(inside_address, outside_address)?;
        far.connect(outside_address, inside_address)?;
    }
    near.default_route(addresses.outside.into())?;
    if has_ipv6 && sysctl::get(outside, "net.ipv6.conf.all.forwarding").is_ok_and(|value| value == "1") {
        near.default_route(addresses.outside6.into())?;
    }

    let table = format!("lasthop_{id}");
    claim.record(|state| state.nat_table = Some(table.clone()))?;
    Nat { table: &table, interface: &outside_name, inside: addresses.inside, publish: &options.publish }
        .make(outside)?;
    claim.set_sysctl(outside, "net.ipv4.ip_forward", "1")?;
    if !options.publish.is_empty() {
        // So that the published port answers on 127.0.0.1 too; the setting is the device's and goes with it.
        sysctl::set(outside, &format!("net.ipv4.conf.{outside_name}.route_localnet"), "1")?;
    }
    // Answers of the program come back over this device though the route to their source may be another one.
    sysctl::set(outside, &format!("net.ipv4.conf.{outside_name}.rp_filter"), "0")?;

    let counters = [(inner, inside_end.index), (outer, outside_end.index)];
    Ok((inside, (inside_end, outside_end), counters))
}

/// One side while it is made.
struct Side<'a> {
    netlink: &'a Netlink,
    end: &'a End,
    options: &'a HostLinkOptions,
}

impl Side<'_> {
    fn connect(&self, own: IpAddr, other: IpAddr) -> Result<(), NetlabError> {
        self.netlink.add_address(self.end.index, own, other)?;
        self.route(Prefix::host(other), None)
    }

    fn default_route(&self, via: IpAddr) -> Result<(), NetlabError> {
        self.route(Prefix::default_route(via), Some(via))
    }

    fn route(&self, to: Prefix, via: Option<IpAddr>) -> Result<(), NetlabError> {
        let congestion_control = &self.options.congestion_control;
        self.netlink.add_route(&Route { to, via, interface: self.end.index, congestion_control })
    }
}

fn end(namespace: &Namespace, name: &str, options: &HostLinkOptions) -> Result<End, NetlabError> {
    let tun = TunOptions { name, layer: options.layer, whole_segments: options.whole_segments };
    let fd = tun::create(namespace, tun)?;
    // Nothing of its own on the link: no search for routers, no link-local address to announce. A host without IPv6 has
    // no such settings.
    for (setting, value) in [("accept_ra", "0"), ("router_solicitations", "0"), ("addr_gen_mode", "1")] {
        let _ = sysctl::set(namespace, &format!("net.ipv6.conf.{name}.{setting}"), value);
    }
    let index = Netlink::open(namespace)?.index(name)?;
    Ok(End { fd, interface: name.to_owned(), index })
}

/// A route that names an algorithm which the kernel does not have is silently given the default, here BBR.
fn check_congestion_control(namespace: &Namespace, wanted: &str) -> Result<(), NetlabError> {
    let available = sysctl::congestion_controls(namespace)?;
    if available.iter().any(|name| name == wanted) {
        return Ok(());
    }
    Err(NetlabError::new(
        format!("use the congestion control {wanted}"),
        format!("this kernel has {}", available.join(", ")),
    ))
}

fn prepare_inside(inside: &Namespace, options: &HostLinkOptions) -> Result<(), NetlabError> {
    let (receive, send) = sysctl::socket_buffers(options.bandwidth_delay_product);
    sysctl::set_all(
        inside,
        &[
            ("net.ipv4.tcp_rmem", &receive),
            ("net.ipv4.tcp_wmem", &send),
            // What one connection learnt must not change the next one.
            ("net.ipv4.tcp_no_metrics_save", "1"),
            // ping without a set-user-id bit.
            ("net.ipv4.ping_group_range", "0 2147483647"),
        ],
    )
}
