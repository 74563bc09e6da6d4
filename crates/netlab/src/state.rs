//! The state of runs: what each run made, recorded before it is made.
//!
//! Each run has a directory `ID/` with a `state.json` in [`Registry::path`]:
//!
//! * `LASTHOP_STATE_DIR`, if it is set
//! * `/run/lasthop` for root
//! * `$XDG_RUNTIME_DIR/lasthop` or `/run/user/UID/lasthop` for other users
//! * `/tmp/lasthop-UID` for users without either; it is removed with the last run
//!
//! After a reboot all of these are gone, and so is everything that they describe. A directory
//! without live processes belongs to a run that was killed: [`Registry::sweep`] undoes what its
//! state lists.
//!
//! lasthop reads, undoes and removes only what is its own. The state directory must belong to this
//! user, and nobody else may be able to write to it. It contains directories named by a number,
//! each with a file that carries our marker and whose `id` is that number. Symbolic links are never
//! followed. Anything that is unreadable or different stays as it is, and [`Swept::left`] names it.

mod folder;
mod identity;
mod undo;
mod written;

pub use identity::NamespaceId;
pub(crate) use undo::remembered;

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use crate::plan::{Addresses, Network};
use crate::process::ProcessId;
use folder::{Folder, Foreign};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use written::Entry;

/// The recorded state of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Id of the run and name of its directory: the lowest number that was free.
    pub id: String,
    /// The process that moves the packets.
    pub main: ProcessId,
    /// The process that cleans up, once it runs.
    pub keeper: Option<ProcessId>,
    /// Inode number of the PID namespace in which these pids are valid.
    pub pid_namespace: u64,
    /// Start time in seconds since 1970.
    pub started: u64,
    /// The namespace of the caller.
    pub outside: Option<NamespaceId>,
    /// The namespace of the wireless host.
    pub inside: Option<NamespaceId>,
    /// The pair of addresses that this run has claimed.
    pub addresses: Option<Addresses>,
    /// The networks that this run has claimed for devices behind the link.
    #[serde(default)]
    pub networks: Vec<Network>,
    /// Ports of the caller that this run has claimed for servers behind the link.
    #[serde(default)]
    pub published: Vec<u16>,
    /// The program behind the link and its arguments.
    pub command: Vec<String>,
    /// Objects that must be removed or restored, in the order in which they were made.
    pub made: Vec<Made>,
}

/// As many runs as there are pairs of addresses in 100.64.0.0/10.
const MOST_RUNS: u32 = 1 << 20;

/// An object that does not vanish with the process that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// An nftables table in the caller's namespace.
    Table {
        /// Its name, in family `inet`.
        name: String,
    },
    /// Rules for the link's device in chains of the caller's firewall.
    FirewallRules {
        /// Name of the device.
        device: String,
    },
    /// A changed sysctl of the caller's namespace.
    Sysctl {
        /// Its name.
        key: String,
        /// Its value before the first run that changed it.
        former: String,
    },
    /// A control group.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// An interface of the caller that was moved to a namespace of the run.
    MovedInterface {
        /// Its name.
        interface: String,
        /// Whether it was up.
        is_up: bool,
        /// Where it is.
        namespace: NamespaceId,
    },
    /// An interface in a namespace of the run whose other end is in another's. It would vanish with
    /// the run's namespace, but later.
    VethPair {
        /// Its name.
        interface: String,
        /// Where it is.
        namespace: NamespaceId,
    },
    /// A process that would outlive the run.
    Process {
        /// Its pid and start time.
        process: ProcessId,
        /// A description: "pasta".
        what: String,
    },
}

/// The directory of recorded runs; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    path: PathBuf,
}

/// Lock on the registry, held while addresses are chosen, sysctls are remembered and leftovers are
/// swept.
///
/// Dropping it releases the lock.
#[derive(Debug)]
#[must_use = "the lock is held as long as this lives"]
pub(crate) struct Locked {
    folder: Folder,
    _file: OwnedFd,
}

/// Outcome of [`Registry::sweep`], one line per object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Leftovers of killed runs that are undone.
    pub undone: Vec<String>,
    /// Entries of the state directory that are not ours or unreadable: the path, and why it stays.
    pub left: Vec<String>,
}

/// Name of the file that is locked. It is created before all others: a directory with other files
/// but without it is not ours.
const LOCK: &str = "lock";

impl Registry {
    /// Opens the registry of this user.
    ///
    /// # Errors
    /// As [`at`](Self::at).
    pub fn open() -> Result<Self> {
        Self::at(match std::env::var_os("LASTHOP_STATE_DIR") {
            Some(path) => PathBuf::from(path),
            None => Self::usual(folder::own_user(), std::env::var_os("XDG_RUNTIME_DIR")),
        })
    }

