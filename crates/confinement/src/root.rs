//! An empty root directory: a file system in memory in which nothing of the host's is but what is
//! shown, and nothing can be written.
//!
//! It holds where Landlock does not: names and properties of files, UNIX sockets at paths, kernels
//! without it. A directory is shown at its own path, whatever the rights of those above it are; a
//! link leads to where it led. What the host mounts there later is not seen.
#![expect(unsafe_code, reason = "a thread's own mount namespace and mount_setattr(2) are in no safe library")]

use super::files::Shown;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_change,
    move_mount, open_tree, unmount,
};
use rustix::process::{chdir, chroot, fchdir, pivot_root, umask};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, UnshareFlags, capabilities, move_into_link_name_space, unshare_unsafe,
};
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Where the host's root directory is until all is shown.
const OLD: &str = "/.host";

/// The root directory that a process has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    /// The empty one.
    Empty,
    /// The host's: the process may not leave it, or has everything to see.
    Host,
    /// The host's, since the kernel refused a step.
    Refused(String),
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an empty root directory"),
            Self::Host => f.write_str("the host's root directory"),
            Self::Refused(why) => write!(f, "the host's root directory (an empty one: {why})"),
        }
    }
}

/// Enters it. A process that may not (CAP_SYS_ADMIN, a container's or a unit's filter) stays where
/// it is.
///
/// # Errors
/// If it was left half-way.
pub(super) fn enter(shown: &Shown) -> io::Result<Root> {
    let may = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    let plan = Plan::of(shown);
    if !may || plan.shows_everything() { Ok(Root::Host) } else { plan.enter() }
}

/// An empty file system becomes the root directory; the host's is in [`OLD`].
fn change_root() -> io::Result<()> {
    // Any directory will do: when it has become the root, the host's is seen again as it was.
    let base = ["/tmp", "/mnt", "/run"].into_iter().find(|path| Path::new(path).is_dir()).unwrap_or("/tmp");
    mount("lasthop", base, "tmpfs", MountFlags::empty(), Some(c"mode=755,size=1m"))?;
    let old = OLD.trim_start_matches('/');
    fs::create_dir(Path::new(base).join(old))?;
    chdir(base)?;
    // A root in an initial file system cannot be changed (pivot_root(2)).
    pivot_root(".", old)?;
    Ok(chdir("/")?)
}

/// Where a thread was, to go back to.
struct Origin {
    namespace: OwnedFd,
    root: OwnedFd,
    directory: OwnedFd,
}

impl Origin {
    fn here() -> io::Result<Self> {
        let open =
            |path| rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty());
        let namespace = fs::File::open("/proc/thread-self/ns/mnt")?.into();
        Ok(Self { namespace, root: open("/")?, directory: open(".")? })
    }

    /// The mounts that were made in the meantime go with their namespace.
    fn return_to(&self) -> io::Result<()> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        fchdir(&self.root)?;
        chroot(".")?;
        Ok(fchdir(&self.directory)?)
    }
}

/// What is to be in it, by paths without links.
struct Plan {
    /// Files and directories, those above first.
    targets: Vec<PathBuf>,
    /// Links, and where they lead.
    links: Vec<(PathBuf, PathBuf)>,
    /// The working directory: relative paths mean what they meant.
    directory: PathBuf,
}

impl Plan {
    fn of(shown: &Shown) -> Self {
        let Shown { readable, removable_from, sockets } = shown;
        let (mut targets, mut links) = (Vec::new(), Vec::new());
        for path in readable.iter().chain(removable_from).chain(sockets) {
            // What is not there is not shown.
            let Ok(target) = path.canonicalize() else { continue };
            let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
            if let (Some(parent), Some(name)) = (parent, path.file_name())
                && parent.join(name) != target
            {
                links.push((parent.join(name), target.clone()));
            }
            targets.push(target);
        }
        targets.sort_by_key(|path| path.components().count());
        let directory = std::env::current_dir().unwrap_or_else(|_| "/".into());
        Self { targets, links, directory }
    }

    fn shows_everything(&self) -> bool {
        self.targets.first().is_some_and(|path| path.parent().is_none())
    }

