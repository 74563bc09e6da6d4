//! A run directory with all its contents.

use crate::journal::{self, RunEnded};
use crate::{Connection, Manifest, RunRecord, RunVerdict, manifest};
use capture::output;
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the manifest.
pub const MANIFEST: &str = "manifest.json";

/// A run directory that was read.
#[derive(Debug, Clone)]
pub struct Directory {
    /// Its path.
    pub path: PathBuf,
    /// Its manifest; `runs` is filled from the journal.
    pub manifest: Manifest,
    /// Connections of all runs, in the order of `manifest.runs`.
    pub connections: Vec<Vec<Connection>>,
}

/// Error while reading a run directory.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// A file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// There is no manifest.
    #[error("`{}` is not a run directory of lasthop: it has no {MANIFEST}", .0.display())]
    NoManifest(PathBuf),
    /// The manifest cannot be understood.
    #[error("{}: {reason}", path.display())]
    Manifest {
        /// Its path.
        path: PathBuf,
        /// The cause.
        reason: String,
    },
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: u32,
}

impl Directory {
    /// Reads the manifest and the runs in `path`, finished or not.
    pub fn open(path: &Path) -> Result<Self, DirectoryError> {
        let mut manifest = read_manifest(path)?;
        let runs = journal::read(path)
            .map_err(|source| DirectoryError::Read { path: path.join(journal::FILE), source })?;
        let (records, connections) =
            runs.into_iter().map(|RunEnded { run, connections }| (run, connections)).unzip();
        manifest.runs = records;
        Ok(Self { path: path.to_owned(), manifest, connections })
    }

    /// Returns the names of the workloads in the order in which figures are shown.
    ///
    /// First comes the measured workload, then the others that runs wait for, then those in the
    /// background, each group in the order of the plan. Directories from before the manifest named
    /// workloads have the order of their rows.
    #[must_use]
    pub fn workloads(&self) -> Vec<&str> {
        let planned = |background: bool| {
            let all = self.manifest.workloads.iter();
            all.filter(move |workload| workload.background == background)
                .map(|workload| workload.name.as_str())
        };
        let measured = Some(self.manifest.measure.as_str()).filter(|name| !name.is_empty());
        let rows = self.connections.iter().flatten().map(|row| row.workload.as_str());
        let mut names = Vec::new();
        for name in measured.into_iter().chain(planned(false)).chain(planned(true)).chain(rows) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// Returns the name of the workload that figures are about by default; empty if there is none.
    #[must_use]
    pub fn measured(&self) -> &str {
        self.workloads().first().copied().unwrap_or_default()
    }

    /// Returns whether runs end without waiting for this workload.
    #[must_use]
    pub fn in_background(&self, workload: &str) -> bool {
        self.manifest.workloads.iter().any(|known| known.name == workload && known.background)
    }

    /// Returns the runs with their connections.
    pub fn runs(&self) -> impl Iterator<Item = (&RunRecord, &[Connection])> {
        self.manifest.runs.iter().zip(self.connections.iter().map(Vec::as_slice))
    }

    /// Returns the runs of a cell that count: good ones, and those that `besides` includes.
    pub fn counting(
        &self,
        cell: u32,
        besides: impl Into<Besides>,
    ) -> impl Iterator<Item = (&RunRecord, &[Connection])> {
        let besides = besides.into();
        self.runs().filter(move |(run, _)| run.cell == cell && besides.counts(run.verdict))
    }
}

/// Kinds of runs that count in addition to good ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Besides {
    /// Runs in which the emulator fell behind.
    pub overloaded: bool,
    /// Runs with a dropped call, measured up to the drop (LL-35).
    pub dropped_calls: bool,
}

impl Besides {
    /// Returns whether a run with this verdict counts.
    #[must_use]
    pub fn counts(self, verdict: RunVerdict) -> bool {
        match verdict {
            RunVerdict::Good => true,
            RunVerdict::Overloaded => self.overloaded,
            RunVerdict::DroppedCall => self.dropped_calls,
            RunVerdict::Failed => false,
        }
    }
}

/// `true` includes overloaded runs; dropped calls never count.
impl From<bool> for Besides {
    fn from(overloaded: bool) -> Self {
        Self { overloaded, ..Self::default() }
    }
}

/// Reads the manifest in `path`, without its runs.
pub fn read_manifest(path: &Path) -> Result<Manifest, DirectoryError> {
    let file = path.join(MANIFEST);
    let text = fs::read_to_string(&file).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => DirectoryError::NoManifest(path.to_owned()),
        _ => DirectoryError::Read { path: file.clone(), source },
    })?;
    let wrong = |reason| DirectoryError::Manifest { path: file.clone(), reason };
    let invalid = |error: serde_json::Error| wrong(error.to_string());
    // The schema is read first, because a newer manifest may have entirely different fields.
    let SchemaOnly { schema } = serde_json::from_str(&text).map_err(invalid)?;
    if schema > manifest::SCHEMA {
        let known = manifest::SCHEMA;
        return Err(wrong(format!(
            "schema {schema} is newer than this lasthop knows ({known}): use the lasthop that wrote it"
        )));
    }
    serde_json::from_str(&text).map_err(invalid)
}

