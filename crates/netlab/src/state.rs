//! What runs have made and must be undone, on disk, so that somebody else can undo it.
//!
//! Each run has a folder with its number under [`root`]. `state.json` in it lists everything that would outlive the run,
//! and is written before the thing is made: what is listed may not exist, but what exists is listed.

use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use crate::{nat, sysctl};
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, getuid, kill_process};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Numbers of runs: one /30 of 100.64.0.0/10 each.
const NUMBERS: std::ops::Range<u32> = 1..1 << 20;

/// In the environment of everything that runs behind a link, with the mark of the run as value.
pub const MARK: &str = "LASTHOP_RUN";

/// A process that cannot be mistaken for a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// When it started, in clock ticks since boot (`/proc/PID/stat`, field 22).
    pub started: u64,
}

/// What a run has made, or is about to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct State {
    /// Number of the run.
    pub id: u32,
    /// Found in the environment of its processes.
    pub mark: String,
    /// The process that runs the link.
    pub owner: Process,
    /// The process that cleans up if that is killed.
    pub keeper: Option<Process>,
    /// Number of the caller's network namespace.
    pub namespace: u64,
    /// Number of the namespace behind the link.
    pub inside: Option<u64>,
    /// NAT table in the caller's namespace.
    pub nat_table: Option<String>,
    /// Sysctls of the caller's namespace, with the value they had.
    pub sysctls: Vec<(String, String)>,
    /// The program, for people.
    pub command: String,
    /// Start of the run, seconds since 1970.
    pub since: u64,
}

/// The number and folder of a run, from [`Claim::take`] until [`Claim::release`].
#[derive(Debug)]
pub struct Claim {
    folder: PathBuf,
    state: State,
}

/// Held while the state of more than one run is looked at.
struct Lock {
    _file: File,
}

/// The folder of all runs: `/run/lasthop` for root, else in the user's runtime directory. `LASTHOP_STATE_DIR` overrides it.
#[must_use]
pub fn root() -> PathBuf {
    if let Some(folder) = std::env::var_os("LASTHOP_STATE_DIR") {
        return folder.into();
    }
    let uid = getuid();
    if uid.is_root() {
        return "/run/lasthop".into();
    }
    std::env::var_os("XDG_RUNTIME_DIR").map_or_else(
        || std::env::temp_dir().join(format!("lasthop-{uid}")),
        |dir| Path::new(&dir).join("lasthop"),
    )
}

impl Process {
    /// This process.
    pub fn current() -> Result<Self, NetlabError> {
        Self::find(std::process::id().cast_signed())
            .ok_or_else(|| NetlabError::new("read /proc/self/stat", "it has an unknown form"))
    }

    /// The process with this number, if there is one.
    #[must_use]
    pub fn find(pid: i32) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in parentheses may hold anything; what follows the last parenthesis starts with field 3.
        let started = stat.rsplit_once(')')?.1.split_whitespace().nth(22 - 3)?.parse().ok()?;
        Some(Self { pid, started })
    }

    /// Whether it still runs.
    #[must_use]
    pub fn is_alive(self) -> bool {
        Self::find(self.pid) == Some(self)
    }
}

impl Lock {
    fn take(root: &Path) -> Result<Self, NetlabError> {
        fs::create_dir_all(root).attempt(format!("make {}", root.display()))?;
        let path = root.join("lock");
        let file = File::create(&path).attempt(format!("open {}", path.display()))?;
        flock(&file, FlockOperation::LockExclusive).attempt(format!("lock {}", path.display()))?;
        Ok(Self { _file: file })
    }
}

impl State {
    fn read(folder: &Path) -> io::Result<Self> {
        let text = fs::read(folder.join("state.json"))?;
        serde_json::from_slice(&text).map_err(io::Error::from)
    }

    /// Whether nobody is there any more who would undo it.
    fn is_abandoned(&self) -> bool {
        !self.owner.is_alive() && !self.keeper.is_some_and(Process::is_alive)
    }
}

