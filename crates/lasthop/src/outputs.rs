//! Files that a command was asked to write: what is wrong with their places is said before anything
//! runs.

use crate::failure::Failure;
use capture::output;
use std::path::PathBuf;

/// Refuses files that could not be written; `None` was not asked for.
///
/// # Errors
/// With the first file whose folder does not exist or cannot be written, or that is a folder or
/// somebody else's link.
pub fn check<'a>(files: impl IntoIterator<Item = Option<&'a PathBuf>>) -> Result<(), Failure> {
    for path in files.into_iter().flatten() {
        output::check(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(())
}
