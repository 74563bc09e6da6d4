//! Output files of a command, checked before anything runs.

use crate::failure::Failure;
use capture::output;
use std::path::{Path, PathBuf};

/// Checks that the files can be written. `None` stands for an option that was not given.
///
/// # Errors
/// For the first file whose directory does not exist or cannot be written, or that is a directory
/// or another user's symbolic link.
pub fn check<'a>(files: impl IntoIterator<Item = Option<&'a PathBuf>>) -> Result<(), Failure> {
    for path in files.into_iter().flatten() {
        output::check(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}

/// Returns the path of a capture in `folder` that does not exist yet: `STEM.pcapng`,
/// `STEM-2.pcapng` and so on.
pub fn free_capture(folder: &Path, stem: &str) -> PathBuf {
    let numbered = (2..).map(|number| format!("{stem}-{number}.pcapng"));
    let names = std::iter::once(format!("{stem}.pcapng")).chain(numbered);
    let mut paths = names.map(|name| folder.join(name)).filter(|path| !path.exists());
    paths.next().expect("numbers do not end")
}
