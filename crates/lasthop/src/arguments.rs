//! The command line and its help texts.

use crate::clock::Clock;
use crate::commands::fit::FitArguments;
use crate::commands::gate::GateArguments;
use crate::commands::run::RunArguments;
use clap::{Args, Parser, Subcommand};
use netlab::nat::Publish;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;

/// A laboratory for TCP over wireless links, on the real Linux TCP stack.
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    after_help = "\
Examples:
  lasthop link --profile umts --loss lite-4 -- curl -O http://host.lasthop:8000/file
  lasthop link --down rate=2mbit,delay=40ms,loss=1% -- bash
  lasthop profiles
  lasthop doctor"
)]
pub struct Arguments {
    /// The subcommand to run.
    #[command(subcommand)]
    pub command: Command,
}

/// Subcommands of `lasthop`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program behind an emulated wireless link
    Link(Box<LinkArguments>),
    /// Show a running link live in the terminal, and change it by keys
    Watch(crate::commands::watch::WatchArguments),
    /// Show and change running links in a browser, or by HTTP
    Serve(crate::commands::serve::ServeArguments),
    /// Run a campaign: repeated experiments from a plan
    Run(RunArguments),
    /// Merge the shards of a campaign (`lasthop run --shard`) into one run directory
    Merge(crate::commands::merge::MergeArguments),
    /// Run a plan until its requirements are decided, and exit with the verdict: for CI
    Gate(Box<GateArguments>),
    /// Deliver damaged TCP segments to programs that can use them (TCP Lite)
    #[command(alias = "lite")]
    TcpLite(Box<crate::commands::tcp_lite::arguments::TcpLiteArguments>),
    /// Load and unload congestion controls on this machine: NewZag and others
    Cc(crate::commands::cc::arguments::CcArguments),
    /// Use remote sockets: programs run here, their TCP runs at a server beside the last hop
    Resoa(Box<crate::commands::resoa::arguments::ResoaArguments>),
    /// List the link and loss profiles, or show one
    Profiles(ProfilesArguments),
    /// Measure a real link between two hosts, and write it as a link profile and traces
    Record(Box<crate::commands::record::arguments::RecordArguments>),
    /// Derive a loss profile from a loss trace
    Fit(FitArguments),
    /// Analyse the TCP connections of captures, as tcptrace does
    #[command(alias = "trace")]
    Analyze(crate::commands::analyze::arguments::AnalyzeArguments),
    /// Replay a block erasure trace: throughput by frame size, with and without link-layer recovery
    #[command(alias = "retrace")]
    Retracer(Box<crate::commands::retracer::arguments::RetracerArguments>),
    /// Compare retransmission timers: in a model, or on the round-trip times of a capture
    Rto(crate::commands::rto::arguments::RtoArguments),
    /// Build, show or remove the virtual-time kernel
    Kernel(crate::commands::kernel::arguments::KernelArguments),
    /// Check what works on this machine, and explain how to fix the rest
    #[command(after_help = "\
Exit status: 0 if links work here, 1 otherwise.")]
    Doctor,
    /// Remove network namespaces, devices and other objects that killed runs left behind
    Clean,
    /// Compare the emulator's rate, delay, sojourn times, loss and damage with the values requested
    SelfCheck(SelfCheckArguments),
    /// Convert the event log of a killed run to Parquet
    #[command(alias = "recover")]
    Convert(ConvertArguments),
    /// Write an HTML report of a campaign, or of one run of `lasthop link`, as a single file
    Report(crate::commands::report::ReportArguments),
    /// Compare two campaigns cell by cell
    Compare(crate::commands::compare::CompareArguments),
    /// Write manual pages and completion scripts of this command
    Generate(crate::commands::generate::GenerateArguments),
}

/// Arguments of `lasthop link`. A guest of the virtual clock gets them as JSON.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
The program runs on the wireless host. Down is towards it, up is from it. The other end of the link
is the network in which this command was started. Inside, its name is host.lasthop, and LASTHOP_HOST
holds its address.

With --clock virtual both ends run in a separate kernel whose clock jumps over idle time: hours take
seconds, and the same seed gives the same packets. Only the program of --serve can be reached there.
The guest reads the host's files. Files that it writes stay in the guest, except those of --capture,
--events, --rlpdump and --json and those in directory $LASTHOP_KEEP.

