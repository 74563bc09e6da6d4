//! The cache of built kernels: a directory for each key, which is complete or does not exist.
//!
//! ```text
//! kernel/KEY/linux        the kernel, stripped
//! kernel/KEY/build.json   what it is (Record)
//! kernel/KEY/build.log    what building it printed
//! kernel/KEY.lock         held while KEY is being built
//! kernel/KEY.building/    the source tree while KEY is being built
//! kernel/failed.log       what a build that failed printed
//! kernel/linux-source-*   source packages that were to be kept
//! ```
//!
//! The cache removes nothing else there. It rejects a kernel that another user could have made or
//! changed (`trust`).
//!
//! Kernels that all users of a machine share are searched after the user's own: those that root
//! built ([`MACHINE`]), and the one of a package ([`PACKAGES`]).

mod trust;

use super::Kernel;
use super::config::Options;
use super::error::KernelError;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::iter;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Environment variable with the directory of this project's caches. No other one is searched if
/// it is set.
const OVERRIDE: &str = "LASTHOP_CACHE";
/// Directory of the caches that all users of this machine share (Filesystem Hierarchy Standard,
/// 5.5).
const MACHINE: &str = "/var/cache/lasthop";
/// Directory into which packages install.
const PACKAGES: &str = "/usr/lib/lasthop";
/// Directory of kernels in each of these.
const KERNELS: &str = "kernel";
const KERNEL: &str = "linux";
const RECORD: &str = "build.json";
const BUILDING: &str = "building";
const LOCK: &str = "lock";
const FAILED: &str = "failed.log";
/// Prefix of the names of source packages.
const SOURCE: &str = "linux-source-";

/// The cache of kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
    /// Directories that are only read, in the order in which they are searched after `folder`.
    shared: Vec<PathBuf>,
}

/// Contents of a kernel's `build.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The kernel.
    #[serde(flatten)]
    pub kernel: Kernel,
    /// Duration of each step in seconds.
    pub seconds: BTreeMap<String, f64>,
    /// Options that differ from the requested ones; only a fallback kernel can have any.
    pub dropped: Vec<String>,
    /// The configuration as built.
    pub config: Options,
}

/// Lock that is held while a kernel is built.
#[derive(Debug)]
#[must_use = "letting go of it lets another build begin"]
pub(super) struct Lock {
    _file: File,
}

impl Cache {
    /// Returns the user's cache: in `LASTHOP_CACHE`, or in `lasthop` in `XDG_CACHE_HOME` or
    /// `~/.cache`. The latter two are searched before the kernels that all users share.
    pub fn of_user() -> Result<Self, KernelError> {
        Self::by_environment(&|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    /// Returns the cache that all users of this machine share. Only root can write to it.
    #[must_use]
    pub fn of_machine() -> Self {
        Self { shared: vec![Path::new(PACKAGES).join(KERNELS)], ..Self::at(Path::new(MACHINE)) }
    }

    fn by_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self, KernelError> {
        let absolute =
            |folder: PathBuf| std::path::absolute(&folder).map_err(KernelError::file("find", &folder));
        if let Some(only) = variable(OVERRIDE) {
            return Ok(Self::at(&absolute(only.into())?));
        }
        let xdg = variable("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || variable("HOME").map(|home| Path::new(&home).join(".cache"));
        let caches = xdg.or_else(home).ok_or(KernelError::NoCache)?;
        let shared = [MACHINE, PACKAGES].map(|folder| Path::new(folder).join(KERNELS));
        Ok(Self { shared: shared.into(), ..Self::at(&absolute(caches.join("lasthop"))?) })
    }

    /// Returns the cache below `folder`, without any shared kernels.
    #[must_use]
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.join(KERNELS), shared: Vec::new() }
    }

    /// Returns the directory of the cache.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the directory that the kernel with this key gets when it is built.
    #[must_use]
    pub fn place(&self, key: &str) -> PathBuf {
        self.folder.join(key)
    }

    /// Returns the directory in which it is built.
    pub(super) fn workshop(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.{BUILDING}"))
    }

    /// Returns the path of the log that a failed build leaves.
    pub(super) fn failed_log(&self) -> PathBuf {
        self.folder.join(FAILED)
    }

    /// Returns the record of the kernel with this key, if it is built: from the first directory
    /// that has it.
    #[must_use]
    pub fn record(&self, key: &str) -> Option<Record> {
        self.folders().find_map(|folder| read_record(folder, key))
    }

    /// Refuses a kernel of the cache if another user could have made or changed it.
    ///
    /// # Errors
    /// [`KernelError::Untrusted`] if so.
    pub fn check(kernel: &Kernel) -> Result<(), KernelError> {
        [kernel.path.clone(), kernel.path.with_file_name(RECORD)]
            .iter()
            .try_for_each(|path| trust::check(path))
    }

    /// Returns the records of all kernels in the cache, those of the first directory first, each
    /// directory's ordered by key.
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        let of = |folder| {
            let mut keys: Vec<_> = names(folder).collect();
            keys.sort();
            keys.into_iter().filter_map(move |key| read_record(folder, &key))
        };
        self.folders().flat_map(of).collect()
    }

