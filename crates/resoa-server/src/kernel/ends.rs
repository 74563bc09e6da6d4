//! How sockets of the kernel are made, and given up: by FIN or by RST, with what becomes of a far host's FIN that is held.

use super::{KernelTcp, Phase, Socket};
use crate::capabilities;
use resoa_protocol::Endpoint;
use resoa_protocol::message::{Create, Family, Kind};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::IpAddr;
use std::time::Duration;

impl KernelTcp {
    pub(super) fn create(&self, create: Create, source: IpAddr, foreign: bool) -> io::Result<Socket> {
        let (family, peeks) = match create.family {
            Family::V4 => (AddressFamily::INET, self.capabilities.peek_v4),
            Family::V6 => (AddressFamily::INET6, self.capabilities.peek_v6),
        };
        let (kind, phase, protocol) = match create.kind {
            Kind::Stream => (SocketType::STREAM, Phase::Fresh, None),
            Kind::Datagram => (SocketType::DGRAM, Phase::Datagrams, None),
            Kind::Lite => (SocketType::DGRAM, Phase::Datagrams, Some(net::ipproto::UDPLITE)),
        };
        if !peeks && create.kind == Kind::Stream {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let fd = net::socket_with(family, kind, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC, protocol)?;
        if create.kind == Kind::Stream {
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
        Ok(Socket { fd, create, source, named, bound, phase, connection: None, behind: Vec::new() })
    }

    pub(super) fn forget(&mut self, endpoint: Endpoint, resets: bool) {
        let Some(socket) = self.sockets.remove(&endpoint) else { return };
        let Socket { fd, phase, connection, .. } = socket;
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
            // Nobody will say any more when it may be acknowledged.
            (Some(hold), Some(connection), _) => hold.release(fd.as_fd(), &connection),
            _ => {}
        }
        self.due.append(&mut self.starved);
    }
}

/// What every stream has, accepted or not: urgent octets in line, or peeking would see one twice (8.2); and an end by RST unless it is closed. If this
/// process dies, its kernel closes what it has, and FIN would say of half a transfer that it is the whole.
pub(super) fn prepare(fd: &OwnedFd) -> io::Result<()> {
    sockopt::set_socket_oobinline(fd, true)?;
    sockopt::set_socket_linger(fd, Some(Duration::ZERO))?;
    capabilities::peek_from_start(fd.as_fd())
}

/// The socket will end by RST.
pub(super) fn reset(fd: &OwnedFd) {
    // Without effect on what has no connection.
    let _ = sockopt::set_socket_linger(fd, Some(Duration::ZERO));
}
