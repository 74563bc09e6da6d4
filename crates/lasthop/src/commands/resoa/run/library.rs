//! Finds the library that intercepts a program's socket calls.

use crate::failure::Failure;
use std::env;
use std::path::{Path, PathBuf};

/// Environment variable with the path of the library.
const VARIABLE: &str = "LASTHOP_PRELOAD";
/// File name of the library, as cargo builds it.
const NAME: &str = "libresoa_preload.so";
/// How to get the library.
const WAY_OUT: &str = if cfg!(target_feature = "crt-static") {
    "the static binary comes without it: use --seccomp"
} else {
    "build it with `cargo build --release -p resoa-preload`"
};

/// Returns the given path, or the first place where the library exists.
pub fn find(said: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(path) = said {
        return exists(path, "--library");
    }
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        return exists(Path::new(&path), VARIABLE);
    }
    let places = places(env::current_exe().ok().as_deref());
    places.iter().find(|place| place.is_file()).cloned().ok_or_else(|| {
        let tried: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
        format!(
            "no {NAME} at {}\n{WAY_OUT}, or give its path with --library FILE or {VARIABLE}",
            tried.join(", ")
        )
        .into()
    })
}

fn exists(path: &Path, by: &str) -> Result<PathBuf, Failure> {
    // The loader would resolve a relative path in each process's own directory. A colon would end
    // the path.
    let path = std::path::absolute(path)?;
    if !path.is_file() {
        return Err(format!("{by}: there is no file {}", path.display()).into());
    }
    if path.to_string_lossy().contains([':', ' ']) {
        return Err(format!(
            "{by}: the loader accepts no path with a colon or a space, such as {}",
            path.display()
        )
        .into());
    }
    Ok(path)
}

/// Returns the places to search: beside the command, where cargo puts it, and where it is
/// installed.
fn places(command: Option<&Path>) -> Vec<PathBuf> {
    let folder = command.and_then(Path::parent);
    let beside = folder.map(|folder| folder.join(NAME));
    let installed = folder.and_then(Path::parent).map(|prefix| prefix.join("lib/lasthop").join(NAME));
    let mut places: Vec<_> = beside.into_iter().chain(installed).collect();
    for place in ["/usr/local/lib/lasthop", "/usr/lib/lasthop"] {
        let place = Path::new(place).join(NAME);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside the command first, then below its prefix, and each place once.
    #[test]
    fn places_in_order() {
        let places = places(Some(Path::new("/usr/local/bin/lasthop")));
        let expected = ["/usr/local/bin", "/usr/local/lib/lasthop", "/usr/lib/lasthop"]
            .map(|at| Path::new(at).join(NAME));
        assert_eq!(places, expected);
    }

    /// A given path is not searched for elsewhere.
    #[test]
    fn what_was_said_has_to_be_there() {
        let failure = find(Some(Path::new("/nowhere/a.so"))).expect_err("it is not there").to_string();
        assert_eq!(failure, "--library: there is no file /nowhere/a.so");
    }
}
