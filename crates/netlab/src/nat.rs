//! Services of the caller's namespace for the wireless host: address translation and published
//! ports.
//!
//! Each run has one nftables table of family `inet`, named after the run: one command removes all
//! of it. Forwarding itself is a sysctl ([`sysctls`]).
//!
//! *Published* ports are TCP and UDP: a connection to any address of the caller, from other hosts
//! or from the caller itself, is redirected to the wireless host. The TCP connection stays end to
//! end. For 127.0.0.1 the kernel must route loopback addresses through the link's device
//! (`route_localnet`, on that device only). Such a connection then comes from the link's outside
//! address. IPv6 has no such switch: **`[::1]:PORT` is not published**.
//!
//! An `accept` here cannot overrule a `drop` in another table; [`firewall`] handles those.

pub mod firewall;

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use crate::plan::{Addresses, Network};
use crate::route::Prefix;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

/// A port (TCP and UDP) of the caller's addresses that is forwarded to a server behind the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// Port at the caller's addresses.
    pub outside: NonZeroU16,
    /// Port of the server behind the link.
    pub inside: NonZeroU16,
}

impl FromStr for Publish {
    type Err = Error;

    /// Parses `PORT`, or `OUTSIDE:INSIDE` if they differ.
    fn from_str(text: &str) -> Result<Self> {
        let port = |part: &str| {
            part.parse().map_err(|_| Error::Value {
                what: "port to publish",
                value: text.to_owned(),
                expected: "PORT or OUTSIDE:INSIDE, numbers from 1 to 65535",
            })
        };
        let (outside, inside) = text.split_once(':').unwrap_or((text, text));
        Ok(Self { outside: port(outside)?, inside: port(inside)? })
    }
}

/// Parameters of a run's table.
#[derive(Debug, Clone)]
pub struct Rules<'a> {
    /// Name of the table: letters, digits and underscores.
    pub table: &'a str,
    /// Name of the link's device in the caller's namespace.
    pub device: &'a str,
    /// The link's addresses.
    pub addresses: Addresses,
    /// Whether IPv6 crosses the caller too.
    pub ipv6: bool,
    /// An address beyond the link that stands for the caller: the link's outside end answers the
    /// wireless host's echo requests to it.
    pub echo: Option<IpAddr>,
    /// Ports to publish.
    pub publish: &'a [Publish],
    /// Networks of devices behind the link.
    pub networks: &'a [Network],
}

/// Zone of connection tracking for packets of devices when they come over the link. Where bridges
/// call netfilter, which Docker switches on, such a packet may pass the caller's netfilter twice:
/// on its way to the link through a bridge of the caller, and after the link. In one zone, the
/// first pass would decide that the connection is not translated. Answers have the usual zone. Any
/// number does that nobody else uses.
const ZONE: u16 = 19528;

/// Returns the name of the table of the link whose outside device is `device`: `lasthop_1` for
/// `lasthop-1`.
pub(crate) fn table(device: &str) -> String {
    device.replace('-', "_")
}

/// Adds the table to `namespace`, completely or not at all.
pub fn add(namespace: &Namespace, rules: &Rules<'_>) -> Result<()> {
    add_with(&installed()?, namespace, rules)
}

/// Does the same with the program `nft`.
pub(crate) fn add_with(nft: &Path, namespace: &Namespace, rules: &Rules<'_>) -> Result<()> {
    run(nft, namespace, &["-f", "-"], &compose(rules)).map(|_| ())
}

/// Removes the table called `name` from `namespace`; returns whether it existed.
pub fn remove(namespace: &Namespace, name: &str) -> Result<bool> {
    let existed = tables(namespace)?.iter().any(|table| table == name);
    if existed {
        run(&installed()?, namespace, &["delete", "table", "inet", name], "")?;
    }
    Ok(existed)
}

/// Returns the names of the `inet` tables in `namespace`.
pub fn tables(namespace: &Namespace) -> Result<Vec<String>> {
    let output = run(&installed()?, namespace, &["list", "tables", "inet"], "")?;
    Ok(output.lines().filter_map(|line| line.strip_prefix("table inet ").map(str::to_owned)).collect())
}

/// Returns the sysctls, with values, that forwarding between link and caller's network needs.
#[must_use]
pub fn sysctls(ipv6: bool) -> Vec<(&'static str, &'static str)> {
    let mut all = vec![("net.ipv4.ip_forward", "1")];
    if ipv6 {
        all.push(("net.ipv6.conf.all.forwarding", "1"));
    }
    all
}

