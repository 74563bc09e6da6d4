//! The command line of `lasthop retracer`.

use clap::{Args, Subcommand};
use link::units::{ByteCount, Probability, Span};
use retracer::Start;
use retracer::synthetic::Law;
use std::path::PathBuf;

/// Most blocks of a frame that can be asked for: 20 minutes of GSM-CSD.
const MOST: u32 = 65_535;

/// `lasthop retracer`.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
A TRACE says of each block of a channel with forward error correction whether it was erased:
digits 0 and 1, with a header or without (docs/retracer.md), or a trace of the radio link protocol.
Frames of 1, 2, 3, ... such blocks are sent over it, and sent again where a block of theirs is
erased; behind its end the trace begins again. Beside that: packets without recovery by the link.
It is a best case: no window, no timeout, no congestion control ever stops the sender.

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

/// What is replayed, and how.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct ReplayArguments {
    /// Block erasure traces, or RLP traces; `-` is the standard input
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Sizes of frames to try, in blocks
    #[arg(long, value_name = "LIST", default_value = "1-30", value_parser = frames)]
    pub frames: Frames,
    /// Octets of each frame that carry no data: header, check sum, status
    #[arg(long, value_name = "OCTETS", default_value_t = 6)]
    pub overhead: u64,
    /// What is transferred: user data of the link, or of TCP where recovery is TCP's [default: as
    /// many octets as fit into all blocks]
    #[arg(long, value_name = "BYTES")]
    pub size: Option<ByteCount>,
    /// Block that the transfer starts at, from 0; or `all` for the mean over every block as the
    /// start
    #[arg(long, value_name = "BLOCK|all", default_value = "0", value_parser = start)]
    pub start: Start,
    /// Sizes of packets where TCP recovers alone
    #[arg(long, value_name = "BYTES", value_delimiter = ',', default_value = "296,576,1500",
          value_parser = clap::value_parser!(u16).range(28..))]
    pub mtu: Vec<u16>,
    /// Octets of TCP's and IP's headers: 40, or 52 with time stamps
    #[arg(long, value_name = "OCTETS", default_value_t = 40)]
    pub headers: u16,
    /// How long a block is [default: what the trace says, or 20ms]
    #[arg(long, value_name = "TIME")]
    pub block: Option<Span>,
    /// Only traces whose header says a signal strength within this: bars of the display, 1 to 5
    #[arg(long, value_name = "BARS[-BARS]", value_parser = bars)]
    pub signal: Option<Bars>,
    /// All traces are one, in this order
    #[arg(long)]
    pub concatenate: bool,
    /// Beside each trace: as many erasures at even distances, which is what shows the worth of
    /// bursts
    #[arg(long)]
    pub even: bool,
    /// One JSON object a trace and line
    #[arg(long)]
    pub json: bool,
    /// A row for each size of frames and packets as CSV
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Draw throughput over the size of frames, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

/// The least and the most bars of a telephone's display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bars(pub u8, pub u8);

/// Numbers of blocks, in order, each once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frames(pub Vec<u32>);

/// `lasthop retracer make|even|blocks`.
#[derive(Debug, Subcommand)]
pub enum Making {
    /// Make a synthetic block erasure trace
    Make(MakeArguments),
    /// Make a trace with as many erasures as another one has, at even distances
    Even(EvenArguments),
    /// Make a block erasure trace of a bit error trace or a trace of the radio link protocol
    Blocks(BlocksArguments),
}

/// `lasthop retracer make`.
#[derive(Debug, Args)]
#[command(after_help = "\
The sets stand in for those of Ludwig's dissertation, which are not public: A stationary with good
signal (258 min), B stationary with poor signal (215 min), C in a car (44 min), D and E mostly
stationary with good and poor signal (4 h and 2 h), over which transfers were measured. How long
and where is his; how many blocks are erased, and how they cluster, is an assumption. Every trace
says in its header that it is synthetic, and how it was made.

Examples:
  lasthop retracer make A -o A.blocks
  lasthop retracer make B --law markov --seed 7 > B-markov.blocks
  lasthop retracer make --duration 1h --bler 2% --burst 100 > bursts.blocks")]
pub struct MakeArguments {
    /// Which set it shall stand in for
    #[arg(value_name = "A|B|C|D|E", ignore_case = true, value_parser = ["A", "B", "C", "D", "E"],
          required_unless_present_all = ["duration", "bler", "burst"])]
    pub set: Option<String>,
    /// How long it lasts, in blocks of 20 ms [default: the set's]
    #[arg(long, value_name = "TIME")]
    pub duration: Option<Span>,
    /// Share of blocks that are erased, on average [default: the set's]
    #[arg(long, value_name = "SHARE")]
    pub bler: Option<Probability>,
    /// Erased blocks in a row, on average [default: the set's]
    #[arg(long, value_name = "BLOCKS")]
    pub burst: Option<f64>,
    /// How the lengths of good and bad runs are distributed: heavy-tailed, or geometric (a
    /// two-state Markov chain)
    #[arg(long, value_name = "heavy-tailed|markov", default_value = "heavy-tailed", value_parser = law)]
    pub law: Law,
    /// Seed: the same one makes the same trace
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where to write it [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `lasthop retracer even`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lasthop retracer even A.blocks > A-even.blocks")]
pub struct EvenArguments {
    /// The other trace
    pub trace: PathBuf,
    /// How long a block is [default: what the trace says, or 20ms]
    #[arg(long, value_name = "TIME")]
    pub block: Option<Span>,
    /// Where to write it [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// `lasthop retracer blocks`.
#[derive(Debug, Args)]
#[command(after_help = "\
Of a bit error trace, blocks of --bits bits each are made; one is erased if more of its bits are
wrong than --correct, which is what a block code would do. Of an RLP trace, a block is made of
each record ERAS and OK of the receiver.

Examples:
  lasthop retracer blocks call.rlp > call.blocks
  lasthop retracer blocks --bits 456 --correct 20 drive.bits > drive.blocks")]
pub struct BlocksArguments {
    /// The other trace
    pub trace: PathBuf,
    /// Bits of a block
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    pub bits: Option<u64>,
    /// Wrong bits of a block that are repaired
    #[arg(long, default_value_t = 0, requires = "bits")]
    pub correct: u64,
    /// How long a block is, where the trace does not say
    #[arg(long, value_name = "TIME", default_value = "20ms")]
    pub block: Span,
    /// Where to write it [default: the standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

fn bars(text: &str) -> Result<Bars, String> {
    let number = |text: &str| text.parse::<u8>().ok().filter(|bars| (1..=5).contains(bars));
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (number(least), number(most)) {
        (Some(least), Some(most)) if least <= most => Ok(Bars(least, most)),
        _ => Err("bars of the display, from 1 (poor) to 5, such as 3 or 1-2".to_owned()),
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
        let (first, last) = range
            .filter(|(first, last)| first <= last)
            .ok_or_else(|| format!("`{part}` is no size of frames: write numbers of blocks from 1 to {MOST} such as 1-30 or 1,2,4"))?;
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
    text.parse().map(Start::Block).map_err(|_| "write the number of a block, from 0, or all".to_owned())
}

fn law(text: &str) -> Result<Law, String> {
    [Law::HeavyTailed, Law::Markov]
        .into_iter()
        .find(|law| law.name() == text)
        .ok_or_else(|| "write heavy-tailed or markov".to_owned())
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
