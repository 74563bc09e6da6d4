//! The three system calls that no safe wrapper has in this generality: options by number, and the count of what is not acknowledged.
#![expect(
    unsafe_code,
    reason = "options by number, with octets that a remote program gave, are in no safe library"
)]

use rustix::fd::{AsRawFd, BorrowedFd};
use std::io;

/// Octets of the longest value of an option that is read.
const LONGEST: usize = 4096;

/// `getsockopt`, cut to `room` octets.
pub(crate) fn option(fd: BorrowedFd, level: i32, name: i32, room: usize) -> io::Result<Vec<u8>> {
    let mut value = vec![0; room.min(LONGEST)];
    let mut length = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` octets to `value`, which has as many, and the number of them to `length`.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut length) };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    value.truncate(length as usize);
    Ok(value)
}

/// `setsockopt`. Only for options whose value holds no pointer: the kernel would follow it in this process.
pub(crate) fn set_option(fd: BorrowedFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel reads at most as many octets from `value` as it has; that it follows none of them is the caller's promise, kept by `options`.
    let result = unsafe {
        libc::setsockopt(fd.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// SIOCOUTQ: sequence numbers that were handed to TCP and are not acknowledged; our own FIN is one.
pub(crate) fn unacknowledged(fd: BorrowedFd) -> io::Result<u32> {
    let mut count: libc::c_int = 0;
    // SAFETY: the kernel writes one `int` to `count`.
    let result = unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &raw mut count) };
    if result == 0 { Ok(count.cast_unsigned()) } else { Err(io::Error::last_os_error()) }
}
