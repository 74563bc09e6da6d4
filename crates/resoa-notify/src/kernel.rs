//! System calls without a safe wrapper: seccomp, the requests of its listener, and access to
//! another process's memory.
#![expect(unsafe_code, reason = "seccomp and the memory of others are in no safe library")]

use crate::filter::guard_filter;
use libc::{seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp, sock_filter, sock_fprog};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `linux/seccomp.h` (Linux 6.6): wakes the waiting side on
/// the same processor.
const SYNC_WAKE_UP: u64 = 1;

/// The descriptor at which notifications of filtered programs arrive.
#[derive(Debug)]
pub(crate) struct Listener(OwnedFd);

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn checked(result: libc::c_long) -> io::Result<libc::c_long> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Installs the filter for this thread and everything that it starts from now on, permanently.
///
/// # Errors
/// EBUSY if the thread already has a filter with a listener; EINVAL before Linux 5.19.
pub(crate) fn filter_this_thread(filter: &[sock_filter]) -> io::Result<Listener> {
    // A signal after the notifier has acted must not restart the call: Go sends itself signals all
    // the time.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    renounce_privileges()?;
    let listener = set_filter(filter, flags)?;
    // SAFETY: with this flag the result is a descriptor that nobody else has.
    Ok(Listener(unsafe { OwnedFd::from_raw_fd(listener as RawFd) }))
}

/// Guards this thread and everything that it starts from now on, permanently: `socket` for IP fails
/// with ENETDOWN in the kernel.
///
/// The preload library never asks the kernel for IP sockets. So code that the library does not
/// reach (static programs, Go, `syscall(2)`) fails instead of bypassing the agent.
///
/// Without CAP_SYS_ADMIN, set-user-ID programs no longer gain privileges (`PR_SET_NO_NEW_PRIVS`).
///
/// # Errors
/// If the kernel has no seccomp.
pub fn guard() -> io::Result<()> {
    let filter = guard_filter();
    match set_filter(&filter, 0) {
        Err(error) if error.raw_os_error() == Some(libc::EACCES) => {
            renounce_privileges()?;
            set_filter(&filter, 0).map(drop)
        }
        result => result.map(drop),
    }
}

fn renounce_privileges() -> io::Result<()> {
    // SAFETY: no memory is touched.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into()).map(drop)
}

fn set_filter(filter: &[sock_filter], flags: libc::c_ulong) -> io::Result<libc::c_long> {
    let program =
        sock_fprog { len: u16::try_from(filter.len()).expect("short"), filter: filter.as_ptr().cast_mut() };
    // SAFETY: the kernel copies `len` instructions, which are there.
    checked(unsafe {
        let mode = libc::SECCOMP_SET_MODE_FILTER;
        libc::syscall(libc::SYS_seccomp, mode, flags, std::ptr::from_ref(&program))
    })
}

impl Listener {
    /// Asks for the synchronous wake-up, which saves most of the time of a notification. Kernels
    /// before 6.6 ignore the request.
    pub(crate) fn wake_synchronously(&self) {
        // SAFETY: the value is taken as a number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    }

    /// Waits for a call. `None` if no filtered process is left. Before Linux 6.11 it waits forever
    /// then.
    pub(crate) fn receive(&self) -> io::Result<Option<seccomp_notif>> {
        loop {
            // SAFETY: it consists of numbers, and the kernel demands zeroes.
            let mut notification: seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel writes one notification to it.
            let result = unsafe {
                libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification)
            };
            let Err(error) = checked(result.into()) else { return Ok(Some(notification)) };
            match error.raw_os_error() {
                // Either all processes have ended, or only the caller, and others remain.
                Some(libc::ENOENT) if self.is_deserted() => return Ok(None),
                Some(libc::EINTR | libc::ENOENT) => {}
                _ => return Err(error),
            }
        }
    }

    /// Returns whether no filtered process is left.
    fn is_deserted(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut descriptors = [PollFd::new(&self.0, PollFlags::empty())];
        poll(&mut descriptors, Some(&Timespec::default())).is_ok()
            && descriptors[0].revents().contains(PollFlags::HUP)
    }

    /// Returns whether the caller still waits, so that data found by its thread number is really
    /// the caller's.
    pub(crate) fn is_valid(&self, id: u64) -> bool {
        // SAFETY: the kernel reads one number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
    }

    /// Lets the call return. ENOENT if the caller has ended.
    pub(crate) fn send(&self, mut answer: seccomp_notif_resp) -> io::Result<()> {
        // SAFETY: the kernel reads one answer.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        checked(result.into()).map(drop)
    }