fn compose(rules: &Rules<'_>) -> String {
    use std::fmt::Write as _;
    let Rules { table, device, addresses, ipv6, echo, publish, networks } = rules;
    let Addresses { inside, inside6, outside, .. } = addresses;
    let echo = match echo {
        Some(IpAddr::V4(host)) => {
            format!("    iifname \"{device}\" ip daddr {host} icmp type echo-request dnat ip to {outside}\n")
        }
        Some(IpAddr::V6(_)) | None => String::new(),
    };
    let mut redirections = String::new();
    for Publish { outside, inside: port } in *publish {
        let _ = writeln!(
            redirections,
            "    meta nfproto ipv4 fib daddr type local meta l4proto {{ tcp, udp }} th dport {outside} dnat ip to {inside}:{port}"
        );
        let _ = writeln!(
            redirections,
            "    meta nfproto ipv6 ip6 daddr != ::1 fib daddr type local meta l4proto {{ tcp, udp }} th dport {outside} dnat ip6 to [{inside6}]:{port}"
        );
    }
    let zone = if networks.is_empty() {
        String::new()
    } else {
        format!(
            "  chain zone {{\n    type filter hook prerouting priority raw; policy accept;\n\
             \x20   iifname \"{device}\" ct original zone set {ZONE}\n  }}\n"
        )
    };
    // Only packets that came over the link, see `ZONE`.
    let mut masquerade = String::new();
    let blocks = networks.iter().flat_map(|network| network.blocks());
    for source in [Prefix::host((*inside).into()), Prefix::host((*inside6).into())].into_iter().chain(blocks)
    {
        let family = match source.address {
            IpAddr::V4(_) => "ip",
            IpAddr::V6(_) if *ipv6 => "ip6",
            IpAddr::V6(_) => continue,
        };
        let _ = writeln!(masquerade, "    {family} saddr {source} iifname \"{device}\" masquerade");
    }
    // Packets from the link's own device are not redirected, so that `host.lasthop:PORT` stays a
    // port of the caller.
    format!(
        "table inet {table} {{\n{zone}\
         \x20 chain prerouting {{\n    type nat hook prerouting priority dstnat; policy accept;\n{echo}    iifname \"{device}\" accept\n{redirections}  }}\n\
         \x20 chain output {{\n    type nat hook output priority -100; policy accept;\n{redirections}  }}\n\
         \x20 chain postrouting {{\n    type nat hook postrouting priority srcnat; policy accept;\n\
         {masquerade}\
         \x20   ip saddr 127.0.0.0/8 oifname \"{device}\" masquerade\n  }}\n\
         \x20 chain forward {{\n    type filter hook forward priority filter; policy accept;\n\
         \x20   iifname \"{device}\" accept\n    oifname \"{device}\" accept\n  }}\n}}\n"
    )
}

/// Returns the path of a system program; PATH of ordinary users lacks the sbin directories.
#[must_use]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .map(|directory| directory.join(name))
        .find(|path| path.is_file())
}

fn installed() -> Result<PathBuf> {
    program("nft").ok_or_else(not_installed)
}

pub(crate) fn not_installed() -> Error {
    Error::missing("the program nft is not installed", "apt-get install nftables")
}

