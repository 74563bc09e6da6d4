//! The command line of `lasthop trace`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `lasthop trace`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads pcap and pcapng of Ethernet, raw IP, Linux cooked and loopback interfaces. Each interface of
a capture is analysed on its own: a capture of `lasthop link` has both ends of the link. Figures
that tcptrace has are defined as in tcptrace. Times of day are in UTC.

Examples:
  lasthop trace x.pcapng
  lasthop trace --long --interface 1 x.pcapng
  lasthop trace --json x.pcapng | jq '.directions[0].retransmissions'
  lasthop trace --parquet connections.parquet *.pcapng
  lasthop trace --xpl graphs --connection 1 x.pcapng
  lasthop trace --senders runs/NAME/TIME-SEED/events/c000-r00-senders.parquet > senders.csv
  lasthop trace --losses runs/NAME/TIME-SEED/events/c000-r00
  lasthop trace --losses --receiver events/c000-r00-senders.parquet events/c000-r00.parquet
  lasthop trace --losses --csv runs/NAME/TIME-SEED/events/*-senders.parquet > losses.csv
  lasthop trace --spurious x.pcapng
  lasthop trace --spurious sender.pcap receiver.pcap
  lasthop trace --spurious --truth x.parquet x.pcapng
  lasthop trace --spurious --csv --interface 1 x.pcapng > retransmissions.csv
  lasthop trace --rlpdump x-link-layer.parquet > call.rlp
  lasthop trace --rlpdump --end network x-link-layer.parquet | lasthop retrace blocks -
  ssh host tcpdump -U -w - tcp | lasthop trace -")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct TraceArguments {
    /// Captures; `-` is the standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The files are states of TCP senders (events/*-senders.parquet of a campaign): print them as CSV, a row for each
    /// segment that reached a sender
    #[arg(long, conflicts_with_all = ["long", "json", "parquet", "xpl", "connection", "interface"])]
    pub senders: bool,
    /// The files are runs (the stem of events/*-senders.parquet and events/*.parquet of a campaign, or the two tables): print
    /// the loss events of each TCP sender, and what it took them for beside what they were
    #[arg(long, group = "rows", conflicts_with_all = ["senders", "long", "parquet", "xpl", "connection", "interface"])]
    pub losses: bool,
    /// With --losses: the detectors of the literature at the receiver as well, replayed over the event log
    #[arg(long, requires = "losses", conflicts_with = "csv")]
    pub receiver: bool,
    /// Retransmissions that were not necessary: each one with its cause, whether the receiver had it already, and how that is known.
    /// Two interfaces of a capture, or two captures, show both ends of a connection, whatever their clocks
    #[arg(long, group = "rows", conflicts_with_all = ["senders", "long", "parquet", "xpl"])]
    pub spurious: bool,
    /// With --spurious: the event log of the emulated link, to compare every evidence with what became of each packet
    #[arg(long, value_name = "EVENTS", requires = "spurious")]
    pub truth: Option<PathBuf>,
    /// With --spurious: the states of the senders (events/*-senders.parquet of a campaign), for causes and windows
    #[arg(long, value_name = "SENDERS", requires = "spurious")]
    pub states: Option<PathBuf>,
    /// The file is what link layers noted (events/*-link-layer.parquet of a campaign, NAME-link-layer.parquet beside the events of
    /// `lasthop link`): print one end of an RLP link as an RLP trace
    #[arg(long, conflicts_with_all = ["rows", "senders", "long", "json", "parquet", "xpl", "connection", "interface"])]
    pub rlpdump: bool,
    /// With --rlpdump: which end's
    #[arg(long, value_enum, default_value_t, requires = "rlpdump")]
    pub end: End,
    /// With --rlpdump: which link, by its name, where several have a link layer
    #[arg(long, value_name = "NAME", requires = "rlpdump")]
    pub link: Option<String>,
    /// With --losses or --spurious: a row for each loss event or retransmission as CSV
    #[arg(long, requires = "rows", conflicts_with = "json")]
    pub csv: bool,
    /// Everything known of each connection, as `tcptrace -l` prints it, and round-trip times and retransmissions besides
    #[arg(short, long, conflicts_with = "json")]
    pub long: bool,
    /// One JSON object a connection and line
    #[arg(long)]
    pub json: bool,
    /// Write a row for each direction of each connection as Parquet, and print nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["long", "json"])]
    pub parquet: Option<PathBuf>,
    /// Write time-sequence graphs for xplot (a2b_tsg.xpl, b2a_tsg.xpl, ...) into a folder
    #[arg(long, value_name = "DIR")]
    pub xpl: Option<PathBuf>,
    /// Only the connection with this number, counted from 1
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub connection: Option<u32>,
    /// Only the interface with this name or number
    #[arg(long, value_name = "NAME|NUMBER")]
    pub interface: Option<String>,
    /// Tell of silences of a connection that last longer, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    pub silence: f64,
}

/// An end of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum End {
    /// The wireless host, where rlpdump ran
    #[default]
    Mobile,
    /// The other one
    Network,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("seconds are a number, 0 at least, such as 0.5".to_owned()),
    }
}
