//! Ending the descendants that outlive a program.
//!
//! The keeper adopts every descendant whose parent dies. So all of them are below the keeper in the
//! process tree, and none is left when the kernel says that it has no children.

use crate::error::Result;
use crate::{process, signals};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, Signal, WaitOptions, kill_process};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Time to wait for killed processes: one in uninterruptible sleep only ends when it wakes up.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two rounds of SIGKILL; one round may miss a process that is just being forked.
const ROUND: Duration = Duration::from_millis(20);

/// Ends all descendants: SIGTERM, then SIGKILL after `grace` or as soon as the main process is
/// dead.
pub(super) fn end(children: &OwnedFd, control: &UnixStream, grace: Duration) -> Result<()> {
    if !reap() {
        return Ok(());
    }
    let start = Instant::now();
    if !grace.is_zero() {
        tell_all(Signal::TERM);
        // A stopped process handles SIGTERM only once it continues.
        tell_all(Signal::CONT);
    }
    let mut remaining = grace;
    while !remaining.is_zero() {
        wait(children, remaining)?;
        if !reap() {
            return Ok(());
        }
        remaining = if is_dead(control) { Duration::ZERO } else { grace.saturating_sub(start.elapsed()) };
    }
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        tell_all(Signal::KILL);
        wait(children, ROUND)?;
        if !reap() {
            break;
        }
    }
    Ok(())
}

fn wait(children: &OwnedFd, time: Duration) -> Result<()> {
    signals::wait_readable([children], Some(time.min(Duration::from_millis(200))))?;
    while signals::next(children).is_some() {}
    Ok(())
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

fn tell_all(signal: Signal) {
    for pid in process::descendants(std::process::id()) {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, signal);
        }
    }
}

/// Returns whether the main process is dead: end of file, with nothing left to read before it.
fn is_dead(control: &UnixStream) -> bool {
    let mut byte = [0; 1];
    let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
    matches!(rustix::net::recv(control, &mut byte, flags), Ok((_, 0)) | Err(rustix::io::Errno::CONNRESET))
}
