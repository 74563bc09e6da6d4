//! Runs a program in the foreground as if it had been started directly, with its signals, exit
//! status and terminal.
//!
//! The program stays in this process's group. So it has the terminal, and gets keyboard signals
//! (Ctrl-C, Ctrl-Z) itself. Signals that others send to this process are passed on.

use crate::filter::Closing;
use crate::kernel::{SignalDescriptor, block, raise_descriptors, restore_in};
use crate::launch::{LaunchError, launch};
use resoa_calls::Agent;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// The signals that are passed on. SIGTSTP is not among them: it stops this process as well as the
/// program.
const PASSED_ON: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// Reasons why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The program was not started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Signals cannot be passed on, or the kernel does not report how the program ended.
    #[error("cannot wait for the program: {0}")]
    Wait(#[from] io::Error),
}

/// Runs `command` with its calls answered by `agent`, until the last of its processes has ended.
/// Returns the exit status of the first one.
///
/// If the program has ended and some of its processes remain, a signal ends the wait. Those
/// processes then have no sockets.
///
/// Afterwards, this process's signals stay blocked and its limit of descriptors stays raised.
///
/// # Errors
/// If the program cannot be started, if signals cannot be passed on, or if the kernel does not
/// report the exit status.
pub fn run(agent: Agent, command: &mut Command, closing: Closing) -> Result<ExitStatus, RunError> {
    let before = block(&PASSED_ON)?;
    let signals = SignalDescriptor::of(&PASSED_ON)?;
    restore_in(command, before, raise_descriptors());
    let mut running = launch(agent, command, closing)?;
    let program = Pid::from_child(&running.child);
    let status = running.wait_and(&signals, |ended| {
        let Some(received) = signals.next() else { return true };
        if ended {
            return false;
        }
        if !received.of_the_terminal {
            // If the program has just ended, the signal is lost.
            let _ = kill_process(program, received.signal);
        }
        true
    })?;
    Ok(status)
}

/// Ends this process as the program ended: with its exit status, or by the same signal.
pub fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        crate::kernel::end_by(signal);
        std::process::exit(128 + signal)
    }
    std::process::exit(status.code().unwrap_or(1))
}