The exit status is the program's. It is 125 if lasthop itself fails, 126 if the program cannot be
executed and 127 if it is not found, as with env(1) and timeout(1).

DIRECTION is a list of parameters: rate=2mbit  delay=40ms|leocc:FILE  jitter=5ms
  correlation=50ms|none  queue=50p|64kB|200ms|inf|codel|red|fq-codel|pie|dualpi2|sfq
  loss=1%|lite-4|FILE|none  burst=100ms  ber=1e-5
  damage=lose|checksum|flip  duplicate=1%  outage=10s+2s  trace=FILE  counted=ip|ethernet|wire

Jitter varies the delay over time and keeps packets in order: the mean is delay=..., the standard
deviation jitter=.... Delays one correlation time apart have a correlation of one half (default: ten
times the jitter). With correlation=none each packet draws its own delay and waits for the slowest
packet before it, so mean and deviation shift: 30 and 5 ms become 32.1 and 3.9 ms at gaps of 3 ms.

PROTOCOL of --arq is one of:
  rlp[:n2=6,t1=480ms,t2=80ms,window=61,delay=100ms,reset|give-up|disconnect,go-back,throttle=960]
    the data call of GSM, at 1200 bytes per second
  llp[:window=32,retries=255,reset|give-up|disconnect,out-of-order]
    at the rates and with the delays of the link
Losses of the link hit frames of PROTOCOL, and the queue is above it.

