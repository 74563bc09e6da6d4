//! Conversion of the kernel's errors into those of the protocol.

use resoa_protocol::Errno;
use std::io;

/// Converts an error into the one that the program sees. An error without a number in the protocol
/// becomes EPROTO, which no socket call of Linux returns.
pub(crate) fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::from_linux).unwrap_or(Errno::EPROTO)
}

/// The same for errors of rustix.
pub(crate) fn of(error: rustix::io::Errno) -> Errno {
    Errno::from_linux(error.raw_os_error()).unwrap_or(Errno::EPROTO)
}
