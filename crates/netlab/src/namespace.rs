//! Anonymous network namespaces, held by a file descriptor.
//!
//! Nothing is bound into `/run/netns`: a namespace vanishes with the last file descriptor, process
//! or device that holds it, however these ended. The caller's thread never changes its namespace;
//! work inside a namespace runs on a separate thread.

use crate::error::{Error, Result, Trying};
use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A network namespace; see the [module](self).
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// Creates a namespace that contains only a loopback device, which is down.
    pub fn new() -> Result<Self> {
        on_own_thread(|| {
            // SAFETY: CLONE_NEWNET leaves the file descriptor table shared; only this short-lived
            // thread changes its namespace.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }.map_err(explain)?;
            Self::current()
        })
    }

    /// Returns the namespace of the calling thread.
    pub fn current() -> Result<Self> {
        Self::at("/proc/thread-self/ns/net")
    }

    /// Opens the namespace at a path such as `/proc/PID/ns/net` or `/run/netns/NAME`.
    pub fn at(path: &str) -> Result<Self> {
        let fd = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .trying(|| format!("open {path}"))?;
        Ok(Self { fd })
    }

    /// Wraps the file descriptor of a namespace.
    #[must_use]
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Returns the file descriptor that keeps the namespace alive.
    #[must_use]
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns a second handle to the same namespace.
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            fd: self
                .fd
                .try_clone()
                .trying(|| "duplicate the file descriptor of a network namespace".into())?,
        })
    }

    /// Runs `work` in this namespace on a thread of its own; a panic propagates to the caller.
    pub fn enter<T: Send>(&self, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        on_own_thread(|| {
            self.enter_this_thread()?;
            work()
        })
    }

    /// Moves the calling thread into this namespace, permanently.
    ///
    /// Without CAP_SYS_ADMIN the kernel refuses even the namespace that the thread is already in.
    /// This is no error: the thread stays there.
    pub(crate) fn enter_this_thread(&self) -> Result<()> {
        match rustix::thread::move_into_link_name_space(self.fd(), Some(LinkNameSpaceType::Network)) {
            Err(rustix::io::Errno::PERM) if self.is_where_this_thread_is() => Ok(()),
            Err(error @ rustix::io::Errno::PERM) => Err(Error::missing(
                format!("cannot enter a network namespace: {}", std::io::Error::from(error)),
                "run as root, or with CAP_SYS_ADMIN",
            )),
            other => other.trying(|| "enter a network namespace".into()),
        }
    }

    fn is_where_this_thread_is(&self) -> bool {
        let same = |here: rustix::fs::Stat, this: rustix::fs::Stat| {
            (here.st_dev, here.st_ino) == (this.st_dev, this.st_ino)
        };
        rustix::fs::stat("/proc/thread-self/ns/net")
            .is_ok_and(|here| rustix::fs::fstat(&self.fd).is_ok_and(|this| same(here, this)))
    }

    /// Returns a path by which this process reaches the namespace.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.fd.as_raw_fd())
    }

    /// Returns the inode number: equal for all handles to one namespace, and reused after it is
    /// gone.
    pub fn inode(&self) -> Result<u64> {
        Ok(rustix::fs::fstat(&self.fd).trying(|| "stat a network namespace".into())?.st_ino)
    }

    /// Returns the kernel's cookie, which is unique until the next boot, unlike the inode number
    /// (Linux 5.14).
    pub fn cookie(&self) -> Result<u64> {
        self.enter(|| {
            let socket =
                rustix::net::socket(rustix::net::AddressFamily::UNIX, rustix::net::SocketType::DGRAM, None)
                    .trying(|| "open a socket".into())?;
            netns_cookie(socket.as_fd())
        })
    }
}

/// Turns an error of creating a namespace into one that says what to do.
fn explain(errno: rustix::io::Errno) -> Error {
    let what = format!("cannot create a network namespace: {}", std::io::Error::from(errno));
    match errno {
        rustix::io::Errno::NOSPC => Error::missing(what, "as root: sysctl -w user.max_net_namespaces=10000"),
        rustix::io::Errno::PERM => Error::missing(what, "run as root, or in a user namespace of your own"),
        _ => Error::System { what: "create a network namespace".into(), source: errno.into() },
    }
}

/// Returns `SO_NETNS_COOKIE` of a socket.
fn netns_cookie(socket: BorrowedFd<'_>) -> Result<u64> {
    let mut cookie = 0_u64;
    let mut length = libc::socklen_t::try_from(size_of::<u64>()).expect("eight");
    // SAFETY: `cookie` and `length` outlive the call, and `length` is the size of `cookie`.
    let status = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if status == 0 {
        Ok(cookie)
    } else {
        Err(std::io::Error::last_os_error()).trying(|| "read SO_NETNS_COOKIE".into())
    }
}

/// Value from `asm-generic/socket.h`; the libc crate lacks it for some targets.
const SO_NETNS_COOKIE: libc::c_int = 71;

/// Runs `work` on a thread that ends with it.
pub(crate) fn on_own_thread<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| scope.spawn(work).join())
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::thread::CapabilitySet;

    /// Without the right to enter other namespaces, work in the own one succeeds, and the error for
    /// another one says what is needed.
    #[test]
    fn without_rights() {
        if !rustix::process::geteuid().is_root() {
            skip::skip!("only root makes a namespace to enter");
            return;
        }
        let other = Namespace::new().expect("a namespace");
        on_own_thread(|| {
            let mut sets = rustix::thread::capabilities(None).expect("capabilities");
            sets.effective.remove(CapabilitySet::SYS_ADMIN);
            rustix::thread::set_capabilities(None, sets).expect("fewer");
            let own = Namespace::current()?;
            assert_eq!(own.enter(|| Ok(7)).expect("it is here already"), 7);
            own.cookie().expect("its cookie");
            crate::interface::list(&own).expect("its interfaces");
            let error = other.enter(|| Ok(())).expect_err("not allowed").to_string();
            let expected = "cannot enter a network namespace: Operation not permitted (os error 1); run as root, or with CAP_SYS_ADMIN";
            assert_eq!(error, expected);
            Ok(())
        })
        .expect("a thread");
    }
}
