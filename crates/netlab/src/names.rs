//! Names behind the link: a private `/etc/hosts` and, where needed, `/etc/resolv.conf`.
//!
//! `host.lasthop` is the IPv4 address of the caller's end of the link, `host6.lasthop` its IPv6
//! address. With one name for both, a server of the caller that listens on IPv4 only would cost
//! each client a refused connection over the link.
//!
//! A name server on a loopback address (systemd-resolved's 127.0.0.53) cannot be reached from
//! another namespace. In this case the name server behind the link is the caller's end, where a
//! [forwarder](crate::dns) listens.
//!
//! glibc's `nss-resolve` and nscd answer over sockets in the file system, past the link. These
//! sockets are hidden behind the link, so that lookups take the network. Programs with a resolver
//! configuration of their own are not covered.

use crate::error::{Result, Trying};
use crate::plan::Addresses;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};

/// Files to bind-mount over the system's in the program's mount namespace.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, Default)]
pub(crate) struct Overlays(Vec<(PathBuf, PathBuf)>);

/// Sockets on which the C library would ask a daemon instead of the network.
const DAEMON_SOCKETS: [&str; 3] =
    ["/run/systemd/resolve/io.systemd.Resolve", "/run/nscd/socket", "/var/run/nscd/socket"];

/// Returns the caller's name servers, or 127.0.0.1 if none is configured, like the C library.
pub(crate) fn servers(resolv_conf: &str) -> Vec<IpAddr> {
    let named: Vec<IpAddr> = resolv_conf.lines().filter_map(server).collect();
    if named.is_empty() { vec![IpAddr::V4(Ipv4Addr::LOCALHOST)] } else { named }
}

/// Returns the address on a `nameserver` line, without a zone.
fn server(line: &str) -> Option<IpAddr> {
    let mut words = line.split_whitespace();
    (words.next()? == "nameserver").then(|| words.next())??.split('%').next()?.parse().ok()
}

/// Returns the `hosts` file for the program behind the link.
pub(crate) fn hosts(callers: &str, addresses: Addresses, host: IpAddr) -> String {
    let newline = if callers.is_empty() || callers.ends_with('\n') { "" } else { "\n" };
    format!("{callers}{newline}{host} host.lasthop\n{} host6.lasthop\n", addresses.outside6)
}

/// Returns the caller's `resolv.conf` with `server_behind` as its only name server.
pub(crate) fn resolv_conf(callers: &str, server_behind: IpAddr) -> String {
    let mut text = format!("nameserver {server_behind}\n");
    for line in callers.lines().filter(|line| line.split_whitespace().next() != Some("nameserver")) {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// Writes the files into `directory`.
///
/// `host` is the address of `host.lasthop`; `name_server`, if given, replaces the caller's.
pub(crate) fn write(
    directory: &Path,
    addresses: Addresses,
    host: IpAddr,
    name_server: Option<IpAddr>,
) -> Result<Overlays> {
    let mut overlays = Vec::new();
    let mut lay = |name: &str, text: String, over: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).trying(|| format!("write {}", path.display()))?;
        overlays.push((path, PathBuf::from(over)));
        Ok(())
    };
    let callers = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    if Path::new(HOSTS).exists() {
        lay("hosts", hosts(&callers(HOSTS), addresses, host), HOSTS)?;
    }
    if let Some(server) = name_server
        && Path::new(RESOLV_CONF).exists()
    {
        lay("resolv.conf", resolv_conf(&callers(RESOLV_CONF), server), RESOLV_CONF)?;
    }
    for (number, socket) in DAEMON_SOCKETS.into_iter().enumerate() {
        if Path::new(socket).exists() {
            lay(&format!("no-daemon-{number}"), String::new(), socket)?;
        }
    }
    Ok(Overlays(overlays))
}

const HOSTS: &str = "/etc/hosts";
/// The C library's resolver configuration.
pub(crate) const RESOLV_CONF: &str = "/etc/resolv.conf";

impl Overlays {
    /// Bind-mounts the files over the system's.
    ///
    /// The calling thread must already have a mount namespace of its own.
    pub(crate) fn apply(&self) -> Result<()> {
        mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
            .trying(|| "make all mounts private".into())?;
        for (file, over) in &self.0 {
            mount_bind(file, over).trying(|| format!("mount {} over {}", file.display(), over.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_servers_of_the_caller() {
        let text =
            "# comment\nsearch example.org\nnameserver 127.0.0.53\nnameserver fe80::1%eth0\noptions edns0\n";
        assert_eq!(
            servers(text),
            ["127.0.0.53".parse::<IpAddr>().expect("v4"), "fe80::1".parse().expect("v6")]
        );
        assert_eq!(servers("search example.org\n"), [IpAddr::V4(Ipv4Addr::LOCALHOST)]);
    }

    #[test]
    fn search_and_options_stay_when_the_name_server_changes() {
        let text = resolv_conf(
            "search example.org\nnameserver 127.0.0.53\noptions edns0",
            IpAddr::V4(Ipv4Addr::new(100, 64, 0, 1)),
        );
        assert_eq!(text, "nameserver 100.64.0.1\nsearch example.org\noptions edns0\n");
    }

    #[test]
    fn the_hosts_file_keeps_the_callers_lines() {
        let addresses = crate::plan::choose(&[]).expect("a pair");
        let text = hosts("127.0.0.1 localhost", addresses, IpAddr::V4(addresses.outside));
        assert_eq!(
            text,
            "127.0.0.1 localhost\n100.64.0.1 host.lasthop\nfd6c:6173:7468:6f70::1 host6.lasthop\n"
        );
    }
}
