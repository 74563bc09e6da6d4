//! `--clock`: on the host's kernel, or in one whose clock jumps over idle time.

use crate::link_command::Failure;
use clap::ValueEnum;
use std::path::PathBuf;
use virtual_time::{boot, instance};

/// Which clock a run goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Clock {
    /// The host's clock and kernel
    #[default]
    Real,
    /// A kernel of its own whose clock jumps over idle time: the same seed gives the same bytes
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

/// The kernel of the virtual clock.
pub fn guest_kernel(memory_mib: Option<u32>, verified: bool) -> Result<GuestKernel, Failure> {
    let path = std::env::var_os("LASTHOP_KERNEL").map(PathBuf::from).ok_or("no kernel")?;
    let about = results::Guest {
        source: "unknown".into(),
        key: String::new(),
        fallback: false,
        hz: 1000,
        start_unix_ns: boot::START_UNIX_NS,
        memory_mib: memory_mib.unwrap_or(instance::MEMORY_MIB),
        verified,
    };
    Ok(GuestKernel { path, release: "unknown".into(), about })
}

/// The processors that this process may use.
pub fn processors() -> Vec<u32> {
    let set = rustix::thread::sched_getaffinity(None);
    let all = set.map(|set| (0..1024).filter(|number| set.is_set(*number as usize)).collect::<Vec<u32>>());
    all.ok().filter(|all| !all.is_empty()).unwrap_or_else(|| vec![0])
}
