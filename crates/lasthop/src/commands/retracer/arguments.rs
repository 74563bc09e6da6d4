//! The command line of `lasthop retracer`.

use clap::{Args, Subcommand};
use link::units::{ByteCount, Probability, Span};
use retracer::Start;
use retracer::synthetic::Law;
use std::path::PathBuf;

/// Maximum size of a frame in blocks: 20 minutes of GSM-CSD.
const MOST: u32 = 65_535;

/// Arguments of `lasthop retracer`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A TRACE states for each block of a channel with forward error correction whether it was erased: as
digits 0 and 1, with or without a header (docs/retracer.md), or as a trace of the radio link
protocol. The replay sends frames of 1, 2, 3, ... blocks, and sends a frame again if one of its
blocks is erased. After its end the trace starts again. For comparison it sends packets without
recovery by the link. Results are a best case: no window, timeout or congestion control ever stops
the sender.

Examples:
  lasthop retracer make A > A.blocks
  lasthop retracer --even A.blocks
  lasthop retracer --frames 1-60 --plot frames.svg A.blocks B.blocks C.blocks
  lasthop retracer --json A.blocks | jq .best.blocks
  lasthop retracer --concatenate monday.blocks tuesday.blocks
  lasthop fit A.blocks"
)]
pub struct RetracerArguments {
    /// Make traces
    #[command(subcommand)]
    pub making: Option<Making>,
    /// Replay them
    #[command(flatten)]
    pub replay: ReplayArguments,
}

/// The traces to replay, and the parameters of the replay.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ReplayArguments {
    /// Block erasure traces or RLP traces; `-` is standard input
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Frame sizes to try, in blocks
    #[arg(long, value_name = "LIST", default_value = "1-30", value_parser = frames)]
    pub frames: Frames,
    /// Bytes of each frame that carry no data: header, checksum, status
    #[arg(long, value_name = "BYTES", default_value_t = 6)]
    pub overhead: u64,
    /// Bytes to transfer: user data of the link, or of TCP where TCP recovers [default: as many as
    /// fit into all blocks]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<ByteCount>,
    /// Block at which the transfer starts, from 0; or `all` for the mean over every start
    #[arg(long, value_name = "BLOCK|all", default_value = "0", value_parser = start)]
    pub start: Start,
    /// Packet sizes where TCP recovers alone, in bytes
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "296,576,1500",
          value_parser = clap::value_parser!(u16).range(28..))]
    pub mtu: Vec<u16>,
    /// Bytes of TCP and IP headers: 40, or 52 with timestamps
    #[arg(long, value_name = "BYTES", default_value_t = 40)]
    pub headers: u16,
    /// Duration of a block [default: the trace's, or 20ms]
    #[arg(long, value_name = "TIME")]
    pub block: Option<Span>,
    /// Replay only traces whose header states a signal strength in this range: bars of the display,
    /// 1 to 5
    #[arg(long, value_name = "BARS[-BARS]", value_parser = bars)]
    pub signal: Option<Bars>,
    /// Join all traces into one, in this order
    #[arg(long)]
    pub concatenate: bool,
    /// Also replay each trace with as many erasures at even distances, to show the effect of bursts
    #[arg(long)]
    pub even: bool,
    /// Print one JSON object per trace, each on its own line
    #[arg(long)]
    pub json: bool,
    /// Print CSV, a row for each size of frames and packets
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Write a plot of throughput over frame size, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// Minimum and maximum number of bars on a telephone's display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bars(pub u8, pub u8);

/// Numbers of blocks, in ascending order, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames(pub Vec<u32>);

/// Subcommands of `lasthop retracer`: `make`, `even` and `blocks`.
#[derive(Debug, Subcommand)]
pub enum Making {
    /// Make a synthetic block erasure trace
    Make(MakeArguments),
    /// Make a trace with as many erasures as another trace, at even distances
    Even(EvenArguments),
    /// Make a block erasure trace from a bit error trace or an RLP trace
    Blocks(BlocksArguments),
}

/// Arguments of `lasthop retracer make`.
#[derive(Debug, Args)]
#[command(after_help = "\
The sets replace those of Ludwig's dissertation, which are not public: A stationary with good signal
(258 min), B stationary with poor signal (215 min), C in a car (44 min), D and E mostly stationary
with good and poor signal (4 h and 2 h), over which transfers were measured. Durations and places
are from the dissertation; the share of erased blocks and their clustering are assumptions. The
header of every trace states that it is synthetic and how it was made.

