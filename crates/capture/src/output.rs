//! Files that a user asks for: the program checks their paths before it runs anything, writes them
//! whole or not at all, and never writes through another user's symbolic link.
//!
//! A file gets its name when it is finished. Until then it has a random new name in the same
//! folder, so no existing file is written to and no symbolic link followed. A symbolic link of this
//! user or of root (`/dev/stdout`) is followed. Devices, pipes and targets of links are written in
//! place.

use rustix::fs::{Access, AtFlags, CWD};
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// How to write to a path.
enum OutputTarget {
    /// A new file, or one that replaces a file with these permissions.
    New(Option<Permissions>),
    /// An existing device or pipe, or the target of a symbolic link.
    Present,
}

/// Checks that a file can be written at `path`. Call it before there is anything to write.
///
/// # Errors
/// If its folder does not exist or cannot be written to, or if `path` is a folder or a symbolic
/// link of another user.
pub fn check(path: &Path) -> io::Result<()> {
    let writable = |path: &Path, access| Ok(rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS)?);
    match place(path)? {
        OutputTarget::Present if path.exists() => writable(path, Access::WRITE_OK),
        // A link to a file that does not exist yet.
        OutputTarget::Present => check(&folder(path).join(fs::read_link(path)?)),
        OutputTarget::New(_) => {
            let folder = folder(path);
            writable(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|error: io::Error| {
                io::Error::new(error.kind(), format!("directory {}: {error}", folder.display()))
            })
        }
    }
}

/// Creates the file at `path` under its own name, to be written over time.
///
/// # Errors
/// As [`check`], or if the system refuses.
pub fn create(path: &Path) -> io::Result<File> {
    place(path)?;
    File::create(path)
}

/// Writes `bytes` to the file at `path`, whole or not at all.
///
/// # Errors
/// As [`check`], or if the system refuses.
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> io::Result<()> {
    let pending = Pending::begin(path)?;
    pending.file()?.write_all(bytes.as_ref())?;
    pending.finish()
}

/// An unfinished file. Dropping it removes it, and leaves a file of its name as it was.
#[derive(Debug)]
#[must_use = "the file gets its name by `finish`"]
pub struct Pending {
    path: PathBuf,
    target: Target,
}

#[derive(Debug)]
enum Target {
    New(NamedTempFile),
    Present(File),
}

impl Pending {
    /// Begins the file that is to be at `path`.
    ///
    /// # Errors
    /// As [`check`], or if the system refuses.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let target = match place(path)? {
            OutputTarget::Present => Target::Present(File::create(path)?),
            OutputTarget::New(permissions) => {
                // The umask applies, as for any new file.
                let usual = Permissions::from_mode(0o666);
                let file = tempfile::Builder::new()
                    .prefix(".lasthop-")
                    .permissions(usual)
                    .tempfile_in(folder(path))?;
                if let Some(permissions) = permissions {
                    file.as_file().set_permissions(permissions)?;
                }
                Target::New(file)
            }
        };
        Ok(Self { path: path.to_owned(), target })
    }

    /// Returns the file to write to.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn file(&self) -> io::Result<File> {
        match &self.target {
            Target::New(file) => file.as_file().try_clone(),
            Target::Present(file) => file.try_clone(),
        }
    }

    /// Gives the file its name and replaces a file that has it.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn finish(self) -> io::Result<()> {
        match self.target {
            Target::New(file) => file.persist(&self.path).map(drop).map_err(|error| error.error),
            Target::Present(_) => Ok(()),
        }
    }
}

fn place(path: &Path) -> io::Result<OutputTarget> {
    let folder = folder(path);
    let about = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match fs::metadata(folder) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::new(
                    error.kind(),
                    format!("directory {} does not exist: create it first", folder.display()),
                )),
                other => other.map(|_| OutputTarget::New(None)),
            };
        }
        other => other?,
    };
    if about.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory: choose a file"));
    }
    if about.is_file() {
        return Ok(OutputTarget::New(Some(Permissions::from_mode(about.mode() & 0o777))));
    }
    if about.is_symlink() && !is_trusted(&about) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("it is a symbolic link of user {}: remove it, or choose another file", about.uid()),
        ));
    }
    Ok(OutputTarget::Present)
}

