//! Files that a confined process may read, and Landlock, which denies it all others.
//!
//! Landlock also denies it abstract UNIX sockets and signals to other processes (scopes, ABI 6).
//! Landlock's rules for TCP name ports without addresses. They are no use to a server whose clients
//! choose both.

use super::Needs;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Files that the C library's resolver reads, including its plug-ins.
const RESOLVER: &[&str] = &[
    RESOLV_CONF,
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/gai.conf",
    "/etc/nsswitch.conf",
    "/etc/services",
    "/etc/protocols",
    "/etc/ld.so.cache",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
];

/// Often a symbolic link. Its owner (systemd-resolved, NetworkManager, resolvconf) then replaces a
/// file in another directory.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The part of the host's files that stays visible.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) readable: Vec<PathBuf>,
    pub(super) removable_from: Vec<PathBuf>,
    pub(super) sockets: Vec<PathBuf>,
}

impl Shown {
    pub(super) fn of(needs: &Needs) -> Self {
        let resolver = RESOLVER.iter().map(PathBuf::from).chain(directory_of_link(Path::new(RESOLV_CONF)));
        Self {
            readable: resolver.chain(needs.readable.iter().cloned()).collect(),
            removable_from: needs.removable_from.clone(),
            sockets: needs.sockets.clone(),
        }
    }
}

/// Directory of the file that a link leads to, if it is not the link's own directory.
fn directory_of_link(path: &Path) -> Option<PathBuf> {
    let target = path.canonicalize().ok()?;
    let directory = target.parent()?;
    (directory != path.parent()?.canonicalize().ok()?).then(|| directory.to_owned())
}

/// The version of Landlock that this kernel enforces, if any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landlock(Option<ABI>);

impl fmt::Display for Landlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(abi) if abi >= ABI::V6 => "Landlock for files, abstract UNIX sockets and signals",
            Some(_) => "Landlock for files (this kernel has none for abstract UNIX sockets and signals)",
            None => "no Landlock (this kernel has none)",
        })
    }
}

/// Denies this thread, and threads that it starts, all other files.
///
/// # Errors
/// Those of the kernel. Missing Landlock features are no error.
pub(super) fn restrict(shown: &Shown) -> io::Result<Landlock> {
    let abi = ABI::V6;
    let rules = |paths: &[PathBuf], access: AccessFs| landlock::path_beneath_rules(paths.to_vec(), access);
    let restricted = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))
        .and_then(|set| set.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(|set| set.add_rules(rules(&shown.readable, AccessFs::ReadFile)))
        .and_then(|set| set.add_rules(rules(&shown.removable_from, AccessFs::RemoveFile)))
        .and_then(RulesetCreated::restrict_self);
    Ok(Landlock(match restricted.map_err(io::Error::other)?.landlock {
        LandlockStatus::Available { effective_abi, .. } => Some(effective_abi),
        _ => None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The directory that a link leads to is shown too. The directory of an ordinary file is not,
    /// since it contains other files.
    #[test]
    fn where_links_lead() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let (inner, link) = (root.join("inner"), root.join("link"));
        std::fs::create_dir(&inner).expect("room");
        std::fs::write(inner.join("file"), "").expect("room");
        std::os::unix::fs::symlink("inner/file", &link).expect("room");
        assert_eq!(directory_of_link(&link), Some(inner.clone()));
        assert_eq!(directory_of_link(&inner.join("file")), None);
        assert_eq!(directory_of_link(&root.join("nothing")), None);
    }
}
