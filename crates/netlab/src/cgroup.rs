//! The control group (v2) of a run: the surest way to end all its processes, and where its eBPF
//! programs attach.
//!
//! It is made below the caller's own group, so that limits on the caller also hold for the run.
//! Without a v2 hierarchy, or without permission to write to it, [`Cgroup::create`] fails with the
//! reason, and a run goes on without a group.

use crate::error::{Error, Result, Trying};
use crate::process::ProcessId;
use crate::state::{Made, Registry, Run};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A control group made by us; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// Returns the control group of this process.
    pub fn own() -> Result<Self> {
        Ok(Self { path: own_group(Path::new("/proc/self"))? })
    }

    /// Returns the directory that [`create`](Self::create) needs for a group `name` below the
    /// caller's own.
    pub fn planned(name: &str) -> Result<PathBuf> {
        Self::planned_for(Path::new("/proc/self"), name)
    }

    /// Does the same as `planned` for the process with this /proc directory.
    pub(crate) fn planned_for(process: &Path, name: &str) -> Result<PathBuf> {
        Ok(own_group(process)?.join(name))
    }

    /// Creates the group at `path`.
    pub fn create(path: PathBuf) -> Result<Self> {
        std::fs::create_dir(&path).trying(|| format!("create the control group {}", path.display()))?;
        Ok(Self { path })
    }

    /// Creates the group of a run below the caller's own.
    ///
    /// The group is recorded in the run's state before it is created. So it is removed with the run
    /// even if the caller is killed.
    pub fn of_run(run: &mut Run) -> Result<Self> {
        // Run ids are reused and unique only within a registry; process ids are reused too.
        // Together with the start time they never repeat another group's name.
        let ProcessId { pid, start_time } = run.state().main;
        let path = Self::planned(&format!("lasthop-{pid}-{start_time}-{}", run.id()))?;
        run.record(Made::Cgroup { path: path.clone() })?;
        Self::create(path)
    }

    /// Returns the group at `path` that an earlier process created.
    #[must_use]
    pub fn existing(path: PathBuf) -> Self {
        Self { path }
    }

    /// Returns the group's directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves process `pid` into the group; processes that it starts later are in the group too.
    pub fn add(&self, pid: u32) -> Result<()> {
        let file = self.path.join("cgroup.procs");
        std::fs::write(&file, pid.to_string()).trying(|| format!("write {pid} to {}", file.display()))
    }

    /// Returns the ids of the processes in the group.
    pub fn processes(&self) -> Result<Vec<u32>> {
        let file = self.path.join("cgroup.procs");
        let text = std::fs::read_to_string(&file).trying(|| format!("read {}", file.display()))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Kills all processes of the group at once (`cgroup.kill`, Linux 5.14).
    pub fn kill(&self) -> Result<()> {
        let file = self.path.join("cgroup.kill");
        std::fs::write(&file, "1").trying(|| format!("write 1 to {}", file.display()))
    }

    /// Removes the group and the groups below it, such as those of a link within this link.
    ///
    /// Waits up to 2 s until killed processes have left a group.
    pub fn remove(&self) -> Result<()> {
        for child in std::fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if child.file_type().is_ok_and(|kind| kind.is_dir()) {
                Self::existing(child.path()).remove()?;
            }
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            match std::fs::remove_dir(&self.path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) if error.raw_os_error() == Some(libc::EBUSY) && Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                other => return other.trying(|| format!("remove the control group {}", self.path.display())),
            }
        }
    }
}

/// A control group for this process and all processes that it starts from now on.
///
/// When dropped, it moves this process back, kills the others and removes the group. If this
/// process is killed, the next sweep does it.
#[derive(Debug)]
pub struct Enclosure {
    /// When dropped, undoes what is recorded: kills the processes in the group and removes the
    /// group.
    run: Option<Run>,
    group: Cgroup,
    former: Cgroup,
}

impl Enclosure {
    /// Creates the group and moves this process into it.
    pub fn enter(registry: &Registry) -> Result<Self> {
        let former = Cgroup::own()?;
        let mut run = registry.begin()?;
        let group = Cgroup::of_run(&mut run)?;
        let enclosure = Self { run: Some(run), group, former };
        enclosure.group.add(std::process::id())?;
        Ok(enclosure)
    }

    /// Returns the group.
    #[must_use]
    pub fn group(&self) -> &Cgroup {
        &self.group
    }
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        // If this process cannot leave, undoing the run would kill it. The next sweep removes the
        // group.
        if self.former.add(std::process::id()).is_err() {
            std::mem::forget(self.run.take());
        }
    }
}

