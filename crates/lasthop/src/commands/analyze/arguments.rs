//! The command line of `lasthop analyze`.

use clap::{Args, ValueEnum};
use link::units::Span;
use std::path::PathBuf;

/// Arguments of `lasthop analyze`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE is pcap or pcapng of Ethernet, raw IP, Linux cooked or loopback interfaces. Each interface of a
capture is analysed separately: a capture of `lasthop link` has both ends of the link. Statistics
that tcptrace also prints are defined as in tcptrace. Times of day are in UTC.

Duplicate ACKs are in the column of the data that they acknowledge, as in `tcptrace -r`. They are
defined as tshark's tcp.analysis.duplicate_ack: same number and window; no data, SYN or FIN; not an
answer to a keep-alive. RFC 5681 also requires outstanding data, tshark and tcptrace do not. An ACK
with SACK and a different window is not a duplicate, but indicates a loss (RFC 6675), as it did to
the sender.

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
  lasthop analyze --points runs/NAME/TIME-SEED/captures/c000-r00.pcapng
  lasthop analyze --layers --html x.html x.pcapng
  lasthop analyze --layers --rlp call.rlp --clocks estimate --from 10s --to 60s sender.pcap receiver.pcap
  lasthop analyze --layers runs/NAME/TIME-SEED
  lasthop analyze --rlpdump x-link-layer.parquet > call.rlp
  lasthop analyze --rlpdump --end network x-link-layer.parquet | lasthop retracer blocks -
  ssh host tcpdump -U -w - tcp | lasthop analyze -")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct AnalyzeArguments {
    /// Captures to analyse; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Print states of TCP senders (events/*-senders.parquet of a campaign) as CSV, a row for each
    /// segment that reached a sender
    #[arg(long, conflicts_with_all = ["long", "json", "parquet", "xpl", "connection", "interface"])]
    pub senders: bool,
    /// Print the loss events of each TCP sender in runs of a campaign: how it classified each loss,
    /// and the true cause. FILEs are stems of events/*-senders.parquet and events/*.parquet, or the
    /// tables themselves
    #[arg(long, group = "rows", conflicts_with_all = ["senders", "long", "parquet", "xpl", "connection", "interface"])]
    pub losses: bool,
    /// With --losses: also replay published receiver-side detectors over the event log
    #[arg(long, requires = "losses", conflicts_with = "csv")]
    pub receiver: bool,
    /// Print unnecessary retransmissions: each with its cause, whether the receiver already had the
    /// data, and the evidence. Two interfaces of a capture, or two captures, show both ends of a
    /// connection, whatever their clocks
    #[arg(long, groups = ["rows", "sides"], conflicts_with_all = ["senders", "long", "parquet", "xpl"])]
    pub spurious: bool,
    /// Count packets, bytes, retransmissions and spurious retransmissions of each flow at each
    /// interface. A capture of a run has both ends of every link
    #[arg(long, conflicts_with_all = ["rows", "sides", "senders", "long", "parquet", "xpl", "connection", "interface"])]
    pub points: bool,
    /// Show TCP and the link layer below it on one time axis (MultiTracer): rates, the share of
    /// time with useful data on the link, and what TCP waited for in the rest. FILEs are captures
    /// of one connection's ends, or directories of runs, which print one line each. States, records
    /// and event log beside a capture of lasthop are found automatically
    #[arg(long, group = "sides", conflicts_with_all = ["rows", "rlpdump", "senders", "long", "parquet"])]
    pub layers: bool,
    /// With --spurious or --layers: event log of the emulated link, to check the evidence against
    /// the fate of each packet, or to see when the link was idle
    #[arg(long, value_name = "EVENTS", requires = "sides")]
    pub truth: Option<PathBuf>,
    /// With --spurious or --layers: states of the senders (events/*-senders.parquet of a campaign),
    /// for causes and windows
    #[arg(long, value_name = "SENDERS", requires = "sides")]
    pub states: Option<PathBuf>,
    /// With --layers: RLP trace of one end, as text (repeatable, once per end). Its first frame
    /// counts as the connection's SYN unless its header states its start time
    #[arg(long, value_name = "RLP", requires = "layers")]
    pub rlp: Vec<PathBuf>,
    /// With --layers: records of the link layer (events/*-link-layer.parquet of a campaign)
    #[arg(long, value_name = "RECORDS", requires = "layers", conflicts_with = "rlp")]
    pub link_layer: Option<PathBuf>,
    /// With --layers: how to align the receiver's times with the sender's
    #[arg(long, value_enum, default_value_t, requires = "layers")]
    pub clocks: Clocks,
    /// With --layers: start of slopes and figure, such as 10s [default: the start]
    #[arg(long, value_name = "TIME", requires = "layers")]
    pub from: Option<Span>,
    /// With --layers: end of slopes and figure [default: the end]
    #[arg(long, value_name = "TIME", requires = "layers")]
    pub to: Option<Span>,
    /// With --layers: write the figure as SVG
    #[arg(long, value_name = "FILE", requires = "layers")]
    pub svg: Option<PathBuf>,
    /// With --layers: write the figure as an HTML page, which zooms down to single packets
    #[arg(long, value_name = "FILE", requires = "layers")]
    pub html: Option<PathBuf>,
    /// Print one end of an RLP link as an RLP trace; FILE is the records of link layers
    /// (events/*-link-layer.parquet of a campaign, or NAME-link-layer.parquet beside the events of
    /// `lasthop link`)
    #[arg(long, conflicts_with_all = ["rows", "points", "senders", "long", "json", "parquet", "xpl", "connection", "interface"])]
    pub rlpdump: bool,
    /// With --rlpdump: end of the link to print
    #[arg(long, value_enum, default_value_t, requires = "rlpdump")]
    pub end: End,
    /// With --rlpdump: name of the link, if several have a link layer
    #[arg(long, value_name = "NAME", requires = "rlpdump")]
    pub link: Option<String>,
    /// With --losses or --spurious: print CSV, a row for each loss event or retransmission
    #[arg(long, requires = "rows", conflicts_with = "json")]
    pub csv: bool,
    /// Print full statistics of each connection, as `tcptrace -l` does, plus round-trip times and
    /// retransmissions
    #[arg(short, long, conflicts_with = "json")]
    pub long: bool,
    /// Print one JSON object per connection, each on its own line
    #[arg(long)]
    pub json: bool,
    /// Write Parquet, a row for each direction of each connection, and print nothing
    #[arg(long, value_name = "FILE", conflicts_with_all = ["long", "json"])]
    pub parquet: Option<PathBuf>,
    /// Write time-sequence graphs for xplot to this directory (a2b_tsg.xpl, b2a_tsg.xpl, ...; with
    /// --layers layers.xpl)
    #[arg(long, value_name = "DIR")]
    pub xpl: Option<PathBuf>,
    /// Show only the connection with this number, counted from 1
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub connection: Option<u32>,
    /// Show only the interface with this name or number
    #[arg(long, value_name = "NAME|NUMBER")]
    pub interface: Option<String>,
    /// Report silences of a connection longer than this, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, value_parser = seconds)]
    pub silence: f64,
}

/// How the receiver's clock relates to the sender's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Clocks {
    /// Unrelated clocks: each end's time zero is its SYN
    #[default]
    Syn,
    /// The same clock as the sender
    Common,
    /// A different clock, whose offset and drift are estimated
    Estimate,
}

/// An end of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum End {
    /// The wireless host, where rlpdump ran
    #[default]
    Mobile,
    /// The other end
    Network,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds >= 0.0 && seconds.is_finite() => Ok(seconds),
        _ => Err("expected a number of seconds, at least 0, such as 0.5".to_owned()),
    }
}
