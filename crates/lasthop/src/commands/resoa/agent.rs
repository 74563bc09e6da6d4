//! `lasthop resoa agent`: runs the agent of this host until a signal ends it.

use super::config::ClientConfig;
use crate::failure::Failure;
use crate::signals::SignalPipe;
use clap::Args;
use confinement::{Confinement, Needs, raise_descriptor_limit};
use resoa_agent::{Agent, AgentSettings, LocalRules};
use resoa_calls::Connected;
use resoa_carrier::CarrierAddress;
use resoa_carrier::keys::{PublicKey, SecretKey};
use resoa_policy::Destination;
use resoa_protocol::message::AddressMode;
use resoa_protocol::{Settings, Timers};
use resoa_server::{ServerThread, keep_kernel_lists};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Longest time to wait for the server's confirmation at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Arguments of `lasthop resoa agent`.
#[derive(Debug, Args)]
#[command(after_help = "\
Programs find the agent by the environment variable LASTHOP_RESOA, which holds the path of its
socket. While the agent has no server, new sockets fail with ENETDOWN. When it loses the server, it
resets all open sockets and tries again, at intervals of ten seconds at most. It runs until Ctrl-C
or SIGTERM; then it resets all open sockets.

All traffic goes through the server, except to the networks of --local, each with or without ports.
A socket without a destination, such as a listener on any address, is at the server. This host
resolves `localhost` itself if loopback is local.

Examples:
  lasthop resoa agent --config laptop.toml
  lasthop resoa agent --server plain:127.0.0.1:4000 --listen /run/resoa-agent
  lasthop resoa agent --config laptop.toml --local 127.0.0.0/8 --local ::1 --local '192.168.1.0/24 22,80'")]
pub struct AgentArguments {
    /// Configuration file with server and keys, as written by `lasthop resoa pair`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["server", "key", "server_key"])]
    pub config: Option<PathBuf>,
    /// Address and port of the server, after the carrier (udp:, ether:, quic:, tcp:, plain: or
    /// bare:) [default carrier: udp:]
    #[arg(long, value_name = "[CARRIER:]ADDRESS", required_unless_present = "config")]
    pub server: Option<CarrierAddress>,
    /// File with this agent's secret key, from `lasthop resoa key` [default: a temporary key]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Public key of the server, which it prints when it starts
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    pub server_key: Option<PublicKey>,
    /// Socket that programs connect to [default: lasthop-resoa in $XDG_RUNTIME_DIR, or in /run]
    #[arg(long, value_name = "PATH")]
    pub listen: Option<PathBuf>,
    /// Address of the remote sockets: shared, own, any, or an address that this host brings along
    #[arg(long, value_name = "MODE", default_value = "any", value_parser = mode)]
    pub address: AddressMode,
    /// Network that this host reaches directly, not through the server (repeatable)
    #[arg(long, value_name = "NETWORK [PORTS]")]
    pub local: Vec<Destination>,
    /// Host, or domain with all its hosts, whose name this host resolves itself (repeatable)
    #[arg(long, value_name = "NAME")]
    pub local_name: Vec<String>,
    /// Report at once that a program has read this many bytes of a stream; fewer wait up to 10 ms
    #[arg(long, value_name = "BYTES", default_value_t = Settings::default().report_after)]
    pub report_after: u32,
    /// User to switch to after startup, without capabilities; never root [default: nobody, if
    /// started as root]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Keep access to the host's files and to all system calls; the original user, capabilities and
    /// terminal are still given up
    #[arg(long)]
    pub no_sandbox: bool,
    /// Print a line on standard output when the agent first registers, for scripts that wait for it
    #[arg(long)]
    pub ready: bool,
}

fn mode(text: &str) -> Result<AddressMode, String> {
    match text {
        "any" => Ok(AddressMode::Any),
        "shared" => Ok(AddressMode::Shared),
        "own" => Ok(AddressMode::Own),
        _ => text.parse::<IpAddr>().map(AddressMode::Brought).map_err(|_| {
            format!("`{text}` is not an address mode: use any, shared, own or an address such as 192.0.2.7")
        }),
    }
}

