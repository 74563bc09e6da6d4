//! Arguments of `lasthop tcp-lite`.

use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tcp_lite::{Localization, Mode, Parameters, Policy};

/// `lasthop tcp-lite`.
#[derive(Debug, Args)]
#[command(after_help = "\
A TCP segment with a wrong checksum is dropped, and the sender slows down as for congestion. With TCP
Lite it is acknowledged and delivered, damage included, to programs that say that they can use it
(socket option TCP_LITE, see tcp_lite(7)), or to any program under `lasthop tcp-lite run`.

The link layer must hand damaged frames up. Ordinary Wi-Fi and Ethernet hardware drops them;
`lasthop tcp-lite status` counts those that come.

Examples:
  lasthop tcp-lite run -- curl -O http://198.51.100.1/picture.jpg
  lasthop link --down rate=2mbit,ber=1e-5,damage=flip -- lasthop tcp-lite run -- curl -O http://host.lasthop:8000/song.pcm
  lasthop tcp-lite attach --interface wlan0 --cgroup /sys/fs/cgroup/system.slice/player.service
  lasthop tcp-lite status")]
pub struct TcpLiteArguments {
    /// What to do with it
    #[command(subcommand)]
    pub verb: TcpLiteVerb,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum TcpLiteVerb {
    /// Run a program whose connections all accept damage, or, with --on-request, one that asks for
    /// it by itself
    Run(RunArguments),
    /// Let programs of a control group ask for it, until detached
    Attach(AttachArguments),
    /// Show what is attached, and what became of damaged segments
    Status {
        /// One JSON object for each attachment
        #[arg(long)]
        json: bool,
    },
    /// Take back an `attach`
    Detach {
        /// Its name
        #[arg(default_value = DEFAULT_NAME)]
        name: String,
    },
}

/// Name of an attachment that was given none.
pub const DEFAULT_NAME: &str = "lite";

/// `lasthop tcp-lite run`.
#[derive(Debug, Args)]
#[command(after_help = "\
The exit status is the program's. It is 125 if lasthop itself fails, 126 if the program cannot be
executed and 127 if it is not found. What became of damaged segments is said at the end.

Examples:
  lasthop tcp-lite run -- curl -O http://198.51.100.1/picture.jpg
  lasthop tcp-lite run --policy strict --interface wlan0 -- ffplay http://198.51.100.1/live.ts
  lasthop tcp-lite run --thesis -- iperf3 -s
  lasthop tcp-lite run --on-request -- lite-receive http://198.51.100.1/picture.jpg --out picture.jpg")]
pub struct RunArguments {
    /// Interface whose packets are judged; can be repeated [default: all that are up, but the
    /// loopback]
    #[arg(long, short, value_name = "NAME")]
    pub interface: Vec<String>,
    /// The program asks for damage by itself, by the socket option TCP_LITE; until then no
    /// connection accepts any
    // The policy too is then the program's to choose (TCP_LITE_POLICY).
    #[arg(long, conflicts_with = "policy")]
    pub on_request: bool,
    /// By which rule damaged segments are judged
    #[command(flatten)]
    pub rule: RuleArguments,
    /// Say nothing at the end
    #[arg(long, short)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `lasthop tcp-lite attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lasthop tcp-lite attach --interface wlan0 --cgroup /sys/fs/cgroup/system.slice/player.service
  lasthop tcp-lite attach --interface ppp0 --cgroup /sys/fs/cgroup/user.slice --every-connection --policy strict
  lasthop tcp-lite detach")]
pub struct AttachArguments {
    /// Interface whose packets are judged; can be repeated
    #[arg(long, short, value_name = "NAME", required = true)]
    pub interface: Vec<String>,
    /// Control group (v2) of the programs that may ask; those below it included
    #[arg(long, value_name = "DIRECTORY")]
    pub cgroup: PathBuf,
    /// All connections of the control group accept damage, without asking
    #[arg(long)]
    pub every_connection: bool,
    /// By which rule damaged segments are judged
    #[command(flatten)]
    pub rule: RuleArguments,
    /// Name of this attachment, for `detach`
    #[arg(long, default_value = DEFAULT_NAME)]
    pub name: String,
}

/// By which rule damaged segments are judged.
#[derive(Debug, Clone, Args)]
pub struct RuleArguments {
    /// Take headers for right, as TCP Lite did first: for links that damage payloads alone
    #[arg(long, conflicts_with_all = ["policy", "ports", "guesses"])]
    pub thesis: bool,
    /// How much is risked to use a damaged segment
    #[arg(long, value_enum, default_value = "normal")]
    pub policy: PolicyName,
    /// How the connection of a segment with damaged ports is found: exact (not at all), source-port
    /// (that port is left out), or the number of bits that may be wrong
    #[arg(long, value_name = "HOW", default_value = "4", value_parser = localization)]
    pub ports: Localization,
    /// Guesses (repairs that no checksum confirms) that a connection may make in a second; 0 is no
    /// limit
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    pub guesses: u32,
}

/// The policies by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// Ports as they should be, and the next bytes of the stream
    Strict,
    /// Also repaired ports, and segments behind a hole
    Normal,
    /// Also sequence numbers up to two bits wrong
    Bold,
}

impl RuleArguments {
    /// The policy.
    pub fn policy(&self) -> Policy {
        match self.policy {
            PolicyName::Strict => Policy::Strict,
            PolicyName::Normal => Policy::Normal,
            PolicyName::Bold => Policy::Bold,
        }
    }

    /// The parameters.
    pub fn parameters(&self) -> Parameters {
        const SECOND: u64 = 1_000_000_000;
        Parameters {
            mode: if self.thesis { Mode::Thesis } else { Mode::Recovery },
            localization: self.ports,
            guess_interval_ns: SECOND.checked_div(self.guesses.into()).unwrap_or(0),
            ..Parameters::default()
        }
    }
}

fn localization(text: &str) -> Result<Localization, String> {
    match text {
        "exact" => Ok(Localization::Exact),
        "source-port" => Ok(Localization::SourcePort),
        _ => match text.parse() {
            Ok(bits @ 0..=32) => Ok(Localization::Bits(bits)),
            _ => Err("say exact, source-port, or a number of bits from 0 to 32".into()),
        },
    }
}
