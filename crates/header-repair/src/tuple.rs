//! What identifies a connection: two addresses and two ports.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The addresses of a connection. An IPv4 address is stored as `::ffff:a.b.c.d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The sender's address.
    pub remote: Ipv6Addr,
    /// The receiving host's address.
    pub local: Ipv6Addr,
}

/// Identity of a connection. Ordered by addresses first, so that the connections of a [`Pair`] are
/// adjacent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tuple {
    /// Both addresses.
    pub pair: Pair,
    /// The sender's port.
    pub remote_port: u16,
    /// The receiving host's port.
    pub local_port: u16,
}

impl Pair {
    /// Creates the pair from the addresses in a received IP header.
    #[must_use]
    pub fn new(source: IpAddr, destination: IpAddr) -> Self {
        Self { remote: as_ipv6(source), local: as_ipv6(destination) }
    }

    /// Returns the connection of this pair with these ports.
    #[must_use]
    pub const fn tuple(self, remote_port: u16, local_port: u16) -> Tuple {
        Tuple { pair: self, remote_port, local_port }
    }
}

impl Tuple {
    /// Returns the connection between two sockets.
    #[must_use]
    pub fn new(remote: SocketAddr, local: SocketAddr) -> Self {
        Pair::new(remote.ip(), local.ip()).tuple(remote.port(), local.port())
    }

    /// Returns the number of bits in which the ports of two connections differ.
    #[must_use]
    pub const fn port_distance(&self, other: &Self) -> u32 {
        (self.remote_port ^ other.remote_port).count_ones()
            + (self.local_port ^ other.local_port).count_ones()
    }
}

const fn as_ipv6(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipv4_is_held_as_mapped_ipv6() {
        let tuple = Tuple::new(([10, 0, 0, 1], 80).into(), ([10, 0, 0, 2], 4000).into());
        assert_eq!(tuple.pair.remote.octets(), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, 1]);
        assert_eq!((tuple.remote_port, tuple.local_port), (80, 4000));
    }

    #[test]
    fn bits_of_both_ports_count() {
        let tuple = Tuple::new(([10, 0, 0, 1], 0b1000).into(), ([10, 0, 0, 2], 0b11).into());
        assert_eq!(tuple.port_distance(&Tuple { remote_port: 0, local_port: 0, ..tuple }), 3);
    }
}
