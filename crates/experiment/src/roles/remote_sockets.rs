//! Remote sockets of a node (ReSoA): the TCP of its programs runs at another node.
//!
//! The other node runs the server, and the node runs the agent. Its programs run under
//! `lasthop resoa run`, and cannot tell the difference. Between agent and server is a carrier.

use super::Place;
use super::service::{Ready, Service};
use link::units::ByteCount;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::Command;

/// Port of the server.
const PORT: u16 = 4000;

/// The remote sockets of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteSockets {
    /// Index of the node with the server.
    pub at: usize,
    /// How messages cross the network between the two.
    pub carrier: Carrier,
    /// Bytes read that are reported to the server at once; `None`: the agent's default.
    pub report_after: Option<ByteCount>,
}

/// A carrier, as in the addresses of `lasthop resoa` ([docs/resoa-carriers.md]).
///
/// [docs/resoa-carriers.md]: ../../../../docs/resoa-carriers.md
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// The Link Layer Protocol in datagrams, with encryption.
    Udp,
    /// QUIC.
    Quic,
    /// TCP with encryption.
    Tcp,
    /// TCP as it is.
    Plain,
    /// Datagrams as they are, for links that lose nothing (resoa-evaluation 4.3: with `arq = "llp"`
    /// below).
    Bare,
}

/// The agent of a node.
#[derive(Debug)]
pub struct Agent {
    socket: PathBuf,
    /// The library that programs load, if it is known.
    library: Option<PathBuf>,
}

impl Carrier {
    const ALL: [(&'static str, Self); 5] = [
        ("udp", Self::Udp),
        ("quic", Self::Quic),
        ("tcp", Self::Tcp),
        ("plain", Self::Plain),
        ("bare", Self::Bare),
    ];

    /// Values of `carrier` in a plan. With `none`, the node keeps its own sockets.
    pub const NAMES: [&'static str; 6] = ["none", "udp", "quic", "tcp", "plain", "bare"];

    /// Returns the carrier with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find_map(|(its, carrier)| (its == name).then_some(carrier))
    }

    fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|&(_, each)| each == self).map_or("", |(name, _)| name)
    }

    /// Returns whether client and server know each other by keys.
    fn is_secure(self) -> bool {
        matches!(self, Self::Udp | Self::Quic | Self::Tcp)
    }
}

impl Agent {
    /// Returns a command to which a program and its arguments can be added: the program then uses
    /// the agent's sockets.
    ///
    /// # Errors
    /// If the path of this binary cannot be determined.
    pub fn command(&self) -> io::Result<Command> {
        let mut command = lasthop("run")?;
        command.arg("--agent").arg(&self.socket);
        if let Some(library) = &self.library {
            command.arg("--library").arg(library);
        }
        command.arg("--");
        Ok(command)
    }
}

/// Starts the servers, then the agents.
pub(super) fn start(
    place: &Place<'_>,
    services: &mut Vec<Service>,
    agents: &mut BTreeMap<usize, Agent>,
) -> Result<(), String> {
    // Clients with different carriers have servers of their own, at different ports.
    let mut servers: Vec<(usize, Carrier, Vec<usize>)> = Vec::new();
    for (node, its) in place.scenario.nodes.iter().enumerate() {
        let Some(RemoteSockets { at, carrier, .. }) = its.sockets else { continue };
        match servers.iter_mut().find(|server| (server.0, server.1) == (at, carrier)) {
            Some((.., clients)) => clients.push(node),
            None => servers.push((at, carrier, vec![node])),
        }
    }
    for (number, (at, carrier, clients)) in servers.into_iter().enumerate() {
        let port = PORT + number as u16;
        let address = format!("{}:{}:{port}", carrier.name(), place.scenario.nodes[at].address());
        let server_key = serve(place, at, carrier, &address, &clients, services)?;
        for node in clients {
            let name = &place.scenario.nodes[node].name;
            let socket = place.sockets.join(format!("{name}.agent"));
            let mut command = lasthop("agent").map_err(|error| error.to_string())?;
            command.args(["--ready", "--no-sandbox", "--server", &address]).arg("--listen").arg(&socket);
            let report_after = place.scenario.nodes[node].sockets.as_ref().and_then(|its| its.report_after);
            if let Some(bytes) = report_after {
                command.arg("--report-after").arg(bytes.get().min(u32::MAX.into()).to_string());
            }
            if let Some(server_key) = &server_key {
                command.args(["--server-key", server_key]).arg("--key").arg(key_file(place, name));
            }
            services.push(Service::start(
                place,
                node,
                &format!("{name}-agent"),
                command,
                Ready::Says("registered\n"),
            )?);
            agents.insert(node, Agent { socket, library: place.job.preload.clone() });
        }
    }
    Ok(())
}

/// Starts a server; returns its public key, if it has one.
fn serve(
    place: &Place<'_>,
    at: usize,
    carrier: Carrier,
    address: &str,
    clients: &[usize],
    services: &mut Vec<Service>,
) -> Result<Option<String>, String> {
    let name = format!("{}-{}-server", place.scenario.nodes[at].name, carrier.name());
    let mut command = lasthop("serve").map_err(|error| error.to_string())?;
    command.args(["--no-sandbox", "--listen", address]);
    command.arg("--status").arg(place.sockets.join(format!("{name}.status")));
    let mut key = None;
    if carrier.is_secure() {
        key = Some(make_key(place, &name)?);
        let mut policy = String::new();
        for &client in clients {
            let name = &place.scenario.nodes[client].name;
            let key = make_key(place, name)?;
            let _ = writeln!(policy, "[clients.{name}]\nkey = \"{key}\"");
        }
        let file = place.scratch.join(format!("{name}.toml"));
        fs::write(&file, policy).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        command.arg("--policy").arg(file).arg("--key").arg(key_file(place, &name));
    } else {
        command.arg("--insecure");
    }
    services.push(Service::start(place, at, &name, command, Ready::Says("listening at"))?);
    Ok(key)
}

fn key_file(place: &Place<'_>, name: &str) -> PathBuf {
    place.scratch.join(format!("{name}.key"))
}

/// Creates a key; returns its public half.
fn make_key(place: &Place<'_>, name: &str) -> Result<String, String> {
    let run = || lasthop("key")?.arg(key_file(place, name)).output();
    let output = run().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("no key for `{name}`: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Returns the command `lasthop resoa VERB`.
fn lasthop(verb: &str) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["resoa", verb]);
    Ok(command)
}
