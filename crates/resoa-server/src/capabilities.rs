//! What the kernel of this machine can do of what the server needs, tried out when it starts.

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::{io, net};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

/// What this kernel can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub struct Capabilities {
    /// `SO_PEEK_OFF` works on TCP of version 4 (Linux 6.9). Without it no sockets are made.
    pub peek_v4: bool,
    /// The same of version 6.
    pub peek_v6: bool,
    /// A far host's FIN is acknowledged when told, and not before (3.18 of the specification). An
    /// ordinary kernel cannot; with [`FinHold`](crate::FinHold) it can.
    pub fin_hold: bool,
    /// The kernel says which ports processes of the host have (CONFIG_INET_TCP_DIAG,
    /// CONFIG_INET_UDP_DIAG). Without it a client's sockets share no port with anything.
    pub host_ports: bool,
}

impl Capabilities {
    /// Tries them out, by a connection of the loopback interface to itself for each family.
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

/// Makes a socket start peeking at its beginning, and go on from where it was.
pub(crate) fn peek_from_start(fd: rustix::fd::BorrowedFd) -> std::io::Result<()> {
    crate::sys::set_option(fd, libc::SOL_SOCKET, libc::SO_PEEK_OFF, &0_i32.to_ne_bytes())
}

/// Whether a second peek shows what is behind the first, and still does when something in front was
/// thrown away.
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

    /// The degraded mode is said (8.3), and the rest of what this crate is tested with is there.
    #[test]
    fn this_kernel() {
        let expected = Capabilities { peek_v4: true, peek_v6: true, fin_hold: false, host_ports: false };
        assert_eq!(Capabilities::probe(), expected, "remote sockets need Linux 6.9 with IPv4 and IPv6");
    }
}
