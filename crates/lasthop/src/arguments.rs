//! The command line: what can be said, and the help that says so.

use crate::clock::Clock;
use crate::commands::fit::FitArguments;
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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a program behind an emulated wireless link
    Link(Box<LinkArguments>),
    /// Run a campaign: repeated experiments from a plan
    Run(RunArguments),
    /// TCP Lite: damaged segments for programs that can use them
    #[command(alias = "lite")]
    TcpLite(Box<crate::commands::tcp_lite::arguments::TcpLiteArguments>),
    /// Congestion controls for this machine: NewZag and others, loaded and unloaded
    Cc(crate::commands::cc::arguments::CcArguments),
    /// Remote sockets: programs here, their TCP at a server beside the last hop
    Resoa(Box<crate::commands::resoa::arguments::ResoaArguments>),
    /// List the link and loss profiles, or show one
    Profiles(ProfilesArguments),
    /// Derive a loss profile from a trace of what was lost
    Fit(FitArguments),
    /// Analyse the TCP connections of captures, as tcptrace does
    #[command(alias = "trace")]
    Analyze(crate::commands::analyze::arguments::AnalyzeArguments),
    /// Replay a trace of erased blocks: throughput by frame size, with recovery by the link and
    /// without
    #[command(alias = "retrace")]
    Retracer(Box<crate::commands::retracer::arguments::RetracerArguments>),
    /// Retransmission timers beside each other: in a model, or on the round-trip times of a capture
    Rto(crate::commands::rto::arguments::RtoArguments),
    /// Build the virtual-time kernel, show it or remove it
    Kernel(crate::commands::kernel::arguments::KernelArguments),
    /// Check what works on this machine, and say how to get what does not
    Doctor,
    /// Remove what killed runs left behind
    Clean,
    /// Measure the emulator itself: rate, delay, sojourn times, loss and damage against what was
    /// asked for
    SelfCheck(SelfCheckArguments),
    /// Convert an event log of a run that was killed to Parquet
    #[command(alias = "recover")]
    Convert(ConvertArguments),
    /// Write the report of a campaign, or of one run of `lasthop link`, as one HTML file
    Report(crate::commands::report::ReportArguments),
    /// Compare two campaigns cell by cell
    Compare(crate::commands::compare::CompareArguments),
}

/// `lasthop link`. A guest of the virtual clock gets it as JSON.
#[derive(Debug, Clone, Args, Serialize, Deserialize)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
The program runs on the wireless host. Down is towards it, up is from it. The network that this command was started in is
the other end: it is called host.lasthop inside, and its address is in LASTHOP_HOST.

With --clock virtual both ends are in a kernel of their own whose clock jumps over idle time: hours take seconds, and the same
seed gives the same packets. No network is out there but the program of --serve; files are the host's, and what is written stays
in the guest, but for --capture, --events, --rlpdump, --json and the folder $LASTHOP_KEEP.

The exit status is the program's. It is 125 if lasthop itself fails, 126 if the program cannot be
executed and 127 if it is not found, as with env(1) and timeout(1).

DIRECTION is a list of parameters: rate=2mbit  delay=40ms  jitter=5ms  correlation=50ms|none
  queue=50p|64kB|200ms|inf|codel  loss=1%|lite-4|FILE|none  burst=100ms  ber=1e-5
  damage=lose|checksum|flip  duplicate=1%  outage=10s+2s  trace=FILE  counted=ip|ethernet|wire

Jitter makes the delay vary in time and keeps packets in order: the mean is delay=..., the standard
deviation jitter=.... Delays a correlation time apart have a correlation of one half (default: ten
times the jitter). With correlation=none each packet draws its own delay and waits for the slowest
before it, so mean and deviation shift: 30 and 5 ms become 32.1 and 3.9 ms at gaps of 3 ms.

PROTOCOL of --arq: rlp[:n2=6,t1=480ms,t2=80ms,window=61,delay=100ms,reset|give-up|disconnect,go-back,throttle=960],
  the data call of GSM with 1200 octets a second; or llp[:window=32,retries=255,reset|give-up|disconnect,out-of-order], at
  the rates and over the delays of the link. Losses hit its frames, and the queue stands above it.

