//! Checks of a run directory before a campaign uses it: its owner, and foreign files in it.

use super::CampaignError;
use crate::run::SCRATCH;
use results::directory::MANIFEST;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Refuses a directory for a new campaign.
///
/// A directory is refused if it contains a campaign, if it has an entry that the campaign would
/// remove at its end, or if it belongs to another user.
pub(super) fn check_new(directory: &Path) -> Result<(), CampaignError> {
    check_owner(directory)?;
    if directory.join(MANIFEST).exists() {
        return Err(CampaignError::Exists(directory.to_owned()));
    }
    let scratch = directory.join(SCRATCH);
    if scratch.symlink_metadata().is_ok() { Err(CampaignError::Occupied(scratch)) } else { Ok(()) }
}

/// Refuses a run directory that belongs to neither root nor this user.
pub(super) fn check_owner(directory: &Path) -> Result<(), CampaignError> {
    let own = rustix::process::geteuid().as_raw();
    match fs::metadata(directory) {
        Ok(found) if ![0, own].contains(&found.uid()) => {
            Err(CampaignError::Foreign { directory: directory.to_owned(), user: found.uid() })
        }
        // Any other problem shows when the directory is used.
        _ => Ok(()),
    }
}
