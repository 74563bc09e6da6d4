//! A connection's key in the maps of the programs.

use std::net::{IpAddr, SocketAddr};

/// A connection by its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Connection {
    /// The server's address and port.
    pub(crate) local: SocketAddr,
    /// The far host's address and port.
    pub(crate) peer: SocketAddr,
}

/// `struct connection` of `bpf/hold.h`.
pub(crate) type Key = [u8; 36];

impl Connection {
    /// Returns the key of this connection. IPv4 addresses are mapped, so the key does not depend on
    /// the family of the socket.
    pub(crate) fn key(&self) -> Key {
        let mut key = [0; 36];
        key[..16].copy_from_slice(&mapped(self.local.ip()));
        key[16..32].copy_from_slice(&mapped(self.peer.ip()));
        key[32..34].copy_from_slice(&self.local.port().to_be_bytes());
        key[34..].copy_from_slice(&self.peer.port().to_be_bytes());
        key
    }
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An IPv6 socket that talks to an IPv4 host has the same key as an IPv4 socket, because the
    /// connection is the same on the wire.
    #[test]
    fn versions_are_those_on_the_wire() {
        let of = |local: &str, peer: &str| {
            let (local, peer) = (local.parse().expect("an address"), peer.parse().expect("an address"));
            Connection { local, peer }.key()
        };
        let key = of("192.0.2.1:258", "192.0.2.2:772");
        assert_eq!(key, of("[::ffff:192.0.2.1]:258", "[::ffff:192.0.2.2]:772"));
        let mapped = |last| [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, last];
        assert_eq!(key, *[&mapped(1)[..], &mapped(2), &[1, 2, 3, 4]].concat());
        assert_ne!(key, of("192.0.2.2:772", "192.0.2.1:258"));
    }
}
