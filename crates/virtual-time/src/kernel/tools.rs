//! The programs that a kernel's build calls: installed ones, and missing ones unpacked in a private
//! directory.

use super::archive::Archive;
use super::child::Programs;
use super::error::KernelError;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that must be installed, with their Debian packages.
const INSTALLED: [(&str, &str); 7] = [
    ("gcc", "build-essential"),
    ("make", "build-essential"),
    ("patch", "build-essential"),
    ("perl", "build-essential"),
    ("strip", "build-essential"),
    ("tar", "tar"),
    ("dpkg-deb", "dpkg"),
];
/// Programs of apt that must be installed, with their package.
const FETCHING: [(&str, &str); 3] = [("apt-get", "apt"), ("apt-cache", "apt"), ("apt-config", "apt")];
/// Programs that are fetched if they are missing, with their packages.
const PRIVATE: [(&str, &str); 5] =
    [("flex", "flex"), ("bison", "bison"), ("m4", "m4"), ("bc", "bc"), ("xz", "xz-utils")];

/// Returns the path of a program in `PATH`.
fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Checks that all programs that must be installed are.
pub fn require() -> Result<(), KernelError> {
    let missing = INSTALLED.into_iter().chain(FETCHING).find(|(program, _)| find(program).is_none());
    missing.map_or(Ok(()), |(program, package)| Err(KernelError::NoProgram { program, package }))
}

/// Returns the first line of the compiler's `--version`; `None` without a compiler.
#[must_use]
pub fn compiler() -> Option<String> {
    let output = Command::new("gcc").arg("--version").env("LC_ALL", "C").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::to_owned)
}

/// Returns the packages of missing programs that can be fetched.
#[must_use]
pub fn to_fetch() -> Vec<&'static str> {
    PRIVATE.iter().filter(|(program, _)| find(program).is_none()).map(|(_, package)| *package).collect()
}

/// Tools in a private directory, with the environment that programs need to find them.
#[derive(Debug)]
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Fetches `packages` and their dependencies into `folder`, without installing them.
    pub fn fetch(
        folder: &Path,
        packages: &[&str],
        archive: &Archive,
        programs: &mut Programs<'_>,
    ) -> Result<Result<Self, String>, KernelError> {
        let tools = Self { folder: folder.to_owned() };
        if packages.is_empty() {
            return Ok(Ok(tools));
        }
        if !archive.knows_the_machine() {
            return Ok(Err(format!("this is not Debian: install {} yourself", packages.join(", "))));
        }
        let names = match archive.missing(packages, programs)? {
            Ok(names) => names,
            Err(said) => return Ok(Err(said)),
        };
        let files = match archive.download_all(&names, programs)? {
            Ok(files) => files,
            Err(said) => return Ok(Err(said)),
        };
        for file in files {
            let outcome =
                programs.run(Command::new("dpkg-deb").arg("-x").args([&file, &tools.folder]), &mut |_| {})?;
            if !outcome.success {
                return Ok(Err(outcome.tail()));
            }
        }
        Ok(Ok(tools))
    }

    /// Sets the environment of a command so that it finds the tools.
    pub fn lend(&self, command: &mut Command) {
        let first = |name: &str, folders: Vec<PathBuf>| {
            let others = env::var_os(name).unwrap_or_default();
            let others = env::split_paths(&others).filter(|path| !path.as_os_str().is_empty());
            env::join_paths(folders.into_iter().chain(others)).unwrap_or_default()
        };
        if !self.folder.exists() {
            return;
        }
        let below = |path: &str| self.folder.join(path);
        command.env("PATH", first("PATH", vec![below("usr/bin"), below("bin")]));
        let libraries = self.libraries();
        if !libraries.is_empty() {
            command.env("LD_LIBRARY_PATH", first("LD_LIBRARY_PATH", libraries));
        }
        for (variable, path) in [("M4", "usr/bin/m4"), ("BISON_PKGDATADIR", "usr/share/bison")] {
            if below(path).exists() {
                command.env(variable, OsString::from(below(path)));
            }
        }
    }

    /// Returns the directories of libraries: `lib/TRIPLET` and `usr/lib/TRIPLET`.
    fn libraries(&self) -> Vec<PathBuf> {
        let parents = ["usr/lib", "lib"].map(|path| self.folder.join(path));
        let entries = parents.iter().filter_map(|parent| fs::read_dir(parent).ok()).flatten().flatten();
        let mut folders: Vec<_> = entries
            .map(|entry| entry.path())
            .filter(|path| path.to_string_lossy().ends_with("-linux-gnu") && path.is_dir())
            .collect();
        folders.sort();
        folders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unpacked_goes_before_what_is_installed() {
        let folder = tempfile::tempdir().expect("a folder");
        for path in ["usr/bin", "usr/share/bison", "usr/lib/x86_64-linux-gnu", "usr/lib/bison"] {
            fs::create_dir_all(folder.path().join(path)).expect("a folder");
        }
        let tools = Tools { folder: folder.path().to_owned() };
        let mut command = Command::new("true");
        tools.lend(&mut command);
        let value = |name: &str| {
            let found = command.get_envs().find(|(key, _)| *key == name);
            found.and_then(|(_, value)| value).map(|value| value.to_string_lossy().into_owned())
        };
        let below = |path: &str| folder.path().join(path).display().to_string();
        assert!(value("PATH").is_some_and(|path| path.starts_with(&format!("{}:", below("usr/bin")))));
        assert!(
            value("LD_LIBRARY_PATH").is_some_and(|path| path.starts_with(&below("usr/lib/x86_64-linux-gnu")))
        );
        assert_eq!(value("BISON_PKGDATADIR"), Some(below("usr/share/bison")));
        assert_eq!(value("M4"), None, "m4 was not unpacked");
    }

    #[test]
    fn without_unpacked_tools_nothing_changes() {
        let tools = Tools { folder: "/nonexistent/tools".into() };
        let mut command = Command::new("true");
        tools.lend(&mut command);
        assert_eq!(command.get_envs().count(), 0);
    }
}
