//! Options that a remote program may read and set on a socket of this server.
//!
//! What is not in the list is refused, for one of three reasons: the value holds a pointer or a descriptor, which would be this process's
//! (`SO_ATTACH_FILTER`, `TCP_ZEROCOPY_RECEIVE`); it takes a privilege that this process has and the program has not (`SO_MARK`, `SO_RCVBUFFORCE`, some values of others);
//! or it would change what the server relies on (`SO_OOBINLINE`, `SO_PEEK_OFF`, `SO_RCVLOWAT`, which is tried out and not kept, `SO_LINGER`). The client keeps those of the last
//! kind that it needs itself (C39).

use crate::{congestion_controls, errors, sys};
use resoa_protocol::Errno;
use resoa_protocol::message::Reply;
use rustix::fd::BorrowedFd;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// By level: what may be set and read.
const SETTABLE: &[(i32, &[i32])] = &[
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_REUSEADDR,
            libc::SO_DONTROUTE,
            libc::SO_BROADCAST,
            libc::SO_RCVBUF,
            libc::SO_KEEPALIVE,
            libc::SO_REUSEPORT,
            libc::SO_PRIORITY,
            libc::SO_DEBUG,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_NODELAY,
            libc::TCP_MAXSEG,
            libc::TCP_CORK,
            libc::TCP_KEEPIDLE,
            libc::TCP_KEEPINTVL,
            libc::TCP_KEEPCNT,
            libc::TCP_SYNCNT,
            libc::TCP_LINGER2,
            libc::TCP_DEFER_ACCEPT,
            libc::TCP_WINDOW_CLAMP,
            libc::TCP_QUICKACK,
            libc::TCP_THIN_LINEAR_TIMEOUTS,
            libc::TCP_USER_TIMEOUT,
            libc::TCP_NOTSENT_LOWAT,
            libc::TCP_CONGESTION,
            libc::TCP_FASTOPEN,
            libc::TCP_FASTOPEN_KEY,
            libc::TCP_FASTOPEN_NO_COOKIE,
        ],
    ),
    (libc::SOL_UDP, &[libc::UDP_SEGMENT]),
    (
        libc::IPPROTO_IP,
        &[
            libc::IP_TOS,
            libc::IP_TTL,
            libc::IP_MTU_DISCOVER,
            libc::IP_MULTICAST_IF,
            libc::IP_MULTICAST_TTL,
            libc::IP_MULTICAST_LOOP,
            libc::IP_ADD_MEMBERSHIP,
            libc::IP_DROP_MEMBERSHIP,
            // What control messages are told of datagrams that come.
            libc::IP_PKTINFO,
            libc::IP_RECVTTL,
            libc::IP_RECVTOS,
            libc::IP_RECVORIGDSTADDR,
        ],
    ),
    // UDPLITE_SEND_CSCOV, UDPLITE_RECV_CSCOV (`linux/udp.h`): how much the checksum covers.
    (libc::IPPROTO_UDPLITE, &[10, 11]),
    (
        libc::IPPROTO_IPV6,
        &[
            libc::IPV6_RECVPKTINFO,
            libc::IPV6_RECVHOPLIMIT,
            libc::IPV6_RECVTCLASS,
            libc::IPV6_RECVORIGDSTADDR,
            libc::IPV6_DONTFRAG,
            libc::IPV6_UNICAST_HOPS,
            libc::IPV6_MULTICAST_IF,
            libc::IPV6_MULTICAST_HOPS,
            libc::IPV6_MULTICAST_LOOP,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_V6ONLY,
            libc::IPV6_TCLASS,
        ],
    ),
];

/// What may only be read.
const READABLE: &[(i32, &[i32])] = &[
    (libc::SOL_SOCKET, &[libc::SO_INCOMING_CPU, libc::SO_MEMINFO]),
    (libc::IPPROTO_TCP, &[libc::TCP_INFO, libc::TCP_CC_INFO]),
    (libc::IPPROTO_IP, &[libc::IP_MTU]),
    (libc::IPPROTO_IPV6, &[libc::IPV6_MTU]),
];

/// Octets of the longest value that is in the lists and not only read: the name of a congestion control (`TCP_CA_NAME_MAX`), which the kernel says with
/// zeroes behind it, however short it was set.
const LONGEST: usize = 16;

fn is_in(list: &[(i32, &[i32])], level: i32, name: i32) -> bool {
    list.iter().any(|&(listed, names)| listed == level && names.contains(&name))
}

/// What any program may set of an option that this process, with its privileges, could set otherwise.
fn is_permitted(level: i32, name: i32, value: &[u8]) -> Result<(), Errno> {
    let number = || value.first_chunk().map(|octets| i32::from_ne_bytes(*octets));
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_PRIORITY)
            if number().is_some_and(|number| !(0..=6).contains(&number)) =>
        {
            Err(Errno::EPERM)
        }
        (libc::SOL_SOCKET, libc::SO_DEBUG) if number().is_some_and(|number| number != 0) => {
            Err(Errno::EACCES)
        }
        (libc::IPPROTO_TCP, libc::TCP_CONGESTION) => congestion_controls::may_be_chosen(value),
        _ => Ok(()),
    }
}

