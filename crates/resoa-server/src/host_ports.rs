//! Processes of this host that have a port, according to the kernel (`sock_diag(7)`). A netlink
//! socket that is opened before the server is confined sends the requests.
//!
//! The kernel lets two sockets share a port by SO_REUSEADDR (datagrams of any users) or
//! SO_REUSEPORT (one user's). Daemons that share ports so trust the programs of their host. A
//! client is no such program, so the host's ports count as taken for it. No library is used: only
//! one request and one answer of the protocol are needed, both of fixed layout
//! (`linux/inet_diag.h`).

use crate::sys;
use resoa_protocol::message::RsockType;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// From `linux/sock_diag.h` and `linux/inet_diag.h`.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const INET_DIAG_SKV6ONLY: u16 = 11;
/// States of TCP (`net/tcp_states.h`): listeners, and sockets that are bound but neither connected
/// nor listening (Linux 6.8).
const TCP_LISTENERS_AND_BOUND: u32 = 1 << 10 | 1 << 13;
/// States of datagram sockets: all of them, connected or not.
const ANY_STATE: u32 = u32::MAX;
/// Lengths in bytes of a netlink header, of a request, and of an answer without its attributes.
const HEADER: usize = 16;
const REQUEST: usize = 56;
const ANSWER: usize = 72;

/// Address that a socket is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bound {
    /// The address; an IPv4-mapped one is converted to IPv4.
    pub(crate) address: IpAddr,
    /// An IPv6 socket that does not receive IPv4 (IPV6_V6ONLY).
    pub(crate) only_v6: bool,
}

/// Socket of this host that is bound to a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder {
    /// The kernel's identifier of the socket (SO_COOKIE).
    pub(crate) cookie: u64,
    pub(crate) bound: Bound,
}

/// Netlink socket for these requests; see the [module](self).
#[derive(Debug)]
pub(crate) struct HostPorts {
    netlink: OwnedFd,
    sequence: u32,
}

impl Bound {
    /// Whether data sent to one address could reach a socket at the other, if neither shares its
    /// port.
    pub(crate) fn overlaps(self, other: Bound) -> bool {
        match (self.address, other.address) {
            (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => {
                self.address == other.address
                    || self.address.is_unspecified()
                    || other.address.is_unspecified()
            }
            (IpAddr::V4(_), IpAddr::V6(six)) => six.is_unspecified() && !other.only_v6,
            (IpAddr::V6(six), IpAddr::V4(_)) => six.is_unspecified() && !self.only_v6,
        }
    }
}

impl HostPorts {
    /// Opens the netlink socket for the network namespace of this thread.
    ///
    /// # Errors
    /// If the kernel lacks it, or this process lacks the permission.
    pub(crate) fn open() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let netlink =
            net::socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, Some(netlink::SOCK_DIAG))?;
        Ok(Self { netlink, sequence: 0 })
    }

    /// Returns whether the kernel answers for TCP and UDP (CONFIG_INET_TCP_DIAG,
    /// CONFIG_INET_UDP_DIAG).
    pub(crate) fn answer(&mut self) -> bool {
        // Port 1 is usually unused, so the answer is short.
        [RsockType::Stream, RsockType::Datagram].into_iter().all(|kind| self.holders(kind, 1).is_ok())
    }

    /// Returns the sockets of both families that have this port. Of TCP, these are the listeners
    /// and the sockets that may still become one. Sockets that no process has open any more are
    /// left out.
    ///
    /// # Errors
    /// If the kernel does not answer.
    pub(crate) fn holders(&mut self, kind: RsockType, port: u16) -> io::Result<Vec<Holder>> {
        let mut holders = Vec::new();
        for family in [libc::AF_INET, libc::AF_INET6] {
            self.ask(family as u8, kind, port)?;
            while !self.hear(port, &mut holders)? {}
        }
        Ok(holders)
    }

    fn ask(&mut self, family: u8, kind: RsockType, port: u16) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let (protocol, states) = match kind {
            RsockType::Stream => (libc::IPPROTO_TCP, TCP_LISTENERS_AND_BOUND),
            RsockType::Datagram => (libc::IPPROTO_UDP, ANY_STATE),
            RsockType::Lite => (libc::IPPROTO_UDPLITE, ANY_STATE),
        };
        let mut request = Vec::with_capacity(HEADER + REQUEST);
        request.extend(((HEADER + REQUEST) as u32).to_ne_bytes());
        request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
        request.extend(((libc::NLM_F_REQUEST | libc::NLM_F_DUMP) as u16).to_ne_bytes());
        request.extend(self.sequence.to_ne_bytes());
        request.extend([0; 4]);
        // `struct inet_diag_req_v2`; fields that are zero match every socket.
        request.extend([family, protocol as u8, 0, 0]);
        request.extend(states.to_ne_bytes());
        request.extend(port.to_be_bytes());
        request.resize(HEADER + REQUEST, 0);
        net::send(&self.netlink, &request, SendFlags::empty())?;
        Ok(())
    }

    /// Reads the available part of the answer. Returns whether it was the last. The kernel has
    /// written the first part before `send` returns, and writes more as it is read.
    fn hear(&self, port: u16, holders: &mut Vec<Holder>) -> io::Result<bool> {
        let mut buffer = vec![0; 32 << 10];
        let (count, _) = net::recv(&self.netlink, &mut buffer[..], RecvFlags::DONTWAIT)?;
        let mut rest = &buffer[..count];
        while let Some((header, _)) = rest.split_first_chunk::<HEADER>() {
            let number = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| header[at + byte]));
            let length = number(0) as usize;
            let Some(content) = rest.get(HEADER..length) else {
                return Err(io::ErrorKind::InvalidData.into());
            };
            let kind = u16::from_ne_bytes([header[4], header[5]]);
            // Messages with another number answer an earlier request that failed halfway.
            if number(8) == self.sequence {
                match i32::from(kind) {
                    libc::NLMSG_DONE | libc::NLMSG_ERROR => {
                        let error = content.first_chunk().map_or(0, |octets| i32::from_ne_bytes(*octets));
                        return if error == 0 { Ok(true) } else { Err(io::Error::from_raw_os_error(-error)) };
                    }
                    _ if kind == SOCK_DIAG_BY_FAMILY => holders.extend(holder(content, port)),
                    _ => {}
                }
            }
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(false)
    }
}