    /// Returns the default location of the registry of `user`.
    fn usual(user: u32, runtime: Option<std::ffi::OsString>) -> PathBuf {
        if user == 0 {
            return PathBuf::from("/run/lasthop");
        }
        let of_session = PathBuf::from(format!("/run/user/{user}"));
        let runtime = runtime.map(PathBuf::from).or_else(|| of_session.is_dir().then_some(of_session));
        runtime.map_or_else(|| Self::temporary(user), |runtime| runtime.join("lasthop"))
    }

    /// Returns the location for a user without a runtime directory.
    fn temporary(user: u32) -> PathBuf {
        PathBuf::from(format!("/tmp/lasthop-{user}"))
    }

    /// Opens the registry in directory `path`, which is created when a run begins.
    ///
    /// # Errors
    /// If the directory belongs to another user, others can write to it, or it contains files that
    /// are not ours.
    pub fn at(path: PathBuf) -> Result<Self> {
        let registry = Self { path };
        registry.folder()?;
        Ok(registry)
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the directory, if it exists.
    fn folder(&self) -> Result<Option<Folder>> {
        match Folder::open(&self.path) {
            Err(Error::System { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
            other => Ok(Some(self.checked(other?)?)),
        }
    }

    /// Refuses a directory with other programs' files: in a directory of ours, the lock is the
    /// first file.
    fn checked(&self, folder: Folder) -> Result<Folder> {
        let names = folder.names()?;
        match names.first() {
            Some(first) if !folder.names()?.iter().any(|name| name == LOCK) => Err(Error::missing(
                format!(
                    "the state directory {} contains other files, such as {first:?}",
                    self.path.display()
                ),
                "set LASTHOP_STATE_DIR to an empty directory",
            )),
            _ => Ok(folder),
        }
    }

    /// Takes the lock; creates the directory if it is missing.
    pub(crate) fn lock(&self) -> Result<Locked> {
        use std::os::unix::fs::DirBuilderExt;
        let path = self.path.display();
        loop {
            std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.path)
                .trying(|| format!("create the state directory {path}"))?;
            let Some(folder) = self.folder()? else { continue };
            let file = match folder.open_file(LOCK) {
                // Another process has just removed the directory.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                other => other.trying(|| format!("open {path}/{LOCK}"))?,
            };
            rustix::fs::flock(&file, FlockOperation::LockExclusive)
                .trying(|| format!("lock {path}/{LOCK}"))?;
            if folder::has_a_name(&file)? {
                return Ok(Locked { folder, _file: file });
            }
        }
    }

    /// Begins a run: creates its directory and a first state, in which nothing is made yet.
    pub fn begin(&self) -> Result<Run> {
        let locked = self.lock()?;
        let main = ProcessId::own()?;
        let pid_namespace = own_pid_namespace()?;
        let started = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        for number in 1..MOST_RUNS {
            let id = number.to_string();
            if locked.folder.make(&id)? {
                let state = State {
                    id,
                    main,
                    keeper: None,
                    pid_namespace,
                    started,
                    outside: None,
                    inside: None,
                    addresses: None,
                    networks: Vec::new(),
                    published: Vec::new(),
                    command: Vec::new(),
                    made: Vec::new(),
                };
                let run = Run { registry: self.clone(), state, kept: false, held: Vec::new() };
                written::write(&locked.folder, &run.state)?;
                return Ok(run);
            }
        }
        Err(Error::missing(
            format!("too many runs are recorded in {}", self.path.display()),
            "run lasthop clean",
        ))
    }

    /// Returns the states of all recorded runs, oldest first, including dead ones.
    pub fn list(&self) -> Result<Vec<State>> {
        let Some(folder) = self.folder()? else { return Ok(Vec::new()) };
        let entries = folder.names()?.into_iter().map(|name| written::read(&folder, &name));
        let mut states: Vec<State> = entries
            .filter_map(|entry| match entry {
                Entry::Run(state) => Some(*state),
                Entry::Empty | Entry::Foreign(_) => None,
            })
            .collect();
        // An id is a number without leading zeros, so a longer one is greater.
        states.sort_by(|a, b| (a.started, a.id.len(), &a.id).cmp(&(b.started, b.id.len(), &b.id)));
        Ok(states)
    }

    /// Returns the state of run `id`.
    pub fn find(&self, id: &str) -> Result<State> {
        self.list()?.into_iter().find(|state| state.id == id).ok_or_else(|| {
            Error::missing(format!("no link {id:?}"), "lasthop link list shows the running links")
        })
    }

    /// Undoes what killed runs left behind, and leaves everything that is not ours alone.
    pub fn sweep(&self) -> Result<Swept> {
        let mut swept = Swept::default();
        if self.folder()?.is_none() {
            return Ok(swept);
        }
        let locked = self.lock()?;
        for name in locked.folder.names()?.into_iter().filter(|name| name != LOCK) {
            let path = self.path.join(&name);
            match written::read(&locked.folder, &name) {
                Entry::Run(state) if state.is_running() => {}
                Entry::Run(state) => swept.undone.extend(undo::undo(self, &locked, &state, &[])),
                // The run was killed before it wrote its first state (`begin` holds the lock until
                // then), so it made nothing.
                Entry::Empty => {
                    locked.folder.remove_empty(&name).trying(|| format!("remove {}", path.display()))?;
                    swept.undone.push(format!("removed {}", path.display()));
                }
                Entry::Foreign(Foreign(why)) => swept.left.push(format!("{}: {why}", path.display())),
            }
        }
        self.leave_nothing(&locked);
        Ok(swept)
    }

    /// Undoes run `id` on behalf of its keeper, which has the run's namespaces; returns one line
    /// for each object undone.
    pub(crate) fn undo(&self, id: &str, held: &[Namespace]) -> Result<Vec<String>> {
        let locked = self.lock()?;
        Ok(match written::read(&locked.folder, id) {
            Entry::Run(state) => undo::undo(self, &locked, &state, held),
            Entry::Empty | Entry::Foreign(_) => Vec::new(),
        })
    }

    /// Removes a directory in /tmp with its last run. Processes waiting for the lock create it
    /// again.
    fn leave_nothing(&self, locked: &Locked) {
        let is_temporary = self.path == Self::temporary(folder::own_user());
        if is_temporary && locked.folder.names().is_ok_and(|names| names == [LOCK]) {
            // On failure the directory stays, and the next run uses it.
            let _ = locked.folder.remove_file(LOCK).and_then(|()| std::fs::remove_dir(&self.path));
        }
    }
}

impl State {
    /// Returns whether a process of the run that will clean up is alive.
    ///
    /// A run in another PID namespace cannot be judged and counts as running.
    #[must_use]
    pub fn is_running(&self) -> bool {
        own_pid_namespace().is_ok_and(|own| own != self.pid_namespace)
            || self.main.is_alive()
            || self.keeper.is_some_and(ProcessId::is_alive)
    }
}

fn own_pid_namespace() -> Result<u64> {
    Ok(rustix::fs::stat("/proc/self/ns/pid").trying(|| "stat /proc/self/ns/pid".into())?.st_ino)
}

/// A run of this process: its directory and its current state.
///
/// Dropping it undoes what the state lists, unless a keeper does so.
#[derive(Debug)]
pub struct Run {
    registry: Registry,
    state: State,
    kept: bool,
    /// The namespaces of the run, kept open to move interfaces back from them.
    held: Vec<Namespace>,
}

impl Run {
    /// Returns the id of the run.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// Returns the run's directory, which is removed with the run, with all its contents.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.registry.path.join(&self.state.id)
    }

    /// Returns the recorded state.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the registry that the run belongs to.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Records an object that is about to be made; returns when the state is written.
    pub fn record(&mut self, made: Made) -> Result<()> {
        self.update(|state| state.made.push(made))
    }

    pub(crate) fn update(&mut self, change: impl FnOnce(&mut State)) -> Result<()> {
        change(&mut self.state);
        self.write()
    }

    /// Records the namespace of the wireless host, and keeps it open.
    pub(crate) fn record_inside(&mut self, inside: &Namespace) -> Result<()> {
        self.hold(inside)?;
        let id = NamespaceId::of(inside)?;
        self.update(|state| state.inside = Some(id))
    }

    /// Keeps a namespace open to which interfaces of the caller will move.
    pub(crate) fn hold(&mut self, namespace: &Namespace) -> Result<()> {
        self.held.push(namespace.try_clone()?);
        Ok(())
    }

    /// Leaves the undoing to a keeper from now on.
    pub(crate) fn leave_to_keeper(&mut self) {
        self.kept = true;
    }

    /// Takes the undoing back into this process, because the keeper is gone.
    pub(crate) fn take_back(&mut self) {
        self.kept = false;
    }

    fn write(&self) -> Result<()> {
        let folder = self.registry.folder()?.ok_or_else(|| {
            let path = self.registry.path.display();
            Error::missing(format!("the state directory {path} is gone"), "start the run again")
        })?;
        written::write(&folder, &self.state)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.kept
            && let Ok(locked) = self.registry.lock()
        {
            undo::undo(&self.registry, &locked, &self.state, &self.held);
        }
    }
}

#[cfg(test)]
mod tests;
