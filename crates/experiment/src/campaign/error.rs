//! Why a campaign cannot begin or go on.

use crate::plan::PlanError;
use std::io;
use std::path::PathBuf;

/// A campaign that cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Something is wrong with the plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The selection of cells makes no sense.
    #[error("--only {0}")]
    Only(String),
    /// There is a campaign in the directory already.
    #[error("{} holds a campaign already: `lasthop run --resume {}` goes on with it", .0.display(), .0.display())]
    Exists(PathBuf),
    /// The directory is another user's, who could choose the files that are written, and the
    /// programs of its plan.
    #[error("{} belongs to user {user}: name a directory of your own, or chown it", directory.display())]
    Foreign {
        /// The run directory.
        directory: PathBuf,
        /// Its owner.
        user: u32,
    },
    /// The directory has a folder that the campaign would remove at its end.
    #[error("{} is there already, and a campaign removes its own of that name: name another directory with --out", .0.display())]
    Occupied(PathBuf),
    /// A run directory that cannot be read.
    #[error(transparent)]
    Directory(#[from] results::DirectoryError),
    /// A file of the run directory.
    #[error("{doing} {}: {source}", path.display())]
    File {
        /// What was tried.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A process cannot be started.
    #[error(transparent)]
    Netlab(#[from] netlab::Error),
    /// The clock of a campaign that goes on is another one.
    #[error("{} was begun with the {began} clock: go on with --clock {began}", directory.display())]
    OtherClock {
        /// The run directory.
        directory: PathBuf,
        /// Its clock.
        began: &'static str,
    },
    /// The kernel of a campaign that goes on is another one, or is run otherwise: its runs would
    /// not be comparable.
    #[error("{} was begun with {what} {began}, and this is {now}: go on with the same, or begin anew", directory.display())]
    OtherGuest {
        /// The run directory.
        directory: PathBuf,
        /// What differs.
        what: &'static str,
        /// As it was.
        began: String,
        /// As it is.
        now: String,
    },
}
