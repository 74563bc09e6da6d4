//! The option `--clock`: the host's kernel, or a kernel whose clock jumps over idle time.

use crate::failure::Failure;
use crate::library::LINKS;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use virtual_time::kernel::{self, Cache, Kernel};
use virtual_time::{boot, instance};

/// Clock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum, Serialize, Deserialize)]
pub enum Clock {
    /// The host's kernel and clock
    #[default]
    Real,
    /// A separate kernel whose clock jumps over idle time: same seed, same bytes
    Virtual,
}

/// A kernel to boot, its release, and its description for the manifest.
pub struct GuestKernel {
    /// Path of the kernel's file.
    pub path: PathBuf,
    /// Path of the library with its links.
    pub library: PathBuf,
    /// Output of `uname -r` in the guest.
    pub release: String,
    /// Source and settings of the kernel, for the manifest.
    pub about: results::Guest,
}

/// Environment variable with the path of a kernel outside the cache, for kernel development.
const OTHER_KERNEL: &str = "LASTHOP_KERNEL";

/// Returns the kernel of the virtual clock, from `LASTHOP_KERNEL` or from the cache.
pub fn guest_kernel(memory_mib: Option<u32>, verified: bool) -> Result<GuestKernel, Failure> {
    let kernel = match std::env::var_os(OTHER_KERNEL) {
        Some(path) => {
            Kernel::from_file(Path::new(&path)).map_err(|error| format!("{OTHER_KERNEL}: {error}"))?
        }
        None => kernel::find(&Cache::of_user()?)?.ok_or(
            "the virtual-time kernel is not built: build it with `lasthop kernel build`, which takes some minutes, or install the package lasthop-kernel",
        )?,
    };
    let library = LINKS.find()?;
    let about = results::Guest {
        source: format!("{} {}", kernel.package, kernel.version).trim_end().to_owned(),
        hz: kernel.hz()?,
        key: kernel.key,
        fallback: kernel.fallback,
        start_unix_ns: boot::START_UNIX_NS,
        memory_mib: memory_mib.unwrap_or(instance::MEMORY_MIB),
        verified,
        c_library: if cfg!(target_env = "musl") { "musl" } else { "gnu" }.to_owned(),
        link_library: kernel::checksum(&library)?,
    };
    Ok(GuestKernel { path: kernel.path, library, release: kernel.release, about })
}

/// Returns the numbers of the processors that this process may use.
pub fn processors() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None);
    let all = set.map(|set| (0..1024).filter(|number| set.is_set(*number as usize)).collect::<Vec<u32>>());
    all.ok().filter(|all| !all.is_empty()).unwrap_or_else(|| vec![0])
}
