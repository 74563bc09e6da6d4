//! Ending the programs that outlive COMMAND.
//!
//! The keeper adopts every descendant whose parent dies. So all of them are below the keeper in the
//! process tree, and none is left when the kernel says that it has no children.
//!
//! Programs that other processes started behind the link ([`Entrance`](crate::Entrance)) are
//! nobody's descendants here. Their namespace and their environment tell them from others
//! ([`process::of_run`]).

use crate::error::Result;
use crate::process::ProcessId;
use crate::state::NamespaceId;
use crate::{process, signals};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Time to wait for killed processes: one in uninterruptible sleep only ends when it wakes up.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two rounds of SIGKILL; one round may miss a process that is just being forked. Also
/// the time between two looks at programs whose end sends no signal to the keeper.
const ROUND: Duration = Duration::from_millis(20);
/// Time between two looks at the main process.
const LOOK: Duration = Duration::from_millis(200);

/// The programs behind a link.
pub(super) struct Programs<'a> {
    /// SIGCHLD of the keeper.
    pub(super) children: &'a OwnedFd,
    /// The main process.
    pub(super) control: &'a UnixStream,
    /// Id of the link.
    pub(super) id: &'a str,
    /// Namespace of the wireless host.
    pub(super) inside: NamespaceId,
}

impl Programs<'_> {
    /// Ends all of them: SIGTERM, then SIGKILL after `grace` or as soon as the main process is
    /// dead.
    pub(super) fn end(&self, grace: Duration) -> Result<()> {
        if !self.remain() {
            return Ok(());
        }
        let start = Instant::now();
        if !grace.is_zero() {
            self.tell_all(Signal::TERM);
            // A stopped process handles SIGTERM only once it continues.
            self.tell_all(Signal::CONT);
        }
        let mut remaining = grace;
        while !remaining.is_zero() {
            self.wait(remaining)?;
            if !self.remain() {
                return Ok(());
            }
            remaining =
                if is_dead(self.control) { Duration::ZERO } else { grace.saturating_sub(start.elapsed()) };
        }
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            self.tell_all(Signal::KILL);
            self.wait(ROUND)?;
            if !self.remain() {
                break;
            }
        }
        Ok(())
    }

    /// Reaps ended children; returns whether a program is left.
    fn remain(&self) -> bool {
        reap() || !self.entered().is_empty()
    }

    /// Returns the programs of the link that are no children of the keeper's.
    fn entered(&self) -> Vec<ProcessId> {
        process::of_run(self.id, self.inside)
    }

    fn wait(&self, time: Duration) -> Result<()> {
        let look = if self.entered().is_empty() { LOOK } else { ROUND };
        signals::wait_readable([self.children], Some(time.min(look)))?;
        while signals::next(self.children).is_some() {}
        Ok(())
    }

    fn tell_all(&self, signal: Signal) {
        for pid in process::descendants(std::process::id()) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
                let _ = kill_process(pid, signal);
            }
        }
        for process in self.entered() {
            // It may have ended in the meantime.
            let _ = process.signal(signal);
        }
    }
}

/// Reaps all ended children; returns whether some are left.
fn reap() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// Returns whether the main process is dead: end of file, with nothing left to read before it.
fn is_dead(control: &UnixStream) -> bool {
    let mut byte = [0; 1];
    let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
    matches!(rustix::net::recv(control, &mut byte, flags), Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET))
}
