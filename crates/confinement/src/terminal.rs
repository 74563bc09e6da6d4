//! Removes the terminal from a confined process, so that an attacker who takes it over can neither
//! type into the terminal nor read input.
//!
//! * Standard input is /dev/null.
//! * It gives up its controlling terminal (TIOCNOTTY). Without one, TIOCSTI is refused
//!   (tty_ioctl(4)). A new session (setsid) would have the same effect, but also leaves the process
//!   group, so that Ctrl-C would no longer reach the process. A session leader keeps the terminal,
//!   because the whole session would lose it otherwise.
//! * If standard output and error are terminals, they are opened again write-only. The inherited
//!   file descriptors can be read, and a process without a controlling terminal is not stopped when
//!   it reads in the background.
#![expect(unsafe_code, reason = "TIOCNOTTY is in no safe library, nor getsid as it is used here")]

use rustix::fd::AsRawFd;
use rustix::stdio;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal};
use std::os::unix::fs::OpenOptionsExt;

/// Gives up the terminal; see the [module](self).
///
/// # Errors
/// If there is no /dev/null.
pub(super) fn leave() -> io::Result<()> {
    stdio::dup2_stdin(File::open("/dev/null")?)?;
    if io::stdout().is_terminal()
        && let Some(terminal) = write_only("/proc/self/fd/1")
    {
        stdio::dup2_stdout(terminal)?;
    }
    if io::stderr().is_terminal()
        && let Some(terminal) = write_only("/proc/self/fd/2")
    {
        stdio::dup2_stderr(terminal)?;
    }
    // The function of rustix panics if the session leader is outside this PID namespace (`docker
    // exec`, `nsenter`, many test runners): the kernel then returns 0.
    // SAFETY: both take and return numbers, and change nothing.
    let is_leader = unsafe { libc::getsid(0) == libc::getpid() };
    if !is_leader && let Some(terminal) = write_only("/dev/tty") {
        // SAFETY: the request has no argument. It has no effect if this is not the controlling
        // terminal.
        unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) };
    }
    Ok(())
}

/// Opens a terminal for writing only. `None` if this user may not; the file descriptor then stays
/// as it is.
fn write_only(path: &str) -> Option<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_NOCTTY).open(path).ok()
}
