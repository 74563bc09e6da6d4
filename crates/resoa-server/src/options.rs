//! Options that a remote program may read and set on a socket of this server.
//!
//! Options that are not listed are refused for one of three reasons:
//!
//! * The value holds a pointer or a file descriptor, which would refer to this process
//!   (`SO_ATTACH_FILTER`, `TCP_ZEROCOPY_RECEIVE`).
//! * The option needs a privilege that this process has and the program lacks (`SO_MARK`,
//!   `SO_RCVBUFFORCE`, some values of others).
//! * It would change a setting that the server relies on (`SO_OOBINLINE`, `SO_PEEK_OFF`,
//!   `SO_RCVLOWAT`, which is tried and then reset, `SO_LINGER`). The client implements the ones of
//!   this kind that it needs (C39).

use crate::{congestion_controls, errors, sys};
use resoa_protocol::Errno;
use resoa_protocol::message::Reply;
use rustix::fd::BorrowedFd;
use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// Options that a program may set and read, by level.
pub(crate) const SETTABLE: &[(i32, &[i32])] = &[
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
            libc::SO_NO_CHECK,
            SO_BSDCOMPAT,
            libc::SO_SELECT_ERR_QUEUE,
            libc::SO_MAX_PACING_RATE,
            libc::SO_INCOMING_CPU,
            SO_BUF_LOCK,
            SO_TXREHASH,
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
            libc::TCP_THIN_DUPACK,
            libc::TCP_SAVE_SYN,
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
            libc::IP_ADD_SOURCE_MEMBERSHIP,
            libc::IP_DROP_SOURCE_MEMBERSHIP,
            libc::IP_BLOCK_SOURCE,
            libc::IP_UNBLOCK_SOURCE,
            libc::IP_MULTICAST_ALL,
            libc::MCAST_JOIN_GROUP,
            libc::MCAST_LEAVE_GROUP,
            libc::MCAST_JOIN_SOURCE_GROUP,
            libc::MCAST_LEAVE_SOURCE_GROUP,
            libc::MCAST_BLOCK_SOURCE,
            libc::MCAST_UNBLOCK_SOURCE,
            // Queues errors for MSG_ERRQUEUE.
            libc::IP_RECVERR,
            libc::IP_MINTTL,
            // Control messages about datagrams that arrive.
            libc::IP_PKTINFO,
            libc::IP_RECVTTL,
            libc::IP_RECVTOS,
            libc::IP_RECVORIGDSTADDR,
        ],
    ),
    // UDPLITE_SEND_CSCOV and UDPLITE_RECV_CSCOV (`linux/udp.h`): the coverage of the checksum.
    (libc::IPPROTO_UDPLITE, &[10, 11]),
    (
        libc::IPPROTO_IPV6,
        &[
            libc::IPV6_ADDRFORM,
            libc::IPV6_RECVPKTINFO,
            libc::IPV6_RECVHOPLIMIT,
            libc::IPV6_RECVTCLASS,
            libc::IPV6_RECVORIGDSTADDR,
            libc::IPV6_DONTFRAG,
            libc::IPV6_UNICAST_HOPS,
            libc::IPV6_MULTICAST_IF,
            libc::IPV6_MULTICAST_HOPS,
            libc::IPV6_MULTICAST_LOOP,
            libc::IPV6_ADD_MEMBERSHIP,
            libc::IPV6_DROP_MEMBERSHIP,
            libc::IPV6_MULTICAST_ALL,
            libc::MCAST_JOIN_GROUP,
            libc::MCAST_LEAVE_GROUP,
            libc::MCAST_JOIN_SOURCE_GROUP,
            libc::MCAST_LEAVE_SOURCE_GROUP,
            libc::MCAST_BLOCK_SOURCE,
            libc::MCAST_UNBLOCK_SOURCE,
            libc::IPV6_RECVERR,
            libc::IPV6_MTU_DISCOVER,
            libc::IPV6_V6ONLY,
            libc::IPV6_TCLASS,
            IPV6_AUTOFLOWLABEL,
            libc::IPV6_ADDR_PREFERENCES,
            libc::IPV6_MINHOPCOUNT,
        ],
    ),
];

