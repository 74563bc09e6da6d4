//! Loopback of a test's own, to do with it what nobody else would like. Needs root.
#![expect(unsafe_code, reason = "namespaces and interfaces are changed by no safe library of ours")]

use rustix::fd::AsRawFd;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::net::{Ipv4Addr, UdpSocket};

/// Puts this thread into a namespace of its own, whose loopback carries so many octets of IP at
/// once.
pub(crate) fn of_this_thread(octets: i32) {
    // SAFETY: the descriptor table stays shared; the thread is the test's own.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.expect("a namespace");
    carry(octets);
    set_up(true);
}

/// It carries so many octets at once from now on.
pub(crate) fn carry(octets: i32) {
    change(libc::SIOCSIFMTU, |request| request.ifr_ifru.ifru_mtu = octets);
}

/// Whether it carries anything.
pub(crate) fn set_up(is_up: bool) {
    let flags = if is_up { libc::IFF_UP | libc::IFF_RUNNING } else { 0 };
    change(libc::SIOCSIFFLAGS, |request| request.ifr_ifru.ifru_flags = flags as i16);
}

fn change(what: libc::Ioctl, fill: impl FnOnce(&mut libc::ifreq)) {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).expect("needs no interface");
    // SAFETY: it is made of numbers; 0 is one of each.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[..2].copy_from_slice(&[b'l', b'o'].map(u8::cast_signed));
    fill(&mut request);
    // SAFETY: the kernel reads a structure of this kind, which lives as long as the call.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), what, &raw const request) };
    assert_eq!(outcome, 0, "{}", std::io::Error::last_os_error());
}
