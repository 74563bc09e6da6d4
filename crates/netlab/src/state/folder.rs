//! Directories that belong to this user alone, held by a file descriptor.
//!
//! Runs as root read, write and remove files here. Another user could choose these files through a
//! directory of their own, a directory that others can write to, or a symbolic link. So none of
//! these is opened.

use crate::error::{Error, Result, Trying};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Largest part of a state file that is read, in bytes. A command line has 2 MiB at most
/// (execve(2)), and JSON escapes some of it.
const LONGEST: u64 = 16 << 20;

/// An open directory of this user that nobody else can write to.
#[derive(Debug)]
pub(super) struct Folder {
    fd: OwnedFd,
    path: PathBuf,
}

/// Reason why something in a directory is not ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Foreign(pub(super) String);

impl Folder {
    /// Opens the directory at `path`, which must not be a symbolic link.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = match rustix::fs::open(path, flags, Mode::empty()) {
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(refused(format!("the state directory {} is not a directory", path.display())));
            }
            other => other.trying(|| format!("open the state directory {}", path.display()))?,
        };
        let found = rustix::fs::fstat(&fd).trying(|| format!("stat {}", path.display()))?;
        if found.st_uid != own_user() {
            let what = format!("the state directory {} belongs to user {}", path.display(), found.st_uid);
            return Err(refused(what));
        }
        if can_be_written_by_others(&found) {
            let mode = found.st_mode & 0o7777;
            return Err(Error::missing(
                format!("the state directory {} is writable by other users (mode {mode:o})", path.display()),
                format!("chmod go-w {}", path.display()),
            ));
        }
        Ok(Self { fd, path: path.to_owned() })
    }

    /// Opens the directory `name` in this one.
    pub(super) fn folder(&self, name: &str) -> std::result::Result<Self, Foreign> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOTDIR | Errno::LOOP => Foreign("not a directory".into()),
            error => Foreign(io::Error::from(error).to_string()),
        })?;
        owned(&fd)?;
        Ok(Self { fd, path: self.path.join(name) })
    }

    /// Returns the names of all entries, sorted.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        let what = || format!("read {}", self.path.display());
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd).trying(what)? {
            let name = entry.trying(what)?.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Creates the directory `name`; returns whether it is new.
    pub(super) fn make(&self, name: &str) -> Result<bool> {
        match rustix::fs::mkdirat(&self.fd, name, Mode::RWXU) {
            Err(Errno::EXIST) => Ok(false),
            other => other.trying(|| format!("create {}", self.path.join(name).display())).map(|()| true),
        }
    }

    /// Opens a file of ours for reading and writing, creating it if it is missing.
    pub(super) fn open_file(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::RUSR | Mode::WUSR)?;
        own_file(&fd).map_err(|Foreign(why)| io::Error::other(why))?;
        Ok(fd)
    }

    /// Returns the contents of the file `name`, if it is ours.
    pub(super) fn read(&self, name: &str) -> std::result::Result<Vec<u8>, Foreign> {
        let wrong = |error: io::Error| Foreign(format!("{name}: {error}"));
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd =
            rustix::fs::openat(&self.fd, name, flags, Mode::empty()).map_err(|error| wrong(error.into()))?;
        own_file(&fd).map_err(|Foreign(why)| Foreign(format!("{name}: {why}")))?;
        let mut bytes = Vec::new();
        File::from(fd).take(LONGEST).read_to_end(&mut bytes).map_err(wrong)?;
        Ok(bytes)
    }

    /// Writes the file `name` atomically: a reader sees the former contents or the new, never a
    /// part.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let new = format!("{name}.new");
        let written = || -> io::Result<()> {
            // Left by a process that was killed while writing.
            match rustix::fs::unlinkat(&self.fd, &new, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let fd = rustix::fs::openat(&self.fd, &new, flags, Mode::RUSR | Mode::WUSR)?;
            File::from(fd).write_all(bytes)?;
            Ok(rustix::fs::renameat(&self.fd, &new, &self.fd, name)?)
        };
        written().trying(|| format!("write {}", self.path.join(name).display()))
    }

    /// Removes the directory `name` with its contents; links in it are removed, not followed.
    pub(super) fn remove_all(&self, name: &str) -> io::Result<()> {
        // Through the file descriptor, because the path may lead elsewhere by now.
        std::fs::remove_dir_all(format!("/proc/self/fd/{}/{name}", self.fd.as_raw_fd()))
    }

    /// Removes the directory `name` if it is empty.
    pub(super) fn remove_empty(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes the file `name`.
    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())?)
    }
}

/// Returns whether an open file still has a name.
pub(super) fn has_a_name(file: &OwnedFd) -> Result<bool> {
    Ok(rustix::fs::fstat(file).trying(|| "stat the lock of the state directory".into())?.st_nlink > 0)
}

/// Returns the effective user id of this process.
pub(super) fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn refused(what: String) -> Error {
    Error::missing(what, "remove it, or set LASTHOP_STATE_DIR to a directory of your own")
}

fn can_be_written_by_others(found: &Stat) -> bool {
    found.st_mode & 0o022 != 0
}

/// Checks that an open file or directory belongs to this user and that nobody else can write to it.
fn owned(fd: &OwnedFd) -> std::result::Result<Stat, Foreign> {
    let found = rustix::fs::fstat(fd).map_err(|error| Foreign(io::Error::from(error).to_string()))?;
    if found.st_uid != own_user() {
        return Err(Foreign(format!("belongs to user {}", found.st_uid)));
    }
    if can_be_written_by_others(&found) {
        return Err(Foreign(format!("writable by other users (mode {:o})", found.st_mode & 0o7777)));
    }
    Ok(found)
}

fn own_file(fd: &OwnedFd) -> std::result::Result<(), Foreign> {
    let found = owned(fd)?;
    if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile {
        Ok(())
    } else {
        Err(Foreign("not a regular file".into()))
    }
}
