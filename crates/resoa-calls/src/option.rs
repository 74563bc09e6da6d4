//! Which options live where. Most are the agent's; waiting and reading are done by the kernel on
//! the program's descriptor.

/// Those that an interposer sets on the descriptor as well, once the agent has taken them; and that
/// a connection has from its listener, where the descriptor's are to be copied. SO_LINGER means
/// nothing to AF_UNIX, but stays with the descriptor over `fork` and `exec`, so that `close` can
/// look.
pub const OF_BOTH: [i32; 5] =
    [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO, libc::SO_RCVLOWAT, libc::SO_OOBINLINE, libc::SO_LINGER];

/// Octets of the longest value that is passed on; Linux has none that is longer and no pointer in
/// it.
pub const LONGEST: usize = 4096;

/// An option is one of [`OF_BOTH`].
#[must_use]
pub fn is_of_both(level: i32, name: i32) -> bool {
    level == libc::SOL_SOCKET && OF_BOTH.contains(&name)
}

/// An option is the descriptor's alone: it is about what `recv` does with the octets that lie
/// there.
#[must_use]
pub fn is_of_the_descriptor(level: i32, name: i32) -> bool {
    (level, name) == (libc::SOL_SOCKET, libc::SO_PEEK_OFF)
}

/// Options by which a program wants control messages with datagrams that come: `setsockopt` of a
/// datagram socket passes the descriptor along, and the agent lets datagrams have more [in
/// front](crate::datagram) from then on. Those of SOL_SOCKET are about time stamps, which are the
/// agent's own.
const TELLING: [(i32, &[i32]); 3] = [
    (libc::SOL_SOCKET, &[libc::SO_TIMESTAMP, libc::SO_TIMESTAMPNS, SO_TIMESTAMP_NEW, SO_TIMESTAMPNS_NEW]),
    (libc::IPPROTO_IP, &[libc::IP_PKTINFO, libc::IP_RECVTTL, libc::IP_RECVTOS, libc::IP_RECVORIGDSTADDR]),
    (
        libc::IPPROTO_IPV6,
        &[libc::IPV6_RECVPKTINFO, libc::IPV6_RECVHOPLIMIT, libc::IPV6_RECVTCLASS, libc::IPV6_RECVORIGDSTADDR],
    ),
];
/// SO_TIMESTAMP with 64 bits of seconds everywhere (`asm-generic/socket.h`).
pub const SO_TIMESTAMP_NEW: i32 = 63;
/// SO_TIMESTAMPNS with 64 bits of seconds everywhere.
pub const SO_TIMESTAMPNS_NEW: i32 = 64;

/// An option is one by which a program wants control messages.
#[must_use]
pub fn is_telling(level: i32, name: i32) -> bool {
    TELLING.iter().any(|&(listed, names)| listed == level && names.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C39: numbers mean an option only at their level.
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
