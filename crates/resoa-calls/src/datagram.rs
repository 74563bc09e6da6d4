//! Datagrams between a program and the agent. While the socket has no destination of its own each has an address in front: where it goes to, or where it
//! came from. When it is connected there is none, so that `read` and `write` need not be intercepted.
//!
//! Which of the two it is says the descriptor itself, by an option that has no meaning for AF_UNIX and is the same for everybody who holds it: SO_PRIORITY is 0
//! without a destination, and [`CONNECTED`] with one. The agent sets it.

use crate::address::V4;
use std::net::SocketAddr;

/// SO_PRIORITY of a datagram socket that is connected.
pub const CONNECTED: i32 = 1;
/// Octets of an address in front of a datagram.
pub const HEADER: usize = 28;

/// Octets of the longest datagram of UDP to an address of this family.
#[must_use]
pub fn longest(is_v4: bool) -> usize {
    // What 16 bits of length leave: of the whole packet in version 4, and of what follows the header in version 6.
    if is_v4 { 65_507 } else { 65_527 }
}

/// A destination that a program gave to `sendto`. AF_UNSPEC means IPv4 to an old UDP (`udp_sendmsg`), and port 0 is none.
///
/// # Errors
/// As [`read`](crate::address::read); EINVAL for port 0.
pub fn destination(octets: &[u8]) -> Result<SocketAddr, i32> {
    let address = if let Some(address) = crate::address::read(octets)? {
        address
    } else {
        let mut v4 = *octets.first_chunk::<V4>().ok_or(libc::EINVAL)?;
        v4[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        crate::address::read(&v4)?.ok_or(libc::EINVAL)?
    };
    if address.port() == 0 { Err(libc::EINVAL) } else { Ok(address) }
}

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

    /// C91: what UDP takes for a destination, and what it does not.
    #[test]
    fn destinations() {
        let at = ([192, 0, 2, 1], 53).into();
        let mut octets = crate::address::written(at).to_vec();
        assert_eq!(destination(&octets), Ok(at));
        octets[..2].copy_from_slice(&(libc::AF_UNSPEC as u16).to_ne_bytes());
        assert_eq!(destination(&octets), Ok(at));
        octets[2..4].fill(0);
        assert_eq!(destination(&octets), Err(libc::EINVAL));
        assert_eq!(destination(&octets[..4]), Err(libc::EINVAL));
        assert_eq!(destination(&[1, 0, b'/']), Err(libc::EAFNOSUPPORT));
        assert_eq!(longest(true) + 20, longest(false));
    }
}
