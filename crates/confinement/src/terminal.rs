//! A confined process has no terminal: what takes it over must not type into it, nor read what is
//! typed.
//!
//! * Standard input is /dev/null.
//! * It gives up its controlling terminal (TIOCNOTTY), without which TIOCSTI is refused to it
//!   (tty_ioctl(4)). A new session (setsid) would do the same, but leaves the process group: Ctrl-C
//!   would not reach it any more. The leader of a session keeps it, or everybody would lose it.
//! * Standard output and error, where they are a terminal, are opened anew for writing alone. As
//!   inherited they can be read, and a process without a controlling terminal is not stopped for
//!   reading in the background.
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
    // Not rustix's, which panics at a session that is led from outside this namespace of processes
    // (`docker exec`, `nsenter`, many runners of tests): the kernel's answer is 0 there.
    // SAFETY: they take numbers, and change nothing.
    let is_leader = unsafe { libc::getsid(0) == libc::getpid() };
    if !is_leader && let Some(terminal) = write_only("/dev/tty") {
        // SAFETY: it takes no argument. Without effect on what is no controlling terminal.
        unsafe { libc::ioctl(terminal.as_raw_fd(), libc::TIOCNOTTY) };
    }
    Ok(())
}

/// `None` if this user may not; then it stays as it is.
fn write_only(path: &str) -> Option<File> {
    OpenOptions::new().write(true).custom_flags(libc::O_NOCTTY).open(path).ok()
}
