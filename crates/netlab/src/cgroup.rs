//! A control group (v2) of a run: the surest way to end all its processes, and where its eBPF
//! programs attach.
//!
//! Made below the caller's own group, so that limits set on the caller hold for the run too. Where
//! there is no v2 hierarchy, or this user may not write to it, there is none: [`Cgroup::create`]
//! says why, and a run goes on without.

use crate::error::{Error, Result, Trying};
use crate::process::ProcessId;
use crate::state::{Made, Registry, Run};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A control group of our own; see the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    path: PathBuf,
}

impl Cgroup {
    /// The group that this process is in.
    pub fn own() -> Result<Self> {
        Ok(Self { path: own_group(Path::new("/proc/self"))? })
    }

    /// The directory that [`create`](Self::create) would make.
    pub fn planned(name: &str) -> Result<PathBuf> {
        Self::planned_for(Path::new("/proc/self"), name)
    }

    /// The same for the process with this /proc directory.
    pub(crate) fn planned_for(process: &Path, name: &str) -> Result<PathBuf> {
        Ok(own_group(process)?.join(name))
    }

    /// Makes the group at `path`.
    pub fn create(path: PathBuf) -> Result<Self> {
        std::fs::create_dir(&path).trying(|| format!("create the control group {}", path.display()))?;
        Ok(Self { path })
    }

    /// Makes the group of a run below the caller's own. It is written down before, so that it goes
    /// with the run, whatever becomes of the caller.
    pub fn of_run(run: &mut Run) -> Result<Self> {
        // Numbers of runs are used again and each registry has its own, numbers of processes are
        // used again too: all of them together are no other group's name.
        let ProcessId { pid, start_time } = run.state().main;
        let path = Self::planned(&format!("lasthop-{pid}-{start_time}-{}", run.id()))?;
        run.record(Made::Cgroup { path: path.clone() })?;
        Self::create(path)
    }

    /// The group that an earlier process made at `path`.
    #[must_use]
    pub fn existing(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Moves process `pid` in, and with it all that it starts from now on.
    pub fn add(&self, pid: u32) -> Result<()> {
        let file = self.path.join("cgroup.procs");
        std::fs::write(&file, pid.to_string()).trying(|| format!("write {pid} to {}", file.display()))
    }

    /// The processes in it.
    pub fn processes(&self) -> Result<Vec<u32>> {
        let file = self.path.join("cgroup.procs");
        let text = std::fs::read_to_string(&file).trying(|| format!("read {}", file.display()))?;
        Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
    }

    /// Kills all its processes at once (`cgroup.kill`, Linux 5.14).
    pub fn kill(&self) -> Result<()> {
        let file = self.path.join("cgroup.kill");
        std::fs::write(&file, "1").trying(|| format!("write 1 to {}", file.display()))
    }

    /// Removes the group and those that were made in it (by a link in this link, say); killed
    /// processes need a moment to leave it.
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

/// This process, and all that it starts from now on, in a control group of their own. Dropped, this
/// process goes back, the others are killed, and the group is removed; if this process is killed,
/// whoever sweeps next does it.
#[derive(Debug)]
pub struct Enclosure {
    /// Dropped, it undoes what is written down: kills what is in the group and removes it.
    run: Option<Run>,
    group: Cgroup,
    former: Cgroup,
}

impl Enclosure {
    /// Makes the group, and moves this process into it.
    pub fn enter(registry: &Registry) -> Result<Self> {
        let former = Cgroup::own()?;
        let mut run = registry.begin()?;
        let group = Cgroup::of_run(&mut run)?;
        let enclosure = Self { run: Some(run), group, former };
        enclosure.group.add(std::process::id())?;
        Ok(enclosure)
    }

    /// The group.
    #[must_use]
    pub fn group(&self) -> &Cgroup {
        &self.group
    }
}

impl Drop for Enclosure {
    fn drop(&mut self) {
        // Who cannot leave would kill itself: then the group stays for the next sweep.
        if self.former.add(std::process::id()).is_err() {
            std::mem::forget(self.run.take());
        }
    }
}

/// Time that killed processes get to leave.
const PATIENCE: Duration = Duration::from_secs(2);

/// Directory of the v2 group that the process with this /proc directory is in.
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

/// Directory of the v2 group with this number of the kernel's, which is the inode number of its
/// directory; none if it is not below the mount that this process sees.
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

/// Whether this is the directory of a control group that a run made: in the file system of cgroup
/// v2, and named as [`Cgroup::of_run`] names it.
pub(crate) fn is_of_a_run(path: &Path) -> bool {
    /// `CGROUP2_SUPER_MAGIC` (`linux/magic.h`).
    const MAGIC: i64 = 0x6367_7270;
    let name = path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"lasthop-"));
    name && rustix::fs::statfs(path).is_ok_and(|its| its.f_type == MAGIC)
}

/// Where cgroup v2 is mounted: field 5 of the line whose file system type, behind the lone dash, is
/// `cgroup2`.
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
}
