//! Where the urgent octet is: nothing but its distance from what the program reads next is wanted,
//! and no call of Linux says that of a socket which has SO_OOBINLINE. Without it FIONREAD counts
//! the octets in front of the mark instead of all, so the option is taken away for that one
//! question.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::ioctl_fionread;
use rustix::net::sockopt::set_socket_oobinline;

/// Octets between the next that leaves the socket and the urgent one, if that has arrived and so
/// has all before it.
pub(crate) fn distance(fd: impl AsFd) -> Option<u64> {
    let mut asked = [PollFd::new(&fd, PollFlags::PRI)];
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut asked, Some(&at_once)).ok()? == 0 {
        return None;
    }
    // All octets first: if more arrive in between, the mark among those is found when they are
    // peeked at.
    let all = ioctl_fionread(&fd).ok()?;
    set_socket_oobinline(&fd, false).ok()?;
    let ahead = ioctl_fionread(&fd);
    set_socket_oobinline(&fd, true).ok()?;
    // As many as all means that something before the mark is missing.
    ahead.ok().filter(|&ahead| ahead < all)
}