Examples:
  lasthop link --profile umts --loss lite-4 --seed 7 --capture x.pcapng -- curl -O http://host.lasthop:8000/file
  lasthop link --down rate=2mbit,delay=40ms --up rate=500kbit,loss=10% -- iperf3 -c host.lasthop
  lasthop link --down trace=att.down --up trace=att.up -- chromium http://host.lasthop/
  lasthop link --profile geo --publish 8080 -- python3 -m http.server 8080
  lasthop link --profile lte --inside eth1           (a phone or computer at eth1)
  lasthop link --profile lte --inside podman:web     (a container that runs)
  lasthop link --profile lte --bridge eth1 eth2      (whatever is at eth1, to whatever is at eth2)
  lasthop link --clock virtual --profile gsm --serve 'python3 -m http.server 80' -- curl -O http://host.lasthop/file
  lasthop link --profile gsm --arq rlp --down loss=10% -- curl -O http://host.lasthop:8000/file
  lasthop link --profile gsm-rlp --down loss=10% --rlpdump x.pcapng -- curl -O http://host.lasthop:8000/file
  lasthop link --profile lte -- lasthop link --profile lossy-wifi -- bash       (two hops)
  lasthop link set 1 down rate=1mbit
  lasthop link exec 1 -- ping host.lasthop"
)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct LinkArguments {
    /// List or change running links, or run another program behind one
    #[command(subcommand)]
    #[serde(skip)]
    pub running: Option<RunningLinks>,

    /// Link profile, by name or path, or the recording cellreplay:DIR; `lasthop profiles` lists the
    /// names [default: a perfect link]
    #[arg(short, long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Loss profile, by name or path
    #[arg(short, long, value_name = "NAME|FILE")]
    pub loss: Option<String>,
    /// Parameters of the uplink, from the program to the network
    #[arg(long, value_name = "DIRECTION")]
    pub up: Vec<String>,
    /// Parameters of the downlink, from the network to the program
    #[arg(long, value_name = "DIRECTION")]
    pub down: Vec<String>,
    /// Link layer with retransmissions in both directions, above the link's errors: rlp or llp,
    /// each with optional parameters, or none [default: the profile's]
    #[arg(long, value_name = "PROTOCOL[:PARAMETERS]")]
    #[serde(default)]
    pub arq: Option<String>,
    /// Random seed; the same seed gives the same errors at the same times [default: drawn and
    /// printed]
    #[arg(short, long)]
    pub seed: Option<u64>,
    /// Maximum transmission unit in bytes [default: the profile's, or 1500]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(68..))]
    pub mtu: Option<u16>,
    /// Congestion control of both ends
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub cc: String,
    /// Put something else behind the link (repeatable): an Ethernet interface of this host with all
    /// devices attached to it, which get addresses and names; or the network namespace
    /// netns:NAME, pid:PID, podman:CONTAINER or docker:CONTAINER
    #[arg(long, value_name = "INTERFACE|NAMESPACE")]
    #[serde(skip)]
    pub inside: Vec<String>,
    /// Carry every Ethernet frame between two interfaces of this host, with nothing served: no
    /// router, no addresses, no NAT. Up is from INSIDE to OUTSIDE
    #[arg(
        long,
        num_args = 2,
        value_names = ["INSIDE", "OUTSIDE"],
        conflicts_with_all = ["inside", "publish", "serve", "mtu", "ethernet", "command"],
    )]
    #[serde(skip)]
    pub bridge: Vec<String>,
    /// Forward host PORT to a server behind the link, at PORT or INSIDE (repeatable). PORT must not
    /// be in use on this host
    #[arg(long, value_name = "PORT[:INSIDE]")]
    #[serde(skip)]
    pub publish: Vec<Publish>,
    /// Write a pcapng capture of both ends of the link, with the fate of each packet as its comment
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Bytes of each packet to capture [default: all]
    #[arg(long, value_name = "BYTES", requires = "capture")]
    pub snaplen: Option<u32>,
    /// Write the fate of each packet as Parquet; with a link layer, also its records, to
    /// NAME-link-layer.parquet beside it
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// With RLP: write every block at both ends as pcapng (FILE.pcapng), or each end's records as
    /// RLP traces (FILE.rlp becomes FILE-mobile.rlp and FILE-network.rlp)
    #[arg(long, value_name = "FILE")]
    #[serde(default)]
    pub rlpdump: Option<PathBuf>,
    /// Write the summary as one JSON object
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Run shell command LINE at the other end while COMMAND runs, for example a server
    #[arg(long, value_name = "LINE")]
    pub serve: Option<String>,
    /// Clock to use
    #[arg(short, long, value_enum, default_value_t)]
    pub clock: Clock,
    /// With --clock virtual: copy files that COMMAND leaves in $LASTHOP_KEEP to this directory
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// With --clock virtual: maximum memory of the guest, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=65_536))]
    pub guest_memory: Option<u32>,
    /// Busy-wait for the last microseconds before a packet leaves: more accurate, but occupies a
    /// processor
    #[arg(long)]
    pub precise: bool,
    /// Split segments even where nothing requires it; for measurements
    #[arg(long, hide = true)]
    pub split: bool,
    /// Carry Ethernet frames (TAP) instead of IP packets (TUN)
    #[arg(long)]
    pub ethernet: bool,
    /// Print no messages and no summary
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments [default: your shell; with --inside or --bridge none,
    /// until Ctrl-C]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Subcommands of `lasthop link`: `list`, `set` and `exec`.
#[derive(Debug, Clone, Subcommand)]
pub enum RunningLinks {
    /// List the running links
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Change parameters of a running link
    #[command(after_help = "\
Examples:
  lasthop link set 1 down rate=1mbit,delay=100ms
  lasthop link set 1 both outage=now+5s
  lasthop link set 1 both profile=umts,loss=1%")]
    Set {
        /// ID of the link in `lasthop link list`, or its first digits
        id: String,
        /// Direction: up, down or both
        direction: String,
        /// Parameters to change, as in `lasthop link --down`; profile=NAME first takes over all of
        /// a link profile
        parameters: String,
    },
    /// Run another program behind a running link
    #[command(after_help = "\
The link ends with its first program. It then ends programs that are still running behind it:
SIGTERM, and SIGKILL after 2 s.

The exit status is the program's. It is 125 if lasthop itself fails, 126 if the program cannot be
executed and 127 if it is not found.

Examples:
  lasthop link exec 1 -- iperf3 -c host.lasthop
  lasthop link exec 1                   (a second shell behind the link)")]
    Exec {
        /// ID of the link in `lasthop link list`, or its first digits
        id: String,
        /// The program and its arguments [default: your shell]
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
}

/// Arguments of `lasthop profiles`.
#[derive(Debug, Args)]
pub struct ProfilesArguments {
    /// Name of the profile to show [default: list all]
    pub name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `lasthop self-check`.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit status: 0 if every value is as requested, 1 otherwise.")]
pub struct SelfCheckArguments {
    /// Random seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Duration of each measurement, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Busy-wait before packets leave, as `lasthop link --precise` does
    #[arg(long)]
    pub precise: bool,
    /// Also write the table as JSON
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Arguments of `lasthop convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// Event log of the killed run (FILE.parquet.log)
    pub log: PathBuf,
}
