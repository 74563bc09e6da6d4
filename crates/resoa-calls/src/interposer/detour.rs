//! Outcomes of a call that an interposer stopped.

use crate::descriptor::DescriptorType;
use rustix::fd::OwnedFd;

/// The result of a successful call.
#[derive(Debug)]
pub enum Answer {
    /// This value.
    Value(usize),
    /// A new descriptor, which gets a number in the program.
    Descriptor {
        /// The descriptor. It has O_NONBLOCK if the program wants that.
        descriptor: OwnedFd,
        /// The kind of socket.
        kind: DescriptorType,
        /// Whether it gets FD_CLOEXEC.
        cloexec: bool,
    },
}

/// Reasons why the kernel executes a call as the program made it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bypass {
    /// The descriptor is not an agent's socket, or the interposer may not access it.
    Foreign,
    /// A socket of this family reaches only this host.
    Family,
    /// The option belongs to the descriptor alone.
    Option,
    /// The kernel answers this `ioctl` from the descriptor.
    Ioctl,
    /// The kernel moves data of a stream.
    Stream,
    /// `close` does not linger, or has finished lingering.
    Close,
}

/// Reasons why a call has no [`Answer`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The call fails with this error.
    Errno(i32),
    /// The kernel executes the call.
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

/// Result of a call: its value, or the reason why there is none.
pub type Detour<T = Answer> = Result<T, Stop>;
