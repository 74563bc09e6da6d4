//! `runs.jsonl`: one line per run, appended and synced when the run ends.

use crate::{Connection, RunRecord};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;

/// Name of the journal in a run directory.
pub const FILE: &str = "runs.jsonl";

/// A line of the journal: a run and its connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunEnded {
    /// The run.
    pub run: RunRecord,
    /// Its connections.
    pub connections: Vec<Connection>,
}

/// Writer that appends lines to a journal.
#[derive(Debug)]
pub struct Journal(File);

impl Journal {
    /// Opens the journal of a run directory to append to it; removes a last line that a crash cut
    /// off.
    pub fn open(directory: &Path) -> io::Result<Self> {
        let path = directory.join(FILE);
        let whole = match std::fs::read(&path) {
            Ok(bytes) => whole(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(error),
        };
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        file.set_len(whole as u64)?;
        Ok(Self(file))
    }

    /// Appends a run and waits until it is on the disk.
    pub fn append(&mut self, ended: &RunEnded) -> io::Result<()> {
        self.append_all(std::slice::from_ref(ended))
    }

    /// Appends runs and waits once until all are on the disk.
    pub fn append_all(&mut self, runs: &[RunEnded]) -> io::Result<()> {
        let mut lines = Vec::new();
        for ended in runs {
            serde_json::to_writer(&mut lines, ended)?;
            lines.push(b'\n');
        }
        self.0.write_all(&lines)?;
        self.0.sync_data()
    }
}

/// Reads all runs in the journal of a run directory, in the order of cell and repetition.
///
/// Without a journal there are none. A last line without its end is ignored, so its run counts as
/// not run. If a run occurs twice, the later line counts.
pub fn read(directory: &Path) -> io::Result<Vec<RunEnded>> {
    Ok(lines(directory)?.into_iter().map(|line| line.ended).collect())
}

/// A run in a journal, with the place of its line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) ended: RunEnded,
    /// Bytes of the line in the file, its end included.
    pub(crate) place: Range<u64>,
}

/// As [`read`], with the places of the lines.
pub(crate) fn lines(directory: &Path) -> io::Result<Vec<Line>> {
    let mut input = match File::open(directory.join(FILE)) {
        Ok(file) => BufReader::with_capacity(1 << 18, file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut lines: Vec<Line> = Vec::new();
    let mut known: HashMap<(u32, u32), usize> = HashMap::new();
    // Lines are read as bytes, because a line may be cut off within a character.
    let mut text = Vec::new();
    let mut start = 0;
    for number in 1_u64.. {
        text.clear();
        let place = start..start + input.read_until(b'\n', &mut text)? as u64;
        if text.last() != Some(&b'\n') {
            break;
        }
        start = place.end;
        let ended: RunEnded = serde_json::from_slice(&text)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {error}")))?;
        match known.entry((ended.run.cell, ended.run.repetition)) {
            Entry::Occupied(index) => lines[*index.get()] = Line { ended, place },
            Entry::Vacant(index) => {
                index.insert(lines.len());
                lines.push(Line { ended, place });
            }
        }
    }
    lines.sort_by_key(|line| (line.ended.run.cell, line.ended.run.repetition));
    Ok(lines)
}

/// Returns the length of all complete lines, in bytes.
fn whole(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example::{connection, run};
    use std::fs;

    fn ended(cell: u32, repetition: u32, bytes: u64) -> RunEnded {
        let connections = vec![Connection { error: Some("später".into()), ..connection("bulk", bytes) }];
        RunEnded { run: run(cell, repetition), connections }
    }

    fn written(directory: &Path, runs: &[RunEnded]) -> Vec<u8> {
        let mut journal = Journal::open(directory).unwrap();
        for run in runs {
            journal.append(run).unwrap();
        }
        fs::read(directory.join(FILE)).unwrap()
    }

    #[test]
    fn runs_come_back_in_order_and_none_without_a_journal() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), []);
        let runs = [ended(1, 0, 5), ended(0, 1, 6), ended(0, 0, 7)];
        written(directory.path(), &runs);
        let [c, b, a] = runs;
        assert_eq!(read(directory.path()).unwrap(), [a, b, c]);
    }

    /// A line as it was written before TCP Lite existed, and before data was compared.
    #[test]
    fn a_run_of_an_older_lasthop_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let mut value = serde_json::to_value(ended(0, 0, 5)).unwrap();
        assert!(value["run"].as_object().unwrap().get("lite").is_none());
        let connection = value["connections"][0].as_object_mut().unwrap();
        assert!(connection.get("losses").is_none());
        for new in ["wrong_bytes", "misplaced"] {
            assert!(connection.remove(new).is_some());
        }
        fs::write(directory.path().join(FILE), format!("{value}\n")).unwrap();
        assert_eq!(read(directory.path()).unwrap(), [ended(0, 0, 5)]);
    }

    #[test]
    fn a_last_line_that_was_cut_off_anywhere_is_left_out_and_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        let first = written(directory.path(), &[ended(0, 0, 1)]);
        let both = written(directory.path(), &[ended(0, 1, 2)]);
        for length in first.len()..both.len() {
            fs::write(directory.path().join(FILE), &both[..length]).unwrap();
            assert_eq!(read(directory.path()).unwrap(), [ended(0, 0, 1)], "cut at {length}");
        }
        // Resuming the campaign removes the rest of the line, so the new line is separate.
        written(directory.path(), &[ended(0, 1, 3)]);
        assert_eq!(read(directory.path()).unwrap(), [ended(0, 0, 1), ended(0, 1, 3)]);
    }

    #[test]
    fn a_journal_of_nothing_but_a_cut_line_is_begun_anew() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(FILE), "{\"run\":").unwrap();
        assert_eq!(read(directory.path()).unwrap(), []);
        written(directory.path(), &[ended(2, 0, 1)]);
        assert_eq!(read(directory.path()).unwrap(), [ended(2, 0, 1)]);
    }

    #[test]
    fn of_a_run_that_stands_twice_the_later_line_counts() {
        let directory = tempfile::tempdir().unwrap();
        written(directory.path(), &[ended(0, 0, 1), ended(0, 1, 2), ended(0, 0, 3)]);
        assert_eq!(read(directory.path()).unwrap(), [ended(0, 0, 3), ended(0, 1, 2)]);
    }

    #[test]
    fn a_line_that_is_no_run_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let mut bytes = written(directory.path(), &[ended(0, 0, 1)]);
        bytes.extend(b"{\"run\": 7}\n");
        fs::write(directory.path().join(FILE), bytes).unwrap();
        let error = read(directory.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(error.to_string().starts_with("line 2: "), "{error}");
    }
}
