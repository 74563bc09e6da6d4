//! Keeps ports and multicast groups of the host's processes apart from those of a client's sockets.

use super::{KernelTcp, Socket, name};
use crate::host_ports;
use crate::{own, sys};
use resoa_protocol::message::{Family, Operation, RsockType};
use resoa_protocol::{Endpoint, TcpAction};
use rustix::fd::AsFd;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use std::net::SocketAddr;

/// From `linux/in.h` and `linux/in6.h`; not in the libc crate.
const IP_MULTICAST_ALL: i32 = 49;
const IPV6_MULTICAST_ALL: i32 = 29;

impl KernelTcp {
    /// Whether an action would take a port that a process of this host has, alone or shared with
    /// its owner. Ports of this server's own sockets do not count. Without SO_REUSEADDR and
    /// SO_REUSEPORT the kernel refuses such a port itself, so only sockets with these options are
    /// checked.
    pub(crate) fn takes_from_host(&mut self, endpoint: Endpoint, action: &TcpAction) -> bool {
        let Some(socket) = self.sockets.get(&endpoint) else { return false };
        let Some(wanted) = socket.wants(action).filter(|_| !socket.sharing().is_empty()) else {
            return false;
        };
        let holders = self.host_ports.as_mut().map(|ports| ports.holders(socket.create.kind, wanted.port()));
        match holders {
            Some(Ok(holders)) => {
                let bound = host_ports::bound(&socket.fd, wanted.ip());
                let mut others = holders.iter().filter(|holder| !self.cookies.contains(&holder.cookie));
                others.any(|holder| holder.bound.overlaps(bound))
            }
            // The kernel does not list ports: try whether a socket without sharing could bind. A
            // socket that is bound was checked at its `bind`.
            _ => !socket.bound && is_held(socket, wanted),
        }
    }

    /// Limits the socket to multicast groups that it has joined itself. By default it also receives
    /// those that processes of the host have joined.
    pub(crate) fn hear_own_groups_alone(&self, endpoint: Endpoint) {
        let Some(socket) = self.sockets.get(&endpoint) else { return };
        if socket.create.kind == RsockType::Stream {
            return;
        }
        let no = 0_i32.to_ne_bytes();
        // An IPv6 socket has both options, on every kernel that this server supports.
        let _ = sys::set_option(socket.fd.as_fd(), libc::IPPROTO_IP, IP_MULTICAST_ALL, &no);
        if socket.create.family == Family::V6 {
            let _ = sys::set_option(socket.fd.as_fd(), libc::IPPROTO_IPV6, IPV6_MULTICAST_ALL, &no);
        }
    }
}

impl Socket {
    /// Returns the address and port that an action requests, if the program has named a port.
    fn wants(&self, action: &TcpAction) -> Option<SocketAddr> {
        let wanted = match action {
            TcpAction::Execute(Operation::Bind(wanted)) => {
                // A socket that already has a port gets its answer from the kernel.
                let has_none = !self.bound || name(&self.fd)?.port() == 0;
                own::bound(self.create.family, self.source, *wanted).ok().filter(|_| has_none)?
            }
            // Another process may have bound the port since this socket did.
            TcpAction::Execute(Operation::Listen { .. }) => name(&self.fd)?,
            _ => return None,
        };
        (wanted.port() != 0).then_some(wanted)
    }

    /// Returns the options for sharing a port that are set.
    pub(crate) fn sharing(&self) -> Vec<i32> {
        let is_set = |option: &i32| {
            let value = sys::option(self.fd.as_fd(), libc::SOL_SOCKET, *option, 4);
            value.is_ok_and(|value| value.iter().any(|&octet| octet != 0))
        };
        [libc::SO_REUSEADDR, libc::SO_REUSEPORT].into_iter().filter(is_set).collect()
    }
}

/// Whether a socket that shares nothing could not bind to this address.
fn is_held(socket: &Socket, wanted: SocketAddr) -> bool {
    let family = if wanted.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let (kind, protocol) = match socket.create.kind {
        RsockType::Stream => (SocketType::STREAM, None),
        RsockType::Datagram => (SocketType::DGRAM, None),
        RsockType::Lite => (SocketType::DGRAM, Some(net::ipproto::UDPLITE)),
    };
    let Ok(other) = net::socket_with(family, kind, SocketFlags::CLOEXEC, protocol) else { return true };
    if host_ports::bound(&socket.fd, wanted.ip()).only_v6 {
        let set = sys::set_option(other.as_fd(), libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1_i32.to_ne_bytes());
        if set.is_err() {
            return true;
        }
    }
    net::bind(&other, &wanted) == Err(rustix::io::Errno::ADDRINUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::message::Create;
    use std::net::{Ipv4Addr, TcpListener, UdpSocket};

    fn shares(fd: impl AsFd) {
        for name in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
            sys::set_option(fd.as_fd(), libc::SOL_SOCKET, name, &1_i32.to_ne_bytes()).expect("may be set");
        }
    }

    fn socket(tcp: &mut KernelTcp, number: u64, kind: RsockType) -> Endpoint {
        let (endpoint, create) = (Endpoint(number), Create { family: Family::V4, kind });
        let source = Ipv4Addr::UNSPECIFIED.into();
        tcp.act(endpoint, TcpAction::Create { create, source, foreign: false }, &mut Vec::new());
        shares(&tcp.sockets[&endpoint].fd);
        endpoint
    }

    /// The host's ports are recognised, both by the kernel's list and by trying to bind. With the
    /// list, ports of this server's own sockets are not mistaken for the host's.
    #[test]
    fn ports_of_the_host() {
        let udp = UdpSocket::bind("127.0.0.1:0").expect("loopback");
        let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
        shares(&udp);
        shares(&listener);
        let mut tcp = KernelTcp::new().expect("descriptors");
        assert!(tcp.capabilities().host_ports);
        let bind = |to| TcpAction::Execute(Operation::Bind(to));
        let held = [
            (RsockType::Stream, listener.local_addr().expect("is bound")),
            (RsockType::Datagram, udp.local_addr().expect("is bound")),
        ];
        for (number, (kind, held)) in (1..).zip(held) {
            let own = socket(&mut tcp, number, kind);
            let any = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), held.port());
            for wanted in [held, any] {
                assert!(tcp.takes_from_host(own, &bind(wanted)), "{kind:?} {wanted}");
                let knows = tcp.host_ports.take();
                assert!(tcp.takes_from_host(own, &bind(wanted)), "{kind:?} {wanted}, tried out");
                tcp.host_ports = knows;
            }
            let elsewhere = SocketAddr::new([127, 0, 0, 2].into(), held.port());
            assert!(!tcp.takes_from_host(own, &bind(elsewhere)), "{kind:?}");
            let mut events = Vec::new();
            tcp.act(own, bind(elsewhere), &mut events);
            let second = socket(&mut tcp, 10 + number, kind);
            assert!(!tcp.takes_from_host(second, &bind(elsewhere)), "{kind:?}: its own");
        }
    }
}
