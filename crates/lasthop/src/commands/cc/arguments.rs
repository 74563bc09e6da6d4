//! Arguments of `lasthop cc`.

use clap::{Args, Subcommand};
use congestion::algorithms::Setting;

/// Arguments of `lasthop cc`.
#[derive(Debug, Args)]
#[command(after_help = "\
Every program on this machine can choose a loaded congestion control (socket option TCP_CONGESTION).
A route can choose it too (ip route ... congctl NAME), and a network namespace can use it as
default. The algorithms are eBPF: there is no kernel module, and nothing to build. They stay loaded
until they are unloaded or the machine reboots. To load one at each boot: systemctl enable
lasthop-cc@newzag

Examples:
  lasthop cc load newzag                          then: iperf3 -c HOST -C newzag
  lasthop cc load newzag gain=5 --as newzag_slow
  lasthop cc load newzag --default                then: sysctl net.ipv4.tcp_congestion_control
  lasthop cc info newzag                          its parameters; ss -ti shows which sockets use it
  lasthop cc unload newzag")]
pub struct CcArguments {
    /// The subcommand to run
    #[command(subcommand)]
    pub verb: CcVerb,
}

/// Subcommands of `lasthop cc`.
#[derive(Debug, Subcommand)]
pub enum CcVerb {
    /// List the algorithms that can be loaded, those that are loaded, and the kernel's own
    List {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Load an algorithm into the running kernel, until it is unloaded or the next boot
    Load(LoadArguments),
    /// Unload an algorithm; connections that use it keep it until they close
    Unload {
        /// Name under which the algorithm is registered
        name: String,
    },
    /// Show what senders measure and how they classify each loss, at every acknowledgement
    Watch(WatchArguments),
    /// Show an algorithm and its parameters
    Info {
        /// Name of an algorithm that is loaded or can be loaded
        name: String,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `lasthop cc load`.
#[derive(Debug, Args)]
#[command(after_help = "\
`lasthop cc info ALGORITHM` shows the parameters. They cannot change after loading; for other
values, load the algorithm again under another name.

Examples:
  lasthop cc load newzag
  lasthop cc load newzag gain=5 wireless_percent=70 --as newzag_70
  lasthop cc load veno --default --namespace /run/netns/laboratory
  lasthop cc load westwood --as lh_westwood       if the kernel already has one of that name

Then:
  ss -ti dst HOST                                 shows the congestion control of each connection
  iperf3 -c HOST -C newzag                        one connection with it
  ip route change 198.51.100.0/24 via 192.0.2.1 congctl newzag
  sysctl -w net.ipv4.tcp_congestion_control=newzag")]
pub struct LoadArguments {
    /// Algorithm to load (`lasthop cc list` shows them)
    pub algorithm: String,
    /// Parameters, such as gain=5 [default: those of the algorithm]
    #[arg(value_name = "NAME=NUMBER")]
    pub settings: Vec<Setting>,
    /// Name to register the algorithm under [default: its own]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// Make it the default of new connections (net.ipv4.tcp_congestion_control)
    #[arg(long)]
    pub default: bool,
    /// With --default: network namespace to set it in, by path, by name of `ip netns`, or by the
    /// PID of a process in it [default: this one]
    #[arg(long, value_name = "PATH|NAME|PID", requires = "default")]
    pub namespace: Option<String>,
}

/// Arguments of `lasthop cc watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
Each connection with unacknowledged data and one of lasthop's congestion controls has a row: its
window; the last, mean and deviation of the round-trip times that the detector sees; the losses so
far and how many of them were classified as wireless. For the last loss the row shows the number of
lost segments, its class and what decided it (detector, no-sample, timeout, local). Ctrl-C ends the
command. It needs root, and adds about a quarter of a microsecond to each acknowledgement.

Examples:
  lasthop cc watch
  lasthop cc watch --namespace laboratory --every 0.2
  lasthop cc watch --json > acks.jsonl            every state, with the columns of trace --senders
  lasthop cc watch --json | jq 'select(.cc_verdict == \"wireless\") | .cwnd_segments'")]
pub struct WatchArguments {
    /// Also show connections with other congestion controls
    #[arg(long)]
    pub all: bool,
    /// Network namespace to watch, by path, by name of `ip netns`, or by the PID of a process in it
    /// [default: this one]
    #[arg(long, value_name = "PATH|NAME|PID")]
    pub namespace: Option<String>,
    /// Time between tables, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds, conflicts_with = "json")]
    pub every: f64,
    /// Print every state as a JSON object on its own line
    #[arg(long)]
    pub json: bool,
}

/// Parses the time between two tables, in seconds.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("`{text}` is not a number of seconds from 0.05 to 3600"))
}
