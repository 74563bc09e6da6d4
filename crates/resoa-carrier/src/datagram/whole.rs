//! Datagrams that arrive whole or not at all.
#![expect(unsafe_code, reason = "the options are in no safe library")]

use std::io;
use std::mem::size_of;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// No host on the way, this one included, cuts datagrams of this socket into fragments; what it believes of the path does not matter.
pub(super) fn never_cut(socket: &UdpSocket) -> io::Result<()> {
    let (level, name, value) = if socket.local_addr()?.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)
    };
    // SAFETY: the value lives as long as the call, and has the length that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