fn run(nft: &Path, namespace: &Namespace, arguments: &[&str], input: &str) -> Result<String> {
    let what = || format!("run {} {}", nft.display(), arguments.join(" "));
    // If nft stops reading early, it has failed: its own message matters, not the failed write.
    let (written, output) = namespace.enter(|| {
        let mut child = Command::new(nft)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .trying(what)?;
        let written = child.stdin.take().expect("piped").write_all(input.as_bytes());
        Ok((written, child.wait_with_output().trying(what)?))
    })?;
    if output.status.success() {
        written.trying(what)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::Program { program: format!("nft {}", arguments.join(" ")), message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_to_publish() {
        let port = |n| NonZeroU16::new(n).expect("not zero");
        assert_eq!(
            "8000".parse::<Publish>().expect("one"),
            Publish { outside: port(8000), inside: port(8000) }
        );
        assert_eq!(
            "80:8000".parse::<Publish>().expect("two"),
            Publish { outside: port(80), inside: port(8000) }
        );
        assert!("0".parse::<Publish>().is_err());
        let error = "http".parse::<Publish>().expect_err("a word").to_string();
        assert_eq!(
            error,
            "invalid port to publish \"http\": expected PORT or OUTSIDE:INSIDE, numbers from 1 to 65535"
        );
    }

    fn rules<'a>(ipv6: bool, echo: Option<&str>, publish: &'a [Publish]) -> Rules<'a> {
        let addresses = crate::plan::choose(&[]).expect("a pair");
        let echo = echo.map(|address| address.parse().expect("an address"));
        Rules { table: "lasthop_7", device: "lasthop-7", addresses, ipv6, echo, publish, networks: &[] }
    }

    /// The whole table of a link with everything: each port leads to its own server, a server of
    /// `::1` stays the caller's, and packets from the link itself are not redirected.
    #[test]
    fn the_table_of_a_link() {
        let publish = ["80:8000".parse().expect("ports"), "53".parse().expect("a port")];
        let redirections = "    \
    meta nfproto ipv4 fib daddr type local meta l4proto { tcp, udp } th dport 80 dnat ip to 100.64.0.2:8000
    meta nfproto ipv6 ip6 daddr != ::1 fib daddr type local meta l4proto { tcp, udp } th dport 80 dnat ip6 to [fd6c:6173:7468:6f70::2]:8000
    meta nfproto ipv4 fib daddr type local meta l4proto { tcp, udp } th dport 53 dnat ip to 100.64.0.2:53
    meta nfproto ipv6 ip6 daddr != ::1 fib daddr type local meta l4proto { tcp, udp } th dport 53 dnat ip6 to [fd6c:6173:7468:6f70::2]:53
";
        let expected = format!(
            "table inet lasthop_7 {{
  chain prerouting {{
    type nat hook prerouting priority dstnat; policy accept;
    iifname \"lasthop-7\" ip daddr 10.0.2.2 icmp type echo-request dnat ip to 100.64.0.1
    iifname \"lasthop-7\" accept
{redirections}  }}
  chain output {{
    type nat hook output priority -100; policy accept;
{redirections}  }}
  chain postrouting {{
    type nat hook postrouting priority srcnat; policy accept;
    ip saddr 100.64.0.2/32 iifname \"lasthop-7\" masquerade
    ip6 saddr fd6c:6173:7468:6f70::2/128 iifname \"lasthop-7\" masquerade
    ip saddr 127.0.0.0/8 oifname \"lasthop-7\" masquerade
  }}
  chain forward {{
    type filter hook forward priority filter; policy accept;
    iifname \"lasthop-7\" accept
    oifname \"lasthop-7\" accept
  }}
}}
"
        );
        assert_eq!(compose(&rules(true, Some("10.0.2.2"), &publish)), expected);
    }

    #[test]
    fn what_a_link_does_not_need_is_not_in_its_table() {
        let text = compose(&rules(false, None, &[]));
        for absent in ["ip6", "echo-request", "dport", "zone"] {
            assert!(!text.contains(absent), "{absent}: {text}");
        }
        assert!(!compose(&rules(false, Some("fd00::1"), &[])).contains("echo-request"), "IPv4 only");
    }

    /// The caller masquerades packets of all networks behind the link if they came over it.
    #[test]
    fn networks_of_devices_are_masqueraded() {
        let networks = crate::plan::choose_networks(&[], 2).expect("networks");
        let text = |ipv6| compose(&Rules { networks: &networks, ..rules(ipv6, None, &[]) });
        let lines = |text: &str, what: &str| text.lines().filter(|line| line.contains(what)).count();
        assert_eq!([lines(&text(true), "192.168."), lines(&text(true), "7468:c")], [2, 2]);
        assert_eq!([lines(&text(false), "192.168."), lines(&text(false), "ip6")], [2, 0]);
        assert_eq!(lines(&text(true), "iifname \"lasthop-7\" ct original zone set"), 1);
        assert!(text(true).contains("    ip saddr 192.168.201.0/24 iifname \"lasthop-7\" masquerade\n"));
    }

    /// The state of a dead run may name only these, or it is not undone.
    #[test]
    fn sysctls_of_forwarding() {
        assert_eq!(sysctls(false), [("net.ipv4.ip_forward", "1")]);
        assert_eq!(sysctls(true)[1..], [("net.ipv6.conf.all.forwarding", "1")]);
        assert_eq!(table("lasthop-12-2"), "lasthop_12_2");
    }
}
