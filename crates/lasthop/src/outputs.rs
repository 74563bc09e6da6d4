//! Output files of a command, checked before anything runs.

use crate::failure::Failure;
use capture::output;
use std::path::PathBuf;

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
