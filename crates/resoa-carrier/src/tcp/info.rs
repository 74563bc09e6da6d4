//! What the kernel reports about a connection (tcp(7)).
#![expect(unsafe_code, reason = "the structure and the request are in no safe library")]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Returns TCP_INFO; fields that the kernel does not know are 0.
pub(super) fn of(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has that many.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all fields are numbers, and were zero before the kernel wrote to them.
    Ok(unsafe { info.assume_init() })
}

/// Returns how many bytes the kernel has taken and the other side has not acknowledged; the FIN
/// counts as one (SIOCOUTQ).
pub(super) fn unacknowledged(stream: &TcpStream) -> u64 {
    let mut octets: libc::c_int = 0;
    // SAFETY: the kernel writes a number of this type.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut octets) };
    if result == 0 { octets.unsigned_abs().into() } else { 0 }
}
