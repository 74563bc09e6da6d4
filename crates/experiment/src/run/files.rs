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
        let writes = self.capture.keep.writes(self.repetition) || self.points();
        writes.then(|| self.directory.join(self.capture_name()))
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

    /// Returns whether the flows at each end of a link are to be counted.
    #[must_use]
    pub fn points(&self) -> bool {
        self.capture.points.writes(self.repetition)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;
    use results::Cell;

    const PLAN: &str = "[[scenario.links]]\nbetween = [\"a\", \"b\"]\n[[workloads]]\nname = \"w\"\n\
        kind = \"bulk\"\nfrom = \"a\"\nto = \"b\"\nbytes = \"1kB\"\n[capture]\n";

    /// Returns the files of cell 1 in this repetition, with these fields of `[capture]`.
    fn files(directory: &std::path::Path, repetition: u32, capture: &str) -> Files {
        let text = format!("{PLAN}{capture}\n");
        let plan = Plan::parse("plan.toml", &text).unwrap_or_else(|error| panic!("{error}"));
        let experiment = plan.experiment(&plan.cells()[0], repetition, 0).expect("an experiment");
        let job = Job {
            plan_file: "plan.toml".to_owned(),
            plan_text: text,
            cell: Cell { number: 1, levels: Vec::new() },
            repetition,
            seed: 0,
            directory: directory.to_owned(),
            control_group: None,
            attached: Vec::new(),
            preload: None,
        };
        Files::new(&job, &experiment).expect("files")
    }

    /// Everything that a run can write, relative to the run directory.
    fn all(stem: &str) -> [String; 5] {
        [
            format!("captures/{stem}.pcapng"),
            format!("events/{stem}.parquet"),
            format!("events/{stem}-senders.parquet"),
            format!("events/{stem}-link-layer.parquet"),
            format!("captures/{stem}-blocks.pcapng"),
        ]
    }

    const EACH: &str =
        "keep = \"all\"\nevents = \"all\"\nsenders = \"all\"\nlink-layer = \"all\"\nblocks = \"all\"";

    #[test]
    fn each_file_has_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path(), 2, EACH);
        let wanted = [files.capture(), files.events(), files.senders(), files.link_layer(), files.blocks()];
        assert_eq!(wanted, all("c001-r02").map(|name| Some(folder.path().join(name))));
        assert!(files.scratch().is_dir() && files.logs_folder().is_dir());
        assert_eq!(files.scratch(), folder.path().join("unfinished/c001-r02"));
    }

    #[test]
    fn nothing_is_left_of_an_attempt_that_was_interrupted_but_all_of_other_runs() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(files(folder.path(), 0, ""));
        let mine = all("c001-r00");
        let logs = [1, 2, 3].map(|table: usize| format!("{}.log", mine[table]));
        let others = all("c001-r01");
        for name in mine.iter().chain(&logs).chain(&others) {
            fs::write(folder.path().join(name), "old").expect("written");
        }
        drop(files(folder.path(), 0, "keep = \"none\""));
        for name in mine.iter().chain(&logs) {
            assert!(!folder.path().join(name).exists(), "{name}");
        }
        for name in &others {
            assert!(folder.path().join(name).exists(), "{name}");
        }
    }

    #[test]
    fn what_is_not_to_be_kept_is_removed_at_the_end() {
        let kept = |repetition, capture: &str, failed| {
            let folder = tempfile::tempdir().expect("a folder");
            let files = files(folder.path(), repetition, capture);
            let names = all(files.stem());
            for name in &names {
                fs::write(folder.path().join(name), "new").expect("written");
            }
            let Kept { captures, events, senders, link_layers } = files.keep(failed);
            let [mut expected, mut listed] = [Vec::new(), [captures, events, senders, link_layers].concat()];
            expected.extend(names.into_iter().filter(|name| folder.path().join(name).exists()));
            expected.sort();
            listed.sort();
            assert_eq!(listed, expected, "what is listed is there, and nothing else");
            listed
        };
        let sorted = |places: &[usize], stem| {
            let mut names: Vec<_> = places.iter().map(|&place| all(stem)[place].clone()).collect();
            names.sort();
            names
        };
        assert_eq!(kept(1, EACH, false), sorted(&[0, 1, 2, 3, 4], "c001-r01"));
        assert_eq!(kept(0, "", false), sorted(&[0, 1], "c001-r00"));
        assert_eq!(kept(1, "", true), sorted(&[], "c001-r01"));
        let failed = "keep = \"none\"\nevents = \"failed\"\nsenders = \"all\"\nblocks = \"first\"";
        assert_eq!(kept(1, failed, false), sorted(&[2], "c001-r01"));
        assert_eq!(kept(0, failed, true), sorted(&[1, 2, 4], "c001-r00"));
    }

    /// A kernel may not show the states of senders, and most links have no link layer.
    #[test]
    fn files_that_were_not_written_are_not_listed() {
        let folder = tempfile::tempdir().expect("a folder");
        let Kept { captures, events, senders, link_layers } = files(folder.path(), 0, EACH).keep(false);
        assert!([captures, events, senders, link_layers].concat().is_empty());
    }

    /// Loss events need both tables during the run, whether or not these are kept.
    #[test]
    fn loss_events_need_the_states_of_senders_and_the_fates() {
        let folder = tempfile::tempdir().expect("a folder");
        let wanted = |repetition, capture: &str| {
            let files = files(folder.path(), repetition, capture);
            let recorded =
                [files.capture(), files.events(), files.senders(), files.link_layer(), files.blocks()];
            (recorded.map(|path| path.is_some()), files.wants_bytes())
        };
        assert_eq!(wanted(0, "keep = \"none\""), ([false; 5], false));
        let points = "keep = \"none\"\npoints = \"all\"";
        assert_eq!(wanted(1, points), ([true, false, false, false, false], true));
        let losses = "keep = \"none\"\nlosses = \"first\"";
        assert_eq!(wanted(0, losses), ([false, true, true, false, false], true));
        assert_eq!(wanted(1, losses), ([false; 5], false));
        assert_eq!(
            wanted(1, "keep = \"failed\"\nevents = \"none\""),
            ([true, false, false, false, false], true)
        );
        assert_eq!(
            wanted(0, "keep = \"none\"\nblocks = \"all\""),
            ([false, false, false, false, true], false)
        );
        let kept = files(folder.path(), 0, losses);
        fs::write(kept.events().expect("a path"), "fates").expect("written");
        assert!(kept.keep(false).events.is_empty() && kept.events().is_some_and(|path| !path.exists()));
    }

    #[test]
    fn logs_are_those_of_this_run_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = files(folder.path(), 1, "");
        for name in ["c001-r01-wget.log", "c001-r01-nginx.log", "c001-r10-wget.log", "c001-r01.log"] {
            fs::write(files.logs_folder().join(name), "").expect("written");
        }
        assert_eq!(files.logs(), ["logs/c001-r01-nginx.log", "logs/c001-r01-wget.log"]);
    }
}
