//! `lasthop run --slurm`: a campaign on a Slurm cluster.
//!
//! ```text
//! OUT.shards/
//!     1/, 2/, … N/      the run directory of each shard, made before anything is submitted
//!     slurm.json        the jobs that were submitted                                [`Submission`]
//!     task.sh, merge.sh what the jobs execute
//!     logs/             what they print: 1.log, 2.log, … merge.log
//! OUT/                  the merged campaign
//! ```
//!
//! Because the shards' directories exist from the beginning, with plan, seed and kernel, each task
//! only resumes its own: after a requeue or a preemption, too, and whatever happened to the plan's
//! file meanwhile. A node with another kernel of the virtual clock refuses to go on.
//!
//! Whether a shard is complete is decided by its journal, not by Slurm's accounting, which many
//! clusters do not have. Following a campaign and resuming it are therefore the same: look which
//! shards are complete, which tasks are still in the queue, and submit the rest.

mod follow;
mod jobs;

use super::campaign::{INTERRUPTED, interrupted, place};
use super::conclusion::{self, Shown};
use super::estimate::human;
use super::{RunArguments, asked, bounds, read_plan, shown};
use crate::clock::GuestKernel;
use crate::failure::Failure;
use experiment::campaign::{Asked, Campaign, default_directory};
use experiment::plan::Plan;
use jobs::{Queue, Submission};
use results::{Directory, Shard};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::UNIX_EPOCH;

/// Seconds of a processor that a task should take: long enough that starting it does not matter.
const TASK: f64 = 900.0;
/// Largest number of tasks by default: Slurm's own default for the size of an array.
const MOST_TASKS: u32 = 1000;
/// Walltime of a task: this many times the estimate, because nodes differ, …
const MARGIN: f64 = 3.0;
/// … and this many minutes for its start.
const START_MINUTES: u64 = 5;

/// Submits the campaign and follows it.
pub fn run(arguments: &RunArguments, kernel: Option<GuestKernel>) -> Result<i32, Failure> {
    jobs::check_options(&arguments.sbatch)?;
    jobs::check_slurm()?;
    let plan = read_plan(arguments)?;
    let mut asked = asked(arguments, kernel.as_ref());
    // Drawn once, for all shards.
    asked.seed = Some(asked.seed.or(plan.seed).unwrap_or_else(|| u64::from(rand::random::<u32>())));
    let out = asked.out.clone().unwrap_or_else(|| {
        let now = UNIX_EPOCH.elapsed().unwrap_or_default().as_secs();
        default_directory(&plan.text.name, now, asked.seed.unwrap_or_default(), None)
    });
    let out = std::path::absolute(out)?;
    let folder = folder_of(&out);
    for taken in [&out, &folder] {
        if taken.symlink_metadata().is_ok() {
            return Err(format!("{} already exists: choose another directory with --out, or follow its jobs with `lasthop run --slurm --resume {}`", taken.display(), out.display()).into());
        }
    }
    let interrupted = interrupted()?;
    let Some(size) = size(arguments, &plan, &asked, kernel, &interrupted)? else { return Ok(INTERRUPTED) };
    if !arguments.campaign.quiet {
        anstream::eprintln!("lasthop: {}", size.words);
    }
    let made = make(&folder, &plan, &asked, &size, arguments);
    let submitted = made.and_then(|mut submission| {
        submission.submit(&folder, &(1..=size.tasks).collect::<Vec<_>>())?;
        Ok(submission)
    });
    let submission = submitted.inspect_err(|_| {
        // Nothing of a campaign that was not submitted stays.
        let _ = fs::remove_dir_all(&folder);
    })?;
    finish(&folder, &out, &submission, shown(arguments), &interrupted)
}

/// Follows a campaign that was submitted, after submitting again what ended without being complete.
pub fn resume(directory: &Path, shown: Shown) -> Result<i32, Failure> {
    let directory = std::path::absolute(directory)?;
    let folder = if directory.join(jobs::FILE).exists() { directory.clone() } else { folder_of(&directory) };
    let out = PathBuf::from(folder.to_string_lossy().trim_end_matches(SUFFIX));
    if out.join(results::directory::MANIFEST).exists() {
        let all = Directory::open(&out)?;
        anstream::eprintln!("lasthop: {} is complete", out.display());
        conclusion::tell(&all, shown)?;
        return Ok(conclusion::status(&all));
    }
    if !folder.join(jobs::FILE).exists() {
        return Err(format!(
            "{} has no jobs: `lasthop run PLAN --slurm` writes them to {}",
            directory.display(),
            folder.join(jobs::FILE).display()
        )
        .into());
    }
    jobs::check_slurm()?;
    let interrupted = interrupted()?;
    let mut submission = Submission::read(&folder)?;
    let again = submission.resubmit(&folder, &Queue::ask(&submission)?)?;
    if !shown.quiet && !again.is_empty() {
        anstream::eprintln!("lasthop: submitted again: {again}");
    }
    finish(&folder, &out, &submission, shown, &interrupted)
}

