//! Signals as a file descriptor that an event loop can wait for.

use rustix::fd::{AsFd, BorrowedFd};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;

/// A file descriptor that becomes readable when a signal arrives.
pub(crate) struct SignalPipe(UnixStream);

impl SignalPipe {
    /// Catches these signals; from now on they have no other effect.
    ///
    /// # Errors
    /// If there is no free file descriptor, or a signal cannot be caught.
    pub(crate) fn of(signals: &[i32]) -> io::Result<Self> {
        let (end, signalled) = UnixStream::pair()?;
        for &signal in signals {
            pipe::register(signal, signalled.try_clone()?)?;
        }
        end.set_nonblocking(true)?;
        Ok(Self(end))
    }

    /// Returns the file descriptor that becomes readable.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Returns whether a signal has arrived since the last call.
    ///
    /// # Errors
    /// Errors of the socket pair, none of which can be recovered from.
    pub(crate) fn has_come(&self) -> io::Result<bool> {
        match (&self.0).read(&mut [0; 16]) {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