    /// Moves `descriptor` to the lowest free number of the caller and returns that number. The call
    /// continues to wait, and should return the number.
    ///
    /// The kernel could make it return at once (`SECCOMP_ADDFD_FLAG_SEND`). Our copy would then
    /// exist for a moment longer. If the program closed its own copy meanwhile, that would not be
    /// the last `close`, and the resources would not be free when it returns.
    pub(crate) fn give(&self, id: u64, descriptor: OwnedFd, cloexec: bool) -> io::Result<RawFd> {
        let flags = if cloexec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
        let number = self.add(id, descriptor.as_fd(), 0, 0, flags);
        drop(descriptor);
        number
    }

    /// Closes a descriptor of the caller and puts a copy of another in its place. The call
    /// continues to wait.
    pub(crate) fn replace(&self, id: u64, descriptor: BorrowedFd, number: RawFd) -> io::Result<()> {
        self.add(id, descriptor, libc::SECCOMP_ADDFD_FLAG_SETFD, number.cast_unsigned(), 0).map(drop)
    }

    /// Adds a descriptor to the caller and returns its number there.
    fn add(
        &self,
        id: u64,
        descriptor: BorrowedFd,
        flags: libc::c_ulong,
        newfd: u32,
        newfd_flags: u32,
    ) -> io::Result<RawFd> {
        let srcfd = descriptor.as_raw_fd().cast_unsigned();
        let order = seccomp_notif_addfd { id, flags: flags as u32, srcfd, newfd, newfd_flags };
        // SAFETY: the kernel reads one order.
        let number =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const order) };
        checked(number.into()).map(|number| number as RawFd)
    }
}

/// Returns the maximum number of descriptors of another process (RLIMIT_NOFILE).
pub(crate) fn most_descriptors(process: i32) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one limit, and reads none.
    let result = unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limit) };
    checked(result.into()).map(|_| limit.rlim_cur)
}

/// Reads the memory of another process as far as it is mapped. Returns the number of bytes.
pub(crate) fn read_memory(process: i32, address: usize, octets: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: octets.len() };
    // SAFETY: the kernel writes at most `iov_len` bytes to `octets`, which has as many. The memory
    // that it reads is not this process's.
    let read = unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// Writes to the memory of another process as far as it is mapped. Returns the number of bytes.
pub(crate) fn write_memory(process: i32, address: usize, octets: &[u8]) -> usize {
    let local = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: octets.len() };
    // SAFETY: the kernel reads `octets`. The memory that it writes is not this process's: of its
    // own calls at most `close` is notified, for which nothing is written.
    let written = unsafe { libc::process_vm_writev(process, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(written).unwrap_or(0)
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the first call initialises it, and the others add valid numbers.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

/// Blocks signals in this thread and those that it starts. Returns the previous mask.
pub(crate) fn block(signals: &[Signal]) -> io::Result<libc::sigset_t> {
    let mut before = set_of(&[]);
    // SAFETY: the kernel reads one set and writes another.
    let result = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::from_ref(&set_of(signals)), &raw mut before)
    };
    if result == 0 { Ok(before) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// Starts the command with exactly these signals blocked, and with this limit of descriptors.
pub(crate) fn restore_in(command: &mut Command, kept: libc::sigset_t, limit: Rlimit) {
    // SAFETY: between fork and exec it makes two system calls.
    unsafe {
        command.pre_exec(move || {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const kept, std::ptr::null_mut());
            Ok(setrlimit(Resource::Nofile, limit)?)
        });
    }
}

/// Raises this process's limit of descriptors to the maximum, because it holds three for each
/// waiting call. Returns the limit before.
pub(crate) fn raise_descriptors() -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    // Raising the soft limit to the hard one needs no privilege.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
    before
}

/// A descriptor for signals that all threads block.
#[derive(Debug)]
pub(crate) struct SignalDescriptor(OwnedFd);

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) signal: Signal,
    /// Whether the kernel sent it to the whole process group, for a key or for the end of the
    /// terminal.
    pub(crate) of_the_terminal: bool,
}

impl AsFd for SignalDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl SignalDescriptor {
    pub(crate) fn of(signals: &[Signal]) -> io::Result<Self> {
        // SAFETY: the kernel reads a set and returns a descriptor that nobody else has.
        let descriptor = unsafe {
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let descriptor = libc::signalfd(-1, std::ptr::from_ref(&set_of(signals)), flags);
            OwnedFd::from_raw_fd(checked(descriptor.into())? as RawFd)
        };
        Ok(Self(descriptor))
    }

    /// Returns the next signal, if there is one.
    pub(crate) fn next(&self) -> Option<Received> {
        let mut octets = [0; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.0, &mut octets).ok()?;
        // SAFETY: it consists of numbers, and the kernel has written one.
        let info: libc::signalfd_siginfo = unsafe { std::mem::transmute(octets) };
        let signal = Signal::from_named_raw(info.ssi_signo.cast_signed())?;
        Some(Received { signal, of_the_terminal: info.ssi_code == libc::SI_KERNEL })
    }
}

/// Ends this process by a signal, without a core dump. Returns if the signal does not end it.
pub(crate) fn end_by(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: only the set and the limit are accessed, which are there.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set = set_of(&[]);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