/// End of the name of the folder with the shards.
const SUFFIX: &str = ".shards";

/// Returns the folder of the shards of the campaign that is to be merged into `out`.
fn folder_of(out: &Path) -> PathBuf {
    let mut name = OsString::from(out);
    name.push(SUFFIX);
    name.into()
}

/// Size of an array.
struct Size {
    tasks: u32,
    minutes: u64,
    /// Why.
    words: String,
}

/// Determines the number of tasks and their walltime; `None` if the user interrupted it.
///
/// By the virtual clock, a pilot on this machine measures a few runs. By the real clock, only the
/// plan's time limits are known.
fn size(
    arguments: &RunArguments,
    plan: &Plan,
    asked: &Asked,
    kernel: Option<GuestKernel>,
    interrupted: &AtomicBool,
) -> Result<Option<Size>, Failure> {
    let estimate = bounds(arguments, plan)?;
    let runs = estimate.runs() as u32;
    let tasks = |seconds: f64| {
        let wanted = arguments.tasks.unwrap_or(((seconds / TASK).ceil() as u32).clamp(1, MOST_TASKS));
        wanted.min(runs).max(1)
    };
    let minutes = |seconds: f64| (seconds * MARGIN / 60.0).ceil() as u64 + START_MINUTES;
    let size = if kernel.is_none() {
        let tasks = tasks(estimate.bounds().1);
        let seconds = estimate.bounds().1 / f64::from(tasks) / MARGIN;
        let minutes = minutes(seconds);
        let words = format!(
            "{runs} runs by the real clock in {tasks} tasks of at most {minutes} min, by the plan's time limits"
        );
        Size { tasks, minutes, words }
    } else {
        if !arguments.campaign.quiet {
            anstream::eprintln!("lasthop: measuring the first repetition of a few cells here");
        }
        let place = place(&arguments.campaign, kernel);
        let Some(pilot) = estimate.measure(plan, asked, (&place.0, place.1), interrupted)? else {
            return Ok(None);
        };
        let total = estimate.processor_seconds(&pilot);
        let tasks = tasks(total);
        let largest = estimate.largest_shard(&pilot, tasks);
        let minutes = minutes(largest);
        let words = format!(
            "{runs} runs, about {} of a processor, in {tasks} tasks: the largest takes about {}, and may take {minutes} min",
            human(total),
            human(largest)
        );
        Size { tasks, minutes, words }
    };
    Ok(Some(size))
}

/// Creates the folder with a run directory for each shard, and the scripts.
fn make(
    folder: &Path,
    plan: &Plan,
    asked: &Asked,
    size: &Size,
    arguments: &RunArguments,
) -> Result<Submission, Failure> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot create {}: {error}", folder.display()))?;
    for number in 1..=size.tasks {
        let shard = Some(Shard { number, of: size.tasks });
        let out = Some(folder.join(number.to_string()));
        Campaign::create(plan.clone(), &Asked { shard, out, ..asked.clone() })?;
    }
    let submission = Submission::new(plan.text.name.clone(), size.tasks, size.minutes, &arguments.sbatch);
    Submission::write_scripts(folder, arguments)?;
    Ok(submission)
}

/// Follows the jobs until the campaign is merged.
fn finish(
    folder: &Path,
    out: &Path,
    submission: &Submission,
    shown: Shown,
    interrupted: &AtomicBool,
) -> Result<i32, Failure> {
    let again = format!("`lasthop run --slurm --resume {}`", out.display());
    if !shown.quiet {
        anstream::eprintln!("lasthop: {}, shards in {}", submission.words(), folder.display());
    }
    match follow::until_merged(folder, out, submission, shown.quiet, interrupted)? {
        follow::End::Merged => {
            let directory = Directory::open(out)?;
            conclusion::tell(&directory, shown)?;
            Ok(conclusion::status(&directory))
        }
        follow::End::Interrupted => {
            anstream::eprintln!(
                "lasthop: the jobs continue: follow them with {again}, or cancel them with `scancel {}`",
                submission.ids().join(" ")
            );
            Ok(INTERRUPTED)
        }
        follow::End::Incomplete(why) => Err(format!("{why}\nsubmit them again with {again}").into()),
    }
}
