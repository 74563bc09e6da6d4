//! `lasthop merge`: merges the shards of a campaign into one run directory.

use crate::commands::run::conclusion::{self, Shown};
use crate::failure::Failure;
use clap::Args;
use experiment::campaign::default_directory;
use results::Besides;
use results::merge::{MergeError, Shards};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Arguments of `lasthop merge`.
#[derive(Debug, Args)]
#[command(after_help = "\
The merged directory is that of the whole campaign. With --clock virtual, its results.parquet,
losses.parquet, points.parquet, captures, event logs and report.html have the same bytes as without
shards. The shards stay as they are; captures and event logs become hard links to theirs where
possible.

Shards of different plans, seeds, kernels, versions or selections are refused, and so are shards
that are missing, unfinished or there twice. A refused or interrupted merge writes nothing.

Exit status: 0 if no run failed, 1 if some failed or the merge was refused.

Examples:
  lasthop run experiments/quickstart.toml --clock virtual --shard 1/2 --out shards/1
  lasthop run experiments/quickstart.toml --clock virtual --shard 2/2 --out shards/2
  lasthop merge shards/* --out quickstart")]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub struct MergeArguments {
    /// Run directories of all shards, in any order
    #[arg(value_name = "DIR", required = true)]
    pub shards: Vec<PathBuf>,
    /// Run directory to write; must not exist [default: runs/NAME/TIME-SEED]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Include overloaded runs in the summary
    #[arg(long)]
    pub overloaded: bool,
    /// Include runs with a dropped call, whose link layer disconnected, in the summary
    #[arg(long)]
    pub dropped_calls: bool,
    /// Print the summary as one JSON object on one line
    #[arg(long)]
    pub json: bool,
    /// Print no messages
    #[arg(short, long)]
    pub quiet: bool,
}

/// Merges the shards.
pub fn run(arguments: &MergeArguments) -> Result<i32, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The second signal ends the process at once.
        signal_hook::flag::register_conditional_default(signal, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    let shards = Shards::open(&arguments.shards)?;
    let manifest = shards.manifest();
    let out = arguments.out.clone().unwrap_or_else(|| {
        default_directory(&manifest.plan.name, manifest.started_unix_ns / 1_000_000_000, manifest.seed, None)
    });
    let shown = Shown {
        besides: Besides { overloaded: arguments.overloaded, dropped_calls: arguments.dropped_calls },
        json: arguments.json,
        quiet: arguments.quiet,
    };
    let merged = shards.merge(&out, &interrupted)?;
    conclusion::write(&merged.directory, shown.besides)?;
    if interrupted.load(Ordering::Acquire) {
        return Err(MergeError::Interrupted.into());
    }
    let directory = merged.finish()?;
    if !arguments.quiet {
        anstream::eprintln!(
            "lasthop: merged {} runs of {} shards into {}",
            directory.manifest.runs.len(),
            directory.manifest.merged.len(),
            directory.path.display()
        );
    }
    conclusion::tell(&directory, shown)?;
    Ok(conclusion::status(&directory))
}
