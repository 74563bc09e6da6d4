//! The keeper: the process that starts the program behind a link, and that takes everything down if the main process is
//! killed.
//!
//! ```text
//! main ──socket──▶ keeper ──▶ program ──▶ whatever the program starts
//! ```
//!
//! The main process runs itself again as `__keeper` and talks to it over a socket pair, a line of JSON at a time. The
//! keeper adopts orphans (it is a *child subreaper*), so everything that the program starts stays below it. When the
//! program ends, the keeper says how, ends what is left (SIGTERM, then SIGKILL), and is done. When instead the socket
//! closes, the main process is gone: the keeper kills everything below it and undoes what the run had made.
//!
//! Ctrl-C goes to the whole foreground process group: the program gets it, main and keeper pass over it.

mod job;

pub use job::run;

use crate::errors::{Attempt, NetlabError};
use crate::host_link::HostLink;
use crate::namespace::Namespace;
use crate::state::{MARK, Process};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command};

/// The hidden subcommand under which the main program must call [`run`].
pub const SUBCOMMAND: &str = "__keeper";

/// What to run behind a link.
#[derive(Debug, Clone)]
pub struct Program {
    /// Program and arguments; not empty.
    pub command: Vec<OsString>,
    /// Added to the environment.
    pub environment: Vec<(String, String)>,
    /// Files that stand in for others in the program's view of the file system: (stand-in, path).
    pub files: Vec<(PathBuf, PathBuf)>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// By itself, with this exit status.
    Exited(i32),
    /// By this signal.
    Signalled(i32),
    /// It could not be started: 126 (found, but not executable) or 127 (not found), and why.
    NotStarted(i32, String),
}

impl Status {
    /// What a shell would say: the exit status, or 128 and the number of the signal.
    #[must_use]
    pub const fn code(&self) -> i32 {
        match self {
            Self::Exited(code) | Self::NotStarted(code, _) => *code,
            Self::Signalled(signal) => 128 + *signal,
        }
    }
}

/// What the keeper is told when it starts. Numbers of descriptors are those in the keeper.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    command: Vec<Vec<u8>>,
    environment: Vec<(String, String)>,
    files: Vec<(PathBuf, PathBuf)>,
    inside: RawFd,
    outside: RawFd,
    folder: PathBuf,
}

/// What the keeper is told later.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    /// Send this signal to the program.
    Signal(i32),
}

/// What the keeper says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Report {
    /// The program runs.
    Started(i32),
    /// The program has ended.
    Ended(Status),
}

/// The main process's side.
pub struct Keeper {
    process: Child,
    reports: BufReader<UnixStream>,
    words: UnixStream,
}

/// Passes signals to the program, from any thread.
#[derive(Debug)]
pub struct Signals {
    words: UnixStream,
}

impl Keeper {
    /// Starts the keeper, and through it the program.
    pub fn start(host_link: &mut HostLink, program: &Program) -> Result<Self, NetlabError> {
        use std::os::unix::ffi::OsStrExt;

        let (ours, theirs) = UnixStream::pair().attempt("make a socket pair")?;
        let inside = Namespace::try_clone(host_link.inside())?;
        let outside = Namespace::try_clone(host_link.outside())?;
        let descriptors = [theirs.as_raw_fd(), fd_of(&inside), fd_of(&outside)];
        let mut environment = program.environment.clone();
        environment.push((MARK.to_owned(), host_link.claim().state().mark.clone()));
        let orders = Orders {
            command: program.command.iter().map(|word| word.as_bytes().to_vec()).collect(),
            environment,
            files: program.files.clone(),
            inside: descriptors[1],
            outside: descriptors[2],
            folder: host_link.claim().folder().to_owned(),
        };

        let mut command = Command::new("/proc/self/exe");
        command.arg(SUBCOMMAND).env(job::SOCKET, descriptors[0].to_string());
        // SAFETY: between fork and exec only fcntl is called, on descriptors that stay open until then.
        unsafe {
            command.pre_exec(move || {
                for fd in descriptors {
                    let fd = std::os::fd::BorrowedFd::borrow_raw(fd);
                    fcntl_setfd(fd, FdFlags::empty())?;
                }
                Ok(())
            });
        }
        let process = command.spawn().attempt("start the keeper process")?;
        drop((theirs, inside, outside));
        let keeper = Process::find(process.id().cast_signed());
        host_link.claim().record(|state| state.keeper = keeper)?;

        let words = ours.try_clone().attempt("duplicate a descriptor")?;
        let mut keeper = Self { process, reports: BufReader::new(ours), words };
        send(&mut keeper.words, &orders).attempt("give the keeper its orders")?;
        Ok(keeper)
    }

    /// Something that passes signals to the program.
    pub fn signals(&self) -> Result<Signals, NetlabError> {
        Ok(Signals { words: self.words.try_clone().attempt("duplicate a descriptor")? })
    }

    /// Waits until the program has ended, and everything that it started.
    pub fn wait(mut self) -> Result<Status, NetlabError> {
        let mut line = String::new();
        let status = loop {
            line.clear();
            let read = self.reports.read_line(&mut line).attempt("hear from the keeper")?;
            if read == 0 {
                return Err(NetlabError::new("hear from the keeper", "it has died")
                    .or_else_do("what the run has made is undone by the next one, or by: lasthop clean"));
            }
            match serde_json::from_str(&line).map_err(std::io::Error::from).attempt("hear from the keeper")? {
                Report::Started(_) => {}
                Report::Ended(status) => break status,
            }
        };
        // It ends what the program has left behind, and then itself.
        self.process.wait().attempt("wait for the keeper")?;
        Ok(status)
    }
}

impl Signals {
    /// Passes a signal to the program; does nothing when it has ended.
    pub fn pass(&mut self, signal: i32) {
        let _ = send(&mut self.words, &Word::Signal(signal));
    }
}

fn fd_of(namespace: &Namespace) -> RawFd {
    use std::os::fd::AsFd;
    namespace.as_fd().as_raw_fd()
}

fn send(socket: &mut UnixStream, message: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}

/// A descriptor that was inherited under this number.
///
/// # Safety
/// Nobody else owns it.
unsafe fn inherited(fd: RawFd) -> OwnedFd {
    use std::os::fd::FromRawFd;
    // SAFETY: the caller's promise.
    unsafe { OwnedFd::from_raw_fd(fd) }
}
