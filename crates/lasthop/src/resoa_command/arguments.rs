//! Arguments of `lasthop resoa`.

use super::agent::AgentArguments;
use super::agent_status::StatusArguments;
use super::run::RunArguments;
use clap::{Args, Subcommand};
use resoa_carrier::Place;
use std::net::IpAddr;
use std::path::PathBuf;

/// `lasthop resoa`.
#[derive(Debug, Args)]
#[command(after_help = "\
Programs stay as they are, and so do the hosts that they talk to: the TCP of their connections is
at the server, so that the last hop has no TCP on it and its losses are nobody's congestion.

Examples:
  lasthop resoa key /etc/lasthop/resoa/server.key
  lasthop resoa serve --listen plain:127.0.0.1:4000
  lasthop resoa agent --server plain:127.0.0.1:4000
  lasthop resoa run -- curl http://192.0.2.1/")]
pub struct ResoaArguments {
    /// What to do
    #[command(subcommand)]
    pub verb: ResoaVerb,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum ResoaVerb {
    /// Be the server: the TCP of clients' sockets is here
    Serve(ServeArguments),
    /// Be the agent on a host: its programs' sockets are at a server
    Agent(AgentArguments),
    /// Run a command whose sockets are the agent's
    Run(RunArguments),
    /// Say how the agent does
    Status(StatusArguments),
    /// Make a secret key in a new file, and print its public half
    Key {
        /// The file; there must be none yet
        file: PathBuf,
    },
}

/// `lasthop resoa serve`.
#[derive(Debug, Args)]
#[command(after_help = "\
It runs until Ctrl-C or SIGTERM; then every socket of every client is reset.

Examples:
  lasthop resoa serve --listen plain:127.0.0.1:4000
  lasthop resoa serve --listen plain:127.0.0.1:0 --address 192.0.2.1")]
pub struct ServeArguments {
    /// Where clients are taken, by which carrier; port 0 is one that is free
    #[arg(long, value_name = "CARRIER:ADDRESS")]
    pub listen: Place,
    /// The server's secret key (`lasthop resoa key`) [default: one that lasts as long as the command]
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Address that the connections of all clients come from [default: any that this host has]
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,
}
