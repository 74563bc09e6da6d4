//! Errors of finding and building a kernel. Each message names the object and the way out.

use super::config::Dropped;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// No directory for the cache is known.
    #[error(
        "no directory for the cache of kernels: set LASTHOP_CACHE, XDG_CACHE_HOME or HOME to a directory"
    )]
    NoCache,
    /// An operation on a file, directory or program failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The operation, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another user could have made or changed a file in the cache that this user would run.
    #[error(
        "{} {why}, so others could choose the kernel that you run: chown and chmod it, or set LASTHOP_CACHE to a directory of your own",
        path.display()
    )]
    Untrusted {
        /// The file or directory.
        path: PathBuf,
        /// Why it is not trusted.
        why: String,
    },
    /// A required program is not installed.
    #[error("{program} is not installed, but building a kernel needs it: `apt-get install {package}`")]
    NoProgram {
        /// Its name.
        program: &'static str,
        /// The Debian package that contains it.
        package: &'static str,
    },
    /// The embedded recipe is invalid: a file in `kernel/` of this repository is wrong.
    #[error("kernel/{file}: {what}")]
    Recipe {
        /// The file below `kernel/`.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// The cache's disk has too little free space.
    #[error(
        "building the kernel needs {needed} MB in {}, but only {free} MB are free: make room, or set LASTHOP_CACHE to another disk",
        path.display()
    )]
    NoRoom {
        /// The cache.
        path: PathBuf,
        /// Megabytes needed.
        needed: u64,
        /// Megabytes free.
        free: u64,
    },
    /// The archive cannot be reached.
    #[error(
        "cannot fetch from {mirror}: {said}\nThe source of the kernel comes from there: go online, set a proxy for apt \
         (Acquire::http::Proxy), or copy {} from a machine that has built it",
        cache.display()
    )]
    NoNetwork {
        /// The mirror that was asked.
        mirror: String,
        /// What apt printed.
        said: String,
        /// The cache directory.
        cache: PathBuf,
    },
    /// A downloaded file does not have the pinned checksum.
    #[error(
        "{file} has SHA-256\n  {found}, expected\n  {wanted}: it was changed or damaged in transit. Try again; if the error \
         persists, check the mirror and the proxy"
    )]
    Checksum {
        /// The file.
        file: String,
        /// Its checksum, hexadecimal.
        found: String,
        /// The checksum in the recipe.
        wanted: String,
    },
    /// The archive no longer has the pinned source, and the patches apply to no other.
    #[error(
        "the archive no longer has {pinned}, and the patches apply to none of its sources ({there}). Update lasthop, or pin a \
         newer source as kernel/README.md describes"
    )]
    NoSource {
        /// Package and version of the pinned source.
        pinned: String,
        /// The sources that the archive has.
        there: String,
    },
    /// Requested options are missing from the kernel's configuration.
    #[error("the kernel's configuration differs from kernel/config: {}", listed(_0))]
    Dropped(Vec<Dropped>),
    /// A step failed.
    #[error("{step} failed: {said}\nThe complete output is in {}", log.display())]
    Failed {
        /// The step's name.
        step: &'static str,
        /// The last lines that it printed.
        said: String,
        /// The log with the whole output.
        log: PathBuf,
    },
    /// A file that was given as the kernel is not a kernel that runs here.
    #[error("{} is not a kernel that runs here: {said}", path.display())]
    NoKernel {
        /// The file.
        path: PathBuf,
        /// Why it is not.
        said: String,
    },
    /// The build was interrupted by Ctrl-C.
    #[error("interrupted; the unfinished build was removed")]
    Interrupted,
}

impl KernelError {
    /// Returns a function for `map_err` of file operations.
    pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}

fn listed(dropped: &[Dropped]) -> String {
    dropped.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