/// Returns the default path of the agent's socket.
pub fn place() -> PathBuf {
    let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(|| PathBuf::from("/run"), PathBuf::from);
    folder.join("lasthop-resoa")
}

/// Returns the server, its public key, the agent's secret key, and the rules for local
/// destinations.
fn whom(
    arguments: &AgentArguments,
) -> Result<(CarrierAddress, Option<PublicKey>, SecretKey, LocalRules), Failure> {
    let mut local = LocalRules::default();
    let mut whom = None;
    if let Some(file) = &arguments.config {
        let config = ClientConfig::read(file)?;
        local = config.local.rules()?;
        whom = Some((config.server, Some(config.server_key), SecretKey::read(&config.key)?));
    }
    local.destinations.extend(arguments.local.iter().cloned());
    local.names.extend(arguments.local_name.iter().cloned());
    if local.is_empty() && !local.names.is_empty() {
        return Err(format!(
            "`{}` would be resolved here, but no destination is local, so it could not be reached: give local destinations with --local",
            local.names[0]
        )
        .into());
    }
    if let Some((server, server_key, key)) = whom {
        return Ok((server, server_key, key, local));
    }
    let key = match &arguments.key {
        Some(file) => SecretKey::read(file)?,
        None => SecretKey::generate()?,
    };
    let server = arguments.server.clone().ok_or("no server given: use --config or --server")?;
    Ok((server, arguments.server_key, key, local))
}

/// Serves programs until Ctrl-C or SIGTERM.
pub fn run(arguments: &AgentArguments) -> Result<i32, Failure> {
    Confinement::check(arguments.user.as_deref())?;
    let stop = SignalPipe::of(&[SIGINT, SIGTERM])?;
    // Each socket of a program needs a file descriptor here, and each call another one. Requests
    // beyond the limit wait.
    raise_descriptor_limit()?;
    let (server, server_key, key, local) = whom(arguments)?;
    let (carrier, address) =
        server.reach(&key, server_key).map_err(|error| format!("--server {server}: {error}"))?;
    let listen = arguments.listen.clone().unwrap_or_else(place);
    let settings = AgentSettings {
        listen,
        mode: arguments.address,
        settings: Settings { report_after: arguments.report_after, ..Settings::default() },
        timers: Timers::default(),
    };
    let mut agent = Agent::new(settings, carrier, address)?;
    agent.wait_for(stop.descriptor())?;
    keep_kernel_lists();
    let needs = Needs { low_ports: !local.is_empty(), sockets: agent.connects_to(), ..Needs::default() };
    let confinement = Confinement::enter(arguments.user.as_deref(), !arguments.no_sandbox, &needs)?;
    anstream::eprintln!("lasthop: {confinement}");
    let local_server = (!local.is_empty()).then(|| ServerThread::start(local.client()));
    let (_local_server, carrier) = local_server.transpose()?.unzip();
    if let Some(carrier) = carrier {
        agent.serve_locally(&local, carrier)?;
    }
    anstream::eprintln!("lasthop: {}={}, key {}", resoa_calls::AGENT, agent.path().display(), key.public());
    let mut said = agent.connected();
    let mut is_ready = !arguments.ready;
    loop {
        let connected = agent.connected();
        if said != connected {
            say(&server, &connected);
            if matches!(connected, Connected::Yes { .. }) && !is_ready {
                is_ready = true;
                println!("registered");
                io::stdout().flush()?;
            }
            said = connected;
        }
        // Most turns concern only sockets.
        if agent.turn(None)? && stop.has_come()? {
            break;
        }
    }
    agent.stop();
    let begin = Instant::now();
    while !agent.is_over() && begin.elapsed() < FAREWELL {
        agent.turn(Some(FAREWELL.saturating_sub(begin.elapsed())))?;
    }
    Ok(0)
}

fn say(server: &CarrierAddress, connected: &Connected) {
    match connected {
        Connected::Yes { address, sockets } => {
            anstream::eprintln!(
                "lasthop: registered at {server}: sockets have address {address}, at most {sockets} at a time"
            );
        }
        Connected::No(why) => {
            anstream::eprintln!("lasthop: not registered at {server}: {why}; trying again");
        }
    }
}
