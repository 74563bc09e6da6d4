//! Features of this machine's kernel that the server needs, probed at the start.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::{io, net};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// Features of this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub struct Capabilities {
    /// `SO_PEEK_OFF` works on TCP over IPv4 (Linux 6.9). Without it the server makes no such
    /// sockets.
    pub peek_v4: bool,
    /// `SO_PEEK_OFF` works on TCP over IPv6.
    pub peek_v6: bool,
    /// A far host's FIN is acknowledged on request and not before (3.18 of the specification). An
    /// ordinary kernel cannot do this; [`FinHold`](crate::FinHold) adds it.
    pub fin_hold: bool,
    /// The kernel lists the ports of the host's processes (CONFIG_INET_TCP_DIAG,
    /// CONFIG_INET_UDP_DIAG). Without it a client's socket shares its port with no other socket.
    pub host_ports: bool,
}

impl Capabilities {
    /// Probes `SO_PEEK_OFF` with one connection over the loopback interface per family. The other
    /// fields are false.
    #[must_use]
    pub fn probe() -> Self {
        Self {
            peek_v4: peeks((Ipv4Addr::LOCALHOST, 0).into()).unwrap_or(false),
            peek_v6: peeks((Ipv6Addr::LOCALHOST, 0).into()).unwrap_or(false),
            fin_hold: false,
            host_ports: false,
        }
    }
}

/// Makes a socket peek from the start of its data, and each further peek continue after the last.
pub(crate) fn peek_from_start(fd: rustix::fd::BorrowedFd) -> std::io::Result<()> {
    crate::sys::set_option(fd, libc::SOL_SOCKET, libc::SO_PEEK_OFF, &0_i32.to_ne_bytes())
}

/// Returns whether a second peek shows the bytes behind the first, even if bytes in front of them
/// were discarded in between.
fn peeks(address: SocketAddr) -> io::Result<bool> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = || net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let (listener, near) = (socket()?, socket()?);
    net::bind(&listener, &address)?;
    net::listen(&listener, 1)?;
    net::connect(&near, &net::getsockname(&listener)?)?;
    let far = net::accept_with(&listener, SocketFlags::CLOEXEC)?;
    if peek_from_start(rustix::fd::AsFd::as_fd(&near)).is_err() {
        return Ok(false);
    }
    net::send(&far, b"abcd", SendFlags::NOSIGNAL)?;
    let mut seen = Vec::new();
    let mut buffer = [0; 2];
    net::recv(&near, &mut buffer, RecvFlags::PEEK)?;
    seen.extend(buffer);
    net::recv(&near, &mut buffer[..1], RecvFlags::TRUNC)?;
    net::recv(&near, &mut buffer, RecvFlags::PEEK)?;
    seen.extend(buffer);
    Ok(seen == *b"abcd")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// This kernel has all that the tests of this crate need; the missing FIN hold is reported
    /// (8.3).
    #[test]
    fn this_kernel() {
        let expected = Capabilities { peek_v4: true, peek_v6: true, fin_hold: false, host_ports: false };
        assert_eq!(Capabilities::probe(), expected, "remote sockets need Linux 6.9 with IPv4 and IPv6");
    }
}
