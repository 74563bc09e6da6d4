//! The command line of `lasthop rto`.

use clap::{Args, Subcommand};
use link::units::{BitRate, Span};
use std::path::PathBuf;
use timers::{Kind, Settings};

/// `lasthop rto`.
#[derive(Debug, Args)]
#[command(after_help = "\
Timers:
  lite        4.4BSD-Lite (Karn, Jacobson), without ticks and minimum
  lite-ticks  the same in ticks of 500 ms, two of them at least
  rfc6298     the standard, one second at least
  linux       Linux: 200 ms at least above the smoothed round-trip time, variation by round trips
  eifel       the Eifel retransmission timer

Examples:
  lasthop rto model --load 40 --plot model.svg
  lasthop rto capture --interface 1 x.pcapng")]
pub struct RtoArguments {
    /// Where round-trip times come from
    #[command(subcommand)]
    pub command: RtoCommand,
}

/// `lasthop rto model|capture`.
#[derive(Debug, Subcommand)]
pub enum RtoCommand {
    /// A network-limited bulk transfer in steady state: the load grows by a segment each flight,
    /// and is halved
    Model(ModelArguments),
    /// The round-trip times of TCP connections in a capture
    Capture(CaptureArguments),
}

/// `lasthop rto model`.
#[derive(Debug, Args)]
#[command(mut_arg("kinds", |timers| timers.default_value("lite,eifel")))]
#[command(after_help = "\
Every segment is timed and acknowledged, the bottleneck is never idle, and congestion is signalled
without a loss. So a flight of W segments is W acknowledgments, each with a round-trip time of W
service times.

Examples:
  lasthop rto model --load 40
  lasthop rto model --load 40 --timer lite,rfc6298,linux,eifel --plot timers.svg
  lasthop rto model --load 40 --service-time 6.25s --timer lite-ticks --csv > rows.csv
  lasthop rto model --load 16 --rate 9600bit --segment 512 --json")]
pub struct ModelArguments {
    /// Segments outstanding at the end of a cycle, pipe and buffer together; even
    #[arg(long, value_name = "SEGMENTS", default_value_t = 40)]
    pub load: u32,
    /// Segments that fill the path without a queue; refused if half the load is less
    #[arg(long, value_name = "SEGMENTS", default_value_t = 1)]
    pub pipe: u32,
    /// Time that the bottleneck needs for a segment [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub service_time: Option<Span>,
    /// Rate of the bottleneck, instead of --service-time
    #[arg(long, value_name = "RATE", conflicts_with = "service_time", requires = "segment")]
    pub rate: Option<BitRate>,
    /// Bytes of a segment with its headers, with --rate
    #[arg(long, value_name = "BYTES", requires = "rate", value_parser = clap::value_parser!(u16).range(1..))]
    pub segment: Option<u16>,
    /// Cycles to go through; figures are those of the last one
    #[arg(long, default_value_t = 12)]
    pub cycles: u32,
    /// The receiver's window limits the transfer: the load stays as it is
    #[arg(long)]
    pub receiver_limited: bool,
    /// Which timers
    #[command(flatten)]
    pub timers: TimerArguments,
    /// A row for each acknowledgment, all cycles, as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// The summary as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Draw the last two cycles, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// `lasthop rto capture`.
#[derive(Debug, Args)]
#[command(mut_arg("kinds", |timers| timers.default_value("lite,lite-ticks,rfc6298,linux,eifel")))]
#[command(after_help = "\
A round-trip time is measured where a capture was taken: take the end that sends data. Segments
that were sent more than once give none (Karn). A timeout below the next round-trip time would
have expired spuriously, had the timer run for just that long; timers that each acknowledgment
starts again run longer, so it is an upper bound for them.

With --model a cycle ends where round-trip times fall by a quarter or more from three quarters of
the greatest or more, or before a silence of half of that. The time that the model's segments take is the median time from a sample to
the next; the load is what the greatest round-trip time of the cycle holds of it.

Examples:
  lasthop rto capture --interface 1 x.pcapng
  lasthop rto capture --connection 3 --timer linux,eifel --plot timers.svg x.pcap
  lasthop rto capture --model --interface 1 --timer lite,eifel --plot overlay.svg x.pcapng
  lasthop rto capture --json x.pcap | jq '.timers[] | [.timer, .spurious]'")]
pub struct CaptureArguments {
    /// The capture; `-` is the standard input
    pub file: PathBuf,
    /// Only the connection with this number, counted from 1
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub connection: Option<u32>,
    /// Only the interface with this name or number
    #[arg(long, value_name = "NAME|NUMBER")]
    pub interface: Option<String>,
    /// Which timers
    #[command(flatten)]
    pub timers: TimerArguments,
    /// Lay the model of a network-limited transfer over the last whole cycle
    #[arg(long, conflicts_with = "csv")]
    pub model: bool,
    /// A row for each round-trip time as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// One JSON object a direction and line
    #[arg(long)]
    pub json: bool,
    /// Draw the direction with the most round-trip times, as SVG; with --model that cycle
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Which timers, and their clock; each command has a default of its own for which.
#[derive(Debug, Args)]
pub struct TimerArguments {
    /// Timers: lite, lite-ticks, rfc6298, linux, eifel
    #[arg(long = "timer", value_name = "LIST", value_delimiter = ',', value_parser = kind)]
    pub kinds: Vec<Kind>,
    /// Granularity of the clock [default: 500ms for lite-ticks, none for the others]
    #[arg(long, value_name = "TIME")]
    pub tick: Option<Span>,
}

/// What a granularity sets of timers.
pub fn settings(tick: Option<Span>) -> Settings {
    Settings { tick_s: tick.map(Span::as_secs_f64) }
}

fn kind(text: &str) -> Result<Kind, String> {
    Kind::ALL
        .into_iter()
        .find(|kind| kind.name() == text)
        .ok_or_else(|| format!("no timer of this name: {}", Kind::ALL.map(Kind::name).join(", ")))
}
