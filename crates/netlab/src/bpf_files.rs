//! The BPF file system: eBPF objects pinned there outlive the process that made them.
//!
//! Each directory holds the pins of one kernel object. If no system service has mounted the file
//! system, the first directory mounts it. Removing the last directory unmounts it again, unless
//! something else uses it by then.
//!
//! If we mount it, only root can access it. System services mount it for every user (mode 1777).
//! There, a user's directory or symbolic link with one of our names is refused: root must neither
//! pin into nor remove what a user chose.

use rustix::mount::{MountFlags, UnmountFlags};
use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Mount point of the BPF file system, by convention.
pub const ROOT: &str = "/sys/fs/bpf";
/// Directory that marks the file system as mounted by us.
const MOUNTED: &str = "lasthop-mounted-this";

/// Time within which a directory is complete or gone; pinning and removing take far less.
const SETTLES: Duration = Duration::from_millis(200);

/// Returns the path of directory `name` below `place` (such as `lasthop/congestion`).
#[must_use]
pub fn folder(place: &str, name: &str) -> PathBuf {
    Path::new(ROOT).join(place).join(name)
}

/// Returns whether `name` is valid for a directory or pin: letters, digits, - and _, at most
/// `longest` bytes.
///
/// The BPF file system allows no dots in names.
#[must_use]
pub fn is_name(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// Creates an empty directory.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if it exists. Others if the BPF file system is not mounted and
/// cannot be mounted, or as [`check`].
pub fn create(folder: &Path) -> io::Result<()> {
    mount()?;
    let mut private = fs::DirBuilder::new();
    private.mode(0o700);
    let places: Vec<_> = below(Path::new(ROOT), folder);
    for place in &places[..places.len().saturating_sub(1)] {
        match private.create(place) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => check(place)?,
        }
    }
    private.create(folder)
}

/// Refuses a directory that another user could have made or could change.
///
/// The directory and all its parents up to [`ROOT`] must be directories of root or of this user
/// that nobody else can write to.
///
/// # Errors
/// If one of them is something else, or the error of [`fs::symlink_metadata`].
pub fn check(folder: &Path) -> io::Result<()> {
    check_below(Path::new(ROOT), folder)
}

fn check_below(root: &Path, folder: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid().as_raw();
    for place in std::iter::once(root.to_owned()).chain(below(root, folder)) {
        let found = fs::symlink_metadata(&place)?;
        // With the sticky bit, users cannot rename or remove each other's entries.
        let is_shared = place == root && found.mode() & 0o1000 != 0;
        let why = if !found.is_dir() {
            "is not a directory".to_owned()
        } else if ![0, own].contains(&found.uid()) {
            format!("belongs to user {}", found.uid())
        } else if found.mode() & 0o022 != 0 && !is_shared {
            format!("is writable by other users (mode {:o})", found.mode() & 0o7777)
        } else {
            continue;
        };
        return Err(io::Error::other(format!(
            "{} {why}: check who created it, and remove it",
            place.display()
        )));
    }
    Ok(())
}

/// Returns `folder` and those of its ancestors that are below `root`, highest first.
fn below(root: &Path, folder: &Path) -> Vec<PathBuf> {
    let mut places: Vec<_> =
        folder.ancestors().take_while(|place| *place != root).map(Path::to_owned).collect();
    places.reverse();
    places
}