/// Writes the manifest into `directory`, completely or not at all.
pub fn write_manifest(directory: &Path, manifest: &Manifest) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(manifest)?;
    text.push('\n');
    output::write(&directory.join(MANIFEST), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Journal;
    use crate::{LinkCounters, PlannedWorkload, example};
    use std::collections::BTreeMap;

    #[test]
    fn what_was_written_is_read_with_the_runs_of_the_journal() {
        let directory = tempfile::tempdir().unwrap();
        let manifest = example::manifest();
        write_manifest(directory.path(), &manifest).unwrap();
        let mut journal = Journal::open(directory.path()).unwrap();
        let connections = vec![example::connection("bulk", 100)];
        for (cell, verdict) in [(1, RunVerdict::Failed), (0, RunVerdict::Overloaded), (2, RunVerdict::Good)] {
            let run = RunRecord { verdict, ..example::run(cell, 0) };
            journal.append(&RunEnded { run, connections: connections.clone() }).unwrap();
        }
        let read = Directory::open(directory.path()).unwrap();
        assert_eq!(read.runs().map(|(run, _)| run.cell).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(read.connections, vec![connections; 3]);
        let counting = |overloaded: bool| [0, 1, 2].map(|cell| read.counting(cell, overloaded).count());
        assert_eq!((counting(false), counting(true)), ([0, 0, 1], [1, 0, 1]));
        assert_eq!(Manifest { runs: Vec::new(), ..read.manifest }, manifest);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2, "nothing unfinished is left");
    }

    /// LL-35: a dropped call counts only if requested explicitly.
    #[test]
    fn ll_35_dropped_calls_are_left_out_unless_asked_for() {
        let each = [RunVerdict::Good, RunVerdict::Overloaded, RunVerdict::DroppedCall, RunVerdict::Failed];
        let counts = |besides: Besides| each.map(|verdict| besides.counts(verdict));
        assert_eq!(counts(Besides::default()), [true, false, false, false]);
        assert_eq!(counts(true.into()), [true, true, false, false]);
        assert_eq!(counts(Besides { dropped_calls: true, overloaded: false }), [true, false, true, false]);
        let mut counters = LinkCounters {
            link: "call".to_owned(),
            direction: "down".to_owned(),
            profile: String::new(),
            packets: 9,
            lost: BTreeMap::new(),
            damaged: 0,
            duplicated: 0,
            reordered: 0,
            bytes: 900,
            delivered_bytes: 500,
            delay_mean_ns: None,
            waiting_mean_ns: None,
            link_layer: None,
        };
        assert!(!counters.was_disconnected());
        counters.lost.insert("link-reset".to_owned(), 3);
        counters.lost.insert("disconnected".to_owned(), 0);
        assert!(!counters.was_disconnected(), "a reset ends nothing");
        counters.lost.insert("disconnected".to_owned(), 1);
        assert!(counters.was_disconnected());
    }

    /// A server is first in the plan, so it has the first rows.
    #[test]
    fn figures_are_about_what_runs_wait_for() {
        let workload = |name: &str, background| PlannedWorkload { name: name.to_owned(), background };
        let row = |name| example::connection(name, 1);
        let mut directory = example::campaign(&[(0, RunVerdict::Good, 1.0)]);
        directory.connections = vec![vec![row("nginx"), row("page"), row("other")]];
        assert_eq!(directory.workloads(), ["nginx", "page", "other"], "nothing but rows is known");
        directory.manifest.workloads =
            vec![workload("nginx", true), workload("page", false), workload("other", false)];
        assert_eq!(directory.workloads(), ["page", "other", "nginx"]);
        assert!(directory.in_background("nginx") && !directory.in_background("page"));
        directory.manifest.measure = "other".to_owned();
        assert_eq!((directory.measured(), directory.workloads()), ("other", vec!["other", "page", "nginx"]));
    }

    #[test]
    fn a_folder_without_a_manifest_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let error = Directory::open(directory.path()).unwrap_err().to_string();
        let path = directory.path().display();
        assert_eq!(error, format!("`{path}` is not a run directory of lasthop: it has no manifest.json"));
    }

    #[test]
    fn a_newer_schema_is_refused_whatever_else_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let text = r#"{"schema": 1000, "everything": "else"}"#;
        fs::write(directory.path().join(MANIFEST), text).unwrap();
        let error = Directory::open(directory.path()).unwrap_err().to_string();
        assert!(error.contains("manifest.json: schema 1000 is newer than this lasthop knows (1)"), "{error}");
    }

    #[test]
    fn a_manifest_that_is_none_is_named() {
        let directory = tempfile::tempdir().unwrap();
        for text in ["", "{}", r#"{"schema": 1}"#] {
            fs::write(directory.path().join(MANIFEST), text).unwrap();
            let error = Directory::open(directory.path()).unwrap_err();
            assert!(matches!(error, DirectoryError::Manifest { .. }), "{error}");
        }
    }
}
