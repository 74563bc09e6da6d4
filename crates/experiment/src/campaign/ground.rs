//! The run directory before a campaign uses it: whose it is, and what of it is not ours.

use super::CampaignError;
use crate::run::SCRATCH;
use results::directory::MANIFEST;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses a directory for a new campaign that holds one, that has a folder which the campaign
/// would remove at its end, or that is another user's.
pub(super) fn check_new(directory: &Path) -> Result<(), CampaignError> {
    check_owner(directory)?;
    if directory.join(MANIFEST).exists() {
        return Err(CampaignError::Exists(directory.to_owned()));
    }
    let scratch = directory.join(SCRATCH);
    if scratch.symlink_metadata().is_ok() { Err(CampaignError::Occupied(scratch)) } else { Ok(()) }
}

/// Refuses a run directory of another user than root and this one.
pub(super) fn check_owner(directory: &Path) -> Result<(), CampaignError> {
    let own = rustix::process::geteuid().as_raw();
    match fs::metadata(directory) {
        Ok(found) if ![0, own].contains(&found.uid()) => {
            Err(CampaignError::Foreign { directory: directory.to_owned(), user: found.uid() })
        }
        // What is wrong with it otherwise is said by whoever uses it.
        _ => Ok(()),
    }
}
