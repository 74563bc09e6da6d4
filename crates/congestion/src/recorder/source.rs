//! The source of states.

use capture::senders::SenderState;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;

/// A source of sender states. Their times are nanoseconds of CLOCK_MONOTONIC.
pub(super) trait Source {
    /// Returns the source's name for the header.
    fn name(&self) -> &'static str;

    /// Blocks until it is time to collect, or until `stop` is readable; returns whether it is.
    fn wait(&mut self, stop: BorrowedFd<'_>) -> io::Result<bool>;

    /// Appends the states that have arrived, in order of time.
    fn collect(&mut self, states: &mut Vec<SenderState>) -> io::Result<()>;

    /// Stops the source and appends the remaining states. Returns how many states were lost in
    /// total.
    fn finish(&mut self, states: &mut Vec<SenderState>) -> io::Result<u64>;
}

/// Waits until `stop` or one of `others` is readable, or `at_most` has passed. Returns whether
/// `stop` is readable.
pub(super) fn wait(
    stop: BorrowedFd<'_>,
    others: &[BorrowedFd<'_>],
    at_most: Option<Timespec>,
) -> io::Result<bool> {
    let mut descriptors: Vec<_> =
        [&stop].into_iter().chain(others).map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
    match poll(&mut descriptors, at_most.as_ref()) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(descriptors[0].revents().contains(PollFlags::IN))
}