    fn folders(&self) -> impl Iterator<Item = &Path> {
        iter::once(&self.folder).chain(&self.shared).map(PathBuf::as_path)
    }

    /// Writes the record beside the kernel in `folder`.
    pub(super) fn write_record(folder: &Path, record: &Record) -> Result<(), KernelError> {
        let path = folder.join(RECORD);
        let text = serde_json::to_vec_pretty(record).map_err(|error| KernelError::File {
            doing: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        fs::write(&path, text).map_err(KernelError::file("write", &path))
    }

    /// Moves a finished directory to its place in one step.
    pub(super) fn put(&self, finished: &Path, key: &str) -> Result<(), KernelError> {
        let place = self.place(key);
        if place.exists() {
            fs::remove_dir_all(&place).map_err(KernelError::file("remove", &place))?;
        }
        fs::rename(finished, &place).map_err(KernelError::file("create", &place))
    }

    /// Waits until no other process builds the kernel with this key, and takes the lock.
    ///
    /// Calls `wait` as long as another process holds it; an error of `wait` ends the waiting.
    pub(super) fn lock(
        &self,
        key: &str,
        wait: &mut dyn FnMut() -> Result<(), KernelError>,
    ) -> Result<Lock, KernelError> {
        // Whatever the umask is: nobody else may write files that this user runs.
        let made = DirBuilder::new().recursive(true).mode(0o755).create(&self.folder);
        made.map_err(KernelError::file("create", &self.folder))?;
        trust::check(&self.folder)?;
        let path = self.folder.join(format!("{key}.{LOCK}"));
        let file = File::create(&path).map_err(KernelError::file("write", &path))?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::WouldBlock) => wait()?,
                Err(TryLockError::Error(source)) => {
                    return Err(KernelError::File { doing: "lock", path, source });
                }
            }
        }
    }

    /// Removes all kernels and leftovers of builds, except those being built and those of other
    /// directories; returns the bytes freed.
    ///
    /// Files that are not the cache's stay.
    ///
    /// # Errors
    /// If another user owns the cache or can write to it, or something cannot be removed.
    pub fn clean(&self) -> Result<u64, KernelError> {
        trust::check(&self.folder)?;
        let mut freed = 0;
        // Locks stay: another process may have opened one to lock it.
        for name in names(&self.folder).filter(|name| self.is_kept(name)).collect::<Vec<_>>() {
            let key = name.split_once('.').map_or(name.as_str(), |(key, _)| key);
            let lock = File::open(self.folder.join(format!("{key}.{LOCK}")));
            if lock.as_ref().is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock))) {
                continue;
            }
            let path = self.folder.join(&name);
            freed += size(&path);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(KernelError::file("remove", &path))?;
        }
        Ok(freed)
    }
}

impl Cache {
    /// Returns whether [`clean`](Self::clean) removes this entry: a kernel, a build's directory,
    /// the log of a failed build, or a source package.
    fn is_kept(&self, name: &str) -> bool {
        let is_key = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        match name.split_once('.') {
            None => is_key(name) && self.place(name).join(RECORD).is_file(),
            Some((key, BUILDING)) => is_key(key),
            Some(_) => name == FAILED || name.starts_with(SOURCE),
        }
    }
}

/// Reads the record of the kernel with this key in a directory of kernels.
fn read_record(folder: &Path, key: &str) -> Option<Record> {
    let place = folder.join(key);
    let mut record: Record = serde_json::from_slice(&fs::read(place.join(RECORD)).ok()?).ok()?;
    // The directory may have been copied from another place.
    record.kernel.path = place.join(KERNEL);
    (record.kernel.key == key && record.kernel.path.is_file()).then_some(record)
}

fn names(folder: &Path) -> impl Iterator<Item = String> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok())
}

/// Returns the size in bytes of a file, or of everything in a directory.
#[must_use]
pub fn size(path: &Path) -> u64 {
    let Ok(about) = path.symlink_metadata() else { return 0 };
    if !about.is_dir() {
        return about.len();
    }
    fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

#[cfg(test)]
mod tests;
