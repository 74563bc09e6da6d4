//! A kernel's errors as those of the protocol.

use resoa_protocol::Errno;
use std::io;

/// What a program gets to see. An error that the protocol has no number for is EPROTO: something
/// that no socket call of Linux says.
pub(crate) fn errno(error: &io::Error) -> Errno {
    error.raw_os_error().and_then(Errno::from_linux).unwrap_or(Errno::EPROTO)
}

/// The same, of rustix's.
pub(crate) fn of(error: rustix::io::Errno) -> Errno {
    Errno::from_linux(error.raw_os_error()).unwrap_or(Errno::EPROTO)
}
