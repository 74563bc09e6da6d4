//! What tells a namespace from all others.

use crate::Namespace;
use crate::error::Result;
use crate::process;
use serde::{Deserialize, Serialize};

/// A network namespace as it is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamespaceId {
    /// Inode number, by which processes in it are found; used again after it is gone.
    pub inode: u64,
    /// The kernel's cookie, never used again until the next boot.
    pub cookie: u64,
}

impl NamespaceId {
    /// Of `namespace`.
    pub fn of(namespace: &Namespace) -> Result<Self> {
        Ok(Self { inode: namespace.inode()?, cookie: namespace.cookie()? })
    }

    /// Whether `namespace` is this one.
    #[must_use]
    pub fn is(self, namespace: &Namespace) -> bool {
        Self::of(namespace).is_ok_and(|id| id == self)
    }

    /// The namespace, if it is still there: this thread's own, one that a process is in, or one
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
