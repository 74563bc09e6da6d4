//! The control group of a run on the host, by which eBPF programs know the run's sockets.
//!
//! The kernel takes back everything else of a run by itself, but not this: so it is written down
//! first, and who comes next removes it if the campaign is killed ([`netlab::state`]).

use netlab::cgroup::Cgroup;
use netlab::{Registry, Run};
use std::path::PathBuf;

/// A control group, removed with all processes in it when this is dropped.
#[derive(Debug)]
pub struct Group {
    group: Cgroup,
    _run: Run,
}

impl Group {
    /// Makes one below the caller's own, and removes those that killed campaigns have left.
    ///
    /// # Errors
    /// If there are none here, or this user may not make any.
    pub fn make() -> netlab::Result<Self> {
        let registry = Registry::open()?;
        registry.sweep()?;
        let mut run = registry.begin()?;
        let group = Cgroup::of_run(&mut run)?;
        Ok(Self { group, _run: run })
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.group.path().to_owned()
    }
}
