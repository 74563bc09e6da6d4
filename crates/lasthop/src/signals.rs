//! Signals as something that a loop can wait for.

use rustix::fd::{AsFd, BorrowedFd};
use signal_hook::low_level::pipe;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;

/// A descriptor that becomes readable by a signal.
pub(crate) struct SignalPipe(UnixStream);

impl SignalPipe {
    /// From now on these signals do nothing else.
    ///
    /// # Errors
    /// If there is no descriptor left, or a signal cannot be caught.
    pub(crate) fn of(signals: &[i32]) -> io::Result<Self> {
        let (end, signalled) = UnixStream::pair()?;
        for &signal in signals {
            pipe::register(signal, signalled.try_clone()?)?;
        }
        end.set_nonblocking(true)?;
        Ok(Self(end))
    }

    /// What becomes readable.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Whether a signal has come since this was last asked.
    ///
    /// # Errors
    /// None that could be helped; the socket pair's.
    pub(crate) fn has_come(&self) -> io::Result<bool> {
        match (&self.0).read(&mut [0; 16]) {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
