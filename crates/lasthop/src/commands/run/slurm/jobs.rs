//! The jobs of a campaign: scripts, submission, and what the queue says.

use super::super::RunArguments;
use crate::failure::Failure;
use capture::output;
use results::Shard;
use results::directory::read_manifest;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;
use std::process::Command;

/// Name of the file with the submission, in the folder of the shards.
pub const FILE: &str = "slurm.json";

/// Options that decide what the jobs are, and so are not the user's.
const OURS: [&str; 8] = ["--array", "-a", "--dependency", "-d", "--chdir", "-D", "--wrap", "--parsable"];

/// What was submitted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submission {
    /// Name of the campaign.
    name: String,
    /// Number of shards, and of tasks.
    shards: u32,
    /// Walltime of a task in minutes.
    minutes: u64,
    /// The user's options of sbatch.
    options: Vec<String>,
    /// Ids of the arrays that were submitted, the newest last.
    arrays: Vec<String>,
    /// Id of the newest job that merges.
    merge: Option<String>,
}

impl Submission {
    /// Describes jobs that have not been submitted.
    pub fn new(name: String, shards: u32, minutes: u64, options: &[String]) -> Self {
        Self { name, shards, minutes, options: options.to_vec(), arrays: Vec::new(), merge: None }
    }

    /// Reads the submission in a folder.
    pub fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(FILE);
        let text =
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        Ok(serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?)
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        let path = folder.join(FILE);
        output::write(&path, serde_json::to_vec_pretty(self)?)
            .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
    }

    /// Writes the scripts of the jobs.
    pub fn write_scripts(folder: &Path, arguments: &RunArguments) -> Result<(), Failure> {
        let program = std::env::current_exe()?;
        let program = quoted(&program.to_string_lossy());
        let place = quoted(&folder.to_string_lossy());
        let out = quoted(folder.to_string_lossy().trim_end_matches(super::SUFFIX));
        let patience =
            arguments.campaign.patience.map_or_else(String::new, |seconds| format!(" --patience {seconds}"));
        let task = format!(
            "#!/bin/sh\n\
             # A task of the array: runs what is left of its shard.\n\
             exec {program} run --resume {place}/\"$SLURM_ARRAY_TASK_ID\" --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\" \
             --accept-failed --quiet{patience}\n"
        );
        // Status 1 says that runs failed: they are in the report, like the others.
        let merge = format!(
            "#!/bin/sh\n\
             # After the array: merges all shards.\n\
             {program} merge {place}/[0-9]* --out {out} --quiet\n\
             [ -e {out}/report.html ]\n"
        );
        let logs = folder.join("logs");
        std::fs::create_dir_all(&logs)
            .map_err(|error| format!("cannot create {}: {error}", logs.display()))?;
        for (name, text) in [("task.sh", task), ("merge.sh", merge)] {
            let path = folder.join(name);
            output::write(&path, text)
                .map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// Submits the tasks with these numbers, and the merge after them.
    pub fn submit(&mut self, folder: &Path, tasks: &[u32]) -> Result<(), Failure> {
        let mut array = self.sbatch(folder);
        array.arg(format!("--array={}", ranges(tasks))).args(["--requeue", "--open-mode=append"]);
        array.arg(format!("--output={}/logs/%a.log", folder.display()));
        array.arg(format!("--time={}", self.minutes)).args(&self.options).arg(folder.join("task.sh"));
        let id = submitted(&mut array)?;
        // A task of an older array may have ended badly: then a task of this one replaces it.
        let older = self.arrays.iter().map(|older| format!("afterany:{older}"));
        let after: Vec<_> = [format!("afterok:{id}")].into_iter().chain(older).collect();
        self.arrays.push(id);
        self.write(folder)?;
        self.submit_merge(folder, &after)
    }

    /// Submits the merge, to begin when all of these dependencies are fulfilled.
    fn submit_merge(&mut self, folder: &Path, after: &[String]) -> Result<(), Failure> {
        let mut merge = self.sbatch(folder);
        if !after.is_empty() {
            merge.arg(format!("--dependency={}", after.join(","))).arg("--kill-on-invalid-dep=yes");
        }
        merge.arg(format!("--output={}/logs/merge.log", folder.display())).args(&self.options);
        self.merge = Some(submitted(merge.arg(folder.join("merge.sh")))?);
        self.write(folder)
    }

    fn sbatch(&self, folder: &Path) -> Command {
        let mut command = Command::new("sbatch");
        command.arg("--parsable").arg(format!("--job-name=lasthop-{}", self.name));
        // Relative names in the plan start from the directory in which lasthop was started.
        if let Ok(here) = std::env::current_dir() {
            command.arg(format!("--chdir={}", here.display()));
        }
        command.arg(format!("--comment={}", folder.display()));
        command
    }

    /// Submits again the tasks that have ended, or were cancelled, before their shards were
    /// complete, and the merge. Describes what was submitted; empty if nothing was.
    pub fn resubmit(&mut self, folder: &Path, queue: &Queue) -> Result<String, Failure> {
        let left: BTreeSet<_> = Progress::of(folder, self.shards)?.incomplete().collect();
        let waiting = queue.tasks();
        let lost: Vec<_> = left.iter().copied().filter(|task| !waiting.contains_key(task)).collect();
        if lost.is_empty() && queue.merges() {
            return Ok(String::new());
        }
        if let Some(merge) = self.merge.take().filter(|_| queue.merges()) {
            // It would wait for tasks that ended badly.
            let _ = Command::new("scancel").arg(merge).output();
        }
        self.arrays.retain(|array| queue.has(array));
        if lost.is_empty() {
            let after: Vec<_> = self.arrays.iter().map(|array| format!("afterany:{array}")).collect();
            self.submit_merge(folder, &after)?;
            return Ok("the merge".to_owned());
        }
        self.submit(folder, &lost)?;
        Ok(format!("{} of {} tasks ({})", lost.len(), self.shards, ranges(&lost)))
    }

    /// Returns the number of shards.
    pub fn shards(&self) -> u32 {
        self.shards
    }

    /// Returns the ids of all jobs.
    pub fn ids(&self) -> Vec<String> {
        self.arrays.iter().chain(&self.merge).cloned().collect()
    }

    /// Describes the jobs.
    pub fn words(&self) -> String {
        let merge = self.merge.as_deref().unwrap_or("none");
        format!("jobs {} (array) and {merge} (merge)", self.arrays.join(", "))
    }
}

/// The tasks of a campaign that are waiting or running.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Queue {
    /// Array, number and state of each task.
    tasks: Vec<(String, u32, String)>,
    /// State of the merge.
    merge: Option<String>,
}

