//! Finds the libraries that belong to this command and are loaded into other programs.

use crate::failure::Failure;
use std::env;
use std::path::{Path, PathBuf};

/// A library beside this command.
pub struct Library {
    /// File name, as cargo builds it.
    name: &'static str,
    /// Environment variable with its path.
    pub variable: &'static str,
    /// How to get it.
    way_out: &'static str,
    /// How to give its path.
    by: &'static str,
}

/// The library that intercepts a program's socket calls.
pub const PRELOAD: Library = Library {
    name: "libresoa_preload.so",
    variable: "LASTHOP_PRELOAD",
    way_out: if cfg!(target_feature = "crt-static") {
        "the static binary comes without it: use --seccomp"
    } else {
        "build it with `cargo build --release -p resoa-preload`"
    },
    by: "with --library FILE or LASTHOP_PRELOAD",
};

/// The library with the links of a guest, which its kernel opens.
pub const LINKS: Library = Library {
    name: "liblasthop_link.so",
    variable: "LASTHOP_LINK_LIBRARY",
    way_out: "build it with `cargo build --release -p guest-link`",
    by: "in LASTHOP_LINK_LIBRARY",
};

impl Library {
    /// Returns the path in [`variable`](Self::variable), or the first place where the library
    /// exists.
    pub fn find(&self) -> Result<PathBuf, Failure> {
        if let Some(path) = env::var_os(self.variable).filter(|path| !path.is_empty()) {
            return exists(Path::new(&path), self.variable);
        }
        let places = self.places(env::current_exe().ok().as_deref());
        places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
            let tried: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            let Self { name, way_out, by, .. } = self;
            format!("no {name} at {}\n{way_out}, or give its path {by}", tried.join(", ")).into()
        })
    }

    /// Returns the places to search: beside the command, where cargo puts it, and where it is
    /// installed.
    fn places(&self, command: Option<&Path>) -> Vec<PathBuf> {
        let folder = command.and_then(Path::parent);
        let beside = folder.map(|folder| folder.join(self.name));
        let installed =
            folder.and_then(Path::parent).map(|prefix| prefix.join("lib/lasthop").join(self.name));
        let mut places: Vec<_> = beside.into_iter().chain(installed).collect();
        for place in ["/usr/local/lib/lasthop", "/usr/lib/lasthop"] {
            let place = Path::new(place).join(self.name);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }
}

/// Returns the absolute path of a library that the user named `by` an option or a variable.
pub fn exists(path: &Path, by: &str) -> Result<PathBuf, Failure> {
    let path = std::path::absolute(path)?;
    if path.is_file() { Ok(path) } else { Err(format!("{by}: there is no file {}", path.display()).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside the command first, then below its prefix, and each place once.
    #[test]
    fn places_in_order() {
        let places = LINKS.places(Some(Path::new("/usr/local/bin/lasthop")));
        let expected = ["/usr/local/bin", "/usr/local/lib/lasthop", "/usr/lib/lasthop"]
            .map(|at| Path::new(at).join("liblasthop_link.so"));
        assert_eq!(places, expected);
    }

    /// A given path is not searched for elsewhere.
    #[test]
    fn what_was_said_has_to_be_there() {
        let failure = exists(Path::new("/nowhere/a.so"), "--library").expect_err("it is not there");
        assert_eq!(failure.to_string(), "--library: there is no file /nowhere/a.so");
    }
}
