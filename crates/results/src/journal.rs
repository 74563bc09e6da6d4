//! `runs.jsonl`: one line for each run that ended, appended and synced when it ends.

use crate::{Connection, RunRecord};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// Its name in a run directory.
pub const FILE: &str = "runs.jsonl";

/// A line: a run and its connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run.
    pub run: RunRecord,
    /// Its connections.
    pub connections: Vec<Connection>,
}

/// Appends lines.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens the journal of a run directory, to go on at its end; a line that was cut off by a crash is removed.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        let whole = match std::fs::read(&path) {
            Ok(bytes) => bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.set_len(whole as u64)?;
        Ok(Self(file))
    }

    /// Appends a run, and waits for the disk.
    pub fn append(&mut self, ended: &RunEnded) -> io::Result<()> {
        let mut line = serde_json::to_vec(ended)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.sync_data()
    }
}

/// All runs in the journal of a run directory, none if there is no journal. A last line without an end is left out: the
/// run that it was about counts as not run. Where a run stands twice, the later line counts.
pub fn read(directory: &Path) -> io::Result<Vec<RunEnded>> {
    let text = match std::fs::read_to_string(directory.join(FILE)) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut runs: Vec<RunEnded> = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if !line.ends_with('\n') {
            break;
        }
        let ended: RunEnded = serde_json::from_str(line).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{FILE}:{}: {error}", number + 1))
        })?;
        let same = |known: &RunEnded| {
            (known.run.cell, known.run.repetition) == (ended.run.cell, ended.run.repetition)
        };
        runs.retain(|known| !same(known));
        runs.push(ended);
    }
    runs.sort_by_key(|ended| (ended.run.cell, ended.run.repetition));
    Ok(runs)
}
