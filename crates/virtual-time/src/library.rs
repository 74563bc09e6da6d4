//! The library with the links of a guest (crate `guest-link`), which its kernel opens at boot.

use crate::kernel::{KernelError, checksum};
use std::env;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Environment variable with the path of the library.
pub const VARIABLE: &str = "LASTHOP_LINK_LIBRARY";
/// File name of the library, as cargo builds it.
pub const NAME: &str = "liblasthop_link.so";

/// Returns the path of the library: the value of [`VARIABLE`], or the first place where it exists.
///
/// # Errors
/// If it does not exist: where it was looked for, and how to get it.
pub fn find() -> io::Result<PathBuf> {
    find_at(env::var_os(VARIABLE).as_deref(), env::current_exe().ok().as_deref())
}

/// Returns the SHA-256 of the library at `path` in hexadecimal digits.
///
/// # Errors
/// If it cannot be read.
pub fn hash(path: &Path) -> Result<String, KernelError> {
    checksum::of_file(path)
}

fn find_at(said: Option<&OsStr>, program: Option<&Path>) -> io::Result<PathBuf> {
    let places = match said.filter(|said| !said.is_empty()) {
        Some(said) => vec![PathBuf::from(said)],
        None => places(program),
    };
    places.iter().find(|place| place.is_file()).map_or_else(
        || {
            let tried: Vec<_> = places.iter().map(|place| place.display().to_string()).collect();
            let tried = tried.join(", ");
            let why = format!(
                "there is no {tried}: build it with `cargo build --release -p guest-link`, or give its path in {VARIABLE}"
            );
            Err(io::Error::new(io::ErrorKind::NotFound, why))
        },
        |place| place.canonicalize(),
    )
}

/// Returns the places to search: beside the program, where cargo puts it (for programs of tests, in
/// the folder above), and where it is installed.
fn places(program: Option<&Path>) -> Vec<PathBuf> {
    let folder = program.and_then(Path::parent);
    let above = folder.and_then(Path::parent);
    let of_tests = above.filter(|_| folder.is_some_and(|folder| folder.ends_with("deps")));
    let installed = above.map(|prefix| prefix.join("lib/lasthop"));
    let mut places: Vec<PathBuf> = Vec::new();
    for place in [folder, of_tests, installed.as_deref()]
        .into_iter()
        .flatten()
        .chain([Path::new("/usr/local/lib/lasthop"), Path::new("/usr/lib/lasthop")])
    {
        let place = place.join(NAME);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_order() {
        let at = |program: &str| {
            let places = places(Some(Path::new(program)));
            places.iter().map(|place| place.parent().expect("a folder").to_owned()).collect::<Vec<_>>()
        };
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(
            at("/usr/local/bin/lasthop"),
            paths(&["/usr/local/bin", "/usr/local/lib/lasthop", "/usr/lib/lasthop"])
        );
        assert_eq!(at("/t/debug/deps/test")[..2], paths(&["/t/debug/deps", "/t/debug"]));
    }

    #[test]
    fn what_was_said_has_to_be_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("any.so");
        let said = find_at(Some(file.as_os_str()), None).expect_err("it is not there").to_string();
        assert!(said.starts_with(&format!("there is no {}: build it", file.display())), "{said}");
        std::fs::write(&file, "").expect("written");
        assert_eq!(find_at(Some(file.as_os_str()), None).expect("it is there"), file);
    }
}
