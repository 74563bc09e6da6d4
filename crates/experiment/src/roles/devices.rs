//! Addresses and names for devices of the host at a node: dnsmasq gives them addresses by DHCP and
//! router advertisements, and resolves the names of all nodes.

use super::Place;
use super::service::{Ready, Service};
use netlab::dnsmasq::{self, Names};
use std::fs;
use std::process::Command;

/// Starts dnsmasq at each node with an interface of the host.
pub(super) fn start(place: &Place<'_>, services: &mut Vec<Service>) -> Result<(), String> {
    for attached in place.job.attached.iter().filter(|node| dnsmasq::is_needed(&node.attached)) {
        let title = format!("{}-dnsmasq", attached.name);
        let file = place.scratch.join(format!("{title}.conf"));
        let leases = place.scratch.join(format!("{title}.leases"));
        let mtu = place.scenario.mtu_at(attached.node);
        let settings = dnsmasq::settings(&attached.attached, mtu, Names::HostsFile, &leases);
        fs::write(&file, settings).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut command = Command::new(dnsmasq::program().map_err(|error| error.to_string())?);
        command
            .arg("--keep-in-foreground")
            .arg("--log-facility=-")
            .arg(format!("--conf-file={}", file.display()));
        services.push(Service::start(place, attached.node, &title, command, Ready::Listens(dnsmasq::PORT))?);
    }
    Ok(())
}
