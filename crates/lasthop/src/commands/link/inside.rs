//! The option `--inside`: interfaces and namespaces behind the link. dnsmasq gives devices at an
//! interface their addresses (DHCP, router advertisements) and resolves names for them.

use super::serving::Serving;
use crate::failure::Failure;
use netlab::{Attached, Attachment, HostLink, listening, nat};
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;
use std::path::PathBuf;
use std::process::Command;

/// Name of the file with the settings, in the directory of the run.
const SETTINGS: &str = "dnsmasq.conf";
/// Name of the file with the addresses that were given to devices.
const LEASES: &str = "dnsmasq.leases";
/// How long an address is given to a device. Short, because links are.
const LEASE: &str = "10m";

/// Container engines, by the names of their commands.
const CONTAINERS: [&str; 2] = ["podman", "docker"];

/// Largest MTU of Ethernet in bytes (IEEE 802.3), which every device has.
const ETHERNET_MTU: u16 = 1500;

/// Program that serves devices, and the Debian package that contains it.
const DNSMASQ: (&str, &str) = ("dnsmasq", "dnsmasq-base");

/// Reads the values of `--inside`: an interface, `netns:NAME`, `pid:PID`, or `podman:CONTAINER`.
///
/// # Errors
/// If a container does not run, or if an interface is given and dnsmasq is not installed.
pub fn attachments(values: &[String]) -> Result<Vec<Attachment>, Failure> {
    let all: Vec<_> = values.iter().map(|value| attachment(value)).collect::<Result<_, _>>()?;
    if all.iter().any(|one| matches!(one, Attachment::Interface(_))) {
        dnsmasq()?;
    }
    Ok(all)
}

fn attachment(value: &str) -> Result<Attachment, Failure> {
    let namespace = |path: String| Attachment::Namespace { name: value.to_owned(), path: path.into() };
    Ok(match value.split_once(':') {
        Some(("netns", path)) if path.contains('/') => namespace(path.to_owned()),
        Some(("netns", name)) => namespace(format!("/run/netns/{name}")),
        Some(("pid", pid)) => namespace(format!("/proc/{pid}/ns/net")),
        Some((program, container)) if CONTAINERS.contains(&program) => {
            namespace(format!("/proc/{}/ns/net", first_process(program, container)?))
        }
        _ => Attachment::Interface(value.to_owned()),
    })
}

/// Asks the container engine for the first process of a container.
fn first_process(program: &str, container: &str) -> Result<u32, Failure> {
    let output = Command::new(program)
        .args(["container", "inspect", "--format", "{{.State.Pid}}", container])
        .output()
        .map_err(|error| format!("--inside {program}:{container}: cannot start {program}: {error}"))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("--inside {program}:{container}: {}", why.trim()).into());
    }
    let pid = String::from_utf8_lossy(&output.stdout).trim().parse().unwrap_or(0);
    if pid == 0 {
        return Err(
            format!("--inside {program}:{container}: the container does not run; start it first").into()
        );
    }
    Ok(pid)
}

/// Returns the path of dnsmasq.
fn dnsmasq() -> Result<PathBuf, Failure> {
    let (program, package) = DNSMASQ;
    nat::program(program).ok_or_else(|| {
        format!("--inside: the program {program} is not installed; apt-get install {package}").into()
    })
}

/// Serves the devices behind the link until the value is dropped; `None` if there are none.
///
/// # Errors
/// If dnsmasq is missing or does not start.
pub fn serve(link: &HostLink, mtu: u16) -> Result<Option<Serving>, Failure> {
    // Namespaces have their addresses already.
    let is_interface = |one: &Attached| matches!(one.attachment, Attachment::Interface(_));
    if !link.attached().iter().any(is_interface) {
        return Ok(None);
    }
    let program = dnsmasq()?;
    let path = link.directory().join(SETTINGS);
    let leases = link.directory().join(LEASES);
    let text = settings(link.attached(), mtu, link.host(), link.name_server(), &leases.display().to_string());
    fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    let inside = link.inside_namespace();
    let serving = inside.enter(|| {
        let mut command = Command::new(&program);
        // The keeper ends it with the link, even if this process is killed.
        command.env("LASTHOP", link.id());
        command.arg("--keep-in-foreground").arg(format!("--conf-file={}", path.display()));
        Ok(Serving::launch(&mut command, "--inside", &|| listening::listeners(inside)))
    })?;
    serving.map(Some)
}

/// Returns a line for each attachment, with the addresses that a device without DHCP needs.
pub fn describe(link: &HostLink) -> Vec<String> {
    let server = match link.name_server() {
        Some(server) => format!("names from {server}"),
        None => "no names".to_owned(),
    };
    let one = |Attached { attachment, network, ipv6 }: &Attached| {
        let six = if *ipv6 { format!(", {}", network.blocks()[1]) } else { String::new() };
        let services = match attachment {
            Attachment::Interface(_) => format!(", DHCP, {server}"),
            Attachment::Namespace { .. } => String::new(),
        };
        format!(
            "{} is behind the link: {}{six}, gateway {}{services}",
            attachment.name(),
            network.blocks()[0],
            network.gateway
        )
    };
    link.attached().iter().map(one).collect()
}

/// Returns the settings of dnsmasq (its manual page, "OPTIONS").
///
/// * `no-ping`: otherwise it waits for three seconds for another user of the address. The network
///   is new, so no device can have it.
/// * `local=/lasthop/`: otherwise it asks the name server for the IPv6 address of `host.lasthop`.
fn settings(
    attached: &[Attached],
    mtu: u16,
    host: IpAddr,
    name_server: Option<IpAddr>,
    leases: &str,
) -> String {
    let mut text = String::from(
        "# Written by lasthop link.\n\
         pid-file=\n\
         no-hosts\n\
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
    line(format!("dhcp-leasefile={leases}"));
    line(format!("host-record=host.lasthop,{host}"));
    if let Some(server) = name_server {
        line(format!("server={server}"));
    }
    for Attached { attachment, network, ipv6 } in attached {
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
    use netlab::plan;

    #[test]
    fn values_of_the_option() {
        let read = |values: [&str; 4]| values.map(|value| attachment(value).expect("a value"));
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

    #[test]
    fn every_interface_has_its_own_range() {
        let networks = plan::choose_networks(&[], 2).expect("networks");
        let attached: Vec<_> = [("eth1", true), ("eth2", false)]
            .into_iter()
            .zip(networks)
            .map(|((name, ipv6), network)| Attached {
                attachment: Attachment::Interface(name.into()),
                network,
                ipv6,
            })
            .collect();
        let text = settings(
            &attached,
            1400,
            IpAddr::from([100, 64, 0, 1]),
            Some(IpAddr::from([9, 9, 9, 9])),
            "/run/leases",
        );
        insta::assert_snapshot!(text);
    }
}
