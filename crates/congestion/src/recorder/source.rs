//! Where states come from.

use capture::senders::SenderState;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::BorrowedFd;

/// A kernel that shows the states of senders. Times of states are those of CLOCK_MONOTONIC in
/// nanoseconds.
pub(super) trait Source {
    /// Its name in the header.
    fn name(&self) -> &'static str;

    /// Blocks until it is time to collect, or until `stop` can be read; whether it can.
    fn wait(&mut self, stop: BorrowedFd<'_>) -> io::Result<bool>;

    /// Appends the states that have come, in their order.
    fn collect(&mut self, states: &mut Vec<SenderState>) -> io::Result<()>;

    /// Ends the observation and appends what was left; how many states were lost in all.
    fn finish(&mut self, states: &mut Vec<SenderState>) -> io::Result<u64>;
}

/// Waits until one of `others` or `stop` can be read, or `at_most` is over; whether `stop` can.
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
