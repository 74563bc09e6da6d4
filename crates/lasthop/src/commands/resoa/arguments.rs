//! Arguments of `lasthop resoa`.

use super::agent::AgentArguments;
use super::run::RunArguments;
use clap::{Args, Subcommand};
use resoa_carrier::CarrierAddress;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// Arguments of `lasthop resoa`.
#[derive(Debug, Args)]
#[command(after_help = "\
Remote sockets let unmodified programs cross a bad last hop without running TCP over it. The TCP of
their connections runs at the server, so no sender mistakes losses on the last hop for congestion.
The remote hosts stay unmodified too.

Examples:
  lasthop resoa key server.key                                    at the server
  lasthop resoa pair --policy policy.toml --key server.key --at 192.0.2.1:4000 --name laptop
  lasthop resoa serve --listen 192.0.2.1:4000 --key server.key --policy policy.toml
  lasthop resoa pair 'resoa-server laptop ...' --out laptop.toml  at the client
  lasthop resoa agent --config laptop.toml
  lasthop resoa run -- curl http://192.0.2.7/
  lasthop resoa status")]
pub struct ResoaArguments {
    /// The subcommand to run
    #[command(subcommand)]
    pub verb: ResoaVerb,
}

/// Subcommands of `lasthop resoa`.
#[derive(Debug, Subcommand)]
pub enum ResoaVerb {
    /// Run the server, which carries the TCP of its clients' sockets
    Serve(Box<ServeArguments>),
    /// Run the agent of this host, which moves its programs' sockets to a server
    Agent(AgentArguments),
    /// Run a command that uses remote sockets
    Run(RunArguments),
    /// Create a secret key in a new file and print its public key
    Key {
        /// File to create; must not exist yet
        file: PathBuf,
    },
    /// Introduce a client and a server to each other, with one command at each side
    Pair(PairArguments),
    /// Show the state of the agent and the server of this host
    Status(StatusArguments),
}

/// Arguments of `lasthop resoa serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
The policy lists the clients that may connect and what each may do. Without a policy the carrier
must be plain: on loopback, and every client may do what any program of this host may do. A policy:

  [defaults]                    for clients without settings of their own
  deny = [\"any 25\"]             NETWORK [PORTS]; the default of `allow` is [\"any\"]
  [clients.laptop]              `lasthop resoa pair` writes such entries
  key = \"dyp61-B_y5vZTyi52gbHAeVJcSE6t_Ln7USRPmiYpRA\"

`any` excludes the server's loopback, its other addresses, link-local addresses and multicast. An
entry such as \"127.0.0.1 8080\" allows one of them. docs/resoa-security.md describes all fields.

The server runs until Ctrl-C or SIGTERM; then it resets every socket of every client. SIGHUP makes
it read the policy again; if the new policy has an error, the old one stays in force.

Examples:
  lasthop resoa serve --listen plain:127.0.0.1:4000
  lasthop resoa serve --listen 192.0.2.1:4000 --key server.key --policy policy.toml --user resoa
  lasthop resoa serve --policy policy.toml --check")]
pub struct ServeArguments {
    /// Address and port to listen on (port 0: any free one), after the carrier: udp:, ether:,
    /// quic:, tcp:, plain: or bare: [default carrier: udp:]
    #[arg(long, value_name = "[CARRIER:]ADDRESS", required_unless_present = "check")]
    pub listen: Option<CarrierAddress>,
    /// File with the server's secret key, from `lasthop resoa key` [default: a temporary key]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Policy: clients that may connect, and what each may do
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Check the policy and exit
    #[arg(long, requires = "policy")]
    pub check: bool,
    /// Source address of outgoing connections [default: the policy's, or any address of this host]
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,
    /// Accept clients from beyond loopback even if the carrier authenticates nobody: anyone who can
    /// reach it becomes a client
    #[arg(long)]
    pub insecure: bool,
    /// Interfaces on which the remote host's FIN is held back (repeatable) [default: all but
    /// loopback, if root]
    #[arg(long, value_name = "NAME")]
    pub interface: Vec<String>,
    /// User to switch to after startup, with the capabilities that the policy needs; never root
    /// [default: nobody, if started as root]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Keep access to the host's files and to all system calls; the original user, capabilities and
    /// terminal are still given up
    #[arg(long)]
    pub no_sandbox: bool,
    /// Address and port to serve Prometheus metrics at, under /metrics [default: none]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Socket that answers `lasthop resoa status` [default: /run/lasthop-server/resoa.sock, or
    /// below XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    pub status: Option<PathBuf>,
}

/// Arguments of `lasthop resoa status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --agent and --server the command asks both at their default sockets and shows those that
answer.

The exit status is 0, or 1 if an agent has no server or nothing answers.")]
pub struct StatusArguments {
    /// Socket of the agent [default: LASTHOP_RESOA, or the default of `lasthop resoa agent`]
    #[arg(long, value_name = "PATH")]
    pub agent: Option<PathBuf>,
    /// Status socket of the server [default: /run/lasthop-server/resoa.sock, or below
    /// XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,
    /// Print one JSON object, with `agent` and `server`
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lasthop resoa pair`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server's side prints a line for the client. The client's side reads it, creates a key and a
configuration, and prints a line for the server. The lines contain no secrets, but each must arrive
unchanged: anyone who can alter them can impersonate either side.

Examples:
  server$ lasthop resoa pair --policy policy.toml --key server.key --at 192.0.2.1:4000 --name laptop
  client$ lasthop resoa pair 'resoa-server ...' --out laptop.toml
  server$ lasthop resoa pair --policy policy.toml 'resoa-client ...'
  client$ lasthop resoa agent --config laptop.toml")]
pub struct PairArguments {
    /// Line that the other side printed
    #[arg(value_name = "LINE")]
    pub line: Option<String>,
    /// Server: policy file, created if missing; the client's line adds an entry to it
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Server: file with its secret key, created if missing
    #[arg(long, value_name = "FILE", requires = "policy")]
    pub key: Option<PathBuf>,
    /// Server: address at which the client reaches it, as for `serve --listen`
    #[arg(long, value_name = "[CARRIER:]ADDRESS", requires = "policy")]
    pub at: Option<CarrierAddress>,
    /// Server: name of the client
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Client: configuration file to create; must not exist yet
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub out: Option<PathBuf>,
}
