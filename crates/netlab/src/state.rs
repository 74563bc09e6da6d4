//! What a run made, written down before it is made.
//!
//! Each run has a directory `ID/` with a `state.json` in [`Registry::path`]: `/run/lasthop` for root,
//! `$XDG_RUNTIME_DIR/lasthop` for a user (or `/tmp/lasthop-UID` without one), or what `LASTHOP_STATE_DIR` says. All of
//! these are gone after a reboot, as is everything they speak of. A run whose processes are gone but whose directory is
//! not was killed: [`Registry::sweep`] undoes what its state lists.

mod identity;
mod undo;

pub use identity::NamespaceId;
pub(crate) use undo::{remembered, undo};

use crate::error::{Error, Result, Trying};
use crate::plan::Addresses;
use crate::process::ProcessId;
use rustix::fs::{FlockOperation, Mode, OFlags};
use serde::{Deserialize, Serialize};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// A run as it is written down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// Name of the run and of its directory: the lowest number that was free.
    pub id: String,
    /// The process that moves the packets.
    pub main: ProcessId,
    /// The process that cleans up, once there is one.
    pub keeper: Option<ProcessId>,
    /// Inode number of the PID namespace in which these numbers are true.
    pub pid_namespace: u64,
    /// Start, in seconds since 1970.
    pub started: u64,
    /// The namespace of the caller.
    pub outside: Option<NamespaceId>,
    /// The namespace of the wireless host.
    pub inside: Option<NamespaceId>,
    /// The pair of addresses that this run has claimed.
    pub addresses: Option<Addresses>,
    /// The program behind the link and its arguments.
    pub command: Vec<String>,
    /// What must be taken back, in the order in which it was made.
    pub made: Vec<Made>,
}

/// As many as there are pairs of addresses in 100.64.0.0/10.
const MOST_RUNS: u32 = 1 << 20;

/// Something that does not vanish with the process that made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    /// An nftables table in the caller's namespace.
    Table {
        /// Its name, in family `inet`.
        name: String,
    },
    /// A changed sysctl of the caller's namespace.
    Sysctl {
        /// Its name.
        key: String,
        /// What it was before the first run that changed it.
        former: String,
    },
    /// A control group.
    Cgroup {
        /// Its directory.
        path: PathBuf,
    },
    /// A process that would outlive the run.
    Process {
        /// Which.
        process: ProcessId,
        /// What it is: "pasta".
        what: String,
    },
}

/// The directory in which runs are written down; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registry {
    path: PathBuf,
}

/// Held while addresses are chosen, sysctls are remembered and left-overs are swept; let go by dropping it.
#[derive(Debug)]
#[must_use = "the lock is held as long as this lives"]
pub(crate) struct Locked {
    _file: OwnedFd,
}

impl Registry {
    /// The registry of this user, made if missing.
    pub fn open() -> Result<Self> {
        let user = rustix::process::geteuid();
        let path = if let Some(path) = std::env::var_os("LASTHOP_STATE_DIR") {
            PathBuf::from(path)
        } else if user.is_root() {
            PathBuf::from("/run/lasthop")
        } else if let Some(path) = std::env::var_os("XDG_RUNTIME_DIR") {
            PathBuf::from(path).join("lasthop")
        } else {
            PathBuf::from(format!("/tmp/lasthop-{}", user.as_raw()))
        };
        Self::at(path)
    }

