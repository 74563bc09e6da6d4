//! System calls without a safe wrapper: a send buffer beyond the limit for ordinary users, and the
//! memory queued in one.
#![expect(unsafe_code, reason = "SO_SNDBUFFORCE and SIOCOUTQ are in no safe library")]

use rustix::fd::{AsFd, AsRawFd};
use std::io;

/// Sets SO_SNDBUF, beyond `net.core.wmem_max` if this process may.
pub(crate) fn set_send_buffer(fd: impl AsFd, octets: i32) {
    let raw = fd.as_fd().as_raw_fd();
    for name in [libc::SO_SNDBUFFORCE, libc::SO_SNDBUF] {
        let length = size_of::<i32>() as libc::socklen_t;
        // SAFETY: the kernel reads one `int` from `octets`, which lives here.
        let result =
            unsafe { libc::setsockopt(raw, libc::SOL_SOCKET, name, (&raw const octets).cast(), length) };
        if result == 0 {
            return;
        }
    }
}

/// Returns SIOCOUTQ of AF_UNIX: the memory, in bytes, of the packets that the other end has not
/// read completely.
pub(crate) fn outstanding(fd: impl AsFd) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one `int` to `count`.
    let result = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if result == 0 { Ok(count.cast_unsigned() as usize) } else { Err(io::Error::last_os_error()) }
}
