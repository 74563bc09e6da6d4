//! Arguments of `lasthop tcp-lite`.

use clap::{Args, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use tcp_lite::{Localization, Mode, Parameters, Policy};

/// Arguments of `lasthop tcp-lite`.
#[derive(Debug, Args)]
#[command(after_help = "\
TCP drops a segment with a wrong checksum, and the sender slows down as after congestion. TCP Lite
acknowledges and delivers it, damage included, to programs that ask for such segments (socket option
TCP_LITE, see tcp_lite(7)), or to any program under `lasthop tcp-lite run`.

The link layer must pass damaged frames up. Ordinary Wi-Fi and Ethernet hardware drops them;
`lasthop tcp-lite status` counts the damaged segments that arrive.

Examples:
  lasthop tcp-lite run -- curl -O http://198.51.100.1/picture.jpg
  lasthop link --down rate=2mbit,ber=1e-5,damage=flip -- lasthop tcp-lite run -- curl -O http://host.lasthop:8000/song.pcm
  lasthop tcp-lite attach --interface wlan0 --cgroup /sys/fs/cgroup/system.slice/player.service
  lasthop tcp-lite status")]
pub struct TcpLiteArguments {
    /// The subcommand to run
    #[command(subcommand)]
    pub verb: TcpLiteVerb,
}

/// Subcommands of `lasthop tcp-lite`.
#[derive(Debug, Subcommand)]
pub enum TcpLiteVerb {
    /// Run a program whose connections all accept damaged segments, or, with --on-request, only
    /// those that ask for them
    Run(RunArguments),
    /// Let programs of a control group ask for damaged segments, until detached
    Attach(AttachArguments),
    /// Show the attachments and what happened to damaged segments
    #[command(after_help = "Exit status: 0, or 1 if nothing is attached.")]
    Status {
        /// Print one JSON object per attachment
        #[arg(long)]
        json: bool,
    },
    /// Remove an attachment
    Detach {
        /// Name of the attachment
        #[arg(default_value = DEFAULT_NAME)]
        name: String,
    },
}

/// Default name of an attachment.
pub const DEFAULT_NAME: &str = "lite";

/// Arguments of `lasthop tcp-lite run`.
#[derive(Debug, Args)]
#[command(after_help = "\
A summary at the end shows what happened to damaged segments.

The exit status is the program's. It is 125 if lasthop itself fails, 126 if the program cannot be
executed and 127 if it is not found.

Examples:
  lasthop tcp-lite run -- curl -O http://198.51.100.1/picture.jpg
  lasthop tcp-lite run --policy strict --interface wlan0 -- ffplay http://198.51.100.1/live.ts
  lasthop tcp-lite run --thesis -- iperf3 -s
  lasthop tcp-lite run --on-request -- lite-receive http://198.51.100.1/picture.jpg --out picture.jpg")]
pub struct RunArguments {
    /// Interface whose packets are checked (repeatable) [default: all interfaces that are up,
    /// except loopback]
    #[arg(long, short, value_name = "NAME")]
    pub interface: Vec<String>,
    /// Let the program ask for damaged segments itself with socket option TCP_LITE; until then no
    /// connection accepts any
    // The program then also chooses the policy (TCP_LITE_POLICY).
    #[arg(long, conflicts_with = "policy")]
    pub on_request: bool,
    /// Rule by which damaged segments are accepted
    #[command(flatten)]
    pub rule: RuleArguments,
    /// Print no summary at the end
    #[arg(long, short)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Arguments of `lasthop tcp-lite attach`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lasthop tcp-lite attach --interface wlan0 --cgroup /sys/fs/cgroup/system.slice/player.service
  lasthop tcp-lite attach --interface ppp0 --cgroup /sys/fs/cgroup/user.slice --every-connection --policy strict
  lasthop tcp-lite detach")]
pub struct AttachArguments {
    /// Interface whose packets are checked (repeatable)
    #[arg(long, short, value_name = "NAME", required = true)]
    pub interface: Vec<String>,
    /// Control group (v2) of the programs that may ask, including the groups below it
    #[arg(long, value_name = "DIRECTORY")]
    pub cgroup: PathBuf,
    /// Accept damage on all connections of the control group, without being asked
    #[arg(long)]
    pub every_connection: bool,
    /// Rule by which damaged segments are accepted
    #[command(flatten)]
    pub rule: RuleArguments,
    /// Name of this attachment, for `lasthop tcp-lite detach`
    #[arg(long, default_value = DEFAULT_NAME)]
    pub name: String,
}

/// Rule by which damaged segments are accepted.
#[derive(Debug, Clone, Args)]
pub struct RuleArguments {
    /// Trust headers, as the original TCP Lite did: for links that damage only payloads
    #[arg(long, conflicts_with_all = ["policy", "ports", "guesses"])]
    pub thesis: bool,
    /// How much risk to take to use a damaged segment
    #[arg(long, value_enum, default_value = "normal")]
    pub policy: PolicyName,
    /// How to find the connection of a segment with damaged ports: exact (do not try), source-port
    /// (ignore that port), or the number of bits that may be wrong
    #[arg(long, value_name = "exact|source-port|BITS", default_value = "4", value_parser = localization)]
    pub ports: Localization,
    /// Maximum guesses (repairs that no checksum confirms) per connection and second; 0 for no
    /// limit
    #[arg(long, value_name = "NUMBER", default_value_t = 1000)]
    pub guesses: u32,
}

/// Acceptance policies by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PolicyName {
    /// Correct ports, and the next bytes of the stream
    Strict,
    /// Also repaired ports, and segments after a hole
    Normal,
    /// Also sequence numbers with up to two wrong bits
    Bold,
}

impl RuleArguments {
    /// Returns the policy.
    pub fn policy(&self) -> Policy {
        match self.policy {
            PolicyName::Strict => Policy::Strict,
            PolicyName::Normal => Policy::Normal,
            PolicyName::Bold => Policy::Bold,
        }
    }

    /// Returns the parameters.
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
            _ => Err("expected exact, source-port, or a number of bits from 0 to 32".into()),
        },
    }
}