    /// The registry in directory `path`, made if missing; it must belong to this user alone.
    pub fn at(path: PathBuf) -> Result<Self> {
        use std::os::unix::fs::{DirBuilderExt, MetadataExt};
        let what = || format!("make the state directory {}", path.display());
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path).trying(what)?;
        let owner = std::fs::symlink_metadata(&path).trying(what)?;
        if !owner.is_dir() || owner.uid() != rustix::process::geteuid().as_raw() {
            return Err(Error::missing(
                format!("the state directory {} belongs to user {}", path.display(), owner.uid()),
                "remove it, or set LASTHOP_STATE_DIR to a directory of your own",
            ));
        }
        Ok(Self { path })
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn lock(&self) -> Result<Locked> {
        let path = self.path.join("lock");
        let what = || format!("lock {}", path.display());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file = rustix::fs::open(&path, flags, Mode::RUSR | Mode::WUSR).trying(what)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).trying(what)?;
        Ok(Locked { _file: file })
    }

    /// Starts a run: its directory and first state, with nothing made yet.
    pub fn begin(&self) -> Result<Run> {
        use std::os::unix::fs::DirBuilderExt;
        let _locked = self.lock()?;
        let main = ProcessId::own()?;
        let pid_namespace = own_pid_namespace()?;
        let started = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        for number in 1..MOST_RUNS {
            let id = number.to_string();
            let directory = self.path.join(&id);
            match std::fs::DirBuilder::new().mode(0o700).create(&directory) {
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                other => {
                    other.trying(|| format!("make {}", directory.display()))?;
                    let state = State {
                        id,
                        main,
                        keeper: None,
                        pid_namespace,
                        started,
                        outside: None,
                        inside: None,
                        addresses: None,
                        command: Vec::new(),
                        made: Vec::new(),
                    };
                    let run = Run { registry: self.clone(), state, kept: false };
                    run.write()?;
                    return Ok(run);
                }
            }
        }
        Err(Error::missing(format!("no free name in {}", self.path.display()), "run lasthop clean"))
    }

    /// All runs written down, oldest first, dead ones too.
    pub fn list(&self) -> Result<Vec<State>> {
        let mut states: Vec<State> = self.directories()?.iter().filter_map(|path| read(path)).collect();
        states.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
        Ok(states)
    }

    /// The run called `id`.
    pub fn find(&self, id: &str) -> Result<State> {
        self.list()?.into_iter().find(|state| state.id == id).ok_or_else(|| {
            Error::missing(format!("no link {id:?}"), "lasthop link list shows those that run")
        })
    }

    /// Undoes what killed runs left behind; one line for each thing undone.
    pub fn sweep(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let locked = self.lock()?;
        for directory in self.directories()? {
            match read(&directory) {
                Some(state) if state.is_running() => {}
                Some(state) => lines.extend(undo(self, &locked, &state)),
                // Killed before the first state was written (begin holds the lock until then): nothing was made.
                None => {
                    std::fs::remove_dir_all(&directory)
                        .trying(|| format!("remove {}", directory.display()))?;
                    lines.push(format!("removed {}", directory.display()));
                }
            }
        }
        Ok(lines)
    }

    fn directories(&self) -> Result<Vec<PathBuf>> {
        let what = || format!("read {}", self.path.display());
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.path).trying(what)? {
            let entry = entry.trying(what)?;
            if entry.file_type().trying(what)?.is_dir() {
                found.push(entry.path());
            }
        }
        found.sort();
        Ok(found)
    }
}

impl State {
    /// Whether a process of the run is left that will clean up. A run of another PID namespace cannot be judged and
    /// counts as running.
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

pub(crate) fn read(directory: &Path) -> Option<State> {
    serde_json::from_slice(&std::fs::read(directory.join("state.json")).ok()?).ok()
}

/// A run of this process: its directory, and its state as far as it got. Dropping it undoes what it lists, unless a
/// keeper does.
#[derive(Debug)]
pub struct Run {
    registry: Registry,
    state: State,
    kept: bool,
}

impl Run {
    /// Name of the run.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.state.id
    }

    /// Its directory, which goes with the run, whatever is in it.
    #[must_use]
    pub fn directory(&self) -> PathBuf {
        self.registry.path.join(&self.state.id)
    }

    /// What is written down.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The registry it belongs to.
    #[must_use]
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Writes down what is about to be made; returns once it is on file.
    pub fn record(&mut self, made: Made) -> Result<()> {
        self.update(|state| state.made.push(made))
    }

    pub(crate) fn update(&mut self, change: impl FnOnce(&mut State)) -> Result<()> {
        change(&mut self.state);
        self.write()
    }

    /// From now on a keeper undoes it.
    pub(crate) fn leave_to_keeper(&mut self) {
        self.kept = true;
    }

    /// The keeper is gone: this process undoes it after all.
    pub(crate) fn take_back(&mut self) {
        self.kept = false;
    }

    /// A reader sees the former state or the new one, never half of one.
    fn write(&self) -> Result<()> {
        let (file, new) = (self.directory().join("state.json"), self.directory().join("state.json.new"));
        let json = serde_json::to_vec_pretty(&self.state).expect("a state has no maps with odd keys");
        std::fs::write(&new, json).trying(|| format!("write {}", new.display()))?;
        std::fs::rename(&new, &file).trying(|| format!("write {}", file.display()))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if !self.kept
            && let Ok(locked) = self.registry.lock()
        {
            undo(&self.registry, &locked, &self.state);
        }
    }
}

#[cfg(test)]
mod tests;
