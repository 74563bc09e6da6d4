//! The control group of a run on the host, by which eBPF programs recognize the run's sockets.
//!
//! It is the only object of a run that the kernel does not remove by itself. So it is recorded
//! before it is made, and if the campaign is killed, the next start removes it ([`netlab::state`]).

use netlab::cgroup::Cgroup;
use netlab::{Registry, Run};
use std::path::PathBuf;

/// A control group, which is removed with all processes in it when this value is dropped.
#[derive(Debug)]
pub struct Group {
    group: Cgroup,
    _run: Run,
}

impl Group {
    /// Creates a group below the caller's own, and removes those that killed campaigns have left.
    ///
    /// # Errors
    /// If control groups are not available, or this user may not create any.
    pub fn make() -> netlab::Result<Self> {
        let registry = Registry::open()?;
        registry.sweep()?;
        let mut run = registry.begin()?;
        let group = Cgroup::of_run(&mut run)?;
        Ok(Self { group, _run: run })
    }

    /// Returns its directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.group.path().to_owned()
    }
}
