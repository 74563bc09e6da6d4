//! The main process's side of the keeper.

use super::protocol::{Order, Report, Start, receive, send};
use super::{Exit, SUBCOMMAND};
use crate::Namespace;
use crate::error::{Error, Result, Trying};
use crate::process::ProcessId;
use crate::signals::{self, Quiet};
use crate::state::Registry;
use rustix::io::FdFlags;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// A running keeper.
#[derive(Debug)]
pub(crate) struct Keeper {
    control: UnixStream,
    child: Child,
}

/// Result of starting COMMAND.
#[derive(Debug)]
pub(crate) enum Started {
    Running,
    Not { code: u8, message: String },
}

impl Keeper {
    /// Starts this binary again as the keeper of run `id`, whose namespaces it keeps open; COMMAND
    /// will run in the first one.
    pub(crate) fn start(registry: &Registry, id: &str, held: &[&Namespace]) -> Result<Self> {
        let what = || format!("start /proc/self/exe {SUBCOMMAND}");
        let (control, theirs) = UnixStream::pair().trying(what)?;
        let mut inherited = vec![OwnedFd::from(theirs)];
        for namespace in held {
            inherited.push(namespace.fd().try_clone_to_owned().trying(what)?);
        }
        let mut command = Command::new("/proc/self/exe");
        let numbers = inherited.iter().map(|fd| fd.as_raw_fd().to_string());
        command.arg0("lasthop").arg(SUBCOMMAND).args(numbers);
        // SAFETY: fcntl is async-signal-safe, and the file descriptors are open in the child too.
        unsafe {
            command.pre_exec(move || {
                for descriptor in &inherited {
                    rustix::io::fcntl_setfd(descriptor.as_fd(), FdFlags::empty())?;
                }
                Ok(())
            });
        }
        let child = command.spawn().trying(what)?;
        // The closure owns our copies of the keeper's file descriptors. While they are open, the
        // keeper's death does not show as end of file.
        drop(command);
        let keeper = Self { control, child };
        send(&keeper.control, &Order::Keep { registry: registry.path().to_owned(), id: id.to_owned() })?;
        match keeper.report()? {
            Report::Keeping => Ok(keeper),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn process(&self) -> Option<ProcessId> {
        ProcessId::of(self.child.id())
    }

    pub(super) fn report(&self) -> Result<Report> {
        receive(&self.control)?.ok_or_else(|| Error::Keeper("killed, so the link was taken down".into()))
    }

    /// Starts COMMAND.
    pub(crate) fn start_command(&self, start: Start) -> Result<Started> {
        send(&self.control, &Order::Start(Box::new(start)))?;
        match self.report()? {
            Report::Started => Ok(Started::Running),
            Report::NotStarted { code, message } => Ok(Started::Not { code, message }),
            Report::Failed { message } => Err(Error::Keeper(message)),
            other => Err(unexpected(&other)),
        }
    }

    /// Waits for the end of COMMAND and passes signals on to it.
    pub(crate) fn wait(&self, quiet: &Quiet) -> Result<Exit> {
        loop {
            let [reported, signalled] = signals::wait_readable([&self.control, &quiet.descriptor], None)?;
            if signalled {
                while let Some(signal) = signals::next(&quiet.descriptor) {
                    self.signal(signal)?;
                }
            }
            if reported {
                return match self.report()? {
                    Report::Ended(exit) => Ok(exit),
                    other => Err(unexpected(&other)),
                };
            }
        }
    }

    /// Sends a signal to COMMAND.
    pub(crate) fn signal(&self, signal: i32) -> Result<()> {
        send(&self.control, &Order::Signal(signal))
    }

    /// Makes the keeper end COMMAND and undo the run; returns one line for each object undone.
    pub(crate) fn end(mut self) -> Result<Vec<String>> {
        send(&self.control, &Order::End)?;
        let lines = loop {
            match self.report()? {
                Report::Undone { lines } => break lines,
                // COMMAND ended in the meantime.
                Report::Ended(_) => {}
                other => return Err(unexpected(&other)),
            }
        };
        self.child.wait().trying(|| "wait for the keeper".into())?;
        Ok(lines)
    }
}

impl Drop for Keeper {
    /// Closes the socket, which ends a keeper that is still running, and waits until it has cleaned
    /// up.
    fn drop(&mut self) {
        let _ = self.control.shutdown(std::net::Shutdown::Both);
        let _ = self.child.wait();
    }
}

fn unexpected(report: &Report) -> Error {
    Error::Keeper(format!("unexpected report {report:?}"))
}
