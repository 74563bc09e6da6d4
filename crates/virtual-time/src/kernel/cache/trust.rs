//! Checks that a kernel in the cache can be trusted: anyone who can write there chooses what this
//! user runs.

use crate::kernel::KernelError;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses `path` if anyone but root and this user could have made or changed it.
///
/// It and all directories above it must belong to root or this user, and nobody else may be able to
/// write to them.
///
/// # Errors
/// [`KernelError::Untrusted`] with the file or directory. A path that does not exist is no error.
pub(super) fn check(path: &Path) -> Result<(), KernelError> {
    let Ok(path) = path.canonicalize() else { return Ok(()) };
    for part in path.ancestors() {
        let about = fs::metadata(part).map_err(KernelError::file("inspect", part))?;
        if let Some(why) = distrust(&about) {
            return Err(KernelError::Untrusted { path: part.to_owned(), why });
        }
    }
    Ok(())
}

/// Returns why a file or directory is not trusted.
fn distrust(about: &Metadata) -> Option<String> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    if ![0, user].contains(&about.uid()) {
        return Some(format!("belongs to user {}", about.uid()));
    }
    // In a directory with the sticky bit (/tmp), users cannot replace each other's files.
    if about.is_dir() && about.mode() & 0o1000 != 0 {
        return None;
    }
    // On systems where each user has a group of the same name, a umask of 002 is usual. Root trusts
    // no group.
    let own_group = user != 0 && about.gid() == group;
    let others = if own_group { 0o002 } else { 0o022 };
    (about.mode() & others != 0)
        .then(|| format!("is writable by other users (mode {:o})", about.mode() & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    fn said(path: &Path) -> String {
        check(path).err().map_or_else(String::new, |error| error.to_string())
    }

    #[test]
    fn what_others_could_have_changed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (place, file) = (folder.path().join("kernel"), folder.path().join("kernel/linux"));
        fs::create_dir(&place).expect("made");
        fs::write(&file, "kernel").expect("written");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
        };
        mode(&place, 0o755);
        mode(&file, 0o644);
        assert_eq!((said(&file), said(&place.join("other"))), (String::new(), String::new()));
        for writable in [&file, &place, folder.path()] {
            let before = fs::metadata(writable).expect("there").mode();
            mode(writable, 0o777);
            let expected = format!("{} is writable by other users (mode 777)", writable.display());
            assert!(said(&file).contains(&expected), "{}", said(&file));
            mode(writable, before);
        }
        mode(folder.path(), 0o1777);
        assert_eq!(said(&file), "", "the sticky bit");
        if rustix::process::geteuid().as_raw() != 0 {
            skip::skip!("only root gives files to another user");
            return;
        }
        for given in [&file, &place] {
            chown(given, Some(65_534), None).expect("given away");
            let expected = format!("{} belongs to user 65534", given.display());
            assert!(said(&file).contains(&expected), "{}", said(&file));
            // Nor through a symbolic link of our own.
            let link = folder.path().join("link");
            symlink(given, &link).expect("a link");
            assert!(said(&link).contains(&expected), "{}", said(&link));
            fs::remove_file(link).expect("removed");
            chown(given, Some(0), None).expect("taken back");
        }
        mode(&place, 0o775);
        assert!(said(&file).contains("(mode 775)"), "root trusts no group: {}", said(&file));
    }
}
