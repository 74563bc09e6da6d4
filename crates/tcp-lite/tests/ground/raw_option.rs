//! Socket options by number, with any length, including wrong ones.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Sets an option to these bytes.
pub fn set(socket: impl AsFd, level: i32, name: i32, value: &[u8]) -> io::Result<()> {
    let descriptor = socket.as_fd().as_raw_fd();
    // SAFETY: the kernel only reads `value`, during the call.
    let status = unsafe {
        libc::setsockopt(descriptor, level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads an option into `value`, whose bytes the kernel may also read; returns how many it wrote.
pub fn get_into(socket: impl AsFd, level: i32, name: i32, value: &mut [u8]) -> io::Result<usize> {
    let descriptor = socket.as_fd().as_raw_fd();
    let mut len = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes of `value`, and `len` itself, during the call.
    let status =
        unsafe { libc::getsockopt(descriptor, level, name, value.as_mut_ptr().cast(), &raw mut len) };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}

/// Reads an option of at most `len` bytes.
pub fn get(socket: impl AsFd, level: i32, name: i32, len: usize) -> io::Result<Vec<u8>> {
    let mut value = vec![0; len];
    let written = get_into(socket, level, name, &mut value)?;
    value.truncate(written);
    Ok(value)
}

/// Returns the number of the error with which the kernel refused.
pub fn refusal<T>(result: io::Result<T>) -> i32 {
    let error = result.err().expect("it should have been refused");
    error.raw_os_error().expect("an error of the kernel")
}

/// Asserts that the socket has no option of TCP Lite.
pub fn has_no_lite(socket: impl AsFd) {
    for name in 0x4c54..=0x4c58 {
        assert_eq!(
            refusal(set(&socket, libc::IPPROTO_TCP, name, &[0; 4])),
            libc::ENOPROTOOPT,
            "set {name:#x}"
        );
        assert_eq!(refusal(get(&socket, libc::IPPROTO_TCP, name, 2000)), libc::ENOPROTOOPT, "get {name:#x}");
    }
}