/// Options that a program may only read: options that cannot be set through this server, for which
/// a program reads the default of any socket. Those without a constant are given by number.
const READABLE: &[(i32, &[i32])] = &[
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_MEMINFO,
            libc::SO_PEERCRED,
            libc::SO_PEERNAME,
            libc::SO_LOCK_FILTER,
            libc::SO_MARK,
            libc::SO_TIMESTAMPING,
            libc::SO_RXQ_OVFL,
            libc::SO_WIFI_STATUS,
            libc::SO_NOFCS,
            libc::SO_BUSY_POLL,
            libc::SO_BPF_EXTENSIONS,
            libc::SO_INCOMING_NAPI_ID,
            libc::SO_TXTIME,
            libc::SO_BINDTOIFINDEX,
            SO_PREFER_BUSY_POLL,
            // SO_TIMESTAMPING_NEW, SO_RESERVE_MEM, SO_RCVMARK, SO_RCVPRIORITY.
            65,
            73,
            75,
            82,
        ],
    ),
    (
        libc::IPPROTO_TCP,
        &[
            libc::TCP_INFO,
            libc::TCP_CC_INFO,
            libc::TCP_REPAIR,
            libc::TCP_TIMESTAMP,
            libc::TCP_SAVED_SYN,
            libc::TCP_INQ,
            // TCP_TX_DELAY, TCP_IS_MPTCP, TCP_RTO_MAX_MS, TCP_RTO_MIN_US, TCP_DELACK_MAX_US.
            37,
            43,
            44,
            45,
            46,
        ],
    ),
    (
        libc::IPPROTO_IP,
        &[
            libc::IP_MTU,
            libc::IP_HDRINCL,
            libc::IP_OPTIONS,
            libc::IP_ROUTER_ALERT,
            libc::IP_RECVOPTS,
            libc::IP_RETOPTS,
            libc::IP_FREEBIND,
            libc::IP_PASSSEC,
            libc::IP_TRANSPARENT,
            libc::IP_NODEFRAG,
            libc::IP_CHECKSUM,
            libc::IP_BIND_ADDRESS_NO_PORT,
            libc::IP_RECVFRAGSIZE,
            libc::IP_UNICAST_IF,
            // IP_RECVERR_RFC4884, IP_LOCAL_PORT_RANGE, IP_PROTOCOL.
            26,
            51,
            52,
        ],
    ),
    (
        libc::IPPROTO_IPV6,
        &[
            libc::IPV6_MTU,
            libc::IPV6_2292PKTINFO,
            libc::IPV6_2292HOPOPTS,
            libc::IPV6_2292DSTOPTS,
            libc::IPV6_2292RTHDR,
            libc::IPV6_2292HOPLIMIT,
            libc::IPV6_FLOWINFO,
            libc::IPV6_ROUTER_ALERT,
            libc::IPV6_ROUTER_ALERT_ISOLATE,
            31,
            libc::IPV6_FLOWINFO_SEND,
            libc::IPV6_RECVHOPOPTS,
            libc::IPV6_RECVRTHDR,
            libc::IPV6_RECVDSTOPTS,
            libc::IPV6_RECVPATHMTU,
            libc::IPV6_TRANSPARENT,
            libc::IPV6_UNICAST_IF,
            libc::IPV6_RECVFRAGSIZE,
            libc::IPV6_FREEBIND,
        ],
    ),
];

/// Options that no program may set, with the error of the kernel: they need a privilege, or do not
/// apply to an IP socket.
const REFUSED: &[(i32, &[i32], Errno)] = &[
    (
        libc::SOL_SOCKET,
        &[
            libc::SO_SNDBUFFORCE,
            libc::SO_RCVBUFFORCE,
            libc::SO_MARK,
            SO_PREFER_BUSY_POLL,
            SO_BUSY_POLL_BUDGET,
        ],
        Errno::EPERM,
    ),
    // No filter was attached.
    (libc::SOL_SOCKET, &[libc::SO_DETACH_FILTER], Errno::ENOENT),
    (
        libc::IPPROTO_TCP,
        &[libc::TCP_REPAIR_QUEUE, libc::TCP_TIMESTAMP, TCP_REPAIR_WINDOW, TCP_AO_REPAIR],
        Errno::EPERM,
    ),
    (libc::IPPROTO_IP, &[libc::IP_IPSEC_POLICY, libc::IP_XFRM_POLICY, libc::IP_TRANSPARENT], Errno::EPERM),
    (
        libc::IPPROTO_IPV6,
        &[
            libc::IPV6_IPSEC_POLICY,
            libc::IPV6_XFRM_POLICY,
            libc::IPV6_HOPOPTS,
            libc::IPV6_RTHDRDSTOPTS,
            libc::IPV6_DSTOPTS,
            libc::IPV6_TRANSPARENT,
        ],
        Errno::EPERM,
    ),
    (
        libc::SOL_SOCKET,
        &[libc::SO_PASSCRED, libc::SO_PASSSEC, SO_PASSPIDFD, SO_PASSRIGHTS],
        Errno::EOPNOTSUPP,
    ),
];

/// From `asm-generic/socket.h`, `linux/tcp.h` and `linux/in6.h`; missing in the libc crate.
const SO_BSDCOMPAT: i32 = 14;
const SO_PREFER_BUSY_POLL: i32 = 69;
const SO_BUSY_POLL_BUDGET: i32 = 70;
const SO_BUF_LOCK: i32 = 72;
const SO_TXREHASH: i32 = 74;
const SO_PASSPIDFD: i32 = 76;
const SO_PASSRIGHTS: i32 = 83;
const TCP_REPAIR_WINDOW: i32 = 29;
const TCP_AO_REPAIR: i32 = 42;
const IPV6_AUTOFLOWLABEL: i32 = 70;

/// Length in bytes of the longest settable value: the name of a congestion control
/// (`TCP_CA_NAME_MAX`). The kernel returns it padded with zeros, however short it was set.
const LONGEST: usize = 16;

