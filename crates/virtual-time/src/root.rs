//! The file system of the kernel's process: the host's files, all read-only, and one writable
//! directory.
//!
//! The host enforces this through the mount namespace of that process. Whatever root in the guest
//! does, it cannot reach a file of the host that it could change. The paths are the same on every
//! host:
//!
//! ```text
//! /usr, /etc, …        the host's, read-only, without set-user-ID programs; of devices there are names alone, and /dev/null
//! /lasthop/kernel      the kernel                /lasthop/work       the folder
//! /lasthop/program     this program              /lasthop/memory     the guest's memory, a file without a name
//! /lasthop/link        the library of its links
//! /lasthop/overlay, /lasthop/root, /lasthop/old  where the guest mounts its own things
//! ```

use crate::boot::Parameters;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, unmount,
};
use rustix::process::{chdir, pivot_root};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Path of the guest's memory.
pub const MEMORY: &str = "/lasthop/memory";

/// Path of the kernel.
pub const KERNEL: &str = "/lasthop/kernel";

/// Path of the library with the guest's links.
pub const LIBRARY: &str = "/lasthop/link";

/// Directories of the host that the guest has its own of, or does not need.
///
/// /run is hidden because daemons' sockets accept connections even on a read-only file system.
const NOT_SHOWN: [&str; 5] = ["proc", "sys", "run", "lost+found", "lasthop"];

/// Mount attributes of the host's files. Through a device in /dev, a disk could be written although
/// no file can.
const ATTRIBUTES: u64 = libc::MOUNT_ATTR_RDONLY | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOSUID;

/// Moves this process into that file system; it must have its own mount namespace.
///
/// # Errors
/// If a step fails: a description of the step, and the reason.
pub fn enter(parameters: &Parameters) -> Result<(), String> {
    tried(
        "make all mounts private",
        mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC),
    )?;
    // Any existing directory will do: once it is the root, the host's directory is visible again.
    let base = ["/tmp", "/mnt", "/run"].into_iter().find(|path| Path::new(path).is_dir()).unwrap_or("/tmp");
    tried(
        "mount an empty file system",
        mount("lasthop", base, "tmpfs", MountFlags::empty(), Some(c"mode=755")),
    )?;
    tried("enter the empty file system", chdir(base))?;
    for folder in ["old", "new"] {
        tried("create a directory", fs::create_dir(folder))?;
    }
    tried("change the root", pivot_root(".", "old"))?;
    tried("enter the new root", chdir("/"))?;
    let (old, new) = (Path::new("/old"), Path::new("/new"));
    show(old, new)?;
    own_things(old, new, parameters)?;
    tried("bind the new root", mount_bind_recursive(new, new))?;
    tried("enter the new root", chdir(new))?;
    tried("change the root", pivot_root(".", "lasthop/old"))?;
    tried("leave the host's root", unmount("lasthop/old", UnmountFlags::DETACH))?;
    tried("enter the root", chdir("/"))?;
    tried("protect the root", read_only(Path::new("/"), false))
}

/// Mounts every directory of the host's root read-only, and copies its symbolic links.
fn show(old: &Path, new: &Path) -> Result<(), String> {
    let entries = tried("read the root", fs::read_dir(old))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if NOT_SHOWN.iter().any(|hidden| name == *hidden) {
            continue;
        }
        let (from, to) = (entry.path(), new.join(&name));
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_symlink() {
            let target = tried("read a link", fs::read_link(&from))?;
            tried("create a link", symlink(target, &to))?;
        } else if kind.is_dir() {
            tried("create a directory", fs::create_dir(&to))?;
            let what = format!("mount /{}", name.display());
            tried(&what, mount_bind_recursive(&from, &to))?;
            tried(&what, read_only(&to, true))?;
        }
    }
    Ok(())
}

