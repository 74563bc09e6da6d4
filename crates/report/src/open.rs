//! Input of a report: a campaign's run directory, or the files of one `lasthop link`.

use crate::single::{self, SingleError};
use results::directory::MANIFEST;
use results::{Directory, DirectoryError};
use std::path::Path;

/// Error while opening the input of a report.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The run directory cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// The path is neither a run directory nor a single run.
    #[error(transparent)]
    Single(#[from] SingleError),
}

/// Reads the run directory `path`, or the single run in the directory, or with the summary, `path`.
pub fn open(path: &Path) -> Result<Directory, OpenError> {
    if path.join(MANIFEST).exists() {
        return Ok(Directory::open(path)?);
    }
    Ok(single::open(path)?)
}
