//! Split connections (the class of I-TCP): a node ends each TCP connection that crosses it, and
//! opens another one to its destination.
//!
//! The proxy is HAProxy, unchanged. It is transparent to both sides: nftables gives it every
//! connection that the node would forward (TPROXY), and it connects from the address and port of
//! the client.

use super::Place;
use super::service::{Ready, Service};
use std::fs;
use std::net::Ipv4Addr;
use std::process::Command;

/// Port at which HAProxy takes connections.
const PORT: u16 = 4100;
/// Mark and routing table of its packets.
const MARK: u32 = 4100;

/// A proxy that splits connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitProxy {
    /// HAProxy of the system.
    HaProxy,
}

impl SplitProxy {
    /// Values of `proxy` in a plan. With `none`, the node is a router.
    pub const NAMES: [&'static str; 2] = ["none", "haproxy"];

    /// Returns the proxy with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        (name == "haproxy").then_some(Self::HaProxy)
    }
}

/// Starts the proxies.
pub(super) fn start(place: &Place<'_>, services: &mut Vec<Service>) -> Result<(), String> {
    for (node, its) in place.scenario.nodes.iter().enumerate() {
        if its.proxy.is_none() {
            continue;
        }
        redirect(place, node)?;
        let title = format!("{}-haproxy", its.name);
        let file = place.scratch.join(format!("{title}.cfg"));
        fs::write(&file, configuration())
            .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        let mut command = Command::new("haproxy");
        command.arg("-db").arg("-f").arg(&file);
        services.push(Service::start(place, node, &title, command, Ready::Listens(PORT))?);
    }
    Ok(())
}

/// Returns the configuration of HAProxy. Its time limits are beyond those of runs.
fn configuration() -> String {
    format!(
        "global\n  nbthread 1\n\
         defaults\n  mode tcp\n  timeout connect 24h\n  timeout client 24h\n  timeout server 24h\n\
         listen split\n  bind 0.0.0.0:{PORT} transparent\n  server destination 0.0.0.0 source 0.0.0.0 usesrc client\n"
    )
}

/// Returns the rules that give connections to the proxy: every TCP segment for another host, and
/// those that come back for a client's address.
fn rules(own: Ipv4Addr) -> String {
    format!(
        "table ip lasthop-split {{\n chain prerouting {{\n  type filter hook prerouting priority mangle;\n  \
         ip daddr {own} accept\n  \
         meta l4proto tcp socket transparent 1 meta mark set {MARK} accept\n  \
         meta l4proto tcp tproxy to :{PORT} meta mark set {MARK} accept\n }}\n}}\n"
    )
}

fn redirect(place: &Place<'_>, node: usize) -> Result<(), String> {
    let its = &place.scenario.nodes[node];
    let name = &its.name;
    let file = place.scratch.join(format!("{name}-split.nft"));
    fs::write(&file, rules(its.address()))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    let (mark, file) = (MARK.to_string(), file.to_string_lossy().into_owned());
    let commands: [&[&str]; 3] = [
        &["nft", "-f", &file],
        &["ip", "rule", "add", "fwmark", &mark, "lookup", &mark],
        &["ip", "route", "add", "local", "default", "dev", "lo", "table", &mark],
    ];
    for line in commands {
        let ran = place.mesh.node(node).enter(|| Ok(Command::new(line[0]).args(&line[1..]).output()));
        let output = ran
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("cannot start `{}`, which a split proxy needs: {error}", line[0]))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("proxy of node `{name}`: `{}`: {}", line.join(" "), said.trim()));
        }
    }
    Ok(())
}