/// Tells whether root or this user owns it. In a user namespace without root, the kernel shows root
/// as another number; files of /proc show which.
fn is_trusted(about: &Metadata) -> bool {
    let own = rustix::process::geteuid().as_raw();
    about.uid() == own || about.uid() == fs::metadata("/proc").map_or(0, |proc| proc.uid())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) => Path::new("."),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{lchown, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_there_when_it_is_finished() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.json");
        fs::write(&path, "before").expect("written");
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("ours");
        let pending = Pending::begin(&path).expect("begun");
        pending.file().expect("a file").write_all(b"after").expect("written");
        assert_eq!(fs::read_to_string(&path).expect("there"), "before");
        pending.finish().expect("finished");
        assert_eq!(fs::read_to_string(&path).expect("there"), "after");
        assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o640);
        drop(Pending::begin(&path).expect("begun"));
        assert_eq!(names(folder.path()), ["x.json"]);
        // A new file has the permissions of any new file.
        write(&folder.path().join("new"), "").expect("written");
        fs::write(folder.path().join("usual"), "").expect("written");
        let mode = |name: &str| fs::metadata(folder.path().join(name)).expect("there").mode();
        assert_eq!(mode("new"), mode("usual"));
    }

    /// Another user's symbolic link at the path is not followed, nor is any link at a name that an
    /// unfinished file might have.
    #[test]
    fn a_link_of_somebody_else_is_not_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, precious) = (folder.path().join("x.json"), folder.path().join("precious"));
        fs::write(&precious, "data").expect("written");
        for suffix in [".new", ".part", ".log"] {
            symlink(&precious, folder.path().join(format!("x.json{suffix}"))).expect("a link");
        }
        write(&path, "{}").expect("written");
        assert_eq!(fs::read_to_string(&precious).expect("there"), "data");
        fs::remove_file(&path).expect("removed");
        symlink(&precious, &path).expect("a link");
        // A link of this user is followed.
        check(&path).expect("ours");
        write(&path, "ours").expect("written");
        assert!(path.is_symlink());
        assert_eq!(fs::read_to_string(&precious).expect("there"), "ours");
        if lchown(&path, Some(65_534), None).is_err() {
            skip::skip!("only root gives files to another user");
            return;
        }
        let expected = "it is a symbolic link of user 65534: remove it, or choose another file";
        let outcomes = [check(&path), write(&path, "theirs"), create(&path).map(drop)];
        for said in outcomes.map(|outcome| outcome.expect_err("refused").to_string()) {
            assert_eq!(said, expected);
        }
        assert_eq!(fs::read_to_string(&precious).expect("there"), "ours");
    }

    #[test]
    fn what_is_wrong_is_known_before() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |path: &Path| check(path).expect_err("refused").to_string();
        let missing = folder.path().join("missing");
        let expected = format!("directory {} does not exist: create it first", missing.display());
        assert_eq!(said(&missing.join("x.json")), expected);
        assert_eq!(said(folder.path()), "it is a directory: choose a file");
        fs::write(folder.path().join("file"), "").expect("written");
        assert!(said(&folder.path().join("file/x.json")).contains("Not a directory"));
        check(&folder.path().join("x.json")).expect("nothing is wrong");
        check(Path::new("x.json")).expect("the current folder");
        assert_eq!(names(folder.path()), ["file"], "nothing is made");
        let link = folder.path().join("link");
        symlink("missing/x.json", &link).expect("a link");
        assert_eq!(said(&link), expected);
        fs::remove_file(&link).expect("removed");
        symlink("target", &link).expect("a link");
        check(&link).expect("it leads to a file that can be made");
    }

    /// Devices and pipes are written in place.
    #[test]
    fn devices_are_written_to() {
        let null = Path::new("/dev/null");
        check(null).expect("it can be written");
        write(null, "nothing").expect("written");
        assert!(!fs::metadata(null).expect("there").is_file());
    }
}