impl Claim {
    /// Takes the lowest number that nobody has and `usable` accepts. Sweeps first what killed runs have left.
    pub fn take(command: &str, usable: impl Fn(u32) -> bool) -> Result<Self, NetlabError> {
        sweep()?;
        let root = root();
        let _lock = Lock::take(&root)?;
        for id in NUMBERS.filter(|&id| usable(id)) {
            let folder = root.join(id.to_string());
            match fs::create_dir(&folder) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error).attempt(format!("make {}", folder.display())),
            }
            let owner = Process::current()?;
            let since = std::time::UNIX_EPOCH.elapsed().map_or(0, |age| age.as_secs());
            let state = State {
                id,
                mark: format!("{id}.{}.{}", owner.pid, owner.started),
                owner,
                keeper: None,
                namespace: Namespace::current()?.inode()?,
                inside: None,
                nat_table: None,
                sysctls: Vec::new(),
                command: command.to_owned(),
                since,
            };
            let claim = Self { folder, state };
            claim.write()?;
            return Ok(claim);
        }
        Err(NetlabError::new("take a number for the link", "all are taken").or_else_do("run: lasthop clean"))
    }

    /// The run whose folder is `folder`, for its keeper.
    pub fn adopt(folder: &Path) -> Result<Self, NetlabError> {
        let state = State::read(folder).attempt(format!("read {}", folder.display()))?;
        Ok(Self { folder: folder.to_owned(), state })
    }

    /// Number of the run.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.state.id
    }

    /// What is written down.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Folder of the run, for files of its own.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes down what is about to be made.
    pub fn record(&mut self, change: impl FnOnce(&mut State)) -> Result<(), NetlabError> {
        change(&mut self.state);
        self.write()
    }

    /// Sets a sysctl of `namespace` and remembers the value it had.
    pub fn set_sysctl(&mut self, namespace: &Namespace, name: &str, value: &str) -> Result<(), NetlabError> {
        let _lock = Lock::take(&root())?;
        let former = sysctl::get(namespace, name)?;
        if former == value {
            return Ok(());
        }
        self.record(|state| state.sysctls.push((name.to_owned(), former)))?;
        sysctl::set(namespace, name, value)
    }

    /// Undoes everything that is written down, and gives the number back.
    pub fn release(self, namespace: &Namespace) -> Result<(), NetlabError> {
        let root = root();
        let _lock = Lock::take(&root)?;
        // Whoever releases last reads what others may have handed over meanwhile.
        let state = State::read(&self.folder).unwrap_or(self.state);
        undo(&root, &self.folder, &state, namespace)
    }

    fn write(&self) -> Result<(), NetlabError> {
        write_state(&self.folder, &self.state)
    }
}

fn write_state(folder: &Path, state: &State) -> Result<(), NetlabError> {
    let path = folder.join("state.json");
    let fresh = folder.join("state.json.new");
    let text =
        serde_json::to_vec_pretty(state).map_err(io::Error::from).attempt("write the state as JSON")?;
    fs::write(&fresh, text).attempt(format!("write {}", fresh.display()))?;
    fs::rename(&fresh, &path).attempt(format!("write {}", path.display()))
}

/// All runs that have a folder, oldest number first.
#[must_use]
pub fn list() -> Vec<(PathBuf, State)> {
    list_in(&root())
}

fn list_in(root: &Path) -> Vec<(PathBuf, State)> {
    let folders = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut runs: Vec<_> =
        folders.filter_map(|folder| Some((folder.clone(), State::read(&folder).ok()?))).collect();
    runs.sort_by_key(|(_, state)| state.id);
    runs
}

/// Undoes what runs have left whose processes are gone, and says what it was.
pub fn sweep() -> Result<Vec<String>, NetlabError> {
    let root = root();
    if !root.exists() {
        return Ok(Vec::new());
    }
    let _lock = Lock::take(&root)?;
    let here = Namespace::current()?;
    let mut swept = Vec::new();
    for (folder, state) in list_in(&root) {
        if !state.is_abandoned() {
            continue;
        }
        if state.namespace != here.inode()? && namespace_lives(state.namespace) {
            swept.push(format!(
                "link {} was killed and belongs to another network namespace: run `lasthop clean` there",
                state.id
            ));
            continue;
        }
        undo(&root, &folder, &state, &here)?;
        swept.push(format!("link {} ({}), which was killed", state.id, state.command));
    }
    Ok(swept)
}

/// Undoes one run. The lock is held.
fn undo(root: &Path, folder: &Path, state: &State, namespace: &Namespace) -> Result<(), NetlabError> {
    kill_marked(state);
    if namespace.inode()? == state.namespace {
        if let Some(table) = &state.nat_table {
            nat::remove(namespace, table)?;
        }
        if !state.sysctls.is_empty() {
            hand_over_or_restore(root, state, namespace)?;
        }
    }
    fs::remove_dir_all(folder).attempt(format!("remove {}", folder.display()))
}

/// Sysctls serve every link of the namespace: another run that needs them gets the duty to restore them.
fn hand_over_or_restore(root: &Path, state: &State, namespace: &Namespace) -> Result<(), NetlabError> {
    let heir = list_in(root).into_iter().find(|(_, other)| {
        other.id != state.id && other.namespace == state.namespace && !other.is_abandoned()
    });
    if let Some((folder, mut heir)) = heir {
        heir.sysctls.extend(state.sysctls.iter().cloned());
        return write_state(&folder, &heir);
    }
    for (name, value) in &state.sysctls {
        sysctl::set(namespace, name, value)?;
    }
    Ok(())
}

/// Ends processes behind the link that nobody watches any more: those in its namespace that carry its mark.
fn kill_marked(state: &State) {
    let Some(inside) = state.inside else { return };
    let mark = format!("{MARK}={}", state.mark);
    for pid in pids() {
        let in_namespace =
            fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|metadata| metadata.ino() == inside);
        let marked = || {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environment.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
        };
        if in_namespace
            && marked()
            && let Some(pid) = Pid::from_raw(pid)
        {
            // It may have ended in between.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Numbers of all processes.
pub(crate) fn pids() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn namespace_lives(inode: u64) -> bool {
    pids()
        .any(|pid| fs::metadata(format!("/proc/{pid}/ns/net")).is_ok_and(|metadata| metadata.ino() == inode))
}
