//! The files of a run: their paths, which are written, and which are kept.

use super::{FOLDERS, Job, SCRATCH};
use crate::plan::{Experiment, Keep};
use link::arq::hop::Watch;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Names of the files that are kept.
pub(super) struct Kept {
    pub captures: Vec<String>,
    pub events: Vec<String>,
    pub senders: Vec<String>,
    pub link_layers: Vec<String>,
}

/// Paths of a run's files below the run directory.
#[derive(Debug)]
pub struct Files {
    directory: PathBuf,
    stem: String,
    repetition: u32,
    capture: crate::plan::Capture,
}

impl Files {
    pub(super) fn new(job: &Job, experiment: &Experiment) -> Result<Self, String> {
        let files = Self {
            directory: job.directory.clone(),
            stem: job.stem(),
            repetition: job.repetition,
            capture: experiment.capture.clone(),
        };
        let folders = FOLDERS.map(|folder| files.directory.join(folder));
        for folder in folders.into_iter().chain([job.scratch()]) {
            fs::create_dir_all(&folder)
                .map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
        }
        // Left by an attempt that was interrupted.
        let tables = [files.events_name(), files.senders_name(), files.link_layer_name()];
        let logs = tables.clone().map(|table| table + ".log");
        let captures = [files.capture_name(), files.blocks_name()];
        for left in tables.into_iter().chain(logs).chain(captures) {
            match fs::remove_file(files.directory.join(&left)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("cannot remove {left}: {error}"));
                }
                _ => {}
            }
        }
        Ok(files)
    }

    fn capture_name(&self) -> String {
        format!("captures/{}.pcapng", self.stem)
    }

    fn events_name(&self) -> String {
        format!("events/{}.parquet", self.stem)
    }

    fn senders_name(&self) -> String {
        format!("events/{}-senders.parquet", self.stem)
    }

    fn link_layer_name(&self) -> String {
        format!("events/{}-link-layer.parquet", self.stem)
    }

    fn blocks_name(&self) -> String {
        format!("captures/{}-blocks.pcapng", self.stem)
    }

    /// Returns the path of the capture, if one is wanted.
    #[must_use]
    pub fn capture(&self) -> Option<PathBuf> {
        self.capture.keep.writes(self.repetition).then(|| self.directory.join(self.capture_name()))
    }

    /// Returns the path of the event log, if one is wanted.
    #[must_use]
    pub fn events(&self) -> Option<PathBuf> {
        let writes = self.capture.events.writes(self.repetition) || self.losses();
        writes.then(|| self.directory.join(self.events_name()))
    }

    /// Returns the path for the states of TCP senders, if they are wanted.
    #[must_use]
    pub fn senders(&self) -> Option<PathBuf> {
        let writes = self.capture.senders.writes(self.repetition) || self.losses();
        writes.then(|| self.directory.join(self.senders_name()))
    }

    /// Returns what is to be recorded of link layers with retransmissions.
    #[must_use]
    pub fn watch(&self) -> Watch {
        let writes = |keep: Keep| keep.writes(self.repetition);
        Watch { records: writes(self.capture.link_layer), blocks: writes(self.capture.blocks) }
    }

    /// Returns the path for the records of link layers, if they are wanted.
    #[must_use]
    pub fn link_layer(&self) -> Option<PathBuf> {
        self.watch().records.then(|| self.directory.join(self.link_layer_name()))
    }

    /// Returns the path for the blocks of RLP, if they are wanted.
    #[must_use]
    pub fn blocks(&self) -> Option<PathBuf> {
        self.watch().blocks.then(|| self.directory.join(self.blocks_name()))
    }

    /// Returns whether loss events are wanted.
    #[must_use]
    pub fn losses(&self) -> bool {
        self.capture.losses.writes(self.repetition)
    }

    /// Returns whether more than counters is recorded.
    #[must_use]
    pub fn wants_bytes(&self) -> bool {
        self.capture().is_some() || self.events().is_some()
    }

    /// Removes files that are not to be kept, and returns the names of the others.
    pub(super) fn keep(&self, failed: bool) -> Kept {
        let kept = |keep: Keep, name: String| {
            let path = self.directory.join(&name);
            if keep.keeps(self.repetition, failed) {
                // Sender states are missing if the kernel does not show them, and records if no
                // link has a link layer.
                return if path.exists() { vec![name] } else { Vec::new() };
            }
            // It does not exist if it was not written.
            let _ = fs::remove_file(path);
            Vec::new()
        };
        Kept {
            captures: kept(self.capture.keep, self.capture_name()),
            events: kept(self.capture.events, self.events_name()),
            senders: kept(self.capture.senders, self.senders_name()),
            link_layers: [
                kept(self.capture.link_layer, self.link_layer_name()),
                kept(self.capture.blocks, self.blocks_name()),
            ]
            .concat(),
        }
    }

    /// Returns the directory of the programs' outputs.
    #[must_use]
    pub fn logs_folder(&self) -> PathBuf {
        self.directory.join("logs")
    }

    /// Returns the working directory of the programs.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.directory.join(SCRATCH).join(&self.stem)
    }

    /// Returns the prefix of the file names.
    #[must_use]
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// Returns the outputs of programs that were written.
    pub(super) fn logs(&self) -> Vec<String> {
        let prefix = format!("{}-", self.stem);
        let entries = fs::read_dir(self.logs_folder()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let mut logs: Vec<_> =
            names.filter(|name| name.starts_with(&prefix)).map(|name| format!("logs/{name}")).collect();
        logs.sort();
        logs
    }
}
