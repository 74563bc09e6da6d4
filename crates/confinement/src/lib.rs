//! Confinement of the server and of the agent: both read what strangers send, so that a mistake in
//! them must not be worth the host.
//!
//! Once everything is open, and before anything is read, the process gives up in this order
//!
//! 1. its terminal (`terminal`);
//! 2. the host's files: its root directory is an empty file system, read-only, with what is needed
//!    (`root`). Takes CAP_SYS_ADMIN;
//! 3. its user if that is root, and all capabilities that are not needed (`user`);
//! 4. new privileges by executing anything (`no_new_privs`);
//! 5. files, abstract UNIX sockets and signals, as far as the kernel's Landlock knows them
//!    (`files`);
//! 6. system calls that are not in a list; they fail with EPERM (`calls`).
//!
//! All of it holds for the calling thread and for those that it starts later, so that it comes
//! before there are others.

#![deny(unsafe_code)]

mod calls;
mod descriptors;
mod files;
mod root;
mod terminal;
#[cfg(test)]
mod tests;
mod user;

pub use descriptors::raise_descriptor_limit;

use root::Root;
use rustix::thread::{self, CapabilitySet, CapabilitySets};
use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;
use user::Identity;

/// What a process needs once it is confined.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Ports below 1024 are bound (CAP_NET_BIND_SERVICE).
    pub low_ports: bool,
    /// Addresses are used that are not this host's: IP_TRANSPARENT takes CAP_NET_RAW.
    /// (CAP_NET_ADMIN would do as well, and configure the network besides.)
    pub foreign_addresses: bool,
    /// Maps of eBPF are read and written, by bpf(2): for the hold of a FIN, which needs no
    /// capability once it is attached.
    pub fin_hold: bool,
    /// Directories whose files are read again later, by their names: they cannot be listed.
    pub readable: Vec<PathBuf>,
    /// Directories from which files are removed at the end. Whatever is in them can be, so that
    /// nothing else should.
    pub removable_from: Vec<PathBuf>,
    /// UNIX sockets of this process that it connects to, by their paths. Without any it makes no
    /// UNIX sockets.
    pub sockets: Vec<PathBuf>,
}

/// What is in force. It displays as the line that the process prints when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    identity: Identity,
    capabilities: CapabilitySet,
    filters: Option<Filters>,
}

/// What `--no-sandbox` does without.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filters {
    root: Root,
    landlock: files::Landlock,
    calls: usize,
}

/// Why a process is not confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// The user does not exist.
    #[error("--user {0}: no such user in /etc/passwd; useradd --system {0} adds one")]
    NoUser(String),
    /// The user is root.
    #[error(
        "--user {0}: this is root, whose files, sockets and processes a mistake must not reach; name another user, or leave out --user for `nobody`"
    )]
    Root(String),
    /// The kernel does not let this process become the user.
    #[error("become user {user}: {error}; only root can become another user")]
    User {
        /// The user's name.
        user: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// Other threads are running, which would keep all rights.
    #[error(
        "{0} threads are running: each gives up its rights by itself, so that it comes before there are others"
    )]
    Threads(usize),
    /// The kernel refuses something else.
    #[error("{what}: {error}; --no-sandbox does without the filters")]
    Kernel {
        /// The step.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// For `map_err`: the step that failed.
fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> ConfinementError {
    move |error| ConfinementError::Kernel { what, error: error.into() }
}

impl Confinement {
    /// Whether [`enter`](Self::enter) could be told this user: to be asked before anything is
    /// opened.
    ///
    /// # Errors
    /// If there is no such user, or it is root.
    pub fn check(user: Option<&str>) -> Result<(), ConfinementError> {
        Identity::chosen(user).map(drop)
    }

    /// Confines this process: `user` is whom to become, by name or number; without one root becomes
    /// `nobody`, and others stay who they are. Without `filters` the host's files and all system
    /// calls stay within reach (steps 2, 5 and 6).
    ///
    /// # Errors
    /// If there is no such user or it is root, if other threads are running, or if the kernel
    /// refuses a step. What the kernel does not know (Landlock) or the process may not do (an empty
    /// root without CAP_SYS_ADMIN) is no error, and [`Confinement`] says so.
    pub fn enter(user: Option<&str>, filters: bool, needs: &Needs) -> Result<Self, ConfinementError> {
        let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads > 1 {
            return Err(ConfinementError::Threads(threads));
        }
        terminal::leave().map_err(failed("leave the terminal"))?;
        Self::enter_thread(user, filters, needs)
    }

    /// Confines this thread alone, whatever others are running: for tests. The terminal is the
    /// process's and stays.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn enter_here(needs: &Needs, filters: bool) -> Result<Self, ConfinementError> {
        Self::enter_thread(None, filters, needs)
    }

    /// Whom files are read as from now on.
    #[must_use]
    pub fn user(&self) -> String {
        self.identity.to_string()
    }

    fn enter_thread(user: Option<&str>, filters: bool, needs: &Needs) -> Result<Self, ConfinementError> {
        let identity = Identity::chosen(user)?;
        identity.own(&needs.sockets).map_err(failed("give UNIX sockets to the user"))?;
        let files = files::Shown::of(needs);
        let root = if filters {
            root::enter(&files).map_err(failed("an empty root directory"))?
        } else {
            Root::Host
        };
        let capabilities = give_up(&identity, needs)?;
        thread::set_no_new_privs(true).map_err(failed("no_new_privs"))?;
        let filters = filters.then(|| -> Result<_, ConfinementError> {
            let landlock = files::restrict(&files).map_err(failed("Landlock"))?;
            let calls = calls::restrict(needs).map_err(failed("seccomp"))?;
            Ok(Filters { root, landlock, calls })
        });
        Ok(Self { identity, capabilities, filters: filters.transpose()? })
    }
}

/// Becomes the user and gives up capabilities. Those that are left.
fn give_up(identity: &Identity, needs: &Needs) -> Result<CapabilitySet, ConfinementError> {
    let mut wanted = CapabilitySet::empty();
    wanted.set(CapabilitySet::NET_BIND_SERVICE, needs.low_ports);
    wanted.set(CapabilitySet::NET_RAW, needs.foreign_addresses);
    let has = thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
    let kept = wanted & has;
    for capability in CapabilitySet::all() {
        // What is executed could have at most these. Without CAP_SETPCAP the set stays, and
        // no_new_privs does the same.
        let _ = thread::remove_capability_from_bounding_set(capability);
    }
    identity.assume()?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    thread::set_capabilities(None, sets).map_err(failed("capabilities"))?;
    Ok(kept)
}

impl fmt::Display for Confinement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.capabilities.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
        let capabilities = if names.is_empty() { "no capability".to_owned() } else { names.join(" ") };
        write!(f, "confined to {}, {capabilities}, ", self.identity)?;
        let Some(Filters { root, landlock, calls }) = &self.filters else {
            return write!(f, "any file and any system call (--no-sandbox)");
        };
        write!(f, "{root}, {landlock}, {calls} system calls")
    }
}
