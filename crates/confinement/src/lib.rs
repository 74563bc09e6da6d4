//! Confinement of the server and of the agent. Both parse input from strangers, and a mistake in
//! them must not give away the host.
//!
//! Once everything is open, and before anything is read, the process gives up in this order:
//!
//! 1. its terminal (`terminal`);
//! 2. the host's files: its root directory becomes an empty, read-only file system that contains
//!    only the necessary files (`root`). This needs CAP_SYS_ADMIN;
//! 3. its user, if that is root, and all capabilities that it does not need (`user`);
//! 4. gaining privileges by executing a program (`no_new_privs`);
//! 5. files, abstract UNIX sockets and signals, as far as the kernel's Landlock supports them
//!    (`files`);
//! 6. all system calls outside a list; they fail with EPERM (`calls`).
//!
//! Each step affects only the calling thread and threads that it starts later. So confinement must
//! come before other threads are started.

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

/// Needs of a process after its confinement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// The process binds ports below 1024 (CAP_NET_BIND_SERVICE).
    pub low_ports: bool,
    /// The process uses addresses that are not this host's: IP_TRANSPARENT needs CAP_NET_RAW.
    /// (CAP_NET_ADMIN would do too, but could also configure the network.)
    pub foreign_addresses: bool,
    /// The process reads and writes eBPF maps with bpf(2), for holding FINs. Once attached, the
    /// hold needs no capability.
    pub fin_hold: bool,
    /// Directories whose files are read again later by name. They cannot be listed.
    pub readable: Vec<PathBuf>,
    /// Directories from which files are removed at the end. Every file in them can be removed, so
    /// they should contain nothing else.
    pub removable_from: Vec<PathBuf>,
    /// Paths of UNIX sockets of this process that it connects to. If there are none, it can make no
    /// UNIX sockets.
    pub sockets: Vec<PathBuf>,
}

/// The confinement in force. Its `Display` is the line that the process prints when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confinement {
    identity: Identity,
    capabilities: CapabilitySet,
    filters: Option<Filters>,
}

/// The parts that `--no-sandbox` omits.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Filters {
    root: Root,
    landlock: files::Landlock,
    calls: usize,
}

/// Reason why a process could not be confined.
#[derive(Debug, thiserror::Error)]
pub enum ConfinementError {
    /// The user does not exist.
    #[error("--user {0}: no such user in /etc/passwd; add it with `useradd --system {0}`")]
    NoUser(String),
    /// The user is root.
    #[error(
        "--user {0}: a confined process must not be root; name another user, or leave out --user for `nobody`"
    )]
    Root(String),
    /// The kernel does not let this process become the user.
    #[error("cannot become user {user}: {error}; only root can become another user")]
    User {
        /// The user's name.
        user: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// Other threads are running, which would keep all rights.
    #[error("{0} threads are running: rights must be given up before other threads start")]
    Threads(usize),
    /// The kernel refused another step.
    #[error("cannot {what}: {error}; --no-sandbox omits the filters")]
    Kernel {
        /// The step.
        what: &'static str,
        /// The kernel's reason.
        error: io::Error,
    },
}

/// For `map_err`: names the step that failed.
fn failed<E: Into<io::Error>>(what: &'static str) -> impl FnOnce(E) -> ConfinementError {
    move |error| ConfinementError::Kernel { what, error: error.into() }
}

impl Confinement {
    /// Checks that [`enter`](Self::enter) would accept this user. To be called before anything is
    /// opened.
    ///
    /// # Errors
    /// If there is no such user, or it is root.
    pub fn check(user: Option<&str>) -> Result<(), ConfinementError> {
        Identity::chosen(user).map(drop)
    }

    /// Confines this process. `user` is the user to become, by name or number. Without it, root
    /// becomes `nobody` and any other user stays the same. Without `filters`, the host's files and
    /// all system calls stay available (steps 2, 5 and 6 are left out).
    ///
    /// # Errors
    /// If there is no such user or it is root, if other threads are running, or if the kernel
    /// refuses a step. It is no error if the kernel lacks a feature (Landlock) or the process lacks
    /// a right (CAP_SYS_ADMIN for an empty root directory). [`Confinement`] reports these.
    pub fn enter(user: Option<&str>, filters: bool, needs: &Needs) -> Result<Self, ConfinementError> {
        let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
        if threads > 1 {
            return Err(ConfinementError::Threads(threads));
        }
        terminal::leave().map_err(failed("leave the terminal"))?;
        Self::enter_thread(user, filters, needs)
    }

    /// Confines only this thread, even if others are running: for tests. The terminal belongs to
    /// the process and is kept.
    ///
    /// # Errors
    /// As [`enter`](Self::enter).
    pub fn enter_here(needs: &Needs, filters: bool) -> Result<Self, ConfinementError> {
        Self::enter_thread(None, filters, needs)
    }

    /// The user whose rights apply to reading files from now on.
    #[must_use]
    pub fn user(&self) -> String {
        self.identity.to_string()
    }

    fn enter_thread(user: Option<&str>, filters: bool, needs: &Needs) -> Result<Self, ConfinementError> {
        let identity = Identity::chosen(user)?;
        identity.own(&needs.sockets).map_err(failed("give UNIX sockets to the user"))?;
        let files = files::Shown::of(needs);
        let root = if filters {
            root::enter(&files).map_err(failed("enter an empty root directory"))?
        } else {
            Root::Host
        };
        let capabilities = give_up(&identity, needs)?;
        thread::set_no_new_privs(true).map_err(failed("set no_new_privs"))?;
        let filters = filters.then(|| -> Result<_, ConfinementError> {
            let landlock = files::restrict(&files).map_err(failed("restrict files with Landlock"))?;
            let calls = calls::restrict(needs).map_err(failed("restrict system calls with seccomp"))?;
            Ok(Filters { root, landlock, calls })
        });
        Ok(Self { identity, capabilities, filters: filters.transpose()? })
    }
}

/// Becomes the user and gives up capabilities. Returns those that are left.
fn give_up(identity: &Identity, needs: &Needs) -> Result<CapabilitySet, ConfinementError> {
    let mut wanted = CapabilitySet::empty();
    wanted.set(CapabilitySet::NET_BIND_SERVICE, needs.low_ports);
    wanted.set(CapabilitySet::NET_RAW, needs.foreign_addresses);
    let has = thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
    let kept = wanted & has;
    for capability in CapabilitySet::all() {
        // The bounding set limits the capabilities of programs that are executed. Without
        // CAP_SETPCAP it stays, and no_new_privs has the same effect.
        let _ = thread::remove_capability_from_bounding_set(capability);
    }
    identity.assume()?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    thread::set_capabilities(None, sets).map_err(failed("drop capabilities"))?;
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
