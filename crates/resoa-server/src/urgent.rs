//! Distance of the urgent byte from the next byte that the program reads. No call of Linux returns
//! it for a socket with SO_OOBINLINE. Without that option, FIONREAD counts the bytes in front of
//! the mark instead of all. So the option is switched off for this one question.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::ioctl_fionread;
use rustix::net::sockopt::set_socket_oobinline;

/// Returns the number of bytes between the next one that leaves the socket and the urgent one.
/// `None` unless the urgent byte and all before it have arrived.
pub(crate) fn distance(fd: impl AsFd) -> Option<u64> {
    let mut asked = [PollFd::new(&fd, PollFlags::PRI)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut asked, Some(&at_once)).ok()? == 0 {
        return None;
    }
    // Count all bytes first. If more arrive in between, a mark among those is found when they are
    // peeked at.
    let all = ioctl_fionread(&fd).ok()?;
    set_socket_oobinline(&fd, false).ok()?;
    let ahead = ioctl_fionread(&fd);
    set_socket_oobinline(&fd, true).ok()?;
    // As many as all means that something in front of the mark is missing.
    ahead.ok().filter(|&ahead| ahead < all)
}