Examples:
  lasthop link --profile umts --loss lite-4 --seed 7 --capture x.pcapng -- curl -O http://host.lasthop:8000/file
  lasthop link --down rate=2mbit,delay=40ms --up rate=500kbit,loss=10% -- iperf3 -c host.lasthop
  lasthop link --down trace=att.down --up trace=att.up -- chromium http://host.lasthop/
  lasthop link --profile geo --publish 8080 -- python3 -m http.server 8080
  lasthop link --clock virtual --profile gsm --serve 'python3 -m http.server 80' -- curl -O http://host.lasthop/file
  lasthop link --profile gsm --arq rlp --down loss=10% -- curl -O http://host.lasthop:8000/file
  lasthop link --profile gsm-rlp --down loss=10% --rlpdump x.pcapng -- curl -O http://host.lasthop:8000/file
  lasthop link --profile lte -- lasthop link --profile lossy-wifi -- bash       (two hops)
  lasthop link set 4f down rate=1mbit"
)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct LinkArguments {
    /// Look at links that run, or change them
    #[command(subcommand)]
    #[serde(skip)]
    pub running: Option<RunningLinks>,

    /// Link profile, by name or path (`lasthop profiles` lists them); a perfect link without
    #[arg(short, long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Loss profile, by name or path
    #[arg(short, long, value_name = "NAME|FILE")]
    pub loss: Option<String>,
    /// Parameters of the way from the program to the network
    #[arg(long, value_name = "DIRECTION")]
    pub up: Vec<String>,
    /// Parameters of the way from the network to the program
    #[arg(long, value_name = "DIRECTION")]
    pub down: Vec<String>,
    /// Link layer with retransmissions over both ways, errors beneath it: rlp, llp, each with
    /// parameters, or none
    #[arg(long, value_name = "PROTOCOL[:PARAMETERS]")]
    #[serde(default)]
    pub arq: Option<String>,
    /// Seed of everything random; the same seed gives the same errors at the same times [default:
    /// drawn, and printed]
    #[arg(short, long)]
    pub seed: Option<u64>,
    /// Maximum transmission unit in bytes [default: the profile's, or 1500]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(68..))]
    pub mtu: Option<u16>,
    /// Congestion control of both ends
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub cc: String,
    /// Lead PORT of this host to a server behind the link, at PORT or at another one (repeatable).
    /// No server of this host may have PORT
    #[arg(long, value_name = "PORT[:INSIDE]")]
    #[serde(skip)]
    pub publish: Vec<Publish>,
    /// Write both ends of the link as pcapng, the fate of each packet as its comment
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    /// Bytes of each packet to capture [default: all]
    #[arg(long, value_name = "BYTES", requires = "capture")]
    pub snaplen: Option<u32>,
    /// Write the fate of each packet as Parquet; of a link layer (--arq) what its ends noted,
    /// beside it as NAME-link-layer.parquet
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// With RLP: write every block at both ends as pcapng (FILE.pcapng), or what each end noted as
    /// RLP traces (FILE.rlp becomes FILE-mobile.rlp and FILE-network.rlp)
    #[arg(long, value_name = "FILE")]
    #[serde(default)]
    pub rlpdump: Option<PathBuf>,
    /// Write the summary as one JSON object
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Run a program at the other end meanwhile, by the shell: a server for COMMAND
    #[arg(long, value_name = "LINE")]
    pub serve: Option<String>,
    /// Clock that it goes by
    #[arg(short, long, value_enum, default_value_t)]
    pub clock: Clock,
    /// By the virtual clock: bring what COMMAND leaves in the folder $LASTHOP_KEEP to this one
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// By the virtual clock: memory of the guest in MiB, at most
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=65_536))]
    pub guest_memory: Option<u32>,
    /// Spin for the last microseconds before a packet leaves: more exact, at the price of a
    /// processor
    #[arg(long)]
    pub precise: bool,
    /// Take segments apart even where nothing needs it; for measuring
    #[arg(long, hide = true)]
    pub split: bool,
    /// Carry Ethernet frames (TAP) instead of IP packets (TUN)
    #[arg(long)]
    pub ethernet: bool,
    /// No messages, not even the summary
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments [default: your shell]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `lasthop link list|set`.
#[derive(Debug, Clone, Subcommand)]
pub enum RunningLinks {
    /// List the links that run
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Change parameters of a link while it runs
    #[command(after_help = "\
Examples:
  lasthop link set 4f down rate=1mbit,delay=100ms
  lasthop link set 4f both outage=now+5s")]
    Set {
        /// Which link: its name in `lasthop link list`, or the first digits of it
        id: String,
        /// up, down or both
        direction: String,
        /// What to change, as in `lasthop link --down`
        parameters: String,
    },
}

/// `lasthop profiles`.
#[derive(Debug, Args)]
pub struct ProfilesArguments {
    /// Show this one
    pub name: Option<String>,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `lasthop self-check`.
#[derive(Debug, Args)]
pub struct SelfCheckArguments {
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Seconds a measurement
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Spin before packets leave, as `lasthop link --precise` does
    #[arg(long)]
    pub precise: bool,
    /// Write the table as JSON too
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `lasthop convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// The log that was left (FILE.parquet.log)
    pub log: PathBuf,
}