impl Queue {
    /// Asks Slurm.
    pub fn ask(submission: &Submission) -> Result<Self, Failure> {
        let mut queue = Self::default();
        for array in &submission.arrays {
            queue.add(array, &squeue(array)?, false);
        }
        if let Some(merge) = &submission.merge {
            queue.add(merge, &squeue(merge)?, true);
        }
        Ok(queue)
    }

    /// Adds what squeue printed of a job: lines of task number and state.
    fn add(&mut self, id: &str, printed: &str, merge: bool) {
        for line in printed.lines() {
            let Some((number, state)) = line.trim().split_once(' ') else { continue };
            match number.parse() {
                Ok(number) if !merge => self.tasks.push((id.to_owned(), number, state.trim().to_owned())),
                _ if merge => self.merge = Some(state.trim().to_owned()),
                _ => {}
            }
        }
    }

    /// Returns the state of each task that is in the queue.
    pub fn tasks(&self) -> BTreeMap<u32, &str> {
        self.tasks.iter().map(|(_, number, state)| (*number, state.as_str())).collect()
    }

    /// Returns whether the merge is in the queue.
    pub fn merges(&self) -> bool {
        self.merge.is_some()
    }

    /// Returns whether a task of this array is in the queue.
    fn has(&self, array: &str) -> bool {
        self.tasks.iter().any(|(of, ..)| of == array)
    }

    /// Counts the tasks by state: `3 running, 5 pending`; and the merge.
    pub fn words(&self) -> String {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for state in self.tasks().values() {
            *counts.entry(state.to_lowercase()).or_default() += 1;
        }
        // Running ones first, which are later in the alphabet.
        let mut words: Vec<_> =
            counts.iter().rev().map(|(state, count)| format!("{count} {state}")).collect();
        if let Some(state) = self.merge.as_deref().filter(|_| self.tasks.is_empty()) {
            words.push(format!("merge {}", state.to_lowercase()));
        }
        words.join(", ")
    }
}

/// Runs of each shard that have ended, and that are planned.
#[derive(Debug)]
pub struct Progress(Vec<(usize, usize)>);

impl Progress {
    /// Reads the journals of the shards 1 to `shards`.
    pub fn of(folder: &Path, shards: u32) -> Result<Self, Failure> {
        let mut all = Self(Vec::new());
        for number in 1..=shards {
            let planned = read_manifest(&folder.join(number.to_string()))?.planned();
            all.0.push((0, planned));
        }
        all.update(folder)?;
        Ok(all)
    }

