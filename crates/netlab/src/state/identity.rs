//! The identity of a namespace.

use crate::Namespace;
use crate::error::Result;
use crate::process;
use serde::{Deserialize, Serialize};

/// A network namespace as recorded in a run's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceId {
    /// Inode number, by which processes in it are found; reused once the namespace is gone.
    pub inode: u64,
    /// The kernel's cookie, unique until the next boot.
    pub cookie: u64,
}

impl NamespaceId {
    /// Returns the identity of `namespace`.
    pub fn of(namespace: &Namespace) -> Result<Self> {
        Ok(Self { inode: namespace.inode()?, cookie: namespace.cookie()? })
    }

    /// Returns whether `namespace` has this identity.
    #[must_use]
    pub fn is(self, namespace: &Namespace) -> bool {
        Self::of(namespace).is_ok_and(|id| id == self)
    }

    /// Returns the namespace if it still exists: this thread's own, one of some process, or one
    /// that has a name.
    #[must_use]
    pub fn find(self) -> Option<Namespace> {
        let named = std::fs::read_dir("/run/netns").into_iter().flatten().flatten();
        let named = named.filter_map(|entry| entry.path().to_str().map(str::to_owned));
        std::iter::once("/proc/thread-self/ns/net".to_owned())
            .chain(std::iter::once_with(|| process::namespace_path(self.inode)).flatten())
            .chain(named)
            .filter_map(|path| Namespace::at(&path).ok())
            .find(|namespace| self.is(namespace))
    }
}
