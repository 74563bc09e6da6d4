//! `--clock`: on the host's kernel, or in one whose clock jumps over idle time.

use crate::failure::Failure;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use virtual_time::kernel::{self, Cache, Kernel};
use virtual_time::{boot, instance};

/// Which clock a run goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
pub enum Clock {
    /// The host's kernel and clock
    #[default]
    Real,
    /// A separate kernel whose clock jumps over idle time: same seed, same bytes
    Virtual,
}

/// A kernel to boot, its release, and what a manifest says of it.
pub struct GuestKernel {
    /// The file.
    pub path: PathBuf,
    /// `uname -r` there.
    pub release: String,
    /// What it was made of.
    pub about: results::Guest,
}

/// A kernel that is not from the cache, for those who work on one.
const OTHER_KERNEL: &str = "LASTHOP_KERNEL";

/// The kernel of the virtual clock.
pub fn guest_kernel(memory_mib: Option<u32>, verified: bool) -> Result<GuestKernel, Failure> {
    let kernel = match std::env::var_os(OTHER_KERNEL) {
        Some(path) => {
            Kernel::from_file(Path::new(&path)).map_err(|error| format!("{OTHER_KERNEL}: {error}"))?
        }
        None => kernel::find(&Cache::of_user()?)?.ok_or(
            "the virtual-time kernel is not built: build it with `lasthop kernel build`, which takes some minutes",
        )?,
    };
    let about = results::Guest {
        source: format!("{} {}", kernel.package, kernel.version).trim_end().to_owned(),
        hz: kernel.hz()?,
        key: kernel.key,
        fallback: kernel.fallback,
        start_unix_ns: boot::START_UNIX_NS,
        memory_mib: memory_mib.unwrap_or(instance::MEMORY_MIB),
        verified,
    };
    Ok(GuestKernel { path: kernel.path, release: kernel.release, about })
}

/// The processors that this process may use.
pub fn processors() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None);
    let all = set.map(|set| (0..1024).filter(|number| set.is_set(*number as usize)).collect::<Vec<u32>>());
    all.ok().filter(|all| !all.is_empty()).unwrap_or_else(|| vec![0])
}
