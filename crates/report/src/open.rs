//! What a report can be made of: a campaign's run directory, or what one `lasthop link` left.

use crate::single::{self, SingleError};
use results::directory::MANIFEST;
use results::{Directory, DirectoryError};
use std::path::Path;

/// Nothing to make a report of.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A run directory that cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// No run directory, and no single run either.
    #[error(transparent)]
    Single(#[from] SingleError),
}

/// Reads the run directory `path`, or the single run in the directory or with the summary `path`.
pub fn open(path: &Path) -> Result<Directory, OpenError> {
    if path.join(MANIFEST).exists() {
        return Ok(Directory::open(path)?);
    }
    Ok(single::open(path)?)
}
