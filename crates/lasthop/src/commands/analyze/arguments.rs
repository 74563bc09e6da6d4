//! The command line of `lasthop analyze`.

use clap::{Args, ValueEnum};
use link::units::Span;
use std::path::PathBuf;

/// `lasthop analyze`.
#[derive(Debug, Args)]
#[command(after_help = "\
Reads pcap and pcapng of Ethernet, raw IP, Linux cooked and loopback interfaces. Each interface of
a capture is analysed on its own: a capture of `lasthop link` has both ends of the link. Figures
that tcptrace has are defined as in tcptrace. Times of day are in UTC.

Duplicate acks stand in the column of the data that they acknowledge, as in `tcptrace -r`. They are
those of tshark's tcp.analysis.duplicate_ack: same number and window, no data, SYN or FIN, and no
answer to a keep-alive. RFC 5681 also asks for data on its way, which tshark and tcptrace do not.
An ACK with SACK and another window is none, but tells of a loss (RFC 6675) as it did to the sender.

Examples:
  lasthop analyze x.pcapng
  lasthop analyze --long --interface 1 x.pcapng
  lasthop analyze --json x.pcapng | jq '.directions[0].retransmissions'
  lasthop analyze --parquet connections.parquet *.pcapng
  lasthop analyze --xpl graphs --connection 1 x.pcapng
  lasthop analyze --senders runs/NAME/TIME-SEED/events/c000-r00-senders.parquet > senders.csv
  lasthop analyze --losses runs/NAME/TIME-SEED/events/c000-r00
  lasthop analyze --losses --receiver events/c000-r00-senders.parquet events/c000-r00.parquet
  lasthop analyze --losses --csv runs/NAME/TIME-SEED/events/*-senders.parquet > losses.csv
  lasthop analyze --spurious x.pcapng
  lasthop analyze --spurious sender.pcap receiver.pcap
  lasthop analyze --spurious --truth x.parquet x.pcapng
  lasthop analyze --spurious --csv --interface 1 x.pcapng > retransmissions.csv
  lasthop analyze --layers --html x.html x.pcapng
  lasthop analyze --layers --rlp call.rlp --clocks estimate --from 10s --to 60s sender.pcap receiver.pcap
  lasthop analyze --layers runs/NAME/TIME-SEED
  lasthop analyze --rlpdump x-link-layer.parquet > call.rlp
  lasthop analyze --rlpdump --end network x-link-layer.parquet | lasthop retracer blocks -
  ssh host tcpdump -U -w - tcp | lasthop analyze -")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct AnalyzeArguments {
    /// Captures; `-` is the standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The files are states of TCP senders (events/*-senders.parquet of a campaign): print them as
    /// CSV, a row for each segment that reached a sender
    #[arg(long, conflicts_with_all = ["long", "json", "parquet", "xpl", "connection", "interface"])]
    pub senders: bool,
    /// The files are runs (the stem of events/*-senders.parquet and events/*.parquet of a campaign,
    /// or the two tables): print the loss events of each TCP sender, and what it took them for
    /// beside what they were
    #[arg(long, group = "rows", conflicts_with_all = ["senders", "long", "parquet", "xpl", "connection", "interface"])]
    pub losses: bool,
    /// With --losses: the detectors of the literature at the receiver as well, replayed over the
    /// event log
    #[arg(long, requires = "losses", conflicts_with = "csv")]
    pub receiver: bool,
    /// Retransmissions that were not necessary: each one with its cause, whether the receiver had
    /// it already, and how that is known. Two interfaces of a capture, or two captures, show both
    /// ends of a connection, whatever their clocks
    #[arg(long, groups = ["rows", "sides"], conflicts_with_all = ["senders", "long", "parquet", "xpl"])]
    pub spurious: bool,
    /// TCP's ends and those of the link layer below on one time axis (MultiTracer): rates, what
    /// share of the time useful data was on the link, and what TCP waited for in the rest. Files
    /// are captures of one connection's ends; or directories of runs, for a line each. States,
    /// records and event log are found beside a capture of ours
    #[arg(long, group = "sides", conflicts_with_all = ["rows", "rlpdump", "senders", "long", "parquet"])]
    pub layers: bool,
    /// With --spurious or --layers: the event log of the emulated link, to compare every evidence
    /// with what became of each packet, or to see when the link was idle
    #[arg(long, value_name = "EVENTS", requires = "sides")]
    pub truth: Option<PathBuf>,
    /// With --spurious or --layers: the states of the senders (events/*-senders.parquet of a
    /// campaign), for causes and windows
    #[arg(long, value_name = "SENDERS", requires = "sides")]
    pub states: Option<PathBuf>,
    /// With --layers: an RLP trace as text, of one end; may be given for each. Its first frame is
    /// taken for the connection's SYN unless its header says when it began
    #[arg(long, value_name = "RLP", requires = "layers")]
    pub rlp: Vec<PathBuf>,
    /// With --layers: the records of a link layer (events/*-link-layer.parquet of a campaign)
    #[arg(long, value_name = "RECORDS", requires = "layers", conflicts_with = "rlp")]
    pub link_layer: Option<PathBuf>,
    /// With --layers: how the receiver's times are laid beside the sender's
    #[arg(long, value_enum, default_value_t, requires = "layers")]
    pub clocks: Clocks,
    /// With --layers: slopes and figure from this time on, such as 10s
    #[arg(long, value_name = "TIME", requires = "layers")]
    pub from: Option<Span>,
    /// With --layers: slopes and figure until this time
    #[arg(long, value_name = "TIME", requires = "layers")]
    pub to: Option<Span>,
    /// With --layers: draw it as SVG
    #[arg(long, value_name = "FILE", requires = "layers")]
    pub svg: Option<PathBuf>,
    /// With --layers: write a page that shows it in a browser, to zoom down to single packets
    #[arg(long, value_name = "FILE", requires = "layers")]
    pub html: Option<PathBuf>,
    /// The file is what link layers noted (events/*-link-layer.parquet of a campaign,
    /// NAME-link-layer.parquet beside the events of `lasthop link`): print one end of an RLP link
    /// as an RLP trace
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
    /// Everything known of each connection, as `tcptrace -l` prints it, and round-trip times and
    /// retransmissions besides
    #[arg(short, long, conflicts_with = "json")]
    pub long: bool,
    /// One JSON object a connection and line
    #[arg(long)]
    pub json: bool,
    /// Write a row for each direction of each connection as Parquet, and print nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["long", "json"])]
    pub parquet: Option<PathBuf>,
    /// Write time-sequence graphs for xplot (a2b_tsg.xpl, b2a_tsg.xpl, ...; with --layers
    /// layers.xpl) into a folder
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

/// What the receiver's clock is taken for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Clocks {
    /// Any: each end's time zero is the SYN there
    #[default]
    Syn,
    /// The sender's
    Common,
    /// Another one, whose offset and drift are estimated
    Estimate,
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
