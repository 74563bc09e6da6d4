//! Signal dispositions and masks, which the standard library does not cover.
//!
//! While COMMAND runs, Ctrl-C and Ctrl-\ are meant for it. The terminal sends them to the whole
//! foreground process group, so the other two processes of a run ignore them. SIGTERM and SIGHUP
//! are sent to one process, so the main process reads them from a file descriptor and passes them
//! on.

use crate::error::{Result, Trying};
use rustix::fd::{FromRawFd, OwnedFd};
use std::os::fd::{AsFd, AsRawFd};

/// Signals that the terminal sends to the whole process group.
pub(crate) const OF_THE_TERMINAL: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];
/// Signals to this process that are passed on to COMMAND.
pub(crate) const PASSED_ON: [i32; 2] = [libc::SIGTERM, libc::SIGHUP];

/// What a process does when it receives a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    Default,
    Ignore,
}

/// Sets the disposition of `signal`; safe between fork and exec.
pub(crate) fn set(signal: i32, disposition: Disposition) -> std::io::Result<()> {
    let handler = match disposition {
        Disposition::Default => libc::SIG_DFL,
        Disposition::Ignore => libc::SIG_IGN,
    };
    // SAFETY: no handler of ours is installed, only one of the kernel's two fixed dispositions.
    if unsafe { libc::signal(signal, handler) } == libc::SIG_ERR {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// Returns whether `signal` is currently ignored.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: `sigaction` is plain data for which all zeros is a valid value; the call only fills
    // it, and it outlives the call.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

fn mask_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: `set` is plain data, initialized by sigemptyset before use.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Makes the calling thread block `signals` and no others; safe between fork and exec.
///
/// Threads and processes that it starts inherit the mask.
pub(crate) fn block_only(signals: &[i32]) -> std::io::Result<()> {
    change_mask(libc::SIG_SETMASK, &mask_of(signals)).map(|_| ())
}

fn change_mask(how: i32, set: &libc::sigset_t) -> std::io::Result<libc::sigset_t> {
    let mut former = mask_of(&[]);
    // SAFETY: both sets outlive the call.
    match unsafe { libc::pthread_sigmask(how, std::ptr::from_ref(set), &raw mut former) } {
        0 => Ok(former),
        error => Err(std::io::Error::from_raw_os_error(error)),
    }
}

/// Returns a non-blocking file descriptor from which blocked `signals` are read.
pub(crate) fn descriptor(signals: &[i32]) -> Result<OwnedFd> {
    let set = mask_of(signals);
    // SAFETY: `set` outlives the call.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error()).trying(|| "create a signal file descriptor".into());
    }
    // SAFETY: the kernel has just given us this file descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns the next pending signal of `descriptor`, if any.
pub(crate) fn next(descriptor: &impl AsFd) -> Option<i32> {
    let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(descriptor, &mut info).ok()?;
    // `ssi_signo` is the first field.
    (length == info.len()).then(|| i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
}

/// Waits up to `timeout` until a file descriptor is readable or closed; returns which ones are.
pub(crate) fn wait_readable<const N: usize>(
    descriptors: [&dyn AsRawFd; N],
    timeout: Option<std::time::Duration>,
) -> Result<[bool; N]> {
    let mut polled =
        descriptors.map(|fd| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    let milliseconds =
        timeout.map_or(-1, |timeout| i32::try_from(timeout.as_millis() + 1).unwrap_or(i32::MAX));
    // SAFETY: `polled` is an array of N entries that outlives the call.
    let count = unsafe { libc::poll(polled.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
    if count < 0 {
        let error = std::io::Error::last_os_error();
        if error.kind() != std::io::ErrorKind::Interrupted {
            return Err(error).trying(|| "poll file descriptors".into());
        }
        return Ok([false; N]);
    }
    Ok(polled.map(|entry| entry.revents != 0))
}

/// Signal handling of the main process during a run.
///
/// Terminal signals are ignored, and the others are pending in [`Quiet::descriptor`]. Dropping this
/// restores the former dispositions and mask.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// File descriptor from which SIGTERM and SIGHUP are read.
    pub(crate) descriptor: OwnedFd,
    /// Those of all these signals that were ignored before. COMMAND ignores them too, as under
    /// nohup(1).
    pub(crate) ignored_before: Vec<i32>,
    former_mask: libc::sigset_t,
}

impl Quiet {
    pub(crate) fn begin() -> Result<Self> {
        let all = OF_THE_TERMINAL.into_iter().chain(PASSED_ON);
        let ignored_before: Vec<i32> = all.filter(|signal| is_ignored(*signal)).collect();
        let descriptor = descriptor(&PASSED_ON)?;
        let what = || "change the signal mask".to_owned();
        let former_mask = change_mask(libc::SIG_BLOCK, &mask_of(&PASSED_ON)).trying(what)?;
        for signal in OF_THE_TERMINAL {
            set(signal, Disposition::Ignore).trying(|| format!("ignore signal {signal}"))?;
        }
        Ok(Self { descriptor, ignored_before, former_mask })
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        for signal in OF_THE_TERMINAL.into_iter().filter(|signal| !self.ignored_before.contains(signal)) {
            let _ = set(signal, Disposition::Default);
        }
        let _ = change_mask(libc::SIG_SETMASK, &self.former_mask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[test]
    fn what_can_be_read_is_told_apart() {
        let (ours, theirs) = UnixStream::pair().expect("a pair");
        let (silent, _other) = UnixStream::pair().expect("a pair");
        let ready = |time| wait_readable([&silent, &theirs], time).expect("polled");
        assert_eq!(ready(Some(Duration::ZERO)), [false, false]);
        std::io::Write::write_all(&mut &ours, b"x").expect("written");
        assert_eq!(ready(None), [false, true]);
        std::io::Read::read_exact(&mut &theirs, &mut [0]).expect("read");
        drop(ours);
        assert_eq!(ready(None), [false, true], "the end can be read, too");
    }

    /// A blocked signal waits in the descriptor, and only the named ones are blocked.
    #[test]
    fn blocked_signals_are_read_one_by_one() {
        // The mask and the signals are those of this thread alone.
        std::thread::spawn(|| {
            block_only(&[libc::SIGUSR1, libc::SIGUSR2]).expect("blocked");
            let descriptor = descriptor(&[libc::SIGUSR1]).expect("a descriptor");
            assert_eq!(next(&descriptor), None);
            for signal in [libc::SIGUSR2, libc::SIGUSR1, libc::SIGUSR1] {
                // SAFETY: the thread is this one, and the signals are blocked.
                assert_eq!(unsafe { libc::pthread_kill(libc::pthread_self(), signal) }, 0);
            }
            assert_eq!(wait_readable([&descriptor], None).expect("polled"), [true]);
            assert_eq!((next(&descriptor), next(&descriptor)), (Some(libc::SIGUSR1), None), "others wait");
        })
        .join()
        .expect("no panic");
    }
}
