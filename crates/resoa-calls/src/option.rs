//! Where options are stored. Most are with the agent. The kernel waits and receives on the
//! program's descriptor, so that needs some of them, too.

/// Options of SOL_SOCKET that interposers also set on the descriptor once the agent has accepted
/// them. Accepted connections inherit them from the listener's descriptor.
///
/// SO_LINGER has no meaning on AF_UNIX. But it stays with the descriptor across `fork` and `exec`,
/// so that `close` can check it.
pub const OF_BOTH: [i32; 5] =
    [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO, libc::SO_RCVLOWAT, libc::SO_OOBINLINE, libc::SO_LINGER];

/// Length in bytes of the longest value that is passed on. Linux has no longer value without a
/// pointer.
pub const LONGEST: usize = 4096;

/// Returns whether an option is one of [`OF_BOTH`].
#[must_use]
pub fn is_of_both(level: i32, name: i32) -> bool {
    level == libc::SOL_SOCKET && OF_BOTH.contains(&name)
}

/// Returns whether an option belongs to the descriptor alone, because it only affects how `recv`
/// reads data that is already there.
#[must_use]
pub fn is_of_the_descriptor(level: i32, name: i32) -> bool {
    (level, name) == (libc::SOL_SOCKET, libc::SO_PEEK_OFF)
}

/// Options that ask for control messages with received datagrams. `setsockopt` of a datagram socket
/// passes the descriptor along, and from then on the agent puts [more in front](crate::datagram) of
/// datagrams. Those of SOL_SOCKET are about time stamps, which the agent takes itself.
const TELLING: [(i32, &[i32]); 3] = [
    (libc::SOL_SOCKET, &[libc::SO_TIMESTAMP, libc::SO_TIMESTAMPNS, SO_TIMESTAMP_NEW, SO_TIMESTAMPNS_NEW]),
    (libc::IPPROTO_IP, &[libc::IP_PKTINFO, libc::IP_RECVTTL, libc::IP_RECVTOS, libc::IP_RECVORIGDSTADDR]),
    (
        libc::IPPROTO_IPV6,
        &[libc::IPV6_RECVPKTINFO, libc::IPV6_RECVHOPLIMIT, libc::IPV6_RECVTCLASS, libc::IPV6_RECVORIGDSTADDR],
    ),
];
/// SO_TIMESTAMP with 64 bits of seconds on all architectures (`asm-generic/socket.h`).
pub const SO_TIMESTAMP_NEW: i32 = 63;
/// SO_TIMESTAMPNS with 64 bits of seconds on all architectures.
pub const SO_TIMESTAMPNS_NEW: i32 = 64;

/// Returns whether an option asks for control messages.
#[must_use]
pub fn is_telling(level: i32, name: i32) -> bool {
    TELLING.iter().any(|&(listed, names)| listed == level && names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C39: the number of an option has a meaning only at its level.
    #[test]
    fn options_have_a_level() {
        assert!(is_of_both(libc::SOL_SOCKET, libc::SO_RCVTIMEO));
        assert!(!is_of_both(libc::IPPROTO_TCP, libc::SO_RCVTIMEO));
        assert!(!is_of_both(libc::SOL_SOCKET, libc::SO_SNDBUF));
        assert!(is_of_the_descriptor(libc::SOL_SOCKET, libc::SO_PEEK_OFF));
        assert!(!is_of_the_descriptor(libc::IPPROTO_TCP, libc::SO_PEEK_OFF));
        assert!(is_telling(libc::SOL_SOCKET, SO_TIMESTAMPNS_NEW));
        assert!(is_telling(libc::IPPROTO_IP, libc::IP_PKTINFO));
        assert!(!is_telling(libc::IPPROTO_IPV6, libc::IP_PKTINFO));
    }
}
