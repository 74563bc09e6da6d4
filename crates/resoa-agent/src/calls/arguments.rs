//! Decoding of requests: the socket to create, the call at the client's half, and the action when
//! that returns.

use super::waiting::{Again, Waiting};
use resoa_calls::{Request, SocketId};
use resoa_protocol::message::{Create, Family, Half, Operation, RsockType};
use resoa_protocol::{FIRST, SocketCall};
use rustix::fd::OwnedFd;
use rustix::net::SocketFlags;

/// Checks family, type and protocol as socket(2) does (`inet_create`).
pub(crate) fn create(family: i32, kind: i32, protocol: i32) -> Result<(Create, SocketFlags), i32> {
    const MOST_TYPES: i32 = 11;
    const MOST_PROTOCOLS: i32 = 263;
    let (kind, flags) = (kind & 0xf, kind & !0xf);
    if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
        return Err(libc::EINVAL);
    }
    let family = match family {
        libc::AF_INET => Family::V4,
        libc::AF_INET6 => Family::V6,
        _ => return Err(libc::EAFNOSUPPORT),
    };
    if kind >= MOST_TYPES || !(0..MOST_PROTOCOLS).contains(&protocol) {
        return Err(libc::EINVAL);
    }
    let kind = match (kind, protocol) {
        (libc::SOCK_STREAM, 0 | libc::IPPROTO_TCP) => RsockType::Stream,
        (libc::SOCK_DGRAM, 0 | libc::IPPROTO_UDP) => RsockType::Datagram,
        (libc::SOCK_DGRAM, libc::IPPROTO_UDPLITE) => RsockType::Lite,
        (libc::SOCK_RAW, 1..) => return Err(libc::EPERM),
        // `ping` without privileges: Linux's default allows no group (`net.ipv4.ping_group_range`).
        (libc::SOCK_DGRAM, libc::IPPROTO_ICMP) if family == Family::V4 => return Err(libc::EACCES),
        (libc::SOCK_DGRAM, libc::IPPROTO_ICMPV6) if family == Family::V6 => return Err(libc::EACCES),
        (libc::SOCK_STREAM | libc::SOCK_DGRAM | libc::SOCK_RAW, _) => return Err(libc::EPROTONOSUPPORT),
        _ => return Err(libc::ESOCKTNOSUPPORT),
    };
    let is_nonblocking = flags & libc::SOCK_NONBLOCK != 0;
    let flags = if is_nonblocking { SocketFlags::NONBLOCK } else { SocketFlags::empty() };
    Ok((Create { family, kind }, flags))
}

/// Converts a request to its socket, its call and what it waits for, or returns why there is none.
/// `closes` is the number of sockets that programs have closed before it.
pub(crate) fn socket_call(
    request: Request,
    descriptor: Option<OwnedFd>,
    closes: u64,
) -> Result<(SocketId, SocketCall, Waiting), i32> {
    Ok(match request {
        Request::Operation { socket, operation, .. } => {
            let waiting = match &operation {
                Operation::Bind(address) => {
                    Waiting::Address { socket, again: Some(Again { address: *address, closes }) }
                }
                Operation::Connect(address) => {
                    Waiting::Connect { socket, address: Some(*address), descriptor }
                }
                Operation::Disconnect => Waiting::Connect { socket, address: None, descriptor },
                Operation::Listen { .. } => Waiting::Listen { socket, descriptor },
                Operation::SetOption { level, name, value } => {
                    Waiting::Set { socket, option: ((*level, *name), value.clone()), descriptor }
                }
                Operation::Ioctl { command, .. } if *command == resoa_calls::ioctl::TIOCOUTQ => {
                    Waiting::Outstanding { socket }
                }
                Operation::GetOption { .. } | Operation::Ioctl { .. } => Waiting::Plain { socket },
            };
            (socket, operation.into(), waiting)
        }
        Request::Open { socket, address, octets } => {
            if octets.len() > FIRST {
                return Err(libc::EMSGSIZE);
            }
            let waiting = Waiting::Connect { socket, address: Some(address), descriptor };
            (socket, SocketCall::Open { peer: address, bytes: octets }, waiting)
        }
        Request::Accept { socket, flags } => (socket, SocketCall::Accept, Waiting::Accept { socket, flags }),
        Request::Shutdown { socket, how } => {
            let half = match how {
                libc::SHUT_RD => Half::Read,
                libc::SHUT_WR => Half::Write,
                libc::SHUT_RDWR => Half::Both,
                _ => return Err(libc::EINVAL),
            };
            (socket, SocketCall::Shutdown(half), Waiting::Shut { socket })
        }
        Request::LocalName(socket) => (socket, SocketCall::LocalName, Waiting::Plain { socket }),
        Request::PeerName(socket) => (socket, SocketCall::PeerName, Waiting::Plain { socket }),
        // These are not calls of a socket, and have been answered before.
        Request::Socket { .. }
        | Request::Status
        | Request::Resolve(_)
        | Request::Closed(_)
        | Request::SeesData(_)
        | Request::TakeUndelivered(_)
        | Request::SendTo { .. } => return Err(libc::EOPNOTSUPP),
    })
}
