//! Runs a program in the foreground as if it had been started directly: signals, the exit status,
//! the terminal.
//!
//! The program stays in this process's group, so that it has the terminal, and what is typed there
//! (Ctrl-C, Ctrl-Z) reaches it by itself. What others send to this process is passed on.

use crate::filter::Closing;
use crate::kernel::{SignalDescriptor, block, raise_descriptors, restore_in};
use crate::launch::{LaunchError, launch};
use resoa_calls::Agent;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// What is passed on. SIGTSTP stops this process as it does the program.
const PASSED_ON: [Signal; 6] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2];

/// Why a program was not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It was not started.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Signals cannot be passed on, or the kernel does not say how the program ended.
    #[error("cannot wait for the program: {0}")]
    Wait(#[from] io::Error),
}

/// Runs `command` with its calls answered by `agent`, until the last of its processes has ended;
/// how the first one did. This process's signals stay blocked afterwards, and its limit of
/// descriptors raised.
///
/// If the program has ended and others are left, a signal ends the wait: they then have no sockets.
///
/// # Errors
/// If it was not started.
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
            // It ends just now: nobody to tell.
            let _ = kill_process(program, received.signal);
        }
        true
    })?;
    Ok(status)
}

/// Ends this process as the program did: with its status, or by the signal that ended it.
pub fn end_as(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        crate::kernel::end_by(signal);
        std::process::exit(128 + signal)
    }
    std::process::exit(status.code().unwrap_or(1))
}