/// Parses a `struct inet_diag_msg` with its attributes. Returns `None` for another port, or if no
/// process has the socket.
fn holder(answer: &[u8], port: u16) -> Option<Holder> {
    let (fixed, mut attributes) = answer.split_first_chunk::<ANSWER>()?;
    let number = |at: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|byte| fixed[at + byte]));
    let inode = number(68);
    if inode == 0 || u16::from_be_bytes([fixed[4], fixed[5]]) != port {
        return None;
    }
    let octets: [u8; 16] = *fixed[8..].first_chunk()?;
    let address: IpAddr = if i32::from(fixed[0]) == libc::AF_INET {
        Ipv4Addr::new(octets[0], octets[1], octets[2], octets[3]).into()
    } else {
        Ipv6Addr::from(octets).to_canonical()
    };
    let mut only_v6 = false;
    while let Some((head, _)) = attributes.split_first_chunk::<4>() {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]])).max(4);
        if u16::from_ne_bytes([head[2], head[3]]) == INET_DIAG_SKV6ONLY {
            only_v6 = attributes.get(4).is_some_and(|&value| value != 0);
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    let cookie = u64::from(number(44)) | u64::from(number(48)) << 32;
    Some(Holder { cookie, bound: Bound { address, only_v6 } })
}

/// Returns the kernel's identifier of a socket.
pub(crate) fn cookie(fd: BorrowedFd) -> io::Result<u64> {
    let value = sys::option(fd, libc::SOL_SOCKET, libc::SO_COOKIE, 8)?;
    value.first_chunk().map(|octets| u64::from_ne_bytes(*octets)).ok_or(io::ErrorKind::InvalidData.into())
}

