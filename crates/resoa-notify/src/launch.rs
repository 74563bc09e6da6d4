//! Starts a program under the filter, and answers the calls of all its processes until the last has
//! ended.

use crate::filter::{Closing, filter};
use crate::kernel::filter_this_thread;
use crate::notifier::Notifier;
use resoa_calls::Agent;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags, pidfd_open, set_dumpable_behavior};
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, mpsc};
use std::thread;

/// Reasons why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The kernel accepts no filter.
    #[error("cannot install a seccomp filter with a listener: {0}{hint}", hint = hint(.0))]
    Filter(io::Error),
    /// The program does not start.
    #[error("cannot start {program}: {error}")]
    Program {
        /// Name of the program.
        program: String,
        /// The error of the kernel.
        error: io::Error,
    },
    /// The host allows no more threads.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
}

fn hint(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EBUSY) => {
            "; this process already has such a filter, from a container or another `resoa run --seccomp`: run it outside, or use the preload library"
        }
        Some(libc::EINVAL | libc::ENOSYS) => "; Linux 5.19 or later with CONFIG_SECCOMP_FILTER is needed",
        _ => "",
    }
}

/// A program under the filter, and the threads that answer its calls.
#[derive(Debug)]
pub struct Running {
    /// The program. Processes that it started may outlive it.
    pub child: Child,
    notifier: Arc<Notifier>,
}

/// Starts `command` with its calls answered by `agent`.
///
/// A separate thread installs the filter, starts the program, and ends. So the program has the
/// filter, and the rest of this process does not. From now on this process cannot be traced and
/// leaves no core dump: another program of the same user could otherwise take its sockets, or its
/// calls.
///
/// # Errors
/// If the filter cannot be installed, or the program or a thread cannot be started.
///
/// # Panics
/// If the separate thread panics, which it does not.
pub fn launch(agent: Agent, command: &mut Command, closing: Closing) -> Result<Running, LaunchError> {
    let filter = filter(closing);
    // The program can be traced as usual once it is executed.
    let always = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    debug_assert_eq!(always, Ok(()), "it takes no right");
    thread::scope(|scope| {
        let (filtered, listeners) = mpsc::channel();
        let (ready, answered) = mpsc::channel();
        let start = move || -> Result<Child, LaunchError> {
            let listener = filter_this_thread(&filter).map_err(LaunchError::Filter)?;
            // From now on this thread may be notified, too.
            let _ = filtered.send(listener);
            spawn(command, &answered)
        };
        let thread = thread::Builder::new().name("launcher".into()).spawn_scoped(scope, start);
        let thread = thread.map_err(LaunchError::Thread)?;
        let mut notifier = None;
        if let Ok(listener) = listeners.recv() {
            let answering = Notifier::new(listener, agent);
            answering.start().map_err(LaunchError::Thread)?;
            notifier = Some(answering);
            let _ = ready.send(());
        }
        let child = thread.join().expect("it does not panic")?;
        Ok(Running { child, notifier: notifier.expect("there is a filter where a program was started") })
    })
}

/// Starts the program once its calls are answered. Without a notifier it would have no sockets, and
/// its parent would not wait for it, so it is not started.
fn spawn(command: &mut Command, answered: &mpsc::Receiver<()>) -> Result<Child, LaunchError> {
    answered.recv().map_err(|_| LaunchError::Thread(io::ErrorKind::BrokenPipe.into()))?;
    command.spawn().map_err(|error| LaunchError::Program {
        program: command.get_program().to_string_lossy().into_owned(),
        error,
    })
}

impl Running {
    /// Waits until no process with the filter is left: the program and everything that it started.
    /// Returns how the program ended.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let (never, _other) = std::io::pipe()?;
        self.wait_and(&never, |_| true)
    }

    /// As [`Running::wait`]. Calls `act` whenever `also` is readable, with whether the program has
    /// ended. If it has and `act` returns `false`, the wait ends.
    pub(crate) fn wait_and(
        &mut self,
        also: &impl AsFd,
        mut act: impl FnMut(bool) -> bool,
    ) -> io::Result<ExitStatus> {
        let program = pidfd_open(Pid::from_child(&self.child), PidfdFlags::empty())?;
        let mut ended = None;
        loop {
            let mut descriptors = [
                PollFd::new(&self.notifier.listener, PollFlags::empty()),
                PollFd::new(also, PollFlags::IN),
                PollFd::new(&program, PollFlags::IN),
            ];
            // The pidfd of a program that has ended and was waited for is always readable.
            let looked_at = if ended.is_none() { 3 } else { 2 };
            match poll(&mut descriptors[..looked_at], None) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            let has = |at: usize, event| descriptors[at].revents().contains(event);
            let (deserted, more) = (has(0, PollFlags::HUP), has(1, PollFlags::IN));
            // Before Linux 6.11 a process keeps its filter until it is waited for.
            if ended.is_none() && (deserted || has(2, PollFlags::IN)) {
                ended = Some(self.child.wait()?);
            }
            match ended {
                Some(status) if deserted || more && !act(true) => return Ok(status),
                None if more => drop(act(false)),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If no thread answers, nothing is started.
    #[test]
    fn nobody_answers() {
        let (ready, answered) = mpsc::channel();
        drop(ready);
        assert!(matches!(spawn(&mut Command::new("true"), &answered), Err(LaunchError::Thread(_))));
        let (ready, answered) = mpsc::channel();
        ready.send(()).expect("it waits");
        let mut child = spawn(&mut Command::new("true"), &answered).expect("it is everywhere");
        assert!(child.wait().expect("it was started").success());
    }
}
