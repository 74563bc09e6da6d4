//! Arguments of `lasthop kernel`.

use clap::{Args, Subcommand};

/// `lasthop kernel`.
#[derive(Debug, Args)]
#[command(after_help = "\
The kernel is Linux as an ordinary program (User-Mode Linux) whose clock jumps over idle time.
It is built once, from Debian's source, and kept in ~/.cache/lasthop (XDG_CACHE_HOME and
LASTHOP_CACHE move it). Nothing is installed.

Examples:
  lasthop kernel build
  lasthop kernel show
  lasthop kernel show --json | jq .kernel
  LASTHOP_CACHE=/big/disk lasthop kernel build --keep-source")]
pub struct KernelArguments {
    /// What to do with it
    #[command(subcommand)]
    pub verb: KernelVerb,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum KernelVerb {
    /// Fetch, patch and compile the kernel, unless it is there; prints its path
    Build(BuildArguments),
    /// Say which kernel there is, and what is in it (status 1 if there is none)
    Show {
        /// As one JSON object, with the whole configuration
        #[arg(long)]
        json: bool,
    },
    /// Remove the kernels that are kept
    Clean,
}

/// `lasthop kernel build`.
#[derive(Debug, Args)]
#[command(after_help = "\
Needs gcc, make, patch and perl (build-essential), 165 MB from the archive, 2.5 GB of disk while it
runs and 10 MB afterwards. Other tools are fetched and used without being installed. apt's proxy
holds. The exit status is 0, 4 if the archive cannot be reached, 1 if anything else went wrong.

Examples:
  lasthop kernel build
  lasthop kernel build --force --keep-source")]
pub struct BuildArguments {
    /// Build it although it is there
    #[arg(long)]
    pub force: bool,
    /// Keep the source package beside the kernel
    #[arg(long)]
    pub keep_source: bool,
}
