//! A run in a kernel of its own, with the virtual clock.
//!
//! The guest writes into a directory of its own. When it has ended, its files move into the run
//! directory.

use super::process::{last_words, result};
use super::repeat;
use super::{CampaignError, SUBCOMMAND, file};
use crate::run::{FOLDERS, Job, SCRATCH};
use link::Seed;
use results::{RunEnded, RunRecord};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};
use virtual_time::order::{self, Order};
use virtual_time::{Advance, Boot, instance};

/// Guests for runs.
#[derive(Debug)]
pub struct Guests {
    /// The kernel.
    kernel: PathBuf,
    /// The library with the links.
    library: PathBuf,
    /// Description of the kernel in the manifest.
    pub about: results::Guest,
    /// Whether each run is repeated and compared.
    verify: bool,
    /// How long virtual time may stand still; initially [`instance::PATIENCE`].
    pub patience: Duration,
    /// Processors that no guest occupies.
    free: Mutex<Vec<u32>>,
}

impl Guests {
    /// Returns guests of this kernel and this library of links, one on each of `processors`.
    #[must_use]
    pub fn new(kernel: PathBuf, library: PathBuf, about: results::Guest, mut processors: Vec<u32>) -> Self {
        processors.reverse();
        let verify = about.verified;
        Self { kernel, library, about, verify, patience: instance::PATIENCE, free: Mutex::new(processors) }
    }

    /// Runs the job and reports its progress; returns `None` if it was interrupted.
    pub(super) fn run(
        &self,
        job: &Job,
        interrupted: &AtomicBool,
        advanced: &mut dyn FnMut(Advance),
    ) -> Result<Option<RunEnded>, CampaignError> {
        let started_unix_ns = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
        let started = Instant::now();
        let processor = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let outcome = self.once_or_twice(job, processor, interrupted, advanced);
        self.free.lock().unwrap_or_else(PoisonError::into_inner).extend(processor);
        let ended = match outcome? {
            Outcome::Interrupted => None,
            Outcome::Ended(ended) => Some(*ended),
            Outcome::Nothing(reason) => Some(RunEnded {
                run: RunRecord::failed(job.cell.number, job.repetition, reason),
                connections: Vec::new(),
            }),
        };
        Ok(ended.map(|mut ended| {
            ended.run.started_unix_ns = started_unix_ns;
            ended.run.wall_seconds = started.elapsed().as_secs_f64();
            ended
        }))
    }

    fn once_or_twice(
        &self,
        job: &Job,
        processor: Option<u32>,
        interrupted: &AtomicBool,
        advanced: &mut dyn FnMut(Advance),
    ) -> Result<Outcome, CampaignError> {
        let scratch = job.directory.join(SCRATCH);
        let folder = scratch.join(format!("{}-guest", job.stem()));
        let mut outcome = self.once(job, &folder, processor, interrupted, advanced)?;
        if let (Outcome::Ended(ended), true) = (&mut outcome, self.verify) {
            let again = scratch.join(format!("{}-again", job.stem()));
            match self.once(job, &again, processor, interrupted, advanced)? {
                Outcome::Interrupted => outcome = Outcome::Interrupted,
                Outcome::Nothing(reason) => {
                    ended.run.verified = Some(false);
                    ended.run.fail(format!("not repeatable: second run: {reason}"));
                }
                Outcome::Ended(_) => {
                    let difference = repeat::difference(&folder, &again, &job.stem());
                    ended.run.verified = Some(difference.is_none());
                    if let Some(difference) = difference {
                        ended.run.fail(format!("not repeatable: {difference}"));
                    }
                }
            }
            remove(&again)?;
        }
        if let Outcome::Ended(_) = outcome {
            keep(&folder, &job.directory)?;
        }
        remove(&folder)?;
        Ok(outcome)
    }

