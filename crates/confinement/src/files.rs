//! The files that a confined process reads, and Landlock, which lets it have no others.
//!
//! Landlock also keeps it from abstract UNIX sockets that others have made and from sending signals
//! to others (scopes, ABI 6). Its rules for TCP say ports without addresses: a server whose clients
//! choose both has no use for them.

use super::Needs;
use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, LandlockStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, Scope,
};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What the C library's resolver reads, its plug-ins included.
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

/// Often a link: then whoever writes it (systemd-resolved, NetworkManager, resolvconf) replaces a
/// file in another directory.
const RESOLV_CONF: &str = "/etc/resolv.conf";

/// What is left of the host's files.
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

/// The directory of the file that a link leads to, if it is another than the link's.
fn directory_of_link(path: &Path) -> Option<PathBuf> {
    let target = path.canonicalize().ok()?;
    let directory = target.parent()?;
    (directory != path.parent()?.canonicalize().ok()?).then(|| directory.to_owned())
}

/// What of it this kernel enforces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landlock(Option<ABI>);

impl fmt::Display for Landlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(abi) if abi >= ABI::V6 => "Landlock of files, abstract UNIX sockets and signals",
            Some(_) => "Landlock of files (this kernel has none of abstract UNIX sockets and signals)",
            None => "no Landlock (this kernel has none)",
        })
    }
}

/// From now on this thread, and those that it starts, reach nothing else.
///
/// # Errors
/// The kernel's; what it does not know is no error.
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

    /// A link's directory is shown as well, a file's own is not: it has others.
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
