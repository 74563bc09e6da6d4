//! The kernel: its source, its build and its cache.
//!
//! A [`Recipe`] is all inputs of a kernel. It is embedded in the program, and its key names the
//! result. [`find`] looks for the kernel in the [`Cache`]. [`build`] fetches the source from
//! Debian's archive, patches, configures and compiles it, and puts the kernel into the cache,
//! completely or not at all. It installs nothing on the machine, and takes nothing from the machine
//! into the kernel but the compiler's output.
//!
//! If the archive no longer has the pinned source, the newest one on which every patch applies
//! replaces it. The kernel records this ([`Kernel::fallback`]), because different kernels do not
//! give byte-identical results.

mod archive;
mod building;
mod cache;
mod checksum;
mod child;
pub mod config;
mod error;
mod mirror;
mod recipe;
mod tools;
mod version;

pub use building::{Ask, Progress, Step, build};
pub use cache::{Cache, Record, size};
pub use checksum::of_file as checksum;
pub use error::KernelError;
pub use recipe::{Recipe, Source};

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A built kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Path of the kernel, an executable program.
    pub path: PathBuf,
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// The Debian package of its source.
    pub package: String,
    /// Version of that package.
    pub version: String,
    /// Key of its recipe.
    pub key: String,
    /// The compiler's version line.
    pub compiler: String,
    /// Whether it was built from another source than the pinned one.
    pub fallback: bool,
}

impl Kernel {
    /// Returns a kernel that was built elsewhere. Its key is the SHA-256 of the file.
    ///
    /// # Errors
    /// If the file cannot be read or is not a kernel.
    pub fn from_file(path: &Path) -> Result<Self, KernelError> {
        let path = std::path::absolute(path).map_err(KernelError::file("find", path))?;
        let key = checksum::of_file(&path)?;
        let release = says(&path, "--version")?.trim().to_owned();
        let compiler = says(&path, "--showconfig")?;
        let compiler = config::parse(&compiler).remove("CC_VERSION_TEXT").unwrap_or_default();
        Ok(Self {
            path,
            release,
            package: "a kernel of one's own".to_owned(),
            version: String::new(),
            key,
            compiler: compiler.trim_matches('"').to_owned(),
            fallback: false,
        })
    }

    /// Returns the configuration that the kernel reports.
    ///
    /// # Errors
    /// If it does not run here.
    pub fn options(&self) -> Result<config::Options, KernelError> {
        says(&self.path, "--showconfig").map(|text| config::parse(&text))
    }

    /// Returns the clock ticks per virtual second (`CONFIG_HZ`).
    ///
    /// # Errors
    /// If it does not run here, or does not report it.
    pub fn hz(&self) -> Result<u32, KernelError> {
        let hz = self.options()?.get("HZ").and_then(|hz| hz.parse().ok());
        hz.ok_or_else(|| KernelError::NoKernel {
            path: self.path.clone(),
            said: "it does not report CONFIG_HZ".to_owned(),
        })
    }
}

