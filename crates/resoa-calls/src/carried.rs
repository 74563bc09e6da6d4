//! Which sockets a program may create: how an interposer handles `socket` before any request. The
//! rules are the same for all interposers.

/// Mask of a socket's type without its known flags. For bits beyond any type (`SOCK_TYPE_MASK`) the
/// kernel says EINVAL, whatever the type.
pub const SOCKET_TYPE: u32 = !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC).cast_unsigned();
/// SOCK_PACKET of `linux/net.h`: link-layer frames over AF_INET, as before Linux 2.2.
pub const SOCK_PACKET: i32 = 10;
/// Families whose sockets the agent creates.
pub const BY_AGENT: [i32; 2] = [libc::AF_INET, libc::AF_INET6];
/// Families whose sockets only reach this host, and its kernel's configuration.
pub const BY_KERNEL: [i32; 2] = [libc::AF_UNIX, libc::AF_NETLINK];

/// The creator of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// The agent, which also reports invalid types and protocols.
    Agent,
    /// The kernel.
    Kernel,
    /// None, because the socket would bypass the agent. The call fails with this error, as without
    /// privileges (EPERM) or on a host without that family.
    Nobody(i32),
}

/// Returns the creator of a socket of this family and type. `kind` may include the flags of
/// `socket`.
#[must_use]
pub fn maker(family: i32, kind: i32) -> Maker {
    let kind = kind.cast_unsigned() & SOCKET_TYPE;
    let is_raw = [libc::SOCK_RAW, SOCK_PACKET].map(i32::cast_unsigned).contains(&kind);
    match family {
        _ if BY_KERNEL.contains(&family) => Maker::Kernel,
        _ if family == libc::AF_PACKET || is_raw => Maker::Nobody(libc::EPERM),
        _ if BY_AGENT.contains(&family) => Maker::Agent,
        _ => Maker::Nobody(libc::EAFNOSUPPORT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C30: no socket gets its own access to a network, and flags make no difference.
    #[test]
    fn makers() {
        for flags in [0, libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK] {
            for family in BY_AGENT {
                assert_eq!(maker(family, libc::SOCK_STREAM | flags), Maker::Agent);
                assert_eq!(maker(family, libc::SOCK_RAW | flags), Maker::Nobody(libc::EPERM));
                assert_eq!(maker(family, SOCK_PACKET | flags), Maker::Nobody(libc::EPERM));
            }
            assert_eq!(maker(libc::AF_UNIX, libc::SOCK_STREAM | flags), Maker::Kernel);
            assert_eq!(maker(libc::AF_NETLINK, libc::SOCK_RAW | flags), Maker::Kernel);
            assert_eq!(maker(libc::AF_PACKET, libc::SOCK_DGRAM | flags), Maker::Nobody(libc::EPERM));
            assert_eq!(maker(libc::AF_VSOCK, libc::SOCK_STREAM | flags), Maker::Nobody(libc::EAFNOSUPPORT));
        }
        assert_eq!(maker(-1, libc::SOCK_STREAM), Maker::Nobody(libc::EAFNOSUPPORT));
        // Not a valid type: the agent says so, as the kernel would.
        assert_eq!(maker(libc::AF_INET, libc::SOCK_RAW | 0x60), Maker::Agent);
    }
}
