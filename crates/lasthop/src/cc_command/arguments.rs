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
    /// With --default: those of this network namespace, by path, by name of `ip netns`, or by a process in it
    #[arg(long, value_name = "PATH|NAME|PID", requires = "default")]
    pub namespace: Option<String>,
}
