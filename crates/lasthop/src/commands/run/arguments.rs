//! The command line of `lasthop run`.

use crate::clock::Clock;
use clap::Args;
use std::path::PathBuf;

/// `lasthop run`.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a TOML file: a scenario (nodes and links), workloads, factors and their levels. experiments/ has some, and
experiments/README.md says what can be in one. Runs go side by side where they do not disturb each other.

With --clock virtual each run has a kernel of its own whose clock jumps over idle time (`lasthop kernel build` makes it, once):
hours take seconds, nothing is ever late, and the same plan, seed and kernel give the same captures, byte by byte.

Results are in runs/NAME/TIME-SEED/: manifest.json, results.parquet (a row per connection), captures, event logs,
report.html. Exit status: 0 if all runs were good, overloaded or had a dropped call, 1 if some failed, 130 after Ctrl-C.

Examples:
  lasthop run experiments/quickstart.toml
  lasthop run experiments/tcp-baseline.toml --only link=umts,wifi-b --repetitions 5
  lasthop run experiments/tcp-baseline.toml --clock virtual
  lasthop run --list experiments/tcp-baseline.toml
  lasthop run --resume runs/tcp-baseline/20261121T140000-7
  lasthop run plan.toml --json | tail -n 1 | jq '.cells[0].goodput.median'
  lasthop run --schema > plan.schema.json")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct RunArguments {
    /// The plan
    #[arg(value_name = "PLAN.toml", conflicts_with_all = ["resume", "schema"])]
    pub plan: Option<PathBuf>,
    /// Only cells with these levels (repeatable)
    #[arg(long, value_name = "FACTOR=LEVEL,..")]
    pub only: Vec<String>,
    /// Repetitions of each cell [default: the plan's]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub repetitions: Option<u32>,
    /// Seed of everything random [default: the plan's, or drawn]
    #[arg(short, long)]
    pub seed: Option<u64>,
    /// Run directory [default: runs/NAME/TIME-SEED]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Clock that the runs go by [default: real; with --resume the one that they were begun with]
    #[arg(short, long, value_enum)]
    pub clock: Option<Clock>,
    /// By the virtual clock: do each run twice, and fail if a byte differs
    #[arg(long)]
    pub verify: bool,
    /// By the virtual clock: memory of a guest in MiB, at most
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(64..=65_536))]
    pub guest_memory: Option<u32>,
    /// By the virtual clock: how many seconds of the host's clock it may stand still before a run
    /// is given up [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub patience: Option<u64>,
    /// Runs at a time [default: as many as do not disturb each other]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Go on with a campaign that was interrupted, as it was begun
    #[arg(long, value_name = "DIR", conflicts_with_all = ["only", "repetitions", "seed", "out"])]
    pub resume: Option<PathBuf>,
    /// Count overloaded runs in the summary
    #[arg(long)]
    pub overloaded: bool,
    /// Count runs whose call was dropped in the summary: a link layer that disconnected
    #[arg(long)]
    pub dropped_calls: bool,
    /// Only show what would be run
    #[arg(long)]
    pub list: bool,
    /// Print the schema of plans for editors, as JSON
    #[arg(long)]
    pub schema: bool,
    /// Print the summary as JSON, one object on one line
    #[arg(long)]
    pub json: bool,
    /// No progress
    #[arg(short, long)]
    pub quiet: bool,
}