    /// Boots once, with all files in `folder`.
    fn once(
        &self,
        job: &Job,
        folder: &Path,
        processor: Option<u32>,
        interrupted: &AtomicBool,
        advanced: &mut dyn FnMut(Advance),
    ) -> Result<Outcome, CampaignError> {
        remove(folder)?;
        file("create", folder, fs::create_dir_all(folder.join(SCRATCH)))?;
        // The plan's directory has the same path in the guest, but the current directory has not.
        let plan_file = std::path::absolute(&job.plan_file).unwrap_or_else(|_| job.plan_file.clone().into());
        let plan_file = plan_file.to_string_lossy().into_owned();
        let inside = Job { directory: order::WORK.into(), plan_file, ..job.clone() };
        let name = format!("{SCRATCH}/job.json");
        let text = serde_json::to_vec(&inside).map_err(io::Error::from);
        file("write", &folder.join(&name), text.and_then(|text| fs::write(folder.join(&name), text)))?;
        let order = Order {
            command: vec![order::PROGRAM.into(), SUBCOMMAND.into(), format!("{}/{name}", order::WORK)],
            environment: Order::environment(),
            directory: "/".into(),
            in_memory: vec![inside.scratch()],
            bring: Vec::new(),
        };
        let boot = Boot {
            kernel: self.kernel.clone(),
            library: self.library.clone(),
            work: folder.to_owned(),
            order,
            seed: Seed::campaign(job.seed).run(job.repetition.into()).guest(),
            memory_mib: self.about.memory_mib,
            processor,
            patience: self.patience,
        };
        let ended = boot.start().and_then(|instance| instance.wait(interrupted, advanced));
        let guest = match ended {
            Ok(None) => return Ok(Outcome::Interrupted),
            Ok(Some(ended)) if ended.guest.killed_for_memory > 0 => {
                let reason = format!(
                    "the guest ran out of memory ({} MiB): give it more with --guest-memory",
                    self.about.memory_mib
                );
                return Ok(Outcome::Nothing(reason));
            }
            Ok(Some(ended)) => ended.guest,
            Err(error) => return Ok(Outcome::Nothing(error.to_string())),
        };
        let outside = Job { directory: folder.to_owned(), ..job.clone() };
        if let Some(ended) = result(&outside) {
            return Ok(Outcome::Ended(Box::new(ended)));
        }
        let said = fs::read_to_string(order::errors(folder)).unwrap_or_default();
        let status = match (guest.status, guest.message) {
            (_, Some(message)) => message,
            (status, None) => format!("status {}", status.unwrap_or_default()),
        };
        Ok(Outcome::Nothing(format!("the run ended without a result ({status}): {}", last_words(&said))))
    }
}

/// Result of a boot.
enum Outcome {
    Ended(Box<RunEnded>),
    /// No result, and the reason.
    Nothing(String),
    Interrupted,
}

/// Moves the guest's files into the run directory.
fn keep(folder: &Path, directory: &Path) -> Result<(), CampaignError> {
    for kept in FOLDERS {
        let Ok(entries) = fs::read_dir(folder.join(kept)) else { continue };
        let to = directory.join(kept);
        file("create", &to, fs::create_dir_all(&to))?;
        for entry in entries.flatten() {
            let to = to.join(entry.file_name());
            file("move a file to", &to, fs::rename(entry.path(), &to))?;
        }
    }
    Ok(())
}

/// Removes a directory if it exists.
fn remove(folder: &Path) -> Result<(), CampaignError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => file("remove", folder, Err(error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of other runs, and of earlier ones with other names, stay.
    #[test]
    fn a_guest_s_files_move_into_the_run_directory() {
        let folder = tempfile::tempdir().expect("a folder");
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        let write = |path: PathBuf| {
            fs::create_dir_all(path.parent().expect("a parent")).expect("created");
            fs::write(&path, path.file_name().expect("a name").as_encoded_bytes()).expect("written");
        };
        for name in ["captures/a", "events/b", "logs/c", "logs/d", "unfinished/result"] {
            write(inside.join(name));
        }
        write(outside.join("captures/old"));
        keep(&inside, &outside).expect("moved");
        for name in ["captures/a", "captures/old", "events/b", "logs/c", "logs/d"] {
            assert_eq!(
                fs::read(outside.join(name)).expect(name),
                name.rsplit('/').next().expect("a name").as_bytes()
            );
        }
        assert!(!outside.join("unfinished").exists(), "what only the run needs stays inside");
        remove(&inside).expect("removed");
        assert!(!inside.exists());
        remove(&inside).expect("nothing to remove is no error");
        let file = outside.join("logs/c");
        assert!(matches!(remove(&file), Err(CampaignError::File { doing: "remove", .. })));
    }

    #[test]
    fn guests_take_processors_in_their_order() {
        let about = results::Guest {
            source: String::new(),
            key: String::new(),
            fallback: false,
            hz: 1000,
            start_unix_ns: 0,
            memory_mib: 512,
            verified: true,
            c_library: "gnu".into(),
            link_library: "0123456789abcdef".into(),
        };
        let guests = Guests::new(PathBuf::from("kernel"), PathBuf::from("library"), about, vec![2, 5, 7]);
        assert!(guests.verify);
        let mut free = guests.free.into_inner().expect("no panic");
        assert_eq!([free.pop(), free.pop(), free.pop(), free.pop()], [Some(2), Some(5), Some(7), None]);
    }
}
