//! Datagrams between a program and the agent. While the socket has no destination of its own each has an address in front: where it goes to, or where it
//! came from. When it is connected there is none, so that `read` and `write` need not be intercepted.
//!
//! Which of the two it is says the descriptor itself, by an option that has no meaning for AF_UNIX and is the same for everybody who holds it: SO_PRIORITY is 0
//! without a destination, and [`CONNECTED`] with one. The agent sets it.

use std::net::SocketAddr;

/// SO_PRIORITY of a datagram socket that is connected.
pub const CONNECTED: i32 = 1;
/// Octets of an address in front of a datagram.
pub const HEADER: usize = 28;

/// The octets in front of a datagram; `None` sends it where it goes by itself, which is nowhere if the socket is not connected.
#[must_use]
pub fn header(address: Option<SocketAddr>) -> [u8; HEADER] {
    let mut header = [0; HEADER];
    if let Some(address) = address {
        let octets = crate::address::written(address);
        header[..octets.len()].copy_from_slice(&octets);
    }
    header
}

/// Takes the address off again; `None` if there is no room for one.
#[must_use]
pub fn split(octets: &[u8]) -> Option<(Option<SocketAddr>, &[u8])> {
    let (header, payload) = octets.split_at_checked(HEADER)?;
    Some((crate::address::read(header).ok()?, payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C91: the address and the boundaries are kept, also of a datagram that is empty.
    #[test]
    fn addresses_stand_in_front() {
        for address in
            [None, Some(([192, 0, 2, 1], 53).into()), Some("[2001:db8::1]:53".parse().expect("one"))]
        {
            let mut octets = header(address).to_vec();
            assert_eq!(split(&octets), Some((address, &b""[..])));
            octets.extend(b"payload");
            assert_eq!(split(&octets), Some((address, &b"payload"[..])));
        }
        assert_eq!(split(&[0; HEADER - 1]), None);
    }
}
