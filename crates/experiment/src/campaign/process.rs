//! A run in a process of its own on the host.

use super::group::Group;
use super::{CampaignError, SUBCOMMAND, file};
use crate::attached::{self, AttachedNode};
use crate::run::{Job, SCRATCH};
use crate::scenario::Scenario;
use results::{RunEnded, RunRecord};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, UNIX_EPOCH};

/// Interval at which a waiting thread checks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(50);

/// Resources of the host that a run needs beside its process.
#[derive(Debug, Clone)]
pub struct Needs {
    /// Whether its processes must be in a control group of their own.
    pub group: bool,
    /// Its nodes, some with attachments.
    pub scenario: Scenario,
}

/// Runs the job; returns `None` if it was interrupted. Calls `tell` with the attachments of nodes.
pub fn run(
    job: &Job,
    needs: &Needs,
    interrupted: &AtomicBool,
    tell: &mut dyn FnMut(Vec<AttachedNode>),
) -> Result<Option<RunEnded>, CampaignError> {
    let started = Instant::now();
    let started_unix_ns = UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos() as u64;
    let failed = |reason| {
        let run = RunRecord {
            started_unix_ns,
            wall_seconds: started.elapsed().as_secs_f64(),
            ..RunRecord::failed(job.cell.number, job.repetition, reason)
        };
        Ok(Some(RunEnded { run, connections: Vec::new() }))
    };
    let group = match needs.group.then(Group::make).transpose() {
        Ok(group) => group,
        Err(error) => return failed(format!("control group for TCP Lite: {error}")),
    };
    // Given back when this function returns, however the run ends.
    let (_borrowed, attached) = match attached::borrow(&needs.scenario) {
        Ok(Some((borrowed, attached))) => (Some(borrowed), attached),
        Ok(None) => (None, Vec::new()),
        Err(error) => return failed(error.to_string()),
    };
    if !attached.is_empty() {
        tell(attached.clone());
    }
    let job = &Job { control_group: group.as_ref().map(Group::path), attached, ..job.clone() };
    let folder = job.directory.join(SCRATCH);
    let order = folder.join(format!("{}.job", job.stem()));
    let text = serde_json::to_vec(job).map_err(io::Error::from);
    file("write", &order, text.and_then(|text| fs::write(&order, text)))?;
    let mut command =
        netlab::isolation::command([OsString::from(SUBCOMMAND), order.clone().into_os_string()])?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = file("start", Path::new(SUBCOMMAND), command.spawn())?;
    // Reads standard error all the time, so that the process never blocks on a full pipe.
    let errors = child.stderr.take();
    let said = thread::spawn(move || {
        let mut said = String::new();
        errors.map(|mut errors| errors.read_to_string(&mut said));
        said
    });
    let Some(status) = wait(&mut child, interrupted) else { return Ok(None) };
    let said = said.join().unwrap_or_default();
    if let Some(ended) = result(job) {
        return Ok(Some(ended));
    }
    let reason = format!("the run's process ended without a result ({status}): {}", last_words(&said));
    failed(reason)
}

/// Reads the result that the job has written; `None` if it did not get so far.
pub fn result(job: &Job) -> Option<RunEnded> {
    serde_json::from_slice(&fs::read(job.result()).ok()?).ok()
}

/// Returns the end of a process's output: of a panic its place and message, otherwise the last
/// line.
pub fn last_words(said: &str) -> String {
    let lines: Vec<_> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.iter().position(|line| line.contains("panicked at")) {
        Some(panic) => lines[panic..].iter().take(2).copied().collect::<Vec<_>>().join(" "),
        None => lines.last().copied().unwrap_or("no output").to_owned(),
    }
}

/// Waits for the end of a run's process; kills it and returns `None` when interrupted.
fn wait(child: &mut Child, interrupted: &AtomicBool) -> Option<std::process::ExitStatus> {
    loop {
        if interrupted.load(Ordering::Acquire) {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => thread::sleep(LOOK),
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_of_a_process() {
        let panic = "warming up\n\nthread 'main' panicked at src/run.rs:7:9:\nno such thing\nnote: run with `RUST_BACKTRACE=1`\n";
        assert_eq!(last_words(panic), "thread 'main' panicked at src/run.rs:7:9: no such thing");
        assert_eq!(last_words("one\ntwo\n\n"), "two");
        assert_eq!(last_words(" \n"), "no output");
    }
}