/// `setsockopt`; the value as it is then, which may be another (Linux doubles SO_RCVBUF).
///
/// # Errors
/// ENOPROTOOPT for options that are not in the list; the kernel's.
pub(crate) fn set(fd: BorrowedFd, level: i32, name: i32, value: &[u8]) -> Result<Reply, Errno> {
    if (level, name) == (libc::SOL_SOCKET, libc::SO_RCVLOWAT) {
        return low_water(fd, value);
    }
    if !is_in(SETTABLE, level, name) {
        return Err(Errno::ENOPROTOOPT);
    }
    is_permitted(level, name, value)?;
    sys::set_option(fd, level, name, value).map_err(|error| errors::errno(&error))?;
    // Memberships can be set and not read.
    Ok(sys::option(fd, level, name, value.len().max(LONGEST)).map_or(Reply::Done, Reply::Value))
}

/// SO_RCVLOWAT: what the kernel makes of it, with the room that it makes for as much (`tcp_set_rcvlowat`). The mark itself is kept by the client: below it this socket would tell
/// the server of nothing. What comes in between the kernel tells of when the mark is gone.
fn low_water(fd: BorrowedFd, value: &[u8]) -> Result<Reply, Errno> {
    let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVLOWAT);
    sys::set_option(fd, level, name, value).map_err(|error| errors::errno(&error))?;
    let made = sys::option(fd, level, name, size_of::<i32>());
    sys::set_option(fd, level, name, &1_i32.to_ne_bytes()).map_err(|error| errors::errno(&error))?;
    made.map(Reply::Value).map_err(|error| errors::errno(&error))
}

/// `getsockopt`, cut to the room that the program has.
///
/// # Errors
/// ENOPROTOOPT for options that are not in the list, EOPNOTSUPP for levels of which none is, of a socket of version 4 (Linux); the kernel's.
pub(crate) fn get(fd: BorrowedFd, level: i32, name: i32, room: u32) -> Result<Reply, Errno> {
    // Not set, that is the key of this host's stack for all sockets, by which cookies could be made for others than the client's. One that was set is known to who has set it.
    let is_key = (level, name) == (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_KEY);
    if is_key || !is_in(SETTABLE, level, name) && !is_in(READABLE, level, name) {
        let is_known = match level {
            // Of the transports the socket knows its own; to Linux UDP's and UDP-Lite's are each other's.
            libc::IPPROTO_TCP | libc::IPPROTO_UDP | libc::IPPROTO_UDPLITE => {
                let is_stream = socket_type(fd) == Ok(SocketType::STREAM);
                is_stream == (level == libc::IPPROTO_TCP)
            }
            _ => SETTABLE.iter().any(|&(listed, _)| listed == level),
        };
        let is_v4 = socket_domain(fd).is_ok_and(|family| family == AddressFamily::INET);
        return Err(if is_known || !is_v4 { Errno::ENOPROTOOPT } else { Errno::EOPNOTSUPP });
    }
    sys::option(fd, level, name, room as usize).map(Reply::Value).map_err(|error| errors::errno(&error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use AddressFamily as Family;
    use rustix::fd::AsFd;
    use rustix::net::socket;

    /// C39: a key of TCP Fast Open that a client has not set is the one that all of this host's sockets have, and is told to nobody.
    #[test]
    fn the_key_of_all_is_nobodys() {
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).expect("loopback");
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_KEY);
        assert_eq!(get(stream.as_fd(), level, name, 32), Err(Errno::ENOPROTOOPT));
        let own = vec![7; 32];
        assert_eq!(set(stream.as_fd(), level, name, &own), Ok(Reply::Value(own)));
        assert_eq!(get(stream.as_fd(), level, name, 32), Err(Errno::ENOPROTOOPT));
    }

    /// C39: what Linux says of a level that is another protocol's depends on the version of IP alone, and of one of the socket's own that it knows no such option.
    #[test]
    fn levels_of_others() {
        let of = |family, kind, level| {
            let socket = socket(family, kind, None).expect("loopback");
            get(socket.as_fd(), level, 99, 4)
        };
        for (family, kind, level, error) in [
            (Family::INET, SocketType::STREAM, libc::IPPROTO_UDP, Errno::EOPNOTSUPP),
            (Family::INET, SocketType::DGRAM, libc::IPPROTO_UDP, Errno::ENOPROTOOPT),
            (Family::INET, SocketType::DGRAM, libc::IPPROTO_TCP, Errno::EOPNOTSUPP),
            (Family::INET6, SocketType::STREAM, libc::IPPROTO_UDP, Errno::ENOPROTOOPT),
            (Family::INET, SocketType::STREAM, libc::IPPROTO_IP, Errno::ENOPROTOOPT),
        ] {
            assert_eq!(of(family, kind, level), Err(error), "{family:?} {kind:?} {level}");
        }
    }
}