    /// # Errors
    /// If there was no way back from a step that the kernel refused.
    fn enter(&self) -> io::Result<Root> {
        let origin = match Origin::here() {
            Ok(origin) => origin,
            Err(error) => return Ok(Root::Refused(error.to_string())),
        };
        // SAFETY: the descriptor table stays shared. Root, working directory and umask are this
        // thread's own from now on.
        if let Err(error) = unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
            return Ok(Root::Refused(error.to_string()));
        }
        // The directories that lead to what is shown are everybody's, whatever files of the
        // caller's are.
        let mask = umask(Mode::WGRP | Mode::WOTH);
        let entered = self.trees().and_then(|trees| {
            change_root()?;
            self.carry_out(&trees)?;
            unmount(OLD, UnmountFlags::DETACH)?;
            fs::remove_dir(OLD)?;
            protect()?;
            Ok(chdir(&self.directory)?)
        });
        umask(mask);
        match entered {
            Ok(()) => Ok(Root::Empty),
            Err(error) => origin.return_to().map(|()| Root::Refused(error.to_string())),
        }
    }

    /// The mounts of what is shown, by the paths that it has with the host's root directory.
    fn trees(&self) -> io::Result<Vec<Tree<'_>>> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let mut trees: Vec<Tree> = Vec::new();
        for path in &self.targets {
            // Nothing is made in what is the host's.
            if trees.iter().any(|above| path.starts_with(above.path)) {
                continue;
            }
            trees.push(Tree::of(path).map_err(not_shown(path))?);
        }
        Ok(trees)
    }

    fn carry_out(&self, trees: &[Tree<'_>]) -> io::Result<()> {
        let done: Vec<_> = trees.iter().map(|tree| tree.path).collect();
        for tree in trees {
            tree.attach().map_err(not_shown(tree.path))?;
        }
        let is_free = |path: &Path| !done.iter().any(|above| path.starts_with(above));
        for (link, target) in self.links.iter().filter(|(link, _)| is_free(link)) {
            if link.symlink_metadata().is_err() {
                make_parent(link)?;
                symlink(target, link)?;
            }
        }
        if is_free(&self.directory) { fs::create_dir_all(&self.directory) } else { Ok(()) }
    }
}

/// A file or a directory of the host's, with all that is mounted in it.
struct Tree<'a> {
    path: &'a Path,
    is_directory: bool,
    mounts: OwnedFd,
}

impl<'a> Tree<'a> {
    fn of(path: &'a Path) -> io::Result<Self> {
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE
            | OpenTreeFlags::AT_SYMLINK_NOFOLLOW;
        let mounts = open_tree(CWD, path, flags)?;
        Ok(Self { path, is_directory: path.is_dir(), mounts })
    }

    /// Mounts it at its path in the new root directory.
    fn attach(&self) -> io::Result<()> {
        if self.is_directory {
            fs::create_dir_all(self.path)?;
        } else {
            make_parent(self.path)?;
            OpenOptions::new().write(true).create_new(true).open(self.path)?;
        }
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
        Ok(move_mount(&self.mounts, "", CWD, self.path, flags)?)
    }
}

/// For `map_err`: which path it was.
fn not_shown(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("show {}: {error}", path.display()))
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Nothing can be written, no device opened, no program gains rights, in all that is there.
fn protect() -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: path and attributes live across the call, and the size is that of the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    /// In a thread of its own, whose root it is.
    fn in_a_thread(work: impl FnOnce() + Send + 'static) {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: only root has a root directory of its own");
            return;
        }
        std::thread::spawn(work).join().expect("it is as it should be");
    }

    fn plan(target: &Path) -> Plan {
        let directory = std::env::current_dir().expect("there is one");
        Plan { targets: vec![target.to_owned()], links: Vec::new(), directory }
    }

    /// A step that fails leaves nothing changed, and says which it was.
    #[test]
    fn back_from_half_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, gone) = (folder.path().join("file"), folder.path().join("gone"));
        fs::write(&file, "a").expect("room");
        in_a_thread(move || {
            let before = std::env::current_dir().expect("there is one");
            // The first fails before there is a new root, the second when nothing is left to be
            // done.
            let last = Plan { directory: file.join("x"), ..plan(&file) };
            for (plan, what) in [(plan(&gone), format!("show {}: ", gone.display())), (last, String::new())] {
                match plan.enter().expect("there is a way back") {
                    Root::Refused(why) => assert!(why.starts_with(&what), "{why}"),
                    other => panic!("{other:?}"),
                }
                assert_eq!(std::env::current_dir().expect("there is one"), before);
                fs::write(&file, "b").expect("it is the host's again");
            }
            assert!(!Path::new(OLD).exists());
        });
    }

    /// What is shown can be reached by another user, though the caller's files are its own alone.
    #[test]
    fn ways_are_open_whatever_the_umask() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "a").expect("room");
        in_a_thread(move || {
            // SAFETY: as in `Plan::enter`; before that it would be the whole process's mask.
            unsafe { unshare_unsafe(UnshareFlags::FS) }.expect("always");
            umask(Mode::RWXG | Mode::RWXO);
            match plan(&file).enter().expect("there is a way back") {
                Root::Empty => {}
                Root::Refused(why) => return println!("skipped: an empty root directory: {why}"),
                Root::Host => panic!("it was not even tried"),
            }
            for above in file.ancestors().skip(1) {
                let mode = fs::metadata(above).expect("it is there").permissions().mode();
                assert_eq!(mode & 0o777, 0o755, "{}", above.display());
            }
            assert_eq!(umask(Mode::empty()), Mode::RWXG | Mode::RWXO);
        });
    }
}
