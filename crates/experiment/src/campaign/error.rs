//! Errors of starting or continuing a campaign.

use crate::plan::PlanError;
use std::io;
use std::path::PathBuf;

/// Why a campaign cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The plan is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The selection of cells is invalid.
    #[error("--only {0}")]
    Only(String),
    /// The directory already contains a campaign.
    #[error("{} holds a campaign already: `lasthop run --resume {}` goes on with it", .0.display(), .0.display())]
    Exists(PathBuf),
    /// The directory belongs to another user, who could choose the files that are written and the
    /// programs of its plan.
    #[error("{} belongs to user {user}: name a directory of your own, or chown it", directory.display())]
    Foreign {
        /// The run directory.
        directory: PathBuf,
        /// Its owner.
        user: u32,
    },
    /// The directory contains an entry with the name of the one that the campaign removes at its
    /// end.
    #[error("{} is there already, and a campaign removes its own of that name: name another directory with --out", .0.display())]
    Occupied(PathBuf),
    /// The run directory cannot be read.
    #[error(transparent)]
    Directory(#[from] results::DirectoryError),
    /// An operation on a file of the run directory failed.
    #[error("{doing} {}: {source}", path.display())]
    File {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A process cannot be started.
    #[error(transparent)]
    Netlab(#[from] netlab::Error),
    /// The campaign to be resumed was begun with another clock.
    #[error("{} was begun with the {began} clock: go on with --clock {began}", directory.display())]
    OtherClock {
        /// The run directory.
        directory: PathBuf,
        /// The clock with which it was begun.
        began: &'static str,
    },
    /// The campaign to be resumed was begun with another kernel, or with other options of guests;
    /// its runs would not be comparable.
    #[error("{} was begun with {what} {began}, and this is {now}: go on with the same, or begin anew", directory.display())]
    OtherGuest {
        /// The run directory.
        directory: PathBuf,
        /// What differs.
        what: &'static str,
        /// Value when the campaign was begun.
        began: String,
        /// Value now.
        now: String,
    },
}
