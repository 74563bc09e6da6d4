//! Errors of starting or continuing a campaign.

use crate::plan::PlanError;
use results::Shard;
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
    /// The plan needs the kernel of the virtual clock and the campaign has the real clock, or the
    /// other way round.
    #[error("{0}")]
    WrongClock(String),
    /// An interface or a namespace cannot be attached to a node.
    #[error("attach: {0}")]
    Attach(netlab::Error),
    /// A shard of a plan without a seed: each shard would draw a seed of its own.
    #[error(
        "--shard {0} needs a seed, or each shard draws another one: add --seed NUMBER, the same for all shards, or `seed = NUMBER` to the plan"
    )]
    ShardWithoutSeed(Shard),
    /// A shard of a series, whose runs follow each other.
    #[error(
        "--shard {0}: the runs of a [series] follow each other, so no part of them can run elsewhere: remove --shard, or [series] from the plan"
    )]
    ShardOfSeries(Shard),
    /// The directory already contains a campaign.
    #[error("{} already contains a campaign: continue it with `lasthop run --resume {}`", .0.display(), .0.display())]
    Exists(PathBuf),
    /// The directory belongs to another user, who could choose the files that are written and the
    /// programs of its plan.
    #[error("{} belongs to user {user}: choose a directory of your own, or chown it", directory.display())]
    Foreign {
        /// The run directory.
        directory: PathBuf,
        /// Its owner.
        user: u32,
    },
    /// The directory contains an entry with the name of the one that the campaign removes at its
    /// end.
    #[error("{} already exists, and a campaign removes its own directory of that name at its end: choose another directory with --out", .0.display())]
    Occupied(PathBuf),
    /// The run directory cannot be read.
    #[error(transparent)]
    Directory(#[from] results::DirectoryError),
    /// An operation on a file of the run directory failed.
    #[error("cannot {doing} {}: {source}", path.display())]
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
    #[error("{} was started with the {began} clock: continue it with --clock {began}", directory.display())]
    OtherClock {
        /// The run directory.
        directory: PathBuf,
        /// The clock with which it was begun.
        began: &'static str,
    },
    /// The campaign to be resumed was begun with another kernel, or with other options of guests;
    /// its runs would not be comparable.
    #[error("{} was started with {what} {began}, not {now}: continue it with the same, or start a new campaign", directory.display())]
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
