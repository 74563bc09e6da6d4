//! The command line of `lasthop run`, and what it has in common with `lasthop gate`.

use super::precision::PrecisionArguments;
use crate::clock::Clock;
use clap::Args;
use results::{Besides, Shard};
use std::path::PathBuf;

/// Arguments of `lasthop run`.
#[derive(Debug, Args)]
#[command(after_help = "\
A plan is a TOML file: a scenario (nodes and links), workloads, factors and their levels. Examples
are in experiments/, and experiments/README.md describes the format. Runs that do not disturb each
other run concurrently.

With --clock virtual each run has a separate kernel whose clock jumps over idle time (build it once
with `lasthop kernel build`). Hours take seconds, no packet is late, and the same plan, seed and
kernel give the same captures, byte for byte.

With [precision] in the plan, or --precision, each cell is repeated until the 95 % interval of a
mean is narrow enough, between the plan's repetitions and max-repetitions. The summary and the
manifest say where each cell stopped (experiments/README.md).

With --shard M/N this process runs one of N parts of the campaign; `lasthop merge` puts them
together. The parts are chosen by a hash of cell and repetition, so processes and machines need to
agree on nothing but N. With --slurm a Slurm cluster does all this: an array of jobs runs the shards,
a last job merges them, and lasthop shows the progress (docs/beyond-one-machine.md).

Results are in runs/NAME/TIME-SEED/: manifest.json, results.parquet (a row per connection),
captures, event logs, report.html.

Exit status: 0 if every run was good, overloaded or had a dropped call, 1 if some failed, 130 after
Ctrl-C.

Examples:
  lasthop run experiments/quickstart.toml
  lasthop run experiments/tcp-baseline.toml --only link=umts,wifi-b --repetitions 5
  lasthop run experiments/tcp-baseline.toml --clock virtual
  lasthop run experiments/tcp-baseline.toml --clock virtual --precision 2 -n 30 --max-repetitions 63
  lasthop run --list experiments/tcp-baseline.toml
  lasthop run experiments/tcp-baseline.toml --clock virtual --estimate
  lasthop run experiments/tcp-baseline.toml --clock virtual --shard 2/8 --out shards/2
  lasthop run experiments/tcp-baseline.toml --clock virtual --slurm -- --partition=long --account=tcp
  lasthop run --resume runs/tcp-baseline/20261121T140000-7
  lasthop run plan.toml --json | tail -n 1 | jq '.cells[0].goodput.median'
  lasthop run --schema > plan.schema.json")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct RunArguments {
    #[command(flatten)]
    pub campaign: CampaignArguments,
    #[command(flatten)]
    pub precision: PrecisionArguments,
    /// Run only shard M of N of the campaign (M from 1); the plan or --seed must set the seed
    #[arg(long, value_name = "M/N", conflicts_with = "resume")]
    pub shard: Option<Shard>,
    /// Run the campaign on a Slurm cluster, and follow it; options after `--` are sbatch's. With
    /// --resume: follow its jobs, and submit again what was cancelled, preempted or failed
    #[arg(long, conflicts_with_all = ["shard", "list", "estimate", "schema"])]
    pub slurm: bool,
    /// With --slurm: number of tasks, one for each shard [default: tasks of a quarter of an hour]
    #[arg(long, value_name = "N", requires = "slurm", conflicts_with = "resume",
        value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub tasks: Option<u32>,
    /// List the runs without running them, with bounds on the time that they take
    #[arg(long)]
    pub list: bool,
    /// Print how long the campaign would take, without running it. With --clock virtual: measured
    /// on the first repetition of a few cells
    #[arg(long, conflicts_with_all = ["list", "resume", "schema"])]
    pub estimate: bool,
    /// Print the JSON schema of plans, for editors
    #[arg(long, conflicts_with = "plan")]
    pub schema: bool,
    /// Exit with 0 even if some runs failed
    #[arg(long)]
    pub accept_failed: bool,
    /// Print the summary as one JSON object on one line
    #[arg(long)]
    pub json: bool,
    /// Options of sbatch for all jobs
    #[arg(last = true, requires = "slurm", value_name = "SBATCH OPTIONS")]
    pub sbatch: Vec<String>,
}

/// Arguments of the commands that run a campaign.
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
