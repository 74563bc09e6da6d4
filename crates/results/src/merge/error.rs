//! Why shards cannot be merged.

use crate::{DirectoryError, Shard};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why shards cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// No directory was named.
    #[error("nothing to merge: name the run directories of all shards")]
    Nothing,
    /// A manifest or a journal cannot be read.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
    /// A directory has a whole campaign.
    #[error("{} is not a shard: it was run without --shard", .0.display())]
    NotAShard(PathBuf),
    /// Two shards are of different campaigns.
    #[error("shards of different campaigns: the {what} is {} in {}, but {} in {}",
        values[0], directories[0].display(), values[1], directories[1].display())]
    Different {
        /// What differs.
        what: &'static str,
        /// Both values.
        values: Box<[String; 2]>,
        /// Both directories.
        directories: Box<[PathBuf; 2]>,
    },
    /// Two directories have the same shard.
    #[error("shard {shard} is there twice: {} and {}", directories[0].display(), directories[1].display())]
    Twice {
        /// The shard.
        shard: Shard,
        /// Both directories.
        directories: Box<[PathBuf; 2]>,
    },
    /// Shards are missing.
    #[error(
        "{}: run it with `{command}` and the --only of the others, if they have one, and name its directory, too",
        missing_words(missing)
    )]
    Missing {
        /// The missing shards, at least one.
        missing: Vec<Shard>,
        /// The command that runs the first of them.
        command: String,
    },
    /// Shards have runs left.
    #[error("{}", unfinished_words(_0))]
    Unfinished(Vec<Unfinished>),
    /// A shard has a run that belongs to another one.
    #[error("{}: repetition {repetition} of cell {cell} is not a run of shard {shard}: was its manifest edited?", directory.display())]
    Stray {
        /// The directory.
        directory: PathBuf,
        /// Its shard.
        shard: Shard,
        /// Number of the run's cell.
        cell: u32,
        /// The run's repetition.
        repetition: u32,
    },
    /// A run names a file that its directory does not have.
    #[error("{} is not there, or not a file, though a run names it", .0.display())]
    NoFile(PathBuf),
    /// The merged campaign would replace something.
    #[error("{} already exists: choose another directory with --out", .0.display())]
    Exists(PathBuf),
    /// An operation on a file failed.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The operation.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The user ended the merge.
    #[error("interrupted: nothing was merged")]
    Interrupted,
}

/// A shard with runs left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// The shard.
    pub shard: Shard,
    /// Its directory.
    pub directory: PathBuf,
    /// Number of its runs that have ended.
    pub ended: usize,
    /// Number of its runs.
    pub planned: usize,
}

impl fmt::Display for Unfinished {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shard, directory, ended, planned } = self;
        let directory = directory.display();
        write!(
            formatter,
            "shard {shard} is unfinished, {ended} of {planned} runs have ended: finish it with `lasthop run --resume {directory}`"
        )
    }
}

fn missing_words(missing: &[Shard]) -> String {
    if let [one] = missing {
        return format!("shard {one} is missing");
    }
    let shown: Vec<_> = missing.iter().take(8).map(ToString::to_string).collect();
    let more = if missing.len() > shown.len() { ", …" } else { "" };
    format!("{} shards are missing, {}{more}: the first of them", missing.len(), shown.join(", "))
}

fn unfinished_words(unfinished: &[Unfinished]) -> String {
    unfinished.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