/// Time for killed processes to leave a group.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the directory of the v2 group of the process with this /proc directory.
fn own_group(process: &Path) -> Result<PathBuf> {
    let read = |name: &str| {
        let path = process.join(name);
        std::fs::read_to_string(&path).trying(|| format!("read {}", path.display()))
    };
    let mount = mount_point(&read("mountinfo")?)
        .ok_or_else(|| Error::missing("cgroup v2 is not mounted", "mount -t cgroup2 none /sys/fs/cgroup"))?;
    let groups = read("cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    own.map(|own| mount.join(own))
        .ok_or_else(|| Error::missing("this process is in no v2 control group", "boot with cgroup v2"))
}

/// Returns the directory of the v2 group with this id of the kernel's.
///
/// The id is the inode number of the directory. `None` if the group is not below the cgroup mount
/// that this process sees.
#[must_use]
pub fn find(number: u64) -> Option<PathBuf> {
    use std::os::unix::fs::MetadataExt;
    let mut left = vec![mount_point(&std::fs::read_to_string("/proc/self/mountinfo").ok()?)?];
    while let Some(directory) = left.pop() {
        if std::fs::metadata(&directory).is_ok_and(|its| its.ino() == number) {
            return Some(directory);
        }
        let entries = std::fs::read_dir(&directory).into_iter().flatten().flatten();
        left.extend(
            entries
                .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
                .map(|entry| entry.path()),
        );
    }
    None
}

/// Returns whether `path` is the directory of a control group that a run made: in the file system
/// of cgroup v2, with a name as [`Cgroup::of_run`] gives it.
pub(crate) fn is_of_a_run(path: &Path) -> bool {
    /// `CGROUP2_SUPER_MAGIC` (`linux/magic.h`).
    const MAGIC: i64 = 0x6367_7270;
    let name = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"lasthop-"));
    name && rustix::fs::statfs(path).is_ok_and(|its| its.f_type == MAGIC)
}

/// Returns where cgroup v2 is mounted: field 5 of the line whose file system type, after the lone
/// dash, is `cgroup2`.
fn mount_point(mountinfo: &str) -> Option<PathBuf> {
    mountinfo.lines().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        (right.split(' ').next()? == "cgroup2").then(|| left.split(' ').nth(4))?.map(PathBuf::from)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_v2_mount_is_found_among_v1_mounts() {
        let text = "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n\
                    41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        assert_eq!(mount_point(text), Some(PathBuf::from("/sys/fs/cgroup/unified")));
        assert_eq!(mount_point("33 31 0:30 / /c rw - cgroup cgroup rw,cpuacct\n"), None);
    }

    /// The group of a run lies below that of its caller, where cgroup v2 is mounted.
    #[test]
    fn where_the_group_of_a_run_will_be() {
        let process = tempfile::tempdir().expect("a folder");
        let v1 = "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let v2 = "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let planned = |mounts: &str, groups: &str| {
            std::fs::write(process.path().join("mountinfo"), mounts).expect("written");
            std::fs::write(process.path().join("cgroup"), groups).expect("written");
            Cgroup::planned_for(process.path(), "x").map_err(|error| error.to_string())
        };
        let unified = Path::new("/sys/fs/cgroup/unified");
        let both = format!("{v1}{v2}");
        assert_eq!(planned(&both, "3:cpu:/other\n0::/user.slice/a\n"), Ok(unified.join("user.slice/a/x")));
        assert_eq!(planned(&both, "0::/\n"), Ok(unified.join("x")));
        let error = planned(v1, "0::/\n").expect_err("no mount");
        assert!(error.starts_with("cgroup v2 is not mounted; "), "{error}");
        let error = planned(v2, "3:cpu:/other\n").expect_err("no group");
        assert!(error.starts_with("this process is in no v2 control group; "), "{error}");
        std::fs::remove_file(process.path().join("cgroup")).expect("removed");
        assert!(Cgroup::planned_for(process.path(), "x").is_err());
    }

    /// A directory of another file system is never taken for a group, whatever its name.
    #[test]
    fn folders_are_no_groups() {
        let folder = tempfile::tempdir().expect("a folder");
        let named = folder.path().join("lasthop-1-2-3");
        std::fs::create_dir(&named).expect("created");
        assert!(!is_of_a_run(&named));
        let root = Path::new("/sys/fs/cgroup");
        assert!(!is_of_a_run(root), "a group, but not of a run");
    }

    /// Groups below it go first; one that is gone already is no error.
    #[test]
    fn a_group_is_removed_with_those_below_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("group");
        std::fs::create_dir_all(path.join("below/below")).expect("created");
        let group = Cgroup::existing(path.clone());
        group.remove().expect("removed");
        assert!(!path.exists());
        group.remove().expect("it is gone already");
        std::fs::create_dir(&path).expect("created");
        std::fs::write(path.join("cgroup.procs"), "12\n7\n").expect("written");
        assert_eq!(group.processes().expect("read"), [12, 7]);
        assert!(group.remove().is_err(), "a file that is no group's own stays");
    }
}
