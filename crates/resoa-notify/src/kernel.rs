//! The kernel's calls that have no safe wrapper: seccomp, the requests of its listener, another
//! process's memory.
#![expect(unsafe_code, reason = "seccomp and the memory of others are in no safe library")]

use crate::filter::guard_filter;
use libc::{seccomp_notif, seccomp_notif_addfd, seccomp_notif_resp, sock_filter, sock_fprog};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP` of `linux/seccomp.h` (Linux 6.6): who waits for the other
/// side is woken on the same processor.
const SYNC_WAKE_UP: u64 = 1;

/// Where notifications of filtered programs arrive.
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

/// Filters this thread, and what it starts from now on, for ever.
///
/// # Errors
/// EBUSY if it has a filter with a listener already; EINVAL before Linux 5.19.
pub(crate) fn filter_this_thread(filter: &[sock_filter]) -> io::Result<Listener> {
    // A signal that comes after the notifier has acted must not make the call start again: Go sends
    // itself signals all the time.
    let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    renounce_privileges()?;
    let listener = set_filter(filter, flags)?;
    // SAFETY: with this flag the result is a descriptor that nobody else has.
    Ok(Listener(unsafe { OwnedFd::from_raw_fd(listener as RawFd) }))
}

/// Guards this thread, and what it starts from now on, for ever: a socket of IP that the kernel is
/// asked for is ENETDOWN. Programs on the preload library ask the kernel for none, so that what is
/// not reached by the library (static programs, Go, `syscall(2)`) fails instead of going past the
/// agent.
///
/// Without CAP_SYS_ADMIN set-user-ID programs gain no rights from then on (`PR_SET_NO_NEW_PRIVS`).
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
    /// Asks for the wake-up that spares a notification most of its time; kernels before 6.6 do
    /// without.
    pub(crate) fn wake_synchronously(&self) {
        // SAFETY: the value is taken as a number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP) };
    }

    /// Waits for a call. `None`: nobody is left who could make one (from Linux 6.11 on; before that
    /// it waits for ever).
    pub(crate) fn receive(&self) -> io::Result<Option<seccomp_notif>> {
        loop {
            // SAFETY: it is of numbers alone, and the kernel demands zeroes.
            let mut notification: seccomp_notif = unsafe { std::mem::zeroed() };
            // SAFETY: the kernel writes one notification to it.
            let result = unsafe {
                libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut notification)
            };
            let Err(error) = checked(result.into()) else { return Ok(Some(notification)) };
            match error.raw_os_error() {
                // Either all have gone, or the one that called has, and others go on.
                Some(libc::ENOENT) if self.is_deserted() => return Ok(None),
                Some(libc::EINTR | libc::ENOENT) => {}
                _ => return Err(error),
            }
        }
    }

    /// Nobody who is filtered is left.
    fn is_deserted(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let mut descriptors = [PollFd::new(&self.0, PollFlags::empty())];
        poll(&mut descriptors, Some(&Timespec::default())).is_ok()
            && descriptors[0].revents().contains(PollFlags::HUP)
    }

    /// The caller still waits, so that what is known of it by its number is known of it.
    pub(crate) fn is_valid(&self, id: u64) -> bool {
        // SAFETY: the kernel reads one number.
        unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id) == 0 }
    }

    /// Lets the call return. ENOENT if the caller has gone.
    pub(crate) fn send(&self, mut answer: seccomp_notif_resp) -> io::Result<()> {
        // SAFETY: the kernel reads one answer.
        let result =
            unsafe { libc::ioctl(self.0.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer) };
        checked(result.into()).map(drop)
    }

    /// Moves `descriptor` to the caller, to the lowest number that is free there. The call goes on
    /// waiting, and is to return that number.
    ///
    /// The kernel could let it return at once (`SECCOMP_ADDFD_FLAG_SEND`). Our descriptor would
    /// then live on for a moment, in which the program may close its own: that would not be the
    /// last one, and what its `close` frees would not be free when it returns.
    pub(crate) fn give(&self, id: u64, descriptor: OwnedFd, cloexec: bool) -> io::Result<RawFd> {
        let flags = if cloexec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
        let number = self.add(id, descriptor.as_fd(), 0, 0, flags);
        drop(descriptor);
        number
    }

    /// Closes a descriptor of the caller's and puts a copy of another in its place. The call goes
    /// on waiting.
    pub(crate) fn replace(&self, id: u64, descriptor: BorrowedFd, number: RawFd) -> io::Result<()> {
        self.add(id, descriptor, libc::SECCOMP_ADDFD_FLAG_SETFD, number.cast_unsigned(), 0).map(drop)
    }

    /// The number that the caller has it by.
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

/// How many descriptors another process may have (RLIMIT_NOFILE).
pub(crate) fn most_descriptors(process: i32) -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes one limit, and reads none.
    let result = unsafe { libc::prlimit(process, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limit) };
    checked(result.into()).map(|_| limit.rlim_cur)
}

/// Reads the memory of another process, as far as it is there; how many octets.
pub(crate) fn read_memory(process: i32, address: usize, octets: &mut [u8]) -> usize {
    let local = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: octets.len() };
    // SAFETY: the kernel writes at most `iov_len` octets to `octets`, which has as many. What is
    // read is no memory of this process's.
    let read = unsafe { libc::process_vm_readv(process, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(read).unwrap_or(0)
}

/// Writes to the memory of another process, as far as it is there; how many octets.
pub(crate) fn write_memory(process: i32, address: usize, octets: &[u8]) -> usize {
    let local = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: octets.len() };
    // SAFETY: the kernel reads `octets`. What is written is no memory of this process's: of its own
    // calls at most `close` is notified, for which nothing is written.
    let written = unsafe { libc::process_vm_writev(process, &raw const local, 1, &raw const remote, 1, 0) };
    usize::try_from(written).unwrap_or(0)
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: it is initialised by the first call, and the others add valid numbers.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in signals {
            libc::sigaddset(set.as_mut_ptr(), signal.as_raw());
        }
        set.assume_init()
    }
}

/// Keeps signals from this thread and those that it starts; what was kept before.
pub(crate) fn block(signals: &[Signal]) -> io::Result<libc::sigset_t> {
    let mut before = set_of(&[]);
    // SAFETY: the kernel reads one set and writes another.
    let result = unsafe {
        libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::from_ref(&set_of(signals)), &raw mut before)
    };
    if result == 0 { Ok(before) } else { Err(io::Error::from_raw_os_error(result)) }
}

/// Starts the command with these signals kept and no others, and with this limit of descriptors.
pub(crate) fn restore_in(command: &mut Command, kept: libc::sigset_t, limit: Rlimit) {
    // SAFETY: between fork and exec it makes two system calls.
    unsafe {
        command.pre_exec(move || {
            libc::sigprocmask(libc::SIG_SETMASK, &raw const kept, std::ptr::null_mut());
            Ok(setrlimit(Resource::Nofile, limit)?)
        });
    }
}

/// Lets this process have as many descriptors as it may, since it holds three for each call that
/// waits; the limit before.
pub(crate) fn raise_descriptors() -> Rlimit {
    let before = getrlimit(Resource::Nofile);
    // To raise the soft limit to the hard one takes no privilege.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: before.maximum, ..before });
    before
}

/// Where signals arrive that are kept from all threads.
#[derive(Debug)]
pub(crate) struct SignalDescriptor(OwnedFd);

/// A signal that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Received {
    pub(crate) signal: Signal,
    /// The kernel sent it to the whole group, for what was typed at the terminal or for its end.
    pub(crate) of_the_terminal: bool,
}

impl AsFd for SignalDescriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl SignalDescriptor {
    pub(crate) fn of(signals: &[Signal]) -> io::Result<Self> {
        // SAFETY: the kernel reads a set and gives back a descriptor that nobody else has.
        let descriptor = unsafe {
            let flags = libc::SFD_CLOEXEC | libc::SFD_NONBLOCK;
            let descriptor = libc::signalfd(-1, std::ptr::from_ref(&set_of(signals)), flags);
            OwnedFd::from_raw_fd(checked(descriptor.into())? as RawFd)
        };
        Ok(Self(descriptor))
    }

    /// The next one, if there is one.
    pub(crate) fn next(&self) -> Option<Received> {
        let mut octets = [0; size_of::<libc::signalfd_siginfo>()];
        rustix::io::read(&self.0, &mut octets).ok()?;
        // SAFETY: it is of numbers alone, and the kernel has written one.
        let info: libc::signalfd_siginfo = unsafe { std::mem::transmute(octets) };
        let signal = Signal::from_named_raw(info.ssi_signo.cast_signed())?;
        Some(Received { signal, of_the_terminal: info.ssi_code == libc::SI_KERNEL })
    }
}

/// Ends this process by a signal, without a core of its own. Returns if it does not end it.
pub(crate) fn end_by(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: no memory is touched but the set and the limit, which are there.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set = set_of(&[]);
        libc::sigaddset(&raw mut set, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        libc::raise(signal);
    }
}
