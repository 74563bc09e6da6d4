//! The options of `lasthop gate` about its campaign. They are those of `lasthop run`.

use crate::clock::Clock;
use clap::Args;
use results::Besides;
use std::path::PathBuf;

/// Arguments about the campaign of a gate: those of `lasthop run` that concern it.
#[derive(Debug, Clone, Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct CampaignArguments {
    /// Plan of the campaign
    #[arg(value_name = "PLAN.toml", conflicts_with = "resume")]
    pub plan: Option<PathBuf>,
    /// Run only cells with these levels (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL,..")]
    pub only: Vec<String>,
    /// Repetitions of each cell [default: the plan's]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repetitions: Option<u32>,
    /// Random seed [default: the plan's, or drawn]
    #[arg(short, long)]
    pub seed: Option<u64>,
    /// Run directory [default: runs/NAME/TIME-SEED]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Clock to use [default: real; with --resume, the campaign's]
    #[arg(short, long, value_enum)]
    pub clock: Option<Clock>,
    /// With --clock virtual: do each run twice, and fail if a byte differs
    #[arg(long)]
    pub verify: bool,
    /// With --clock virtual: maximum memory of a guest, in MiB
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=65_536))]
    pub guest_memory: Option<u32>,
    /// With --clock virtual: give up a run whose clock stands still for this long, in seconds of
    /// the host's clock [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: Option<u64>,
    /// Number of concurrent runs [default: as many as do not disturb each other]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Resume the interrupted campaign in this run directory, with its original settings
    #[arg(long, value_name = "DIR", conflicts_with_all = ["only", "repetitions", "seed", "out"])]
    pub resume: Option<PathBuf>,
    /// Include overloaded runs in the figures
    #[arg(long)]
    pub overloaded: bool,
    /// Include runs with a dropped call, whose link layer disconnected, in the figures
    #[arg(long)]
    pub dropped_calls: bool,
    /// Print no progress
    #[arg(short, long)]
    pub quiet: bool,
}

impl CampaignArguments {
    /// Returns the kinds of runs that count besides good ones.
    pub fn besides(&self) -> Besides {
        Besides { overloaded: self.overloaded, dropped_calls: self.dropped_calls }
    }
}