    /// Counts the runs that have ended by now.
    pub fn update(&mut self, folder: &Path) -> Result<(), Failure> {
        for (number, (ended, planned)) in (1..).zip(&mut self.0) {
            if ended < planned {
                *ended = lines(&folder.join(format!("{number}/{}", results::journal::FILE)))?;
            }
        }
        Ok(())
    }

    /// Returns the number of runs that have ended, and of all runs.
    pub fn runs(&self) -> (usize, usize) {
        (self.0.iter().map(|(ended, _)| ended).sum(), self.0.iter().map(|(_, planned)| planned).sum())
    }

    /// Returns the shards that have runs left.
    pub fn incomplete(&self) -> impl Iterator<Item = u32> {
        (1..).zip(&self.0).filter(|(_, (ended, planned))| ended < planned).map(|(number, _)| number)
    }

    /// Describes the shards that have runs left.
    pub fn words(&self) -> String {
        let of = self.0.len() as u32;
        let left = self.incomplete().map(|number| {
            let (ended, planned) = self.0[number as usize - 1];
            format!("shard {} ({ended} of {planned} runs)", Shard { number, of })
        });
        let mut left: Vec<_> = left.collect();
        if left.len() > 8 {
            let more = left.split_off(8).len();
            left.push(format!("{more} more"));
        }
        left.join(", ")
    }
}

/// Counts the complete lines of a journal; none if it does not exist yet.
fn lines(path: &Path) -> Result<usize, Failure> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes.split(|&byte| byte == b'\n').count() - 1),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(format!("cannot read {}: {error}", path.display()).into()),
    }
}

/// Checks that Slurm's commands are here.
pub fn check_slurm() -> Result<(), Failure> {
    let without = "without Slurm, use --shard and `lasthop merge`";
    let output = Command::new("sbatch").arg("--version").output().map_err(|error| {
        format!("cannot start sbatch, with which --slurm submits jobs: {error}; {without}")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.trim().lines().last().unwrap_or("it does not say why");
    Err(format!("sbatch does not work here: {last}; {without}").into())
}

/// Refuses options of sbatch that lasthop sets.
pub fn check_options(options: &[String]) -> Result<(), Failure> {
    for option in options {
        let name = option.split('=').next().unwrap_or_default();
        if OURS.contains(&name) {
            return Err(format!("`{option}` after `--`: lasthop sets {name} itself").into());
        }
    }
    Ok(())
}

/// Runs sbatch and returns the job's id.
fn submitted(command: &mut Command) -> Result<String, Failure> {
    let output = command.output().map_err(|error| format!("cannot start sbatch: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    // ID, or ID;CLUSTER.
    let id = said.trim().split(';').next().unwrap_or_default().to_owned();
    if !output.status.success() || id.parse::<u64>().is_err() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("sbatch refused the job: {}", said.trim()).into());
    }
    Ok(id)
}

/// Asks for the tasks of a job that are waiting or running.
fn squeue(id: &str) -> Result<String, Failure> {
    let output = Command::new("squeue")
        .args(["--noheader", "--array", "--format=%K %T", "--jobs", id])
        .output()
        .map_err(|error| format!("cannot start squeue: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && !said.contains("Invalid job id") {
        return Err(format!("squeue failed: {}", said.trim()).into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Writes numbers as ranges: `1-4,7`.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let word = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(word).collect::<Vec<_>>().join(",")
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 7, 9, 10]), "1-3,7,9-10");
        assert_eq!((ranges(&[5]), ranges(&[])), ("5".to_owned(), String::new()));
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
    }

    #[test]
    fn the_queue_is_counted_by_state() {
        let mut queue = Queue::default();
        queue.add("11", "1 RUNNING\n2 PENDING\n3 PENDING\n", false);
        queue.add("12", "N/A PENDING\n", true);
        assert_eq!((queue.words(), queue.merges()), ("1 running, 2 pending".to_owned(), true));
        assert_eq!(queue.tasks().keys().copied().collect::<Vec<_>>(), [1, 2, 3]);
        assert!(queue.has("11") && !queue.has("12"));
        let mut last = Queue::default();
        last.add("12", "N/A RUNNING\n", true);
        assert_eq!(last.words(), "merge running");
        assert_eq!(Queue::default().words(), "");
    }

    #[test]
    fn options_that_lasthop_sets_are_refused() {
        let check = |options: &[&str]| {
            let options: Vec<_> = options.iter().map(ToString::to_string).collect();
            check_options(&options).map_err(|error| error.to_string())
        };
        assert_eq!(check(&["--partition=long", "-A", "tcp", "--time=60"]), Ok(()));
        assert_eq!(
            check(&["--array=1-9"]),
            Err("`--array=1-9` after `--`: lasthop sets --array itself".to_owned())
        );
        assert!(check(&["-d", "afterok:7"]).is_err());
    }
}
