//! What can go wrong on the way to a kernel. Each message names the thing and the way out.

use super::config::Dropped;
use std::io;
use std::path::{Path, PathBuf};

/// Why there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// Neither a cache directory nor a home is known.
    #[error("where should the kernel be kept? Set LASTHOP_CACHE, XDG_CACHE_HOME or HOME to a directory")]
    NoCache,
    /// A file could not be read, written or removed.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Somebody else could have made or changed what is in the cache, and this user would run it.
    #[error(
        "{} {why}, who could choose the kernel that you run: chown and chmod it, or set LASTHOP_CACHE to a directory of your own",
        path.display()
    )]
    Untrusted {
        /// The file or directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A program that must be installed is not.
    #[error(
        "{program} is not installed, and a kernel cannot be built without it: `apt-get install {package}`"
    )]
    NoProgram {
        /// Its name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The embedded recipe cannot be read: `kernel/` of this repository is wrong.
    #[error("kernel/{file}: {what}")]
    Recipe {
        /// The file below `kernel/`.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// Too little room in the cache.
    #[error(
        "building the kernel needs {needed} MB in {}, and {free} MB are free: make room, or set LASTHOP_CACHE to another disk",
        path.display()
    )]
    NoRoom {
        /// The cache.
        path: PathBuf,
        /// Megabytes needed.
        needed: u64,
        /// Megabytes there are.
        free: u64,
    },
    /// The archive cannot be asked.
    #[error(
        "cannot fetch from {mirror}: {said}\nThe source of the kernel comes from there: go online, set a proxy for apt \
         (Acquire::http::Proxy), or copy {} from a machine that has built it",
        cache.display()
    )]
    NoNetwork {
        /// The mirror that was asked.
        mirror: String,
        /// What apt said.
        said: String,
        /// Where a built kernel would be.
        cache: PathBuf,
    },
    /// What came is not what was pinned.
    #[error(
        "{file} has SHA-256\n  {found}, and should have\n  {wanted}: it was changed or damaged on its way. Try again; if it stays \
         so, check the mirror and the proxy"
    )]
    Checksum {
        /// The file.
        file: String,
        /// Its check sum, hexadecimal.
        found: String,
        /// The one in the recipe.
        wanted: String,
    },
    /// The pinned source is gone, and nothing can replace it.
    #[error(
        "the archive no longer has {pinned}, and the patches apply to nothing that it has ({there}). A newer lasthop knows a \
         newer source; kernel/README.md says how to pin one"
    )]
    NoSource {
        /// Package and version of the pin.
        pinned: String,
        /// What is there.
        there: String,
    },
    /// The kernel's configuration lost options.
    #[error("the kernel's configuration does not have what kernel/config asks for: {}", listed(_0))]
    Dropped(Vec<Dropped>),
    /// A step ended badly.
    #[error("{step} failed: {said}\nAll of it is in {}", log.display())]
    Failed {
        /// The step's name.
        step: &'static str,
        /// The last lines it printed.
        said: String,
        /// Where the whole output is.
        log: PathBuf,
    },
    /// A file that was named as the kernel is none.
    #[error("{} is no kernel that runs here: {said}", path.display())]
    NoKernel {
        /// The file.
        path: PathBuf,
        /// What became of starting it.
        said: String,
    },
    /// Ctrl-C.
    #[error("interrupted; nothing of the build is left")]
    Interrupted,
}

impl KernelError {
    /// For `map_err` of calls on files.
    pub(super) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { doing, path, source }
    }
}

fn listed(dropped: &[Dropped]) -> String {
    dropped.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
