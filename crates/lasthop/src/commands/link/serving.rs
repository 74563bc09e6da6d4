//! The option `--serve`: a program at the other end of the link, which starts before COMMAND and
//! ends with the link.

use crate::failure::Failure;
use netlab::listening::{self, Listener};
use netlab::{Namespace, process};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Longest time to wait until the server listens. After that COMMAND starts anyway, because some
/// servers only send.
const LISTENING: Duration = Duration::from_secs(5);
/// Interval between checks whether the server listens.
const LOOK: Duration = Duration::from_millis(10);
/// Time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);

/// A program that runs until this value is dropped.
pub struct Serving {
    child: Child,
}

impl Serving {
    /// Starts `line` with the shell and waits until there is a listener that did not exist before.
    /// `host` is the address of this end.
    ///
    /// # Errors
    /// If the program cannot be started, or ends at once.
    pub fn start(line: &str, host: IpAddr) -> Result<Self, Failure> {
        let own = Namespace::current()?;
        Self::start_among(line, host, &|| listening::listeners(&own))
    }

    /// Starts the program as [`start`](Self::start) does, with `listeners` as the source of
    /// listeners.
    fn start_among(
        line: &str,
        host: IpAddr,
        listeners: &dyn Fn() -> netlab::Result<BTreeSet<Listener>>,
    ) -> Result<Self, Failure> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", line]).env("LASTHOP_HOST", host.to_string());
        Self::launch(&mut command, &format!("--serve `{line}`"), listeners)
    }

    /// Starts `command`, called `what` in errors, and waits until there is a new listener.
    pub(super) fn launch(
        command: &mut Command,
        what: &str,
        listeners: &dyn Fn() -> netlab::Result<BTreeSet<Listener>>,
    ) -> Result<Self, Failure> {
        let before = listeners()?;
        let program = command.get_program().to_string_lossy().into_owned();
        let child = process::spawn_group(command.stdin(Stdio::null()))
            .map_err(|error| format!("{what}: cannot start {program}: {error}"))?;
        let mut serving = Self { child };
        let end = Instant::now() + LISTENING;
        while listeners()?.is_subset(&before) && Instant::now() < end {
            if let Some(status) = serving.child.try_wait()? {
                return Err(format!("{what}: the server ended before it listened ({status})").into());
            }
            thread::sleep(LOOK);
        }
        Ok(serving)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        process::end_group(&mut self.child, GRACE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_ends_at_once() {
        // Listeners of other programs on this machine are not considered.
        let started = Serving::start_among("exit 3", IpAddr::from([127, 0, 0, 1]), &|| Ok(BTreeSet::new()));
        let error = started.err().expect("an error");
        assert!(error.to_string().contains("exit status: 3"), "{error}");
    }
}
