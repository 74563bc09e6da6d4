//! Arguments of `lasthop kernel`.

use clap::{Args, Subcommand};

/// Arguments of `lasthop kernel`.
#[derive(Debug, Args)]
#[command(after_help = "\
The kernel is Linux as an ordinary program (User-Mode Linux) whose clock jumps over idle time.
It is built once, from Debian's source, and kept in ~/.cache/lasthop (XDG_CACHE_HOME), or with
--system in /var/cache/lasthop for all users of the machine. The package lasthop-kernel has it in
/usr/lib/lasthop. All three are searched, in this order; if LASTHOP_CACHE names a directory, only
that one is. Nothing is installed.

Examples:
  lasthop kernel build
  sudo lasthop kernel build --system
  lasthop kernel show
  lasthop kernel show --json | jq .kernel
  LASTHOP_CACHE=/big/disk lasthop kernel build --keep-source")]
pub struct KernelArguments {
    /// The subcommand to run
    #[command(subcommand)]
    pub verb: KernelVerb,
}

/// Subcommands of `lasthop kernel`.
#[derive(Debug, Subcommand)]
pub enum KernelVerb {
    /// Fetch, patch and compile the kernel unless it exists, and print its path
    Build(BuildArguments),
    /// Show the kernel and what it contains
    #[command(after_help = "Exit status: 0, or 1 if there is no kernel.")]
    Show {
        /// Print one JSON object, with the whole configuration
        #[arg(long)]
        json: bool,
    },
    /// Remove the kernels that were built
    Clean {
        /// Remove those for all users of this machine instead of your own
        #[arg(long)]
        system: bool,
    },
}

/// Arguments of `lasthop kernel build`.
#[derive(Debug, Args)]
#[command(after_help = "\
The build needs gcc, make, patch and perl (build-essential), a download of 165 MB from the archive,
2.5 GB of disk while it runs and 10 MB afterwards. It fetches other tools and uses them without
installing them. The download uses apt's proxy.

The exit status is 0 on success, 4 if the archive cannot be reached, and 1 after any other error.

Examples:
  lasthop kernel build
  lasthop kernel build --force --keep-source")]
pub struct BuildArguments {
    /// Build it for all users of this machine, in /var/cache/lasthop (as root)
    #[arg(long)]
    pub system: bool,
    /// Build the kernel even if it exists
    #[arg(long)]
    pub force: bool,
    /// Keep the source package beside the kernel
    #[arg(long)]
    pub keep_source: bool,
}
