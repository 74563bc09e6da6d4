//! Arguments of `lasthop cc`.

use clap::{Args, Subcommand};
use congestion::algorithms::Setting;

/// `lasthop cc`.
#[derive(Debug, Args)]
#[command(after_help = "\
A congestion control that is loaded can be chosen by every program of this machine (socket option
TCP_CONGESTION), by a route (ip route ... congctl NAME), and by a network namespace as its default.
It is eBPF: no kernel module, nothing to build. It stays until it is unloaded, or the next boot; to
have it at each boot: systemctl enable lasthop-cc@newzag.

Examples:
  lasthop cc load newzag                          then: iperf3 -c HOST -C newzag
  lasthop cc load newzag gain=5 --as newzag_slow
  lasthop cc load newzag --default                then: sysctl net.ipv4.tcp_congestion_control
  lasthop cc info newzag                          its parameters; ss -ti shows who has it
  lasthop cc unload newzag")]
pub struct CcArguments {
    /// What to do with it
    #[command(subcommand)]
    pub verb: CcVerb,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum CcVerb {
    /// Show what can be loaded, what is, and what the kernel has of its own
    List {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Register one with this kernel, until it is unloaded or the next boot
    Load(LoadArguments),
    /// Take one back; connections that have it keep it until they are closed
    Unload {
        /// The name under which it is registered
        name: String,
    },
    /// Show what senders measure and take losses for, at every acknowledgement
    Watch(WatchArguments),
    /// Show one with its parameters
    Info {
        /// One that is loaded, or that can be
        name: String,
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// `lasthop cc load`.
#[derive(Debug, Args)]
#[command(after_help = "\
`lasthop cc info ALGORITHM` shows the parameters. They are fixed when it is loaded;
for other values, load it once more under another name.

Examples:
  lasthop cc load newzag
  lasthop cc load newzag gain=5 wireless_percent=70 --as newzag_70
  lasthop cc load veno --default --namespace /run/netns/laboratory
  lasthop cc load westwood --as lh_westwood       where the kernel has one of that name

Then:
  ss -ti dst HOST                                 shows the congestion control of each connection
  iperf3 -c HOST -C newzag                        one connection with it
  ip route change 198.51.100.0/24 via 192.0.2.1 congctl newzag
  sysctl -w net.ipv4.tcp_congestion_control=newzag")]
pub struct LoadArguments {
    /// Which one (`lasthop cc list`)
    pub algorithm: String,
    /// Parameters, as in gain=5
    #[arg(value_name = "NAME=NUMBER")]
    pub settings: Vec<Setting>,
    /// Name to register it under [default: its own]
    #[arg(long = "as", value_name = "NAME")]
    pub name: Option<String>,
    /// New connections have it unless they choose another (net.ipv4.tcp_congestion_control)
    #[arg(long)]
    pub default: bool,
    /// With --default: those of this network namespace, by path, by name of `ip netns`, or by a
    /// process in it
    #[arg(long, value_name = "PATH|NAME|PID", requires = "default")]
    pub namespace: Option<String>,
}

/// `lasthop cc watch`.
#[derive(Debug, Args)]
#[command(after_help = "\
A row for each connection that has unacknowledged data and a congestion control of lasthop's: its
window, the last, mean and deviation of the round-trip times that the detector sees, losses so far
and how many of them were taken for wireless, and of the last one how many segments were lost, what
it was taken for and who decided (detector, no-sample, timeout, local). Ctrl-C ends it. It needs
root, and costs each acknowledgement about a quarter of a microsecond meanwhile.

Examples:
  lasthop cc watch
  lasthop cc watch --namespace laboratory --every 0.2
  lasthop cc watch --json > acks.jsonl            every state, with the columns of trace --senders
  lasthop cc watch --json | jq 'select(.cc_verdict == \"wireless\") | .cwnd_segments'")]
pub struct WatchArguments {
    /// Connections with other congestion controls as well
    #[arg(long)]
    pub all: bool,
    /// Those of this network namespace, by path, by name of `ip netns`, or by a process in it
    /// [default: this one]
    #[arg(long, value_name = "PATH|NAME|PID")]
    pub namespace: Option<String>,
    /// Time between two tables, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds, conflicts_with = "json")]
    pub every: f64,
    /// Every state as a JSON object in a line of its own
    #[arg(long)]
    pub json: bool,
}

/// A time that can be waited for.
fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.05..=3600.0).contains(seconds));
    seconds.ok_or_else(|| format!("`{text}` is no time from 0.05 to 3600 seconds"))
}
