//! A loopback interface that a test has to itself and may change. Needs root.
#![expect(unsafe_code, reason = "namespaces and interfaces are changed by no safe library of ours")]

use rustix::fd::AsRawFd;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::net::{Ipv4Addr, UdpSocket};

/// Moves this thread into a network namespace of its own, whose loopback has this MTU in bytes.
pub(crate) fn of_this_thread(octets: i32) {
    // SAFETY: the table of file descriptors stays shared, and the thread is the test's own.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    carry(octets);
    set_up(true);
}

/// Sets the MTU of the loopback, in bytes.
pub(crate) fn carry(octets: i32) {
    change(libc::SIOCSIFMTU, |request| request.ifr_ifru.ifru_mtu = octets);
}

/// Sets the loopback up or down.
pub(crate) fn set_up(is_up: bool) {
    let flags = if is_up { libc::IFF_UP | libc::IFF_RUNNING } else { 0 };
    change(libc::SIOCSIFFLAGS, |request| request.ifr_ifru.ifru_flags = flags as i16);
}

fn change(what: libc::Ioctl, fill: impl FnOnce(&mut libc::ifreq)) {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("needs no interface");
    // SAFETY: every field is a number, or an array or union of numbers, for which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l', b'o'].map(u8::cast_signed));
    fill(&mut request);
    // SAFETY: the kernel reads a structure of this type, which outlives the call.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw const request) };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
}
