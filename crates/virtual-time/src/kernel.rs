//! The kernel: its source, how it is built, and where it is kept.
//!
//! A [`Recipe`] is all that a kernel is made of; it is embedded in the program, and its key names
//! the result. [`find`] looks into the [`Cache`]; [`build`] fetches the source from Debian's
//! archive, patches, configures and compiles it, and puts the kernel there, whole or not at all.
//! Nothing is installed on the machine, and nothing of it but the compiler goes into the kernel.
//!
//! Where the archive no longer has the pinned source, the newest one on which every patch applies
//! stands in, and the kernel says so ([`Kernel::fallback`]): results of different kernels are not
//! the same bytes.

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
pub use error::KernelError;
pub use recipe::{Recipe, Source};

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kernel that is built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// The program that it is.
    pub path: PathBuf,
    /// What `uname -r` says in it.
    pub release: String,
    /// The Debian package of its source.
    pub package: String,
    /// Version of that package.
    pub version: String,
    /// Key of its recipe.
    pub key: String,
    /// The compiler's version line.
    pub compiler: String,
    /// Whether another source than the pinned one had to stand in.
    pub fallback: bool,
}

impl Kernel {
    /// A kernel that somebody has built elsewhere. Its key is the SHA-256 of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or is no kernel.
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

    /// What it was configured with, by its own account.
    ///
    /// # Errors
    /// If it does not run here.
    pub fn options(&self) -> Result<config::Options, KernelError> {
        says(&self.path, "--showconfig").map(|text| config::parse(&text))
    }

    /// Clock ticks of a virtual second (`CONFIG_HZ`).
    ///
    /// # Errors
    /// If it does not run here, or does not say.
    pub fn hz(&self) -> Result<u32, KernelError> {
        let hz = self.options()?.get("HZ").and_then(|hz| hz.parse().ok());
        hz.ok_or_else(|| KernelError::NoKernel {
            path: self.path.clone(),
            said: "it does not say its CONFIG_HZ".to_owned(),
        })
    }
}

/// What a kernel prints when it is started with an option, instead of booting.
fn says(path: &Path, option: &str) -> Result<String, KernelError> {
    let wrong = |said| KernelError::NoKernel { path: path.to_owned(), said };
    let output = Command::new(path).arg(option).output().map_err(|error| wrong(error.to_string()))?;
    if !output.status.success() {
        return Err(wrong(format!("{option} ended with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The kernel of this program's recipe and this machine's compiler, if it has been built.
///
/// Without a compiler (a machine to which the cache was copied) any kernel of the embedded recipe
/// will do.
///
/// # Errors
/// [`KernelError::Untrusted`] if somebody else could have made or changed it.
pub fn find(cache: &Cache) -> Result<Option<Kernel>, KernelError> {
    let recipe = Recipe::embedded()?;
    let kernel = match tools::compiler() {
        Some(compiler) => cache.record(&recipe.key(&compiler)).map(|record| record.kernel),
        None => {
            cache.records().into_iter().map(|record| record.kernel).find(|kernel| {
                // The key also tells that the recipe is the same one.
                kernel.key == recipe.key(&kernel.compiler)
            })
        }
    };
    kernel.map(|kernel| cache.check(&kernel.key).map(|()| kernel)).transpose()
}

/// Key of the kernel that [`build`] would make here; none without a compiler.
#[must_use]
pub fn key(recipe: &Recipe) -> Option<String> {
    tools::compiler().map(|compiler| recipe.key(&compiler))
}
