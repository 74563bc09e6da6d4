//! Signal dispositions and masks, which the standard library leaves alone.
//!
//! While COMMAND runs, Ctrl-C and Ctrl-\ are meant for it: the terminal sends them to the whole
//! foreground process group, and the other two processes of a run ignore them. SIGTERM and SIGHUP,
//! sent to one process, are read from a descriptor and passed on.

use crate::error::{Result, Trying};
use rustix::fd::{FromRawFd, OwnedFd};
use std::os::fd::{AsFd, AsRawFd};

/// From the terminal, to the whole group.
pub(crate) const OF_THE_TERMINAL: [i32; 2] = [libc::SIGINT, libc::SIGQUIT];
/// To this process, passed on to COMMAND.
pub(crate) const PASSED_ON: [i32; 2] = [libc::SIGTERM, libc::SIGHUP];

/// What happens when a signal comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Disposition {
    Default,
    Ignore,
}

/// Sets the disposition; safe between fork and exec.
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

/// Whether `signal` is ignored now.
pub(crate) fn is_ignored(signal: i32) -> bool {
    // SAFETY: `sigaction` is plain data for which all zeros is a value, and it outlives the call,
    // which only fills it.
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

/// Makes `signals` all that the calling thread, and threads and processes it starts, block; safe
/// between fork and exec.
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

/// A descriptor from which blocked `signals` are read, non-blocking.
pub(crate) fn descriptor(signals: &[i32]) -> Result<OwnedFd> {
    let set = mask_of(signals);
    // SAFETY: `set` outlives the call.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(std::io::Error::last_os_error()).trying(|| "make a signal descriptor".into());
    }
    // SAFETY: the kernel has just given us this descriptor, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The next signal that waits in `descriptor`, if any.
pub(crate) fn next(descriptor: &impl AsFd) -> Option<i32> {
    let mut info = [0_u8; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(descriptor, &mut info).ok()?;
    // `ssi_signo` is the first field.
    (length == info.len()).then(|| i32::from_ne_bytes([info[0], info[1], info[2], info[3]]))
}

/// Waits until one of the descriptors is readable (or closed), `timeout` at most; which are.
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
            return Err(error).trying(|| "poll".into());
        }
        return Ok([false; N]);
    }
    Ok(polled.map(|entry| entry.revents != 0))
}

/// The main process while a run lasts: terminal signals ignored, others waiting in
/// [`Quiet::descriptor`]. What was before comes back when this is dropped.
#[derive(Debug)]
pub(crate) struct Quiet {
    /// Where SIGTERM and SIGHUP wait.
    pub(crate) descriptor: OwnedFd,
    /// Which of all these were ignored before; COMMAND then ignores them too, as under nohup(1).
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
