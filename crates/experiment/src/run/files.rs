//! The files of a run: where they are, which are wanted, and which stay.

use super::{FOLDERS, Job, SCRATCH};
use crate::plan::{Experiment, Keep};
use link::arq::hop::Watch;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Names of files that stay.
pub(super) struct Kept {
    pub captures: Vec<String>,
    pub events: Vec<String>,
    pub senders: Vec<String>,
    pub link_layers: Vec<String>,
}

/// Files of a run, below the run directory.
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
            fs::create_dir_all(&folder).map_err(|error| format!("create {}: {error}", folder.display()))?;
        }
        // Of an attempt that was interrupted.
        let tables = [files.events_name(), files.senders_name(), files.link_layer_name()];
        let logs = tables.clone().map(|table| table + ".log");
        let captures = [files.capture_name(), files.blocks_name()];
        for left in tables.into_iter().chain(logs).chain(captures) {
            match fs::remove_file(files.directory.join(&left)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(format!("remove {left}: {error}"));
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

    /// Where to write a capture, if one is wanted.
    #[must_use]
    pub fn capture(&self) -> Option<PathBuf> {
        self.capture.keep.writes(self.repetition).then(|| self.directory.join(self.capture_name()))
    }

    /// Where to write the event log, if one is wanted.
    #[must_use]
    pub fn events(&self) -> Option<PathBuf> {
        let writes = self.capture.events.writes(self.repetition) || self.losses();
        writes.then(|| self.directory.join(self.events_name()))
    }

    /// Where to write the states of TCP senders, if they are wanted.
    #[must_use]
    pub fn senders(&self) -> Option<PathBuf> {
        let writes = self.capture.senders.writes(self.repetition) || self.losses();
        writes.then(|| self.directory.join(self.senders_name()))
    }

    /// What is wanted of link layers with retransmissions.
    #[must_use]
    pub fn watch(&self) -> Watch {
        let writes = |keep: Keep| keep.writes(self.repetition);
        Watch { records: writes(self.capture.link_layer), blocks: writes(self.capture.blocks) }
    }

    /// Where to write the records of link layers, if they are wanted.
    #[must_use]
    pub fn link_layer(&self) -> Option<PathBuf> {
        self.watch().records.then(|| self.directory.join(self.link_layer_name()))
    }

    /// Where to write the blocks of RLP, if they are wanted.
    #[must_use]
    pub fn blocks(&self) -> Option<PathBuf> {
        self.watch().blocks.then(|| self.directory.join(self.blocks_name()))
    }

    /// Whether loss events are wanted.
    #[must_use]
    pub fn losses(&self) -> bool {
        self.capture.losses.writes(self.repetition)
    }

    /// Whether more than counters is recorded.
    #[must_use]
    pub fn wants_bytes(&self) -> bool {
        self.capture().is_some() || self.events().is_some()
    }

    /// Removes what is not to be kept.
    pub(super) fn keep(&self, failed: bool) -> Kept {
        let kept = |keep: Keep, name: String| {
            let path = self.directory.join(&name);
            if keep.keeps(self.repetition, failed) {
                // States of senders are not there where the kernel does not show them, nor records
                // where no link has a link layer.
                return if path.exists() { vec![name] } else { Vec::new() };
            }
            // Not there if it was not written.
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

    /// Folder of the programs' outputs.
    #[must_use]
    pub fn logs_folder(&self) -> PathBuf {
        self.directory.join("logs")
    }

    /// Where programs work.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.directory.join(SCRATCH).join(&self.stem)
    }

    /// First part of names.
    #[must_use]
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// Outputs of programs that were written.
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