fn is_in(list: &[(i32, &[i32])], level: i32, name: i32) -> bool {
    list.iter().any(|&(listed, names)| listed == level && names.contains(&name))
}

/// Returns the kernel's error for a program that sets an option which no program may set.
fn refused(level: i32, name: i32) -> Option<Errno> {
    let listed = REFUSED.iter().find(|&&(listed, names, _)| listed == level && names.contains(&name));
    listed.map(|&(_, _, error)| error)
}

/// Checks values that this process could set because of its privileges, but a program may not.
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

/// Sets an option. Returns the resulting value, which may differ (Linux doubles SO_RCVBUF).
///
/// # Errors
/// ENOPROTOOPT for options that are not listed; otherwise the kernel's.
pub(crate) fn set(fd: BorrowedFd, level: i32, name: i32, value: &[u8]) -> Result<Reply, Errno> {
    if (level, name) == (libc::SOL_SOCKET, libc::SO_RCVLOWAT) {
        return low_water(fd, value);
    }
    if !is_in(SETTABLE, level, name) {
        return Err(refused(level, name).unwrap_or(Errno::ENOPROTOOPT));
    }
    is_permitted(level, name, value)?;
    sys::set_option(fd, level, name, value).map_err(|error| errors::errno(&error))?;
    // Memberships can be set but not read.
    Ok(sys::option(fd, level, name, value.len().max(LONGEST)).map_or(Reply::Done, Reply::Value))
}

/// Sets SO_RCVLOWAT and returns the kernel's value. The kernel makes buffer space for as much
/// (`tcp_set_rcvlowat`). Then the mark is reset and left to the client, because this socket would
/// cause no events below it. Data that arrives in between causes an event when the mark is reset.
fn low_water(fd: BorrowedFd, value: &[u8]) -> Result<Reply, Errno> {
    let (level, name) = (libc::SOL_SOCKET, libc::SO_RCVLOWAT);
    sys::set_option(fd, level, name, value).map_err(|error| errors::errno(&error))?;
    let made = sys::option(fd, level, name, size_of::<i32>());
    sys::set_option(fd, level, name, &1_i32.to_ne_bytes()).map_err(|error| errors::errno(&error))?;
    made.map(Reply::Value).map_err(|error| errors::errno(&error))
}

/// Makes room for a receive window of this many bytes, at most half of the maximum of `tcp_rmem`. A
/// buffer that the program has set (SO_RCVBUF) stays, as it does on Linux.
pub(crate) fn make_window(fd: BorrowedFd, window: u64) {
    let mark = i32::try_from(window).unwrap_or(i32::MAX);
    // The connection may be lost meanwhile, which the next look reports.
    let _ = low_water(fd, &mark.to_ne_bytes());
}

/// Reads an option, truncated to `room` bytes.
///
/// # Errors
/// ENOPROTOOPT for options that are not listed. EOPNOTSUPP on an IPv4 socket for levels without
/// listed options, as on Linux. Otherwise the kernel's.
pub(crate) fn get(fd: BorrowedFd, level: i32, name: i32, room: u32) -> Result<Reply, Errno> {
    // Unless a program has set the key, it is the one of this host's stack for all sockets. Knowing
    // it would allow making cookies for other clients. A program that has set a key knows it.
    let is_key = (level, name) == (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_KEY);
    if is_key || !is_in(SETTABLE, level, name) && !is_in(READABLE, level, name) {
        let is_known = match level {
            // A socket knows the level of its own transport only. To Linux, the levels of UDP and
            // UDP-Lite are interchangeable.
            libc::IPPROTO_TCP | libc::IPPROTO_UDP | libc::IPPROTO_UDPLITE => {
                let is_stream = socket_type(fd) == Ok(SocketType::STREAM);
                is_stream == (level == libc::IPPROTO_TCP)
            }
            _ => SETTABLE.iter().any(|&(listed, _)| listed == level),
        };
        let is_v4 = socket_domain(fd).is_ok_and(|family| family == AddressFamily::INET);
        if refused(level, name) == Some(Errno::EOPNOTSUPP) {
            return Err(Errno::EOPNOTSUPP);
        }
        let is_known = is_known && !(is_v4 && level == libc::IPPROTO_IPV6);
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

    /// C39: no client can read the key of TCP Fast Open: if none was set, it is the key of all this
    /// host's sockets.
    #[test]
    fn the_key_of_all_is_nobodys() {
        let stream = socket(AddressFamily::INET, SocketType::STREAM, None).expect("loopback");
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_KEY);
        assert_eq!(get(stream.as_fd(), level, name, 32), Err(Errno::ENOPROTOOPT));
        let own = vec![7; 32];
        assert_eq!(set(stream.as_fd(), level, name, &own), Ok(Reply::Value(own)));
        assert_eq!(get(stream.as_fd(), level, name, 32), Err(Errno::ENOPROTOOPT));
    }

    /// C39: for the level of another protocol, Linux's error depends on the version of IP alone.
    /// For a level of the socket itself, it is that of an unknown option.
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