/// Returns the sorted names of the entries in `place`; empty if `place` does not exist.
///
/// # Errors
/// If it cannot be read, or as [`check`].
pub fn list(place: &str) -> io::Result<Vec<String>> {
    let place = Path::new(ROOT).join(place);
    let entries = match check(&place).and_then(|()| fs::read_dir(&place)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut names: Vec<_> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

/// Reads the pins in a directory that other processes may be changing.
///
/// Repeats a failed `read` for up to 200 ms, because the directory may be half made or half
/// removed. Returns `None` once the directory is gone.
///
/// # Errors
/// The last error of `read`, if the directory still exists.
pub fn settled<T, E>(folder: &Path, read: impl Fn() -> Result<T, E>) -> Option<Result<T, E>> {
    let end = Instant::now() + SETTLES;
    loop {
        match read() {
            Err(_) if !folder.exists() => return None,
            Err(_) if Instant::now() < end => sleep(SETTLES / 20),
            outcome => return Some(outcome),
        }
    }
}

/// Removes a directory with all its pins.
///
/// The kernel frees objects that have no other reference shortly afterwards.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] if it does not exist; others as [`check`].
pub fn remove(folder: &Path) -> io::Result<()> {
    check(folder)?;
    for entry in fs::read_dir(folder)? {
        fs::remove_file(entry?.path())?;
    }
    fs::remove_dir(folder)?;
    // Parent directories of ours that are now empty go too.
    let places = folder.ancestors().skip(1).take_while(|place| *place != Path::new(ROOT));
    for place in places {
        if fs::remove_dir(place).is_err() {
            break;
        }
    }
    unmount_if_ours();
    Ok(())
}

/// Mounts the file system for root alone, unless it is already mounted.
fn mount() -> io::Result<()> {
    let at = Path::new(ROOT);
    if is_mounted(at) {
        return Ok(());
    }
    let wrong = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot mount the BPF file system at {ROOT}: {error}"))
    };
    rustix::mount::mount("bpf", at, "bpf", MountFlags::empty(), Some(c"mode=0700"))
        .map_err(|error| wrong(error.into()))?;
    fs::create_dir(at.join(MOUNTED)).map_err(wrong)
}

fn is_mounted(at: &Path) -> bool {
    /// `BPF_FS_MAGIC` (`linux/magic.h`).
    const MAGIC: i64 = 0xcafe_4a11;
    rustix::fs::statfs(at).is_ok_and(|its| its.f_type == MAGIC)
}

/// Unmounts the file system if only our mark is left in it.
///
/// The kernel would unmount it in spite of other programs' pins, and these would be lost.
fn unmount_if_ours() {
    let at = Path::new(ROOT);
    let is_nobodys = |entry: fs::DirEntry| {
        let name = entry.file_name();
        // The kernel itself puts files with a dot there (maps.debug); nobody else can.
        name == MOUNTED || name.as_encoded_bytes().contains(&b'.')
    };
    let is_empty = fs::read_dir(at).is_ok_and(|entries| entries.flatten().all(is_nobodys));
    if is_empty && fs::remove_dir(at.join(MOUNTED)).is_ok() {
        // EBUSY: somebody has started to use it.
        let _ = rustix::mount::unmount(at, UnmountFlags::empty());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::on_own_thread;
    use rustix::mount::{MountPropagationFlags, mount_change};
    use rustix::thread::UnshareFlags;
    use std::os::unix::fs::{chown, symlink};

    /// Runs `work` in a mount namespace of its own, where the BPF file system is not mounted.
    fn without_it(work: impl FnOnce() + Send) {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("only root mounts the BPF file system");
            return;
        }
        on_own_thread(|| {
            // SAFETY: neither flag unshares the file descriptor table; only this short-lived thread
            // is changed.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS | UnshareFlags::NEWNS) }
                .expect("a mount namespace");
            mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
                .expect("private mounts");
            while is_mounted(Path::new(ROOT)) {
                rustix::mount::unmount(ROOT, UnmountFlags::DETACH).expect("unmounted");
            }
            work();
            Ok(())
        })
        .expect("a thread");
    }

    /// `cc list` failed if another process unloaded a congestion control at the same time.
    #[test]
    fn a_folder_that_changes_is_read_when_it_is_whole_or_gone() {
        let place = tempfile::tempdir().expect("a folder");
        let [whole, goes, broken] = ["whole", "goes", "broken"].map(|name| place.path().join(name));
        for folder in [&whole, &goes, &broken] {
            fs::create_dir(folder).expect("room");
        }
        let later = whole.join("link");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep(SETTLES / 10);
                // A pin appears at once; a file is created first and written then.
                fs::write(place.path().join("unnamed"), "x").expect("room");
                fs::rename(place.path().join("unnamed"), whole.join("link")).expect("one file system");
                fs::remove_dir(&goes).expect("it is empty");
            });
            let read = settled(&whole, || fs::read_to_string(&later)).expect("it is there");
            assert_eq!(read.expect("it is whole"), "x");
            assert!(settled(&goes, || fs::read_to_string(goes.join("link"))).is_none());
        });
        let error = settled(&broken, || fs::read_to_string(broken.join("link"))).expect("it is there");
        assert_eq!(error.expect_err("it stays broken").kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn mounted_by_us_it_is_roots_alone() {
        without_it(|| {
            let folder = folder("lasthop/congestion", "newzag");
            create(&folder).expect("made");
            for place in [ROOT, "/sys/fs/bpf/lasthop", "/sys/fs/bpf/lasthop/congestion/newzag"] {
                assert_eq!(fs::metadata(place).expect("there").mode() & 0o777, 0o700, "{place}");
            }
            assert_eq!(list("lasthop/congestion").expect("a list"), ["newzag"]);
            assert_eq!(create(&folder).expect_err("taken").kind(), io::ErrorKind::AlreadyExists);
            remove(&folder).expect("removed");
            assert!(!is_mounted(Path::new(ROOT)));
        });
    }

    /// Where every user may make directories, a user's directory with our name is not taken for
    /// ours.
    #[test]
    fn folders_and_links_of_users_are_refused() {
        without_it(|| {
            rustix::mount::mount("bpf", ROOT, "bpf", MountFlags::empty(), None)
                .expect("mounted for everybody");
            let (place, elsewhere) = (folder("lasthop-lite", ""), folder("elsewhere", "lite"));
            fs::create_dir_all(&elsewhere).expect("made");
            fs::create_dir(elsewhere.join("precious")).expect("made");
            let refused = |name: &str, why: &str| {
                let folder = folder("lasthop-lite", name);
                for done in [create(&folder), remove(&folder), list("lasthop-lite").map(drop)] {
                    let said = done.expect_err("refused").to_string();
                    assert!(said.contains(why), "{said}");
                }
            };
            symlink("elsewhere", place.as_os_str().to_str().expect("text").trim_end_matches('/'))
                .expect("a link");
            refused("lite", "/sys/fs/bpf/lasthop-lite is not a directory");
            refused("new", "/sys/fs/bpf/lasthop-lite is not a directory");
            assert!(elsewhere.join("precious").exists());
            fs::remove_file(Path::new(ROOT).join("lasthop-lite")).expect("removed");
            fs::create_dir(&place).expect("made");
            chown(&place, Some(65_534), None).expect("given away");
            refused("new", "/sys/fs/bpf/lasthop-lite belongs to user 65534");
            chown(&place, Some(0), None).expect("taken back");
            rustix::fs::chmod(&place, rustix::fs::Mode::from_raw_mode(0o777)).expect("opened");
            refused("new", "is writable by other users (mode 777)");
            fs::remove_dir(&place).expect("removed");
            // Without any of these obstacles a directory can be created and removed.
            create(&folder("lasthop-lite", "lite")).expect("made");
            symlink("../elsewhere/lite", folder("lasthop-lite", "other")).expect("a link");
            assert!(remove(&folder("lasthop-lite", "other")).is_err() && elsewhere.join("precious").exists());
            fs::remove_file(folder("lasthop-lite", "other")).expect("removed");
            remove(&folder("lasthop-lite", "lite")).expect("removed");
            assert!(!place.exists() && is_mounted(Path::new(ROOT)));
        });
    }

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
