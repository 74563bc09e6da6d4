//! The command line of `lasthop rto`.

use clap::{Args, Subcommand};
use link::units::{BitRate, Span};
use std::path::PathBuf;
use timers::{Settings, TimerAlgorithm};

/// Arguments of `lasthop rto`.
#[derive(Debug, Args)]
#[command(after_help = "\
Timers:
  lite        4.4BSD-Lite (Karn, Jacobson), without ticks or minimum
  lite-ticks  the same in ticks of 500 ms, at least two ticks
  rfc6298     the standard, at least 1 s
  linux       Linux: at least 200 ms above the smoothed round-trip time, variation per round trip
  eifel       the Eifel retransmission timer

Examples:
  lasthop rto model --load 40 --plot model.svg
  lasthop rto capture --interface 1 x.pcapng")]
pub struct RtoArguments {
    /// The source of round-trip times
    #[command(subcommand)]
    pub command: RtoCommand,
}

/// Subcommands of `lasthop rto`: `model` and `capture`.
#[derive(Debug, Subcommand)]
pub enum RtoCommand {
    /// Model a network-limited bulk transfer in steady state: the load grows by a segment per
    /// flight until it is halved
    Model(ModelArguments),
    /// Replay the round-trip times of TCP connections in a capture
    Capture(CaptureArguments),
}

/// Arguments of `lasthop rto model`.
#[derive(Debug, Args)]
#[command(mut_arg("kinds", |timers| timers.default_value("lite,eifel")))]
#[command(after_help = "\
Every segment is timed and acknowledged, the bottleneck is never idle, and congestion is signalled
without a loss. A flight of W segments therefore gives W acknowledgments, each with a round-trip
time of W service times.

Examples:
  lasthop rto model --load 40
  lasthop rto model --load 40 --timer lite,rfc6298,linux,eifel --plot timers.svg
  lasthop rto model --load 40 --service-time 6.25s --timer lite-ticks --csv > rows.csv
  lasthop rto model --load 16 --rate 9600bit --segment 512 --json")]
pub struct ModelArguments {
    /// Outstanding segments at the end of a cycle, in pipe and buffer together; an even number
    #[arg(long, value_name = "SEGMENTS", default_value_t = 40)]
    pub load: u32,
    /// Segments that fill the path without a queue; at most half of --load
    #[arg(long, value_name = "SEGMENTS", default_value_t = 1)]
    pub pipe: u32,
    /// Time that the bottleneck takes to send a segment [default: 1s]
    #[arg(long, value_name = "TIME")]
    pub service_time: Option<Span>,
    /// Rate of the bottleneck; replaces --service-time
    #[arg(long, value_name = "RATE", conflicts_with = "service_time", requires = "segment")]
    pub rate: Option<BitRate>,
    /// With --rate: size of a segment with its headers, in bytes
    #[arg(long, value_name = "BYTES", requires = "rate", value_parser = clap::value_parser!(u16).range(1..))]
    pub segment: Option<u16>,
    /// Number of cycles to simulate; the figures are those of the last cycle
    #[arg(long, default_value_t = 12)]
    pub cycles: u32,
    /// Let the receiver's window limit the transfer: the load stays constant
    #[arg(long)]
    pub receiver_limited: bool,
    /// Timers to compare, and their clock
    #[command(flatten)]
    pub timers: TimerArguments,
    /// Print CSV, a row for each acknowledgment of all cycles
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print the summary as one JSON object
    #[arg(long)]
    pub json: bool,
    /// Write a plot of the last two cycles, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Arguments of `lasthop rto capture`.
#[derive(Debug, Args)]
#[command(mut_arg("kinds", |timers| timers.default_value("lite,lite-ticks,rfc6298,linux,eifel")))]
#[command(after_help = "\
Round-trip times are those seen where the capture was taken, so choose the end that sends data.
Retransmitted segments give no sample (Karn). A timeout shorter than the next round-trip time counts
as spurious: the timer would have expired if it had run for just that long. Timers that each
acknowledgment restarts run longer, so for them the count is an upper bound.

With --model a cycle ends where the round-trip time falls by at least a quarter, from at least three
quarters of the maximum, or before a silence of half the maximum. The model's service time is the
median time between samples; its load is the maximum round-trip time of the cycle divided by the
service time.

Examples:
  lasthop rto capture --interface 1 x.pcapng
  lasthop rto capture --connection 3 --timer linux,eifel --plot timers.svg x.pcap
  lasthop rto capture --model --interface 1 --timer lite,eifel --plot overlay.svg x.pcapng
  lasthop rto capture --json x.pcap | jq '.timers[] | [.timer, .spurious]'")]
pub struct CaptureArguments {
    /// Capture to read; `-` is standard input
    pub file: PathBuf,
    /// Show only the connection with this number, counted from 1
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    pub connection: Option<u32>,
    /// Show only the interface with this name or number
    #[arg(long, value_name = "NAME|NUMBER")]
    pub interface: Option<String>,
    /// Timers to compare, and their clock
    #[command(flatten)]
    pub timers: TimerArguments,
    /// Overlay the model of a network-limited transfer on the last whole cycle
    #[arg(long, conflicts_with = "csv")]
    pub model: bool,
    /// Print CSV, a row for each round-trip time
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print one JSON object per direction, each on its own line
    #[arg(long)]
    pub json: bool,
    /// Write a plot of the direction with the most round-trip times, as SVG; with --model, of its
    /// last whole cycle
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Timers to compare, and their clock. Each command sets its own default for the timers.
#[derive(Debug, Args)]
pub struct TimerArguments {
    /// Timers to compare: lite, lite-ticks, rfc6298, linux, eifel
    #[arg(long = "timer", value_name = "LIST", value_delimiter = ',', value_parser = kind)]
    pub kinds: Vec<TimerAlgorithm>,
    /// Granularity of the clock [default: 500ms for lite-ticks, none for the others]
    #[arg(long, value_name = "TIME")]
    pub tick: Option<Span>,
}

/// Returns the settings of timers for a clock granularity.
pub fn settings(tick: Option<Span>) -> Settings {
    Settings { tick_s: tick.map(Span::as_secs_f64) }
}

fn kind(text: &str) -> Result<TimerAlgorithm, String> {
    TimerAlgorithm::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
        format!("`{text}` is not a timer: use {}", TimerAlgorithm::ALL.map(TimerAlgorithm::name).join(", "))
    })
}
