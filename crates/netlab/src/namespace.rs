//! Network namespaces without names, held by a descriptor.
//!
//! A namespace lives as long as a process is in it or a descriptor of it is open. Ours are never mounted anywhere, so one
//! that nobody holds is gone, even after `kill -9`.

use crate::errors::{Attempt, NetlabError};
use rustix::fs::{Mode, OFlags, fstat, open};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::thread;

/// A network namespace.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

impl Namespace {
    /// The one this thread is in.
    pub fn current() -> Result<Self, NetlabError> {
        let path = "/proc/thread-self/ns/net";
        let fd =
            open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).attempt(format!("open {path}"))?;
        Ok(Self { fd })
    }

    /// A new one, with nothing in it but a loopback device that is down.
    pub fn new() -> Result<Self, NetlabError> {
        on_a_thread(|| {
            // SAFETY: only the network namespace of this thread changes. The thread does nothing else and ends here, and no
            // descriptor table or memory is unshared.
            unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.attempt("make a network namespace").map_err(
                |error| error.or_else_do("this needs root (CAP_SYS_ADMIN), or a user namespace of your own"),
            )?;
            Self::current()
        })
    }

    /// Does something in this namespace, on a thread of its own: the caller's thread stays where it is.
    pub fn enter<T: Send>(
        &self,
        work: impl FnOnce() -> Result<T, NetlabError> + Send,
    ) -> Result<T, NetlabError> {
        on_a_thread(|| {
            move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
                .attempt("enter a network namespace")?;
            work()
        })
    }

    /// Number of the namespace: the same for all descriptors of one namespace, and for no other that lives.
    pub fn inode(&self) -> Result<u64, NetlabError> {
        Ok(fstat(&self.fd).attempt("look at a network namespace")?.st_ino)
    }

    /// Another descriptor of the same namespace.
    pub fn try_clone(&self) -> Result<Self, NetlabError> {
        Ok(Self { fd: self.fd.try_clone().attempt("duplicate a descriptor")? })
    }
}

impl From<OwnedFd> for Namespace {
    /// The namespace that a descriptor is of, such as one inherited from another process.
    fn from(fd: OwnedFd) -> Self {
        Self { fd }
    }
}

impl AsFd for Namespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn on_a_thread<T: Send>(work: impl FnOnce() -> Result<T, NetlabError> + Send) -> Result<T, NetlabError> {
    thread::scope(|scope| match thread::Builder::new().name("namespace".into()).spawn_scoped(scope, work) {
        Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
        Err(error) => Err(error).attempt("start a thread"),
    })
}
