//! Creating and closing kernel sockets, by FIN or by RST, including the release of a far host's FIN
//! that is held.

use super::{KernelTcp, Phase, Socket};
use crate::capabilities;
use resoa_protocol::Endpoint;
use resoa_protocol::message::{Create, Family, RsockType};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

impl KernelTcp {
    pub(super) fn create(&self, create: Create, source: IpAddr, foreign: bool) -> io::Result<Socket> {
        let (family, peeks) = match create.family {
            Family::V4 => (AddressFamily::INET, self.capabilities.peek_v4),
            Family::V6 => (AddressFamily::INET6, self.capabilities.peek_v6),
        };
        let (kind, phase, protocol) = match create.kind {
            RsockType::Stream => (SocketType::STREAM, Phase::Fresh, None),
            RsockType::Datagram => (SocketType::DGRAM, Phase::Datagrams, None),
            RsockType::Lite => (SocketType::DGRAM, Phase::Datagrams, Some(net::ipproto::UDPLITE)),
        };
        if !peeks && create.kind == RsockType::Stream {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let fd = net::socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)?;
        if create.kind == RsockType::Stream {
            prepare(&fd)?;
            if let Some(hold) = &self.hold {
                hold.mark(fd.as_fd())?;
            }
        }
        if foreign {
            let (level, name) = match create.family {
                Family::V4 => (libc::IPPROTO_IP, libc::IP_TRANSPARENT),
                Family::V6 => (libc::IPPROTO_IPV6, libc::IPV6_TRANSPARENT),
            };
            crate::sys::set_option(fd.as_fd(), level, name, &1_i32.to_ne_bytes())?;
        }
        let (named, bound) = (false, false);
        let (connection, behind) = (None, Vec::new());
        Ok(Socket { fd, create, cookie: 0, source, named, bound, phase, connection, behind })
    }

    /// Returns the address of a socket; port 0 if no port was chosen.
    pub(crate) fn local(&self, endpoint: Endpoint) -> Option<SocketAddr> {
        super::name(&self.sockets.get(&endpoint)?.fd)
    }

    pub(super) fn forget(&mut self, endpoint: Endpoint, resets: bool) {
        let Some(mut socket) = self.sockets.remove(&endpoint) else { return };
        if let Phase::Connecting(peer) = socket.phase {
            // The connection may have been established since the last look. Then its FIN is held.
            let _ = socket.connected(peer, self.hold.is_some());
        }
        let Socket { fd, phase, connection, cookie, .. } = socket;
        self.cookies.remove(&cookie);
        if !resets {
            let _ = sockopt::set_socket_linger(&fd, None);
        }
        match (&self.hold, connection, phase) {
            (Some(hold), Some(connection), Phase::Open(stream)) if stream.has_failed() => {
                hold.forget(&connection);
            }
            (Some(hold), Some(connection), _) if resets => {
                hold.abort(&connection);
                drop(fd);
                hold.aborted(&connection);
            }
            // The server will not ask for a release later, so the FIN may be acknowledged now.
            (Some(hold), Some(connection), _) => hold.release(fd.as_fd(), &connection),
            _ => {}
        }
        self.due.append(&mut self.starved.all());
    }
}

/// Sets the options of every stream, accepted or not. Urgent data is in line, because otherwise
/// peeking would see a byte twice (8.2). The connection ends by RST unless the server closes it: if
/// this process dies, the kernel closes its sockets, and a FIN would present half a transfer as
/// complete.
pub(super) fn prepare(fd: &OwnedFd) -> io::Result<()> {
    sockopt::set_socket_oobinline(fd, true)?;
    sockopt::set_socket_linger(fd, Some(Duration::ZERO))?;
    capabilities::peek_from_start(fd.as_fd())
}

/// Makes the socket end by RST.
pub(super) fn reset(fd: &OwnedFd) {
    // This has no effect on a socket without a connection.
    let _ = sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}

#[cfg(test)]
mod tests {
    use super::*;
    use resoa_protocol::message::{Ancillary, Operation};
    use resoa_protocol::{Errno, TcpAction, TcpEvent};
    use std::net::{Ipv4Addr, UdpSocket};

    /// Option for the range of ports that the kernel may choose from, both 16-bit bounds in one
    /// number (`linux/in.h`, since Linux 6.3).
    const IP_LOCAL_PORT_RANGE: i32 = 51;

    /// C10: the kernel never chooses a port for datagrams that another process has, even if both
    /// may share theirs. The options that the program has set stay set.
    #[test]
    fn chosen_ports_are_not_shared() {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let share = |socket: &dyn Fn(i32)| [libc::SO_REUSEADDR, libc::SO_REUSEPORT].map(socket);
        let on = 1_i32.to_ne_bytes();
        let theirs = UdpSocket::bind(local).expect("loopback");
        share(&|name| {
            crate::sys::set_option(theirs.as_fd(), libc::SOL_SOCKET, name, &on).expect("may be set");
        });
        let port = theirs.local_addr().expect("is bound").port();
        let mut tcp = KernelTcp::new().expect("descriptors");
        let (endpoint, create) = (Endpoint(1), Create { family: Family::V4, kind: RsockType::Datagram });
        let done = |tcp: &mut KernelTcp, action| {
            let mut events = Vec::new();
            tcp.act(endpoint, action, &mut events);
            events
        };
        done(&mut tcp, TcpAction::Create { create, source: local.ip(), foreign: false });
        let fd = tcp.sockets[&endpoint].fd.as_fd().try_clone_to_owned().expect("a descriptor");
        share(&|name| {
            crate::sys::set_option(fd.as_fd(), libc::SOL_SOCKET, name, &on).expect("may be set");
        });
        let set_range = |low: u16, high: u16| {
            let range = u32::from(high) << 16 | u32::from(low);
            crate::sys::set_option(fd.as_fd(), libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, &range.to_ne_bytes())
                .expect("may be set");
        };
        set_range(port, port);
        let to = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        let send = || TcpAction::SendTo { to: Some(to), ancillary: Ancillary::none(), bytes: vec![1] };
        let taken = [TcpEvent::Failed(Errno::EADDRINUSE)];
        assert_eq!(done(&mut tcp, send()), taken);
        let bind = TcpAction::Execute(Operation::Bind(local));
        assert_eq!(done(&mut tcp, bind), [TcpEvent::Done(Err(Errno::EADDRINUSE))]);
        let connect = || TcpAction::Execute(Operation::Connect(to));
        assert_eq!(done(&mut tcp, connect()), [TcpEvent::Done(Err(Errno::EADDRINUSE))]);
        set_range(0, 0);
        assert!(matches!(done(&mut tcp, connect())[..], [TcpEvent::Done(Ok(_))]));
        // After a port was released, the next one is chosen in the same way.
        assert!(matches!(
            done(&mut tcp, TcpAction::Execute(Operation::Disconnect))[..],
            [TcpEvent::Done(Ok(_))]
        ));
        assert_eq!(tcp.local(endpoint).map(|local| local.port()), Some(0));
        set_range(port, port);
        assert_eq!(done(&mut tcp, send()), taken);
        for name in [libc::SO_REUSEADDR, libc::SO_REUSEPORT] {
            assert_eq!(crate::sys::option(fd.as_fd(), libc::SOL_SOCKET, name, 4).ok(), Some(on.into()));
        }
    }
}
