//! The process that cleans up, even when the main process is killed.
//!
//! The main process starts itself again as `__keeper` with one end of a socket pair. The keeper
//! starts COMMAND behind the link, adopts COMMAND's orphaned descendants (PR_SET_CHILD_SUBREAPER)
//! and undoes the run at the end:
//!
//! * COMMAND ends: its remaining descendants, and programs that other processes started behind the
//!   link, get SIGTERM, and SIGKILL after 2 s. Then the keeper
//!   reports to the main process. The link carries packets until then.
//! * The main process sends `End`: the same for COMMAND itself. Then the keeper removes NAT,
//!   sysctls, control group and state.
//! * The main process dies, which shows as end of file: SIGKILL to all at once, then the same.
//! * The keeper is killed: the main process sees end of file and undoes the run itself. If both are
//!   killed, the next start of lasthop does it.
//!
//! COMMAND has the caller's user, environment (plus `LASTHOP_HOST` and `LASTHOP`), file descriptors
//! and terminal, default signal dispositions and an empty signal mask. It sees the caller's `/sys`:
//! `/sys/class/net` shows the caller's interfaces.

mod descendants;
mod handle;
mod kept;
mod protocol;

pub(crate) use handle::{Keeper, Started};
pub(crate) use kept::KeptRun;
pub use protocol::Exit;
pub(crate) use protocol::Start as StartOrder;

use crate::error::{Error, Result, Trying};
use crate::signals::{self, Disposition};
use crate::state::{NamespaceId, Registry};
use crate::{Namespace, checks, namespace};
use descendants::Programs;
use protocol::{Order, Report, Start, receive, send};
use rustix::fd::{FromRawFd, OwnedFd};
use rustix::process::{Pid, WaitOptions};
use rustix::thread::UnshareFlags;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::Duration;

/// First argument of a keeper process.
pub const SUBCOMMAND: &str = "__keeper";

/// Time between SIGTERM and SIGKILL for programs that outlive COMMAND.
const GRACE: Duration = Duration::from_secs(2);

/// Acts as a keeper (or as a [check](crate::checks)) if this process was started as one.
///
/// Call it before anything else in `main`. Returns the exit code when the work is done, or `None`
/// at once in any other process.
#[must_use]
pub fn entry() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let subcommand = arguments.next()?;
    if subcommand == checks::SUBCOMMAND {
        return Some(checks::serve(&arguments.next().unwrap_or_default().to_string_lossy()));
    }
    if subcommand != SUBCOMMAND {
        return None;
    }
    let mut descriptor = || inherited(arguments.next()?.to_str()?.parse().ok()?);
    let (Some(control), Some(inside)) = (descriptor(), descriptor()) else {
        eprintln!("lasthop: {SUBCOMMAND} is internal to lasthop link and cannot be run by hand");
        return Some(ExitCode::from(2));
    };
    let others = std::iter::from_fn(descriptor);
    let held = std::iter::once(inside).chain(others).map(Namespace::from_fd).collect();
    let result = Keeping::begin(UnixStream::from(control), held).and_then(Keeping::serve);
    Some(result.map_or_else(
        |error| {
            eprintln!("lasthop: {error}");
            ExitCode::FAILURE
        },
        |()| ExitCode::SUCCESS,
    ))
}

/// Takes over a file descriptor from the main process, with close-on-exec so that COMMAND does not
/// get it.
fn inherited(number: i32) -> Option<OwnedFd> {
    if number <= 2 {
        return None;
    }
    // SAFETY: fcntl takes its arguments by value, and fails for a number that is not an open file
    // descriptor.
    let is_open = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, and nothing else in this process, which has just started, owns a file
    // descriptor above 2.
    is_open.then(|| unsafe { OwnedFd::from_raw_fd(number) })
}

/// Why COMMAND must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reason {
    Asked,
    Orphaned,
}

/// A keeper process and its state.
struct Keeping {
    control: UnixStream,
    /// The namespaces of the run: first that of COMMAND, then others to which interfaces of the
    /// caller were moved.
    held: Vec<Namespace>,
    children: OwnedFd,
    registry: Registry,
    id: String,
    command: Option<u32>,
}

impl Keeping {
    fn begin(control: UnixStream, held: Vec<Namespace>) -> Result<Self> {
        for signal in signals::OF_THE_TERMINAL.into_iter().chain(signals::PASSED_ON) {
            signals::set(signal, Disposition::Ignore).trying(|| format!("ignore signal {signal}"))?;
        }
        signals::block_only(&[libc::SIGCHLD]).trying(|| "change the signal mask".into())?;
        let children = signals::descriptor(&[libc::SIGCHLD])?;
        rustix::process::set_child_subreaper(rustix::process::getpid().into())
            .trying(|| "become a subreaper".into())?;
        let Some(Order::Keep { registry, id }) = receive(&control)? else {
            return Err(Error::Keeper("expected the order Keep first".into()));
        };
        send(&control, &Report::Keeping)?;
        Ok(Self { control, held, children, registry: Registry::at(registry)?, id, command: None })
    }

