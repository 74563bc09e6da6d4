//! Settings of dnsmasq, which gives devices at an interface their addresses (DHCP, router
//! advertisements) and resolves names for them.

use crate::attachment::{Attached, Attachment};
use crate::error::{Error, Result};
use crate::nat;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Port at which it listens (DNS, RFC 1035).
pub const PORT: u16 = 53;
/// How long an address is given to a device. Short, because links are.
const LEASE: &str = "10m";
/// Largest MTU of Ethernet in bytes (IEEE 802.3), which every device has.
const ETHERNET_MTU: u16 = 1500;
/// Program that serves devices, and the Debian package that contains it.
const DNSMASQ: (&str, &str) = ("dnsmasq", "dnsmasq-base");

/// Returns the path of dnsmasq.
///
/// # Errors
/// If it is not installed.
pub fn program() -> Result<PathBuf> {
    let (program, package) = DNSMASQ;
    nat::program(program).ok_or_else(|| {
        Error::missing(
            format!("the program {program} is not installed, which gives devices their addresses"),
            format!("apt-get install {package}"),
        )
    })
}

/// Returns whether any attachment has devices to serve. Namespaces have their addresses already.
#[must_use]
pub fn is_needed(attached: &[Attached]) -> bool {
    attached.iter().any(|one| matches!(one.attachment, Attachment::Interface(_)))
}

/// Names that devices can resolve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// `host.lasthop`, and those of a name server, if there is one.
    Host(IpAddr, Option<IpAddr>),
    /// Those of `/etc/hosts`.
    HostsFile,
}

/// Returns the settings (dnsmasq(8), "OPTIONS"). `leases` is the file of the addresses that are
/// given, `mtu` the largest IP packet for the devices in bytes.
///
/// * `no-ping`: otherwise it waits for three seconds for another user of the address. The network
///   is new, so no device can have it.
/// * `local=/lasthop/`: otherwise it asks the name server for the IPv6 address of `host.lasthop`.
#[must_use]
pub fn settings(attached: &[Attached], mtu: u16, names: Names, leases: &Path) -> String {
    let mut text = String::from(
        "# Written by lasthop.\n\
         pid-file=\n\
         no-resolv\n\
         bind-interfaces\n\
         except-interface=lo\n\
         no-ping\n\
         local=/lasthop/\n\
         dhcp-authoritative\n",
    );
    let mtu = mtu.min(ETHERNET_MTU);
    let mut line = |setting: String| {
        let _ = writeln!(text, "{setting}");
    };
    line(format!("dhcp-leasefile={}", leases.display()));
    if let Names::Host(host, server) = names {
        line("no-hosts".to_owned());
        line(format!("host-record=host.lasthop,{host}"));
        if let Some(server) = server {
            line(format!("server={server}"));
        }
    }
    for Attached { attachment, network, ipv6, .. } in attached {
        let Attachment::Interface(interface) = attachment else { continue };
        let [first, last] = network.dhcp_range();
        line(format!("interface={interface}"));
        line(format!("dhcp-range={first},{last},{LEASE}"));
        if *ipv6 {
            line("enable-ra".to_owned());
            line(format!("dhcp-range={},ra-stateless,{LEASE}", network.blocks()[1].address));
            line(format!("ra-param={interface},mtu:{mtu},10,600"));
        }
    }
    // Otherwise a device learns of the smaller MTU by losing its first large packets.
    line(format!("dhcp-option=option:mtu,{mtu}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;

    fn attached() -> Vec<Attached> {
        let networks = plan::choose_networks(&[], 2).expect("networks");
        let attachments = ["eth1", "eth2"].map(|name| Attachment::Interface(name.into()));
        let mut attached = Attached::all(&attachments, &networks, true);
        attached[1].ipv6 = false;
        attached
    }

    #[test]
    fn every_interface_has_its_own_range() {
        let names = Names::Host(IpAddr::from([100, 64, 0, 1]), Some(IpAddr::from([9, 9, 9, 9])));
        let text = settings(&attached(), 1400, names, Path::new("/run/leases"));
        let expected = [
            "# Written by lasthop.",
            "pid-file=",
            "no-resolv",
            "bind-interfaces",
            "except-interface=lo",
            "no-ping",
            "local=/lasthop/",
            "dhcp-authoritative",
            "dhcp-leasefile=/run/leases",
            "no-hosts",
            "host-record=host.lasthop,100.64.0.1",
            "server=9.9.9.9",
            "interface=eth1",
            "dhcp-range=192.168.200.10,192.168.200.250,10m",
            "enable-ra",
            "dhcp-range=fd6c:6173:7468:c8::,ra-stateless,10m",
            "ra-param=eth1,mtu:1400,10,600",
            "interface=eth2",
            "dhcp-range=192.168.201.10,192.168.201.250,10m",
            "dhcp-option=option:mtu,1400",
        ];
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn names_of_the_hosts_file() {
        let text = settings(&attached(), 9000, Names::HostsFile, Path::new("/run/leases"));
        assert!(!text.contains("no-hosts") && !text.contains("host-record"), "{text}");
        assert!(text.contains("dhcp-option=option:mtu,1500"), "{text}");
    }
}
