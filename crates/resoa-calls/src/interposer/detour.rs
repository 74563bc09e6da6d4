//! What becomes of a call that an interposer stopped.

use crate::descriptor::Kind;
use rustix::fd::OwnedFd;

/// What a call returns.
#[derive(Debug)]
pub enum Answer {
    /// This value.
    Value(usize),
    /// A new descriptor, for which the program gets a number.
    Descriptor {
        /// It has O_NONBLOCK if the program wants that.
        descriptor: OwnedFd,
        /// What it is.
        kind: Kind,
        /// FD_CLOEXEC.
        cloexec: bool,
    },
}

/// Why the kernel executes a call as the program made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// The call is on no socket of an agent's, or on none that the interposer may look at.
    Foreign,
    /// A socket of this family reaches only this host.
    Family,
    /// The option belongs to the descriptor alone.
    Option,
    /// The kernel answers this `ioctl` from the descriptor.
    Ioctl,
    /// The kernel moves data of a stream.
    Stream,
    /// `close` does not linger, or is over.
    Close,
}

/// Why a call has no [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It fails with this number.
    Errno(i32),
    /// The kernel executes it.
    Bypass(Bypass),
    /// The caller has ended, so nobody gets the answer.
    Gone,
}

impl From<i32> for Stop {
    fn from(error: i32) -> Self {
        Self::Errno(error)
    }
}

impl From<rustix::io::Errno> for Stop {
    fn from(error: rustix::io::Errno) -> Self {
        Self::Errno(error.raw_os_error())
    }
}

impl From<Bypass> for Stop {
    fn from(bypass: Bypass) -> Self {
        Self::Bypass(bypass)
    }
}

/// The way of a call: past the kernel to a value, or back to it.
pub type Detour<T = Answer> = Result<T, Stop>;