/// Starts a kernel with an option that prints something instead of booting; returns the output.
fn says(path: &Path, option: &str) -> Result<String, KernelError> {
    let wrong = |said| KernelError::NoKernel { path: path.to_owned(), said };
    let output = Command::new(path).arg(option).output().map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        return Err(wrong(format!("{option} ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Returns the kernel of this program's recipe, if it is in the cache.
///
/// The one of this machine's compiler comes first. Otherwise one of another compiler will do, such
/// as that of a package, or of a cache that was copied: its key is in the manifest of each run.
///
/// # Errors
/// [`KernelError::Untrusted`] if another user could have made or changed it.
pub fn find(cache: &Cache) -> Result<Option<Kernel>, KernelError> {
    find_of(&Recipe::embedded()?, tools::compiler().as_deref(), cache)
}

/// Does the same as [`find`] for any recipe and compiler.
fn find_of(recipe: &Recipe, compiler: Option<&str>, cache: &Cache) -> Result<Option<Kernel>, KernelError> {
    let of_compiler = compiler.and_then(|compiler| cache.record(&recipe.key(compiler)));
    // The key also shows that the recipe is the same.
    let of_recipe = |record: &Record| record.kernel.key == recipe.key(&record.kernel.compiler);
    let found = of_compiler.or_else(|| cache.records().into_iter().find(of_recipe));
    found.map(|Record { kernel, .. }| Cache::check(&kernel).map(|()| kernel)).transpose()
}

/// Returns the key of the kernel that [`build`] would make here; `None` without a compiler.
#[must_use]
pub fn key(recipe: &Recipe) -> Option<String> {
    tools::compiler().map(|compiler| recipe.key(&compiler))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Makes a program that prints these texts for the two options. Another process writes it: a
    /// file that this one has open for writing, and its children for a moment, cannot be run.
    fn kernel(folder: &Path, version: &str, options: &str) -> PathBuf {
        let path = folder.join("linux");
        let script = format!(
            "cat >\"$0\" <<'END'\n#!/bin/sh\ncase $1 in\n--version) {version} ;;\n--showconfig) {options} ;;\n*) exit 9 ;;\nesac\nEND\nchmod +x \"$0\""
        );
        let status = Command::new("/bin/sh").arg("-c").arg(script).arg(&path).status().expect("a shell");
        assert!(status.success());
        path
    }

    #[test]
    fn a_kernel_that_was_built_elsewhere_says_what_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let options =
            "echo '# CONFIG_SMP is not set'; echo 'CONFIG_HZ=250'; echo 'CONFIG_CC_VERSION_TEXT=\"gcc 12\"'";
        let path = kernel(folder.path(), "echo 7.2.12-x", options);
        let kernel = Kernel::from_file(&path).expect("a kernel");
        let expected = Kernel {
            path: path.clone(),
            release: "7.2.12-x".to_owned(),
            package: "a kernel of one's own".to_owned(),
            version: String::new(),
            key: checksum::of_file(&path).expect("read"),
            compiler: "gcc 12".to_owned(),
            fallback: false,
        };
        assert_eq!(kernel, expected);
        assert_eq!(kernel.hz().expect("it says so"), 250);
    }

    /// A package has the kernel of the compiler that built it, whatever compiler there is here.
    #[test]
    fn the_kernel_of_this_compiler_comes_first_and_any_of_the_recipe_will_do() {
        let folder = tempfile::tempdir().expect("a folder");
        let (cache, recipe) = (Cache::at(folder.path()), Recipe::embedded().expect("a recipe"));
        let found = |compiler| {
            let kernel = find_of(&recipe, compiler, &cache).expect("trusted");
            kernel.map(|kernel| kernel.compiler)
        };
        let put = |key: String, compiler: &str| {
            let workshop = cache.workshop(&key);
            std::fs::create_dir_all(&workshop).expect("a folder");
            std::fs::write(workshop.join("linux"), "kernel").expect("written");
            let kernel = Kernel {
                path: PathBuf::new(),
                release: "7.2.12-lasthop".to_owned(),
                package: "linux-source-7.2".to_owned(),
                version: "7.2.12-1".to_owned(),
                key: key.clone(),
                compiler: compiler.to_owned(),
                fallback: false,
            };
            let record = Record {
                kernel,
                seconds: BTreeMap::new(),
                dropped: Vec::new(),
                config: config::Options::new(),
            };
            Cache::write_record(&workshop, &record).expect("written");
            cache.put(&workshop, &key).expect("put");
        };
        put("0f".to_owned(), "gcc 13");
        assert_eq!(found(Some("gcc 13")), None, "a kernel of another recipe");
        put(recipe.key("gcc 12"), "gcc 12");
        assert_eq!(
            [found(Some("gcc 13")), found(None)],
            [Some("gcc 12".to_owned()), Some("gcc 12".to_owned())]
        );
        put(recipe.key("gcc 13"), "gcc 13");
        assert_eq!(found(Some("gcc 13")).as_deref(), Some("gcc 13"));
    }

    #[test]
    fn what_is_no_kernel_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |version: &str, options: &str| {
            let path = kernel(folder.path(), version, options);
            let error = match Kernel::from_file(&path) {
                Ok(kernel) => kernel.hz().map(drop),
                Err(error) => Err(error),
            };
            error.expect_err("no kernel").to_string().replace(&path.display().to_string(), "FILE")
        };
        let none = "FILE is not a kernel that runs here: ";
        assert_eq!(said("exit 2", "true"), format!("{none}--version ended with exit status: 2"));
        assert_eq!(said("true", "exit 3"), format!("{none}--showconfig ended with exit status: 3"));
        let no_hz = format!("{none}it does not report CONFIG_HZ");
        assert_eq!([said("true", "true"), said("true", "echo CONFIG_HZ=many")], [no_hz.clone(), no_hz]);
        let missing = Kernel::from_file(&folder.path().join("none")).expect_err("no file").to_string();
        assert!(missing.starts_with("cannot read "), "{missing}");
    }
}