    fn serve(mut self) -> Result<()> {
        let reason = loop {
            let [ordered, ended] = signals::wait_readable([&self.control, &self.children], None)?;
            if ended {
                while signals::next(&self.children).is_some() {}
                self.reap()?;
            }
            if ordered {
                match receive(&self.control)? {
                    Some(Order::Start(start)) => self.start(&start),
                    Some(Order::Signal(signal)) => self.pass_on(signal),
                    Some(Order::End) => break Reason::Asked,
                    Some(Order::Keep { .. }) => {
                        return Err(Error::Keeper("received the order Keep twice".into()));
                    }
                    None => break Reason::Orphaned,
                }
            }
        };
        let grace = if reason == Reason::Asked { GRACE } else { Duration::ZERO };
        self.end_programs(grace)?;
        let lines = self.undo()?;
        if reason == Reason::Asked {
            // The main process may have died meanwhile; then nobody needs the report.
            let _ = send(&self.control, &Report::Undone { lines });
        }
        Ok(())
    }

    /// Returns the namespace of COMMAND.
    fn inside(&self) -> &Namespace {
        &self.held[0]
    }

    /// Ends all programs that are still behind the link.
    fn end_programs(&self, grace: Duration) -> Result<()> {
        let inside = NamespaceId::of(self.inside())?;
        Programs { children: &self.children, control: &self.control, id: &self.id, inside }.end(grace)
    }

    /// Reaps ended children. If COMMAND is among them, ends the remaining programs and reports.
    fn reap(&mut self) -> Result<()> {
        while let Ok(Some((pid, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if Some(pid.as_raw_pid().cast_unsigned()) != self.command {
                continue;
            }
            self.command = None;
            let exit = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code as u8),
                (None, signal) => Exit::Signal(signal.unwrap_or(libc::SIGKILL)),
            };
            self.end_programs(GRACE)?;
            send_unless_dead(&self.control, &Report::Ended(exit));
            return Ok(());
        }
        Ok(())
    }

    fn pass_on(&self, signal: i32) {
        let pid = self.command.and_then(|pid| Pid::from_raw(pid.cast_signed()));
        // It is not reaped yet, so the pid is still COMMAND's.
        if let (Some(pid), Some(signal)) = (pid, rustix::process::Signal::from_named_raw(signal)) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }

    fn undo(&self) -> Result<Vec<String>> {
        self.registry.undo(&self.id, &self.held)
    }

    fn start(&mut self, start: &Start) {
        let report = match spawn(self.inside(), &self.id, start) {
            Ok(Ok(pid)) => {
                self.command = Some(pid);
                let _ = release_terminal_pipes();
                Report::Started
            }
            Ok(Err(error)) => {
                let (code, message) = not_executed(&start.program, &error);
                Report::NotStarted { code, message }
            }
            Err(error) => Report::Failed { message: error.to_string() },
        };
        send_unless_dead(&self.control, &report);
    }
}

/// Returns the status and the message of a program that could not be executed, as in shells.
pub(crate) fn not_executed(program: &OsStr, error: &std::io::Error) -> (u8, String) {
    let code = if error.kind() == ErrorKind::NotFound { 127 } else { 126 };
    let why = if code == 127 { "command not found".to_owned() } else { reason(error) };
    (code, format!("{}: {why}", program.to_string_lossy()))
}

/// Returns the kernel's reason without Rust's "(os error N)".
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Sends `report`, ignoring errors: the next read notices a dead main process.
fn send_unless_dead(control: &UnixStream, report: &Report) {
    let _ = send(control, report);
}

/// Closes this process's copies of the caller's pipes.
///
/// COMMAND has them now. With a copy open here, their readers would not see end of file when
/// COMMAND ends.
fn release_terminal_pipes() -> std::io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

/// Starts COMMAND from a thread that has moved behind the link.
///
/// The outer error is one of the setup, the inner one of executing COMMAND.
fn spawn(inside: &Namespace, id: &str, start: &Start) -> Result<std::io::Result<u32>> {
    namespace::on_own_thread(|| {
        // SAFETY: CLONE_FS and CLONE_NEWNS leave the file descriptor table shared; only this
        // short-lived thread is changed.
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS | UnshareFlags::NEWNS) }
            .trying(|| "create a mount namespace".into())?;
        start.overlays.apply()?;
        inside.enter_this_thread()?;
        let ignored = start.ignored.clone();
        let mut command = Command::new(&start.program);
        command
            .args(&start.arguments)
            .envs(start.environment.iter().map(|(name, value)| (name, value)))
            .env("LASTHOP", id)
            .env("LASTHOP_HOST", start.host.to_string());
        let group = start.cgroup.as_ref().map(|path| path.join("cgroup.procs"));
        let group = group.and_then(|path| std::fs::OpenOptions::new().write(true).open(path).ok());
        // SAFETY: only system calls on existing data run between fork and exec; nothing is
        // allocated.
        unsafe {
            command.pre_exec(move || {
                if let Some(group) = &group {
                    // "0" stands for the writing process. COMMAND runs even if the group is gone.
                    let _ = rustix::io::write(group, b"0");
                }
                for signal in signals::OF_THE_TERMINAL.into_iter().chain(signals::PASSED_ON) {
                    let ignore = ignored.contains(&signal);
                    signals::set(signal, if ignore { Disposition::Ignore } else { Disposition::Default })?;
                }
                signals::block_only(&[])?;
                // COMMAND gets no capabilities over our own user namespace (unless it is root,
                // which has them all).
                let _ = rustix::thread::clear_ambient_capability_set();
                Ok(())
            });
        }
        Ok(command.spawn().map(|child| child.id()))
    })
}
