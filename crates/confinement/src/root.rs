//! An empty root directory: a read-only file system in memory that contains only the shown files of
//! the host.
//!
//! It covers what Landlock does not: names and attributes of files, UNIX sockets at paths, and
//! kernels without Landlock. A directory is shown at its own path, whatever the permissions of the
//! directories above it. A symbolic link keeps its target. Mounts that the host makes there later
//! are not visible.
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

/// Mount point of the host's root directory until everything is shown.
const OLD: &str = "/.host";

/// The root directory of a confined process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Root {
    /// The empty one.
    Empty,
    /// The host's, because the process may not change it or is shown everything.
    Host,
    /// The host's, because the kernel refused a step.
    Refused(String),
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("an empty root directory"),
            Self::Host => f.write_str("the host's root directory"),
            Self::Refused(why) => write!(f, "the host's root directory (cannot enter an empty one: {why})"),
        }
    }
}

/// Enters the empty root directory. The host's root directory stays if this process has no
/// CAP_SYS_ADMIN, or if the kernel refuses a step (for example because of a container's or a unit's
/// filter).
///
/// # Errors
/// If a step was refused and the way back failed.
pub(super) fn enter(shown: &Shown) -> io::Result<Root> {
    let may = capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    let plan = Plan::of(shown);
    if !may || plan.shows_everything() { Ok(Root::Host) } else { plan.enter() }
}

/// Makes an empty file system the root directory. The host's is then at [`OLD`].
fn change_root() -> io::Result<()> {
    // Any directory will do: once the new file system is the root, the host's directory is visible
    // again as it was.
    let base = ["/tmp", "/mnt", "/run"].into_iter().find(|path| Path::new(path).is_dir()).unwrap_or("/tmp");
    mount("lasthop", base, "tmpfs", MountFlags::empty(), Some(c"mode=755,size=1m"))?;
    let old = OLD.trim_start_matches('/');
    fs::create_dir(Path::new(base).join(old))?;
    chdir(base)?;
    // The root of an initial file system (initramfs) cannot be changed (pivot_root(2)).
    pivot_root(".", old)?;
    Ok(chdir("/")?)
}

/// Mount namespace and directories of a thread before the change, for going back.
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

    /// Goes back. The mounts that were made in the meantime disappear with their namespace.
    fn return_to(&self) -> io::Result<()> {
        move_into_link_name_space(self.namespace.as_fd(), Some(LinkNameSpaceType::Mount))?;
        fchdir(&self.root)?;
        chroot(".")?;
        Ok(fchdir(&self.directory)?)
    }
}

/// Contents of the new root directory, by paths without symbolic links.
struct Plan {
    /// Files and directories, parents before children.
    targets: Vec<PathBuf>,
    /// Symbolic links and their targets.
    links: Vec<(PathBuf, PathBuf)>,
    /// The working directory, so that relative paths keep their meaning.
    directory: PathBuf,
}

impl Plan {
    fn of(shown: &Shown) -> Self {
        let Shown { readable, removable_from, sockets } = shown;
        let (mut targets, mut links) = (Vec::new(), Vec::new());
        for path in readable.iter().chain(removable_from).chain(sockets) {
            // Missing files are not shown.
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
    /// If a step was refused and the way back failed.
    fn enter(&self) -> io::Result<Root> {
        let origin = match Origin::here() {
            Ok(origin) => origin,
            Err(error) => return Ok(Root::Refused(error.to_string())),
        };
        // SAFETY: the file descriptor table stays shared. From now on root, working directory and
        // umask are this thread's own.
        if let Err(error) = unsafe { unshare_unsafe(UnshareFlags::NEWNS) } {
            return Ok(Root::Refused(error.to_string()));
        }
        // Directories that lead to shown files must be open to all users, whatever the caller's
        // umask.
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

    /// Clones the mounts of the shown paths, before the root directory changes.
    fn trees(&self) -> io::Result<Vec<Tree<'_>>> {
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let mut trees: Vec<Tree> = Vec::new();
        for path in &self.targets {
            // A path below a cloned mount is already in it, and nothing may be made inside the
            // host's directories.
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

/// A file or directory of the host, with everything that is mounted in it.
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

/// For `map_err`: names the path.
fn not_shown(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("cannot show {}: {error}", path.display()))
}

fn make_parent(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)
}

/// Makes all mounts read-only, without device files and set-user-ID programs.
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

    /// Runs `work` in a thread of its own, because it changes the root directory.
    fn in_a_thread(work: impl FnOnce() + Send + 'static) {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("only root has a root directory of its own");
            return;
        }
        std::thread::spawn(work).join().expect("it is as it should be");
    }

    fn plan(target: &Path) -> Plan {
        let directory = std::env::current_dir().expect("there is one");
        Plan { targets: vec![target.to_owned()], links: Vec::new(), directory }
    }

    /// A step that fails leaves everything as it was, and the error names the step.
    #[test]
    fn back_from_half_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, gone) = (folder.path().join("file"), folder.path().join("gone"));
        fs::write(&file, "a").expect("room");
        in_a_thread(move || {
            let before = std::env::current_dir().expect("there is one");
            // The first plan fails before there is a new root directory, the second in the last
            // step.
            let last = Plan { directory: file.join("x"), ..plan(&file) };
            for (plan, what) in
                [(plan(&gone), format!("cannot show {}: ", gone.display())), (last, String::new())]
            {
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

    /// Another user can reach shown files, even with a umask that denies others everything.
    #[test]
    fn ways_are_open_whatever_the_umask() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        fs::write(&file, "a").expect("room");
        in_a_thread(move || {
            // SAFETY: as in `Plan::enter`. Without it, the umask of the whole process would change.
            unsafe { unshare_unsafe(UnshareFlags::FS) }.expect("always");
            umask(Mode::RWXG | Mode::RWXO);
            match plan(&file).enter().expect("there is a way back") {
                Root::Empty => {}
                Root::Refused(why) => return skip::skip!("an empty root directory: {why}"),
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
