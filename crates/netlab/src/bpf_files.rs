//! The BPF file system: eBPF objects that are pinned there outlive the process that made them.
//!
//! A folder stands for one thing that was left in the kernel. The file system is mounted with the first folder where no
//! system service has done so, and unmounted with the last one, unless somebody else has come to use it.

use rustix::mount::{MountFlags, UnmountFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the file system is mounted, by convention.
pub const ROOT: &str = "/sys/fs/bpf";
/// A folder that says that the file system was mounted by us.
const MOUNTED: &str = "lasthop-mounted-this";

/// The folder `name` below `place` (`lasthop/congestion`).
#[must_use]
pub fn folder(place: &str, name: &str) -> PathBuf {
    Path::new(ROOT).join(place).join(name)
}

/// Whether something can be called so here: letters, digits, - and _, `longest` bytes at most. The file system allows no dots.
#[must_use]
pub fn is_name(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Makes a folder, empty.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is one; others if there is no BPF file system and none can be mounted.
pub fn create(folder: &Path) -> io::Result<()> {
    mount()?;
    fs::create_dir_all(folder.parent().unwrap_or(folder))?;
    fs::create_dir(folder)
}

/// Names of the folders in `place`, sorted; none if nothing was ever left there.
///
/// # Errors
/// If it cannot be read.
pub fn list(place: &str) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(Path::new(ROOT).join(place)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Takes a folder back with all that is pinned in it; what is not held otherwise goes a moment later.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if there is none.
pub fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(folder)?;
    // Places of ours that have become empty go too.
    let places = folder.ancestors().skip(1).take_while(|place| *place != Path::new(ROOT));
    for place in places {
        if fs::remove_dir(place).is_err() {
            break;
        }
    }
    unmount_if_ours();
    Ok(())
}

/// Mounts the file system where no system service has.
fn mount() -> io::Result<()> {
    let at = Path::new(ROOT);
    if is_mounted(at) {
        return Ok(());
    }
    let wrong = |error: io::Error| {
        io::Error::new(error.kind(), format!("mount the BPF file system at {ROOT}: {error}"))
    };
    rustix::mount::mount("bpf", at, "bpf", MountFlags::empty(), None).map_err(|error| wrong(error.into()))?;
    fs::create_dir(at.join(MOUNTED)).map_err(wrong)
}

fn is_mounted(at: &Path) -> bool {
    /// `BPF_FS_MAGIC` (`linux/magic.h`).
    const MAGIC: i64 = 0xcafe_4a11;
    rustix::fs::statfs(at).is_ok_and(|its| its.f_type == MAGIC)
}

/// Unmounts it if nothing is left in it but our sign: pins of others do not keep it from being unmounted, and would go with it.
fn unmount_if_ours() {
    let at = Path::new(ROOT);
    let is_nobodys = |entry: fs::DirEntry| {
        let name = entry.file_name();
        // The kernel puts files with a dot there (maps.debug), and nobody else can.
        name == MOUNTED || name.as_encoded_bytes().contains(&b'.')
    };
    let is_empty = fs::read_dir(at).is_ok_and(|entries| entries.flatten().all(is_nobodys));
    if is_empty && fs::remove_dir(at.join(MOUNTED)).is_ok() {
        // Busy: somebody uses it by now.
        let _ = rustix::mount::unmount(at, UnmountFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_files_of_that_file_system() {
        for name in ["newzag_v1", "a", "x-1", "fifteen_letters"] {
            assert!(is_name(name, 15), "{name}");
        }
        for name in ["", ".", "..", "a/b", "a.b", "a b", "ä", "sixteen_letters_"] {
            assert!(!is_name(name, 15), "{name}");
        }
    }

    #[test]
    fn a_place_without_folders_is_empty() {
        assert_eq!(list("lasthop/no-such-place").expect("it is no error"), Vec::<String>::new());
    }
}
