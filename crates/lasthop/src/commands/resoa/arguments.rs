//! Arguments of `lasthop resoa`.

use super::agent::AgentArguments;
use super::run::RunArguments;
use clap::{Args, Subcommand};
use resoa_carrier::Place;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// `lasthop resoa`.
#[derive(Debug, Args)]
#[command(after_help = "\
Programs stay as they are, and so do the hosts that they talk to: the TCP of their connections is
at the server, so that the last hop has no TCP on it and its losses are nobody's congestion.

Examples:
  lasthop resoa key server.key                                    at the server
  lasthop resoa pair --policy policy.toml --key server.key --at 192.0.2.1:4000 --name laptop
  lasthop resoa serve --listen 192.0.2.1:4000 --key server.key --policy policy.toml
  lasthop resoa pair 'resoa-server laptop ...' --out laptop.toml  at the client
  lasthop resoa agent --config laptop.toml
  lasthop resoa run -- curl http://192.0.2.7/
  lasthop resoa status")]
pub struct ResoaArguments {
    /// What to do
    #[command(subcommand)]
    pub verb: ResoaVerb,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum ResoaVerb {
    /// Be the server: the TCP of clients' sockets is here
    Serve(Box<ServeArguments>),
    /// Be the agent on a host: its programs' sockets are at a server
    Agent(AgentArguments),
    /// Run a command whose sockets are the agent's
    Run(RunArguments),
    /// Make a secret key in a new file, and print its public half
    Key {
        /// The file; there must be none yet
        file: PathBuf,
    },
    /// Make a client and a server known to each other: one command at each side
    Pair(PairArguments),
    /// Say how the agent and the server of this host do
    Status(StatusArguments),
}

/// `lasthop resoa serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
Who may come, and what each may do, is in the policy. Without one the place has to be plain: on the
loopback, and whoever comes may do what any program of this host may. A policy:

  [defaults]                    what holds for clients that say nothing else
  deny = [\"any 25\"]             NETWORK [PORTS]; `allow` is [\"any\"] unless it says otherwise
  [clients.laptop]              `lasthop resoa pair` writes such entries
  key = \"dyp61-B_y5vZTyi52gbHAeVJcSE6t_Ln7USRPmiYpRA\"

The server's loopback, its other addresses, link-local addresses and multicast are not among `any`:
an entry such as \"127.0.0.1 8080\" opens what it names. docs/resoa-security.md has all fields.

It runs until Ctrl-C or SIGTERM; then every socket of every client is reset. SIGHUP reads the policy
again; if there is a mistake in it, the old one stays.

Examples:
  lasthop resoa serve --listen plain:127.0.0.1:4000
  lasthop resoa serve --listen 192.0.2.1:4000 --key server.key --policy policy.toml --user resoa
  lasthop resoa serve --policy policy.toml --check")]
pub struct ServeArguments {
    /// Where clients are taken: an address with a port (0 is one that is free), of the carrier udp:
    /// unless another stands before it (ether:, quic:, tcp:, plain:)
    #[arg(long, value_name = "[CARRIER:]ADDRESS", required_unless_present = "check")]
    pub listen: Option<Place>,
    /// The server's secret key (`lasthop resoa key`) [default: one that lasts as long as the
    /// command]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Who may come, and what each may do
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Only say whether the policy is one
    #[arg(long, requires = "policy")]
    pub check: bool,
    /// Address that connections come from [default: the policy's, or any that this host has]
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,
    /// Take clients beyond the loopback though the carrier verifies nothing: whoever reaches it is
    /// a client
    #[arg(long)]
    pub insecure: bool,
    /// Interfaces where the far host's FIN is held (repeatable) [default: all but the loopback, if
    /// root]
    #[arg(long, value_name = "NAME")]
    pub interface: Vec<String>,
    /// User to become once everything is open, with the capabilities that the policy needs; never
    /// root [default: nobody, if root starts it]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// Keep the host's files and all system calls within reach; user, capabilities and terminal are
    /// given up all the same
    #[arg(long)]
    pub no_sandbox: bool,
    /// Figures for Prometheus, at /metrics of this address
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics: Option<SocketAddr>,
    /// Where `lasthop resoa status` asks [default: /run/lasthop-server/resoa.sock, or below
    /// XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    pub status: Option<PathBuf>,
}

/// `lasthop resoa status`.
#[derive(Debug, Args)]
#[command(after_help = "\
Without --agent and --server it asks both where they are by default, and says what those do that answer.
The exit status is 1 if an agent has no server.")]
pub struct StatusArguments {
    /// The agent's socket [default: LASTHOP_RESOA, or where `lasthop resoa agent` listens by
    /// itself]
    #[arg(long, value_name = "PATH")]
    pub agent: Option<PathBuf>,
    /// Where the server answers [default: /run/lasthop-server/resoa.sock, or below XDG_RUNTIME_DIR]
    #[arg(long, value_name = "PATH")]
    pub server: Option<PathBuf>,
    /// As one JSON object, with `agent` and `server`
    #[arg(long)]
    pub json: bool,
}

/// `lasthop resoa pair`.
#[derive(Debug, Args)]
#[command(after_help = "\
The server's side prints a line with what the client has to know, the client's side makes a key and
a configuration, and prints a line with what the server has to know. Nothing in the lines is secret,
but each has to arrive as it was printed: who can change them can be in between.

Examples:
  server$ lasthop resoa pair --policy policy.toml --key server.key --at 192.0.2.1:4000 --name laptop
  client$ lasthop resoa pair 'resoa-server ...' --out laptop.toml
  server$ lasthop resoa pair --policy policy.toml 'resoa-client ...'
  client$ lasthop resoa agent --config laptop.toml")]
pub struct PairArguments {
    /// The line that the other side has printed
    #[arg(value_name = "LINE")]
    pub line: Option<String>,
    /// Server: the policy; the client's line gives it an entry, and makes it if there is none
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Server: its secret key; it is made if there is none
    #[arg(long, value_name = "FILE", requires = "policy")]
    pub key: Option<PathBuf>,
    /// Server: where the client reaches it, as for `serve --listen`
    #[arg(long, value_name = "[CARRIER:]ADDRESS", requires = "policy")]
    pub at: Option<Place>,
    /// Server: what the client is called
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Client: its configuration; there must be none yet
    #[arg(long, value_name = "FILE", conflicts_with = "policy")]
    pub out: Option<PathBuf>,
}
