//! The socket options for Rust programs: `include/tcp_lite.h` without C. `tcp_lite(7)` documents
//! their meaning.
//!
//! ```no_run
//! use tcp_lite::option;
//! # fn main() -> std::io::Result<()> {
//! let stream = std::net::TcpStream::connect("198.51.100.1:8000")?;
//! // … the header has been read …
//! option::switch(&stream, true)?;
//! // … and what follows may be damaged:
//! println!("{} damaged segments accepted", option::stats(&stream)?.accepted);
//! # Ok(())
//! # }
//! ```
//!
//! Every function fails with `ENOPROTOOPT` if the program is not in a control group that TCP Lite
//! is attached to, and with `EINVAL` if the attached version has other structures.

use crate::totals::REASONS;
use crate::{Policy, Totals};
use std::io;
use std::mem::size_of;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

const TCP_LITE: libc::c_int = 0x4c54;
const TCP_LITE_WINDOW: libc::c_int = 0x4c55;
const TCP_LITE_STATS: libc::c_int = 0x4c56;
const TCP_LITE_RANGES: libc::c_int = 0x4c57;
const TCP_LITE_POLICY: libc::c_int = 0x4c58;

/// Number of ranges kept per connection.
const RANGES: usize = 63;

/// Parts of a stream that arrived in damaged segments.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Ranges {
    /// Ranges of bytes of the stream, in order of arrival.
    pub ranges: Vec<Range<u64>>,
    /// Whether older ranges were dropped.
    pub overflow: bool,
}

/// Starts or stops accepting damaged segments.
///
/// # Errors
/// See the [module](self).
pub fn switch(socket: impl AsFd, on: bool) -> io::Result<()> {
    set(socket, TCP_LITE, &i32::from(on).to_ne_bytes())
}

/// Returns whether damaged segments are accepted now.
///
/// # Errors
/// See the [module](self).
pub fn is_on(socket: impl AsFd) -> io::Result<bool> {
    Ok(number(socket, TCP_LITE)? != 0)
}

/// Sets how much risk is taken.
///
/// # Errors
/// See the [module](self).
pub fn set_policy(socket: impl AsFd, policy: Policy) -> io::Result<()> {
    set(socket, TCP_LITE_POLICY, &i32::from(policy as u8).to_ne_bytes())
}

/// Returns how much risk is taken.
///
/// # Errors
/// See the [module](self).
pub fn policy(socket: impl AsFd) -> io::Result<Policy> {
    let number = number(socket, TCP_LITE_POLICY)?;
    let known = u8::try_from(number).ok().and_then(Policy::from_number);
    known.ok_or_else(|| io::Error::other(format!("the kernel reports unknown policy {number}")))
}

/// Accepts damage only in these bytes of the stream, counted from the first one received. An empty
/// range means the whole stream.
///
/// # Errors
/// See the [module](self).
pub fn set_window(socket: impl AsFd, bytes: Range<u64>) -> io::Result<()> {
    let mut words = [0; 16];
    words[..8].copy_from_slice(&bytes.start.to_ne_bytes());
    words[8..].copy_from_slice(&bytes.end.saturating_sub(bytes.start).to_ne_bytes());
    set(socket, TCP_LITE_WINDOW, &words)
}

/// Returns the counters of this connection's damaged segments.
///
/// # Errors
/// See the [module](self).
pub fn stats(socket: impl AsFd) -> io::Result<Totals> {
    const WORDS: usize = 7 + REASONS;
    let mut bytes = [0; WORDS * size_of::<u64>()];
    let read = get(socket, TCP_LITE_STATS, &mut bytes)?;
    if read != bytes.len() {
        return Err(unexpected(TCP_LITE_STATS, read));
    }
    let mut words = bytes.chunks_exact(8).map(word);
    let mut next = || words.next().unwrap_or_default();
    let mut totals = Totals {
        damaged: next(),
        accepted: next(),
        confirmed: next(),
        guessed: next(),
        out_of_order: next(),
        approximate: next(),
        bytes: next(),
        ..Totals::default()
    };
    totals.discarded.fill_with(next);
    Ok(totals)
}

/// Returns where the data of accepted but unconfirmed segments lie: the newest 63 segments.
///
/// # Errors
/// See the [module](self).
pub fn ranges(socket: impl AsFd) -> io::Result<Ranges> {
    let mut bytes = [0; 8 + RANGES * 16];
    let read = get(socket, TCP_LITE_RANGES, &mut bytes)?;
    if read != bytes.len() {
        return Err(unexpected(TCP_LITE_RANGES, read));
    }
    let count = u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
    let ranges = bytes[8..].chunks_exact(16).take(count).map(|range| word(&range[..8])..word(&range[8..]));
    Ok(Ranges { ranges: ranges.collect(), overflow: bytes[4..8] != [0; 4] })
}

fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_ne_bytes(word)
}

fn unexpected(name: libc::c_int, read: usize) -> io::Error {
    io::Error::other(format!(
        "socket option {name:#x} has {read} bytes: another version of TCP Lite is attached"
    ))
}

fn number(socket: impl AsFd, name: libc::c_int) -> io::Result<i32> {
    let mut bytes = [0; 4];
    match get(socket, name, &mut bytes)? {
        4 => Ok(i32::from_ne_bytes(bytes)),
        read => Err(unexpected(name, read)),
    }
}

fn set(socket: impl AsFd, name: libc::c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the kernel only reads `value`, during the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn get(socket: impl AsFd, name: libc::c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut len = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `len` bytes of `value`, and `len` itself, during the call.
    let status = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            name,
            value.as_mut_ptr().cast(),
            &raw mut len,
        )
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(len as usize) }
}
