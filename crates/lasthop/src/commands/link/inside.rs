//! The option `--inside`: interfaces and namespaces behind the link. dnsmasq gives devices at an
//! interface their addresses (DHCP, router advertisements) and resolves names for them.

use super::serving::Serving;
use crate::failure::Failure;
use netlab::dnsmasq::{self, Names};
use netlab::{Attached, Attachment, HostLink, listening};
use std::fs;
use std::process::Command;

/// Name of the file with the settings, in the directory of the run.
const SETTINGS: &str = "dnsmasq.conf";
/// Name of the file with the addresses that were given to devices.
const LEASES: &str = "dnsmasq.leases";

/// Reads the values of `--inside`: an interface, `netns:NAME`, `pid:PID`, or `podman:CONTAINER`.
///
/// # Errors
/// If a container does not run.
pub fn attachments(values: &[String]) -> Result<Vec<Attachment>, Failure> {
    let all: netlab::Result<_> = values.iter().map(|value| Attachment::read(value)).collect();
    all.map_err(|error| format!("--inside: {error}").into())
}

/// Serves the devices behind the link until the value is dropped; `None` if there are none.
///
/// # Errors
/// If dnsmasq is missing or does not start.
pub fn serve(link: &HostLink, mtu: u16) -> Result<Option<Serving>, Failure> {
    if !dnsmasq::is_needed(link.attached()) {
        return Ok(None);
    }
    let program = dnsmasq::program()?;
    let path = link.directory().join(SETTINGS);
    let names = Names::Host(link.host(), link.name_server());
    let text = dnsmasq::settings(link.attached(), mtu, names, &link.directory().join(LEASES));
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
    link.attached().iter().map(|one| one.describe("the link") + &services(one, &server)).collect()
}

/// Returns what a device at an interface is given besides a way: `names` says from where.
fn services(attached: &Attached, names: &str) -> String {
    match attached.attachment {
        Attachment::Interface(_) => format!(", DHCP, {names}"),
        Attachment::Namespace { .. } => String::new(),
    }
}
