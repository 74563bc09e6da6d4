//! What the kernel knows of a connection (tcp(7)).
#![expect(unsafe_code, reason = "the structure and the request are in no safe library")]

use std::io;
use std::mem::{MaybeUninit, size_of};
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// TCP_INFO; fields that it does not know are 0.
pub(super) fn of(stream: &TcpStream) -> io::Result<libc::tcp_info> {
    let mut info = MaybeUninit::<libc::tcp_info>::zeroed();
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `info`, which has as many.
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
    // SAFETY: it is made of numbers, and was all zero before the kernel wrote to it.
    Ok(unsafe { info.assume_init() })
}

/// Octets that were handed to the kernel and that the other side has not acknowledged, the end of
/// the stream being one (SIOCOUTQ).
pub(super) fn unacknowledged(stream: &TcpStream) -> u64 {
    let mut octets: libc::c_int = 0;
    // SAFETY: the kernel writes a number of this kind.
    let result = unsafe { libc::ioctl(stream.as_raw_fd(), libc::TIOCOUTQ, &raw mut octets) };
    if result == 0 { octets.unsigned_abs().into() } else { 0 }
}
