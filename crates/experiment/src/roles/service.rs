//! A program that runs beside the workloads.

use super::Place;
use netlab::{Namespace, listening, process};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Time within which a program must be ready. An agent may have to wait for the end of an outage of
/// its hop.
const STARTING: Duration = Duration::from_mins(10);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Interval at which its log is read until it is ready.
const LOOK: Duration = Duration::from_millis(10);

/// Sign that a program is ready.
#[derive(Debug, Clone, Copy)]
pub enum Ready<'a> {
    /// Its output contains this text.
    Says(&'a str),
    /// It listens at this TCP port.
    Listens(u16),
}

/// A running program.
#[derive(Debug)]
pub struct Service {
    title: String,
    child: Child,
    log: PathBuf,
}

impl Service {
    /// Starts `command` on a node, and waits until it is ready. `title` names the log and
    /// begins each message.
    ///
    /// # Errors
    /// If it cannot be started, ends, or is not ready in time.
    pub fn start(
        place: &Place<'_>,
        node: usize,
        title: &str,
        mut command: Command,
        ready: Ready<'_>,
    ) -> Result<Self, String> {
        let log = place.logs.join(format!("{}-{title}.log", place.stem));
        let unwritable = |error| format!("cannot write {}: {error}", log.display());
        let output = File::create(&log).map_err(unwritable)?;
        let errors = output.try_clone().map_err(unwritable)?;
        command.stdin(Stdio::null()).stdout(output).stderr(errors).process_group(0);
        let program = command.get_program().to_string_lossy().into_owned();
        let spawned = place.mesh.node(node).enter(|| Ok(command.spawn()));
        let child = spawned
            .map_err(|error| error.to_string())?
            .map_err(|error| format!("{title}: cannot start `{program}`: {error}"))?;
        let mut service = Self { title: title.to_owned(), child, log };
        service.wait_until(ready, place.mesh.node(node))?;
        Ok(service)
    }

    /// Returns how it ended, if it did.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(format!("{}: ended with {status}; {}", self.title, self.last_words()))
    }

    fn wait_until(&mut self, ready: Ready<'_>, namespace: &Namespace) -> Result<(), String> {
        let end = Instant::now() + STARTING;
        while Instant::now() < end {
            let is_ready = match ready {
                Ready::Says(text) => self.said().contains(text),
                Ready::Listens(port) => listening::listeners(namespace)
                    .map_err(|error| error.to_string())?
                    .iter()
                    .any(|listener| listener.list == "tcp" && listener.port == port),
            };
            if is_ready {
                return Ok(());
            }
            if let Some(how) = self.ended() {
                return Err(how);
            }
            thread::sleep(LOOK);
        }
        let seconds = STARTING.as_secs();
        Err(format!("{}: not ready after {seconds} s; {}", self.title, self.last_words()))
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    fn last_words(&self) -> String {
        match self.said().lines().rfind(|line| !line.trim().is_empty()) {
            Some(line) => format!("it said: {line}"),
            None => "it said nothing".to_owned(),
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        process::end_group(&mut self.child, GRACE);
    }
}