/// Returns the address that a socket occupies when it is bound to `address`.
pub(crate) fn bound(fd: impl AsFd, address: IpAddr) -> Bound {
    let only_v6 = address.is_ipv6() && {
        let value = sys::option(fd.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 4);
        value.is_ok_and(|value| value.iter().any(|&octet| octet != 0))
    };
    Bound { address: address.to_canonical(), only_v6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};

    fn at(address: &str, only_v6: bool) -> Bound {
        Bound { address: address.parse::<IpAddr>().expect("an address").to_canonical(), only_v6 }
    }

    /// As in the kernel (`inet_rcv_saddr_equal`), an IPv6 socket at the unspecified address also
    /// receives IPv4, unless it has IPV6_V6ONLY.
    #[test]
    fn addresses_overlap() {
        for (one, other, expected) in [
            (at("0.0.0.0", false), at("192.0.2.1", false), true),
            (at("192.0.2.1", false), at("192.0.2.1", false), true),
            (at("192.0.2.1", false), at("192.0.2.2", false), false),
            (at("::", false), at("0.0.0.0", false), true),
            (at("::", false), at("192.0.2.1", false), true),
            (at("::", true), at("0.0.0.0", false), false),
            (at("::", true), at("::", false), true),
            (at("::", true), at("2001:db8::1", false), true),
            (at("2001:db8::1", false), at("0.0.0.0", false), false),
            (at("::ffff:192.0.2.1", false), at("0.0.0.0", false), true),
            (at("::ffff:192.0.2.1", false), at("::", true), false),
            (at("2001:db8::1", false), at("2001:db8::2", false), false),
        ] {
            assert_eq!(one.overlaps(other), expected, "{one:?} {other:?}");
            assert_eq!(other.overlaps(one), expected, "{other:?} {one:?}");
        }
    }

    fn holders(kind: RsockType, port: u16) -> Vec<Holder> {
        HostPorts::open().expect("netlink").holders(kind, port).expect("the kernel says")
    }

    /// Sockets of both families are found by their port and identified by their cookie, connected
    /// or not. TCP connections are not listed as holders of a port.
    #[test]
    fn sockets_of_this_host() {
        assert!(HostPorts::open().expect("netlink").answer());
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let udp = UdpSocket::bind(address).expect("loopback");
            let tcp = TcpListener::bind(address).expect("loopback");
            let own = |fd: BorrowedFd, local: SocketAddr| Holder {
                cookie: cookie(fd).expect("every socket has one"),
                // The kernel also reports IPV6_V6ONLY for sockets that are bound to one IPv6
                // address.
                bound: Bound { address: local.ip(), only_v6: local.is_ipv6() },
            };
            let local = udp.local_addr().expect("is bound");
            assert!(
                holders(RsockType::Datagram, local.port()).contains(&own(udp.as_fd(), local)),
                "{address}"
            );
            udp.connect(local).expect("loopback");
            let cookies = |kind| holders(kind, local.port()).into_iter().map(|holder| holder.cookie);
            let its = own(udp.as_fd(), local).cookie;
            assert!(cookies(RsockType::Datagram).any(|cookie| cookie == its), "{address}, connected");
            assert!(cookies(RsockType::Lite).all(|cookie| cookie != its), "{address}");
            let local = tcp.local_addr().expect("is bound");
            assert!(holders(RsockType::Stream, local.port()).contains(&own(tcp.as_fd(), local)), "{address}");
            let near = TcpStream::connect(local).expect("loopback");
            let far = tcp.accept().expect("has connected").0;
            let found = holders(RsockType::Stream, local.port());
            assert!(!found.contains(&own(far.as_fd(), local)), "{address}");
            drop((near, tcp));
        }
        // Bound, but not listening yet.
        let bound = net::socket(AddressFamily::INET, SocketType::STREAM, None).expect("loopback");
        net::bind(&bound, &SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).expect("loopback");
        let port = crate::kernel::name(&bound).expect("is bound").port();
        let own = cookie(bound.as_fd()).expect("every socket has one");
        assert!(holders(RsockType::Stream, port).iter().any(|holder| holder.cookie == own));
    }

    /// An IPv6-only socket is recognised as such.
    #[test]
    fn without_version_4() {
        let six = net::socket(AddressFamily::INET6, SocketType::STREAM, None).expect("loopback");
        sys::set_option(six.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1_i32.to_ne_bytes())
            .expect("may be set");
        net::bind(&six, &SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))).expect("any address");
        net::listen(&six, 1).expect("is bound");
        let port = crate::kernel::name(&six).expect("is bound").port();
        let own = Holder {
            cookie: cookie(six.as_fd()).expect("every socket has one"),
            bound: Bound { address: Ipv6Addr::UNSPECIFIED.into(), only_v6: true },
        };
        assert_eq!(bound(&six, Ipv6Addr::UNSPECIFIED.into()), own.bound);
        assert!(holders(RsockType::Stream, port).contains(&own));
    }
}
