//! A run directory as a whole.

use crate::journal::{self, RunEnded};
use crate::{Connection, Manifest, RunRecord, Verdict, manifest};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// A run directory that was read.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Where it is.
    pub path: PathBuf,
    /// What was run; `runs` is filled from the journal.
    pub manifest: Manifest,
    /// Connections of all runs, in the order of `manifest.runs`.
    pub connections: Vec<Vec<Connection>>,
}

/// A run directory that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The manifest is none.
    #[error("{}: {reason}", path.display())]
    Manifest {
        /// Its path.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl Directory {
    /// Reads the manifest and the runs in `path`, finished or not.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let file = path.join(MANIFEST);
        let text = fs::read_to_string(&file)
            .map_err(|source| DirectoryError::Read { path: file.clone(), source })?;
        let wrong = |reason| DirectoryError::Manifest { path: file.clone(), reason };
        let mut manifest: Manifest = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        if manifest.schema > manifest::SCHEMA {
            let newer = manifest.schema;
            return Err(wrong(format!(
                "schema {newer} is newer than this lasthop knows ({})",
                manifest::SCHEMA
            )));
        }
        let runs = journal::read(path)
            .map_err(|source| DirectoryError::Read { path: path.join(journal::FILE), source })?;
        let (records, connections) =
            runs.into_iter().map(|RunEnded { run, connections }| (run, connections)).unzip();
        manifest.runs = records;
        Ok(Self { path: path.to_owned(), manifest, connections })
    }

    /// Runs with their connections.
    pub fn runs(&self) -> impl Iterator<Item = (&RunRecord, &[Connection])> {
        self.manifest.runs.iter().zip(self.connections.iter().map(Vec::as_slice))
    }

    /// Runs of a cell that count: good ones, and overloaded ones if `overloaded` asks for them.
    pub fn counting(&self, cell: u32, overloaded: bool) -> impl Iterator<Item = (&RunRecord, &[Connection])> {
        self.runs().filter(move |(run, _)| {
            run.cell == cell
                && (run.verdict == Verdict::Good || (overloaded && run.verdict == Verdict::Overloaded))
        })
    }
}

/// Writes the manifest into `directory`, whole or not at all.
pub fn write_manifest(directory: &Path, manifest: &Manifest) -> io::Result<()> {
    let unfinished = directory.join(".manifest.json.new");
    let mut text = serde_json::to_string_pretty(manifest)?;
    text.push('\n');
    fs::write(&unfinished, text)?;
    fs::rename(unfinished, directory.join(MANIFEST))
}