fn own_things(old: &Path, new: &Path, parameters: &Parameters) -> Result<(), String> {
    let Parameters { kernel, program, library, work, .. } = parameters;
    let proc = new.join("proc");
    tried("create a directory", fs::create_dir(&proc))?;
    // A container may not be allowed to mount /proc. The caller's will do: it contains this process
    // too.
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if mount("proc", &proc, "proc", flags, None).is_err() {
        tried("bind /proc", mount_bind_recursive(old.join("proc"), &proc))?;
    }
    // The only device that can be opened; the guest's kernel implements its own under the other
    // names.
    tried("bind /dev/null", mount_bind_recursive(old.join("dev/null"), new.join("dev/null")))?;
    let own = new.join("lasthop");
    for folder in ["", "work", "memory", "overlay", "root", "old"] {
        tried("create a directory", fs::create_dir(own.join(folder)))?;
    }
    for (name, file) in [("kernel", kernel), ("program", program), ("link", library)] {
        let to = own.join(name);
        tried("create a file", fs::write(&to, ""))?;
        let what = format!("bind {}", file.display());
        tried(&what, mount_bind_recursive(below(old, file), &to))?;
        tried(&what, read_only(&to, true))?;
    }
    let what = format!("bind {}", work.display());
    tried(&what, mount_bind_recursive(below(old, work), own.join("work")))?;
    // Most page faults of a short run are those of its kernel's start. With huge pages an empty run
    // has 3500 instead of 9700, and 100 take 7.7 s instead of 10.2 (2 cores, 2026-11-30). A host
    // may not have them.
    let memory = |options| mount("lasthop", own.join("memory"), "tmpfs", MountFlags::NOSUID, Some(options));
    tried("mount memory", memory(c"mode=700,huge=always").or_else(|_| memory(c"mode=700")))
}

/// Returns an absolute path as seen from the current mount point of the host's root.
fn below(old: &Path, path: &Path) -> PathBuf {
    old.join(path.strip_prefix("/").unwrap_or(path))
}

/// Makes a mount read-only, without devices and set-user-ID programs; with `recursive`, also those
/// below it.
fn read_only(path: &Path, recursive: bool) -> io::Result<()> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    let attributes = libc::mount_attr { attr_set: ATTRIBUTES, attr_clr: 0, propagation: 0, userns_fd: 0 };
    let flags = if recursive { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: path and attributes outlive the call, and the size is that of the attributes.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn tried<T, E: std::fmt::Display>(doing: &str, result: Result<T, E>) -> Result<T, String> {
    result.map_err(|error| format!("the guest's file system: cannot {doing}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::UnshareFlags;
    use std::fs::OpenOptions;

    /// On a thread of its own: files of the host can be read but not written, and its daemons'
    /// sockets and its devices cannot be opened.
    #[test]
    fn what_the_kernels_process_sees() {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("mounting needs root");
            return;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let (kernel, work) = (folder.path().join("kernel"), folder.path().join("work"));
        fs::write(&kernel, "").expect("room");
        fs::create_dir(&work).expect("room");
        let parameters = Parameters {
            kernel: kernel.clone(),
            program: kernel.clone(),
            library: kernel,
            work,
            seed: 7,
            memory_mib: 512,
            processor: None,
        };
        assert!(Path::new("/run").is_dir() && OpenOptions::new().read(true).open("/dev/zero").is_ok());
        let inside = move || {
            // SAFETY: the file descriptor table stays shared; the thread is the test's own.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }.expect("a namespace");
            enter(&parameters).expect("mounts");
            fs::read("/etc/hosts").expect("as on the host");
            let refused = |path: &str, writing: bool| {
                OpenOptions::new().read(true).write(writing).open(path).expect_err(path).kind()
            };
            assert_eq!(refused("/etc/hosts", true), io::ErrorKind::ReadOnlyFilesystem);
            assert_eq!(refused("/dev/zero", false), io::ErrorKind::PermissionDenied);
            OpenOptions::new().write(true).open("/dev/null").expect("the only device");
            assert!(!Path::new("/run").exists());
            fs::write("/lasthop/work/result", "").expect("the one folder");
        };
        std::thread::spawn(inside).join().expect("what is left works");
        assert!(folder.path().join("work/result").exists());
    }
}
