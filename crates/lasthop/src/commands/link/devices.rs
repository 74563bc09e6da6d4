//! The option `--inside`: what is behind the link besides a program, and what devices there need to
//! find the network. dnsmasq gives them addresses (DHCP, router advertisements) and answers their
//! questions for names.

use super::serving::Serving;
use crate::failure::Failure;
use netlab::{Attached, Behind, HostLink, listening, nat};
use std::fmt::Write as _;
use std::fs;
use std::net::IpAddr;
use std::process::Command;

/// Name of the file with the settings, in the directory of the run.
const SETTINGS: &str = "dnsmasq.conf";
/// Name of the file with the addresses that were given to devices.
const LEASES: &str = "dnsmasq.leases";
/// How long an address is given to a device. Short, because links are.
const LEASE: &str = "10m";

/// Programs that know the containers of this host, and their first words in `--inside`.
const CONTAINERS: [&str; 2] = ["podman", "docker"];

/// Reads the values of `--inside`: an interface, `netns:NAME`, `pid:PID`, or `podman:CONTAINER`.
///
/// # Errors
/// If a container does not run.
pub fn behind(values: &[String]) -> Result<Vec<Behind>, Failure> {
    let one = |value: &String| {
        let namespace = |path: String| Behind::Namespace { name: value.clone(), path: path.into() };
        Ok(match value.split_once(':') {
            Some(("netns", path)) if path.contains('/') => namespace(path.to_owned()),
            Some(("netns", name)) => namespace(format!("/run/netns/{name}")),
            Some(("pid", pid)) => namespace(format!("/proc/{pid}/ns/net")),
            Some((program, container)) if CONTAINERS.contains(&program) => {
                namespace(format!("/proc/{}/ns/net", first_process(program, container)?))
            }
            _ => Behind::Interface(value.clone()),
        })
    };
    values.iter().map(one).collect()
}

/// Asks for the process of a container.
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

/// Serves the devices behind the link until the value is dropped; `None` if there are none.
///
/// # Errors
/// If dnsmasq is missing or does not start.
pub fn serve(link: &HostLink, mtu: u16) -> Result<Option<Serving>, Failure> {
    // Namespaces have their addresses already.
    let is_interface = |one: &Attached| matches!(one.behind, Behind::Interface(_));
    if !link.attached().iter().any(is_interface) {
        return Ok(None);
    }
    let program = nat::program("dnsmasq")
        .ok_or("--inside: the program dnsmasq is not installed; apt-get install dnsmasq-base")?;
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

/// Returns a line for each interface: what a device needs that is configured by hand.
pub fn described(link: &HostLink) -> Vec<String> {
    let server = match link.name_server() {
        Some(server) => format!("names from {server}"),
        None => "no names".to_owned(),
    };
    let one = |Attached { behind, network, ipv6 }: &Attached| {
        let six = if *ipv6 { format!(", {}", network.blocks()[1]) } else { String::new() };
        let services = match behind {
            Behind::Interface(_) => format!(", DHCP, {server}"),
            Behind::Namespace { .. } => String::new(),
        };
        format!(
            "{} is behind the link: {}{six}, gateway {}{services}",
            behind.name(),
            network.blocks()[0],
            network.gateway
        )
    };
    link.attached().iter().map(one).collect()
}

/// Returns the settings of dnsmasq (its manual page, "OPTIONS").
///
/// Without `no-ping` it would look for three seconds whether somebody has the address already,
/// which nobody has in a network that is new.
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
    let mut line = |setting: String| {
        let _ = writeln!(text, "{setting}");
    };
    line(format!("dhcp-leasefile={leases}"));
    line(format!("host-record=host.lasthop,{host}"));
    if let Some(server) = name_server {
        line(format!("server={server}"));
    }
    for Attached { behind, network, ipv6 } in attached {
        let Behind::Interface(interface) = behind else { continue };
        let [first, last] = network.for_devices();
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
        let words =
            |values: &[&str]| behind(&values.iter().map(|&value| value.to_owned()).collect::<Vec<_>>());
        let namespace = |name: &str, path: &str| Behind::Namespace { name: name.into(), path: path.into() };
        assert_eq!(
            words(&["eth1", "netns:phone", "netns:/run/x", "pid:7"]).expect("values"),
            [
                Behind::Interface("eth1".into()),
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
            .map(|((name, ipv6), network)| Attached { behind: Behind::Interface(name.into()), network, ipv6 })
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
