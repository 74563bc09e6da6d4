//! Following the jobs of a campaign.

use super::jobs::{Progress, Queue, Submission};
use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two looks at the journals.
const LOOK: Duration = Duration::from_secs(1);
/// Time between two questions to Slurm, whose controller serves the whole cluster.
const ASK: Duration = Duration::from_secs(5);
/// Time for which files of a job that has ended may still be on their way over a shared file
/// system.
const LATE: Duration = Duration::from_secs(15);

/// How following ended.
pub enum End {
    /// The campaign is merged.
    Merged,
    /// The user interrupted it; the jobs continue.
    Interrupted,
    /// No job is left, and the campaign is not merged; the reason.
    Incomplete(String),
}

/// Follows the jobs until the campaign is merged into `out`.
pub fn until_merged(
    folder: &Path,
    out: &Path,
    submission: &Submission,
    quiet: bool,
    interrupted: &AtomicBool,
) -> Result<End, Failure> {
    let mut progress = Progress::of(folder, submission.shards())?;
    let line = line(progress.runs().1, quiet);
    let mut queue = Queue::ask(submission)?;
    let mut asked = Instant::now();
    let mut idle_since = None;
    let mut said = String::new();
    let end = loop {
        if out.join(results::directory::MANIFEST).exists() {
            break End::Merged;
        }
        if interrupted.load(Ordering::Acquire) {
            break End::Interrupted;
        }
        progress.update(folder)?;
        if asked.elapsed() >= ASK {
            queue = Queue::ask(submission)?;
            asked = Instant::now();
        }
        let words = queue.words();
        let (ended, planned) = progress.runs();
        line.set_position(ended as u64);
        line.set_message(words.clone());
        if words != said && line.is_hidden() && !quiet {
            anstream::eprintln!("lasthop: {ended} of {planned} runs; {words}");
        }
        said = words;
        let idle = queue.tasks().is_empty() && !queue.merges();
        let since = *idle_since.get_or_insert_with(Instant::now);
        if !idle {
            idle_since = None;
        } else if since.elapsed() >= LATE {
            break End::Incomplete(reason(folder, &progress));
        }
        thread::sleep(LOOK);
    };
    line.finish_and_clear();
    Ok(end)
}

/// Says why no job is left although the campaign is not merged.
fn reason(folder: &Path, progress: &Progress) -> String {
    let unfinished = progress.words();
    if !unfinished.is_empty() {
        return format!(
            "no task is left, but these have runs left: {unfinished}; the tasks' output is in {}/logs",
            folder.display()
        );
    }
    let log = folder.join("logs/merge.log");
    let text = fs::read_to_string(&log).unwrap_or_default();
    let last = text.trim().lines().last().unwrap_or("it was cancelled, or printed nothing").to_owned();
    format!("all shards are complete, but the merge failed: {last} ({})", log.display())
}

/// Returns the line at the bottom of a terminal; hidden without a terminal.
fn line(runs: usize, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let line = ProgressBar::new(runs as u64);
    let style =
        ProgressStyle::with_template("{bar:30} {pos}/{len} runs, {msg}, {elapsed} so far, {eta} to go");
    line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    line.enable_steady_tick(Duration::from_millis(500));
    line
}