Examples:
  lasthop retracer make A -o A.blocks
  lasthop retracer make B --law markov --seed 7 > B-markov.blocks
  lasthop retracer make --duration 1h --bler 2% --burst 100 > bursts.blocks")]
pub struct MakeArguments {
    /// Trace set to imitate
    #[arg(value_name = "A|B|C|D|E", ignore_case = true, value_parser = ["A", "B", "C", "D", "E"],
          required_unless_present_all = ["duration", "bler", "burst"])]
    pub set: Option<String>,
    /// Duration of the trace, in whole blocks of 20 ms [default: the set's]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Mean share of erased blocks [default: the set's]
    #[arg(long, value_name = "SHARE")]
    pub bler: Option<Probability>,
    /// Mean length of a burst of erased blocks, in blocks [default: the set's]
    #[arg(long, value_name = "BLOCKS")]
    pub burst: Option<f64>,
    /// Distribution of the lengths of good and bad runs: heavy-tailed, or geometric (a two-state
    /// Markov chain)
    #[arg(long, value_name = "heavy-tailed|markov", default_value = "heavy-tailed", value_parser = law)]
    pub law: Law,
    /// Random seed; the same seed makes the same trace
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `lasthop retracer even`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lasthop retracer even A.blocks > A-even.blocks")]
pub struct EvenArguments {
    /// Trace to read
    pub trace: PathBuf,
    /// Duration of a block [default: the trace's, or 20ms]
    #[arg(long, value_name = "TIME")]
    pub block: Option<Span>,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Arguments of `lasthop retracer blocks`.
#[derive(Debug, Args)]
#[command(after_help = "\
A bit error trace is divided into blocks of --bits bits. A block is erased if more than --correct of
its bits are wrong, as with a block code. An RLP trace gives a block for each ERAS and OK record of
the receiver.

Examples:
  lasthop retracer blocks call.rlp > call.blocks
  lasthop retracer blocks --bits 456 --correct 20 drive.bits > drive.blocks")]
pub struct BlocksArguments {
    /// Trace to read
    pub trace: PathBuf,
    /// Number of bits in a block
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub bits: Option<u64>,
    /// Number of wrong bits that a block's code corrects
    #[arg(long, default_value_t = 0, requires = "bits")]
    pub correct: u64,
    /// Duration of a block, if the trace does not state it
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    pub block: Span,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

fn bars(text: &str) -> Result<Bars, String> {
    let number = |text: &str| text.parse::<u8>().ok().filter(|bars| (1..=5).contains(bars));
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (number(least), number(most)) {
        (Some(least), Some(most)) if least <= most => Ok(Bars(least, most)),
        _ => Err("expected bars of the display, from 1 (poor) to 5, such as 3 or 1-2".to_owned()),
    }
}

fn frames(text: &str) -> Result<Frames, String> {
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| (1..=MOST).contains(number));
    let mut all = Vec::new();
    for part in text.split(',') {
        let range = match part.split_once('-') {
            Some((first, last)) => number(first).zip(number(last)),
            None => number(part).map(|number| (number, number)),
        };
        let (first, last) = range.filter(|(first, last)| first <= last).ok_or_else(|| {
            format!(
                "`{part}` is not a frame size: use numbers of blocks from 1 to {MOST}, such as 1-30 or 1,2,4"
            )
        })?;
        all.extend(first..=last);
    }
    all.sort_unstable();
    all.dedup();
    Ok(Frames(all))
}

fn start(text: &str) -> Result<Start, String> {
    if text == "all" {
        return Ok(Start::Every);
    }
    text.parse().map(Start::Block).map_err(|_| "expected the number of a block, from 0, or all".to_owned())
}

fn law(text: &str) -> Result<Law, String> {
    [Law::HeavyTailed, Law::Markov]
        .into_iter()
        .find(|law| law.name() == text)
        .ok_or_else(|| "expected heavy-tailed or markov".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_frames() {
        assert_eq!(frames("4,1-3,2"), Ok(Frames(vec![1, 2, 3, 4])));
        for wrong in ["", "0", "1-", "5-3", "1-65536", "x"] {
            assert!(frames(wrong).is_err(), "{wrong}");
        }
        assert_eq!((start("all"), start("7")), (Ok(Start::Every), Ok(Start::Block(7))));
        assert!(start("-1").is_err() && law("pareto").is_err());
    }
}
