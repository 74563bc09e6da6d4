//! `struct sockaddr` of IPv4 and IPv6, as programs give and take it.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::ops::Deref;

/// Length in bytes of the longest address that the kernel reads (`struct sockaddr_storage`).
pub const LONGEST: usize = 128;
/// Size of a `struct sockaddr_in`, in bytes.
pub(crate) const V4: usize = 16;
/// Size of a `struct sockaddr_in6`, in bytes.
const V6: usize = 28;
/// The same without the scope, which Linux also accepts (RFC 2133).
pub(crate) const V6_OLD: usize = 24;

/// Reads an address that a program gave; `None` is `AF_UNSPEC`.
///
/// # Errors
/// EINVAL if it is too short, EAFNOSUPPORT if its family is not supported.
pub fn read(octets: &[u8]) -> Result<Option<SocketAddr>, i32> {
    let family = octets.first_chunk().map(|family| u16::from_ne_bytes(*family)).ok_or(libc::EINVAL)?;
    match i32::from(family) {
        libc::AF_UNSPEC => Ok(None),
        libc::AF_INET if octets.len() < V4 => Err(libc::EINVAL),
        libc::AF_INET => {
            let address = Ipv4Addr::from(chunk::<4>(octets, 4)?);
            Ok(Some(SocketAddrV4::new(address, port(octets)?).into()))
        }
        libc::AF_INET6 if octets.len() < V6_OLD => Err(libc::EINVAL),
        libc::AF_INET6 => {
            let flow = u32::from_be_bytes(chunk(octets, 4)?);
            let address = Ipv6Addr::from(chunk::<16>(octets, 8)?);
            let scope = if octets.len() < V6 { 0 } else { u32::from_ne_bytes(chunk(octets, 24)?) };
            Ok(Some(SocketAddrV6::new(address, port(octets)?, flow, scope).into()))
        }
        _ => Err(libc::EAFNOSUPPORT),
    }
}

/// Reads an address that a program gave to `bind`. `domain` returns SO_DOMAIN of the socket, and is
/// called only if that matters.
///
/// Linux takes AF_UNSPEC with no address for the wildcard of IPv4 (`inet_bind`). An IPv6 socket
/// refuses any other family, including that one, if the length is enough for an IPv6 address
/// (`inet6_bind`).
///
/// # Errors
/// As [`read`]; EAFNOSUPPORT for any other AF_UNSPEC; errors of `domain`.
pub fn to_bind<E: From<i32>>(
    octets: &[u8],
    domain: impl FnOnce() -> Result<i32, E>,
) -> Result<SocketAddr, E> {
    let family = octets.first_chunk().map(|family| i32::from(u16::from_ne_bytes(*family)));
    let is_foreign_to_v6 = octets.len() >= V6_OLD && family.is_some_and(|family| family != libc::AF_INET6);
    if is_foreign_to_v6 && domain()? == libc::AF_INET6 {
        return Err(libc::EAFNOSUPPORT.into());
    }
    match (read(octets)?, octets.first_chunk::<8>()) {
        (Some(address), _) => Ok(address),
        (None, Some([_, _, high, low, 0, 0, 0, 0])) if octets.len() >= V4 => {
            Ok((Ipv4Addr::UNSPECIFIED, u16::from_be_bytes([*high, *low])).into())
        }
        (None, _) => Err(libc::EAFNOSUPPORT.into()),
    }
}

fn port(octets: &[u8]) -> Result<u16, i32> {
    chunk(octets, 2).map(u16::from_be_bytes)
}

fn chunk<const N: usize>(octets: &[u8], at: usize) -> Result<[u8; N], i32> {
    octets.get(at..).and_then(<[u8]>::first_chunk).copied().ok_or(libc::EINVAL)
}

/// A `struct sockaddr_in` or `sockaddr_in6`; empty by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Written {
    octets: [u8; V6],
    length: usize,
}

impl Deref for Written {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

/// Returns an address as a program takes it, not yet truncated to the program's room.
#[must_use]
pub fn written(address: SocketAddr) -> Written {
    let mut octets = [0; V6];
    let mut put = |at: usize, field: &[u8]| octets[at..at + field.len()].copy_from_slice(field);
    put(2, &address.port().to_be_bytes());
    let (family, length) = match address {
        SocketAddr::V4(address) => {
            put(4, &address.ip().octets());
            (libc::AF_INET, V4)
        }
        SocketAddr::V6(address) => {
            put(4, &address.flowinfo().to_be_bytes());
            put(8, &address.ip().octets());
            put(24, &address.scope_id().to_ne_bytes());
            (libc::AF_INET6, V6)
        }
    };
    put(0, &(family as u16).to_ne_bytes());
    Written { octets, length }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    /// Addresses are read as they were written, and have the lengths of the kernel's.
    #[test]
    fn addresses_lead_back() {
        for (address, length) in [("192.0.2.1:80", V4), ("[2001:db8::1]:443", V6), ("[fe80::1%3]:1", V6)] {
            let octets = written(at(address));
            assert_eq!((octets.len(), read(&octets)), (length, Ok(Some(at(address)))));
        }
    }

    /// C31: for `bind`, AF_UNSPEC without an address is the wildcard of IPv4.
    #[test]
    fn wildcards_of_no_family() {
        let to_bind = |octets: &[u8], domain: i32| super::to_bind(octets, || Ok::<_, i32>(domain));
        let mut octets = [0; V6_OLD];
        octets[2..4].copy_from_slice(&80_u16.to_be_bytes());
        assert_eq!(to_bind(&octets[..V4], libc::AF_INET), Ok(at("0.0.0.0:80")));
        assert_eq!(to_bind(&octets[..15], libc::AF_INET), Err(libc::EAFNOSUPPORT));
        assert_eq!(to_bind(&written(at("[::1]:80")), libc::AF_INET6), Ok(at("[::1]:80")));
        // On an IPv6 socket it is invalid if it is long enough for an IPv6 address.
        assert_eq!(to_bind(&octets, libc::AF_INET), Ok(at("0.0.0.0:80")));
        assert_eq!(to_bind(&octets, libc::AF_INET6), Err(libc::EAFNOSUPPORT));
        assert_eq!(to_bind(&octets[..23], libc::AF_INET6), Ok(at("0.0.0.0:80")));
        assert_eq!(super::to_bind(&octets, || Err(libc::ENETDOWN)), Err(libc::ENETDOWN));
        octets[7] = 1;
        assert_eq!(to_bind(&octets[..V4], libc::AF_INET), Err(libc::EAFNOSUPPORT));
    }

    /// C31: errors of the kernel for invalid addresses.
    #[test]
    fn addresses_that_are_none() {
        assert_eq!(read(&[]), Err(libc::EINVAL));
        assert_eq!(read(&[0, 0]), Ok(None));
        assert_eq!(read(&written(at("192.0.2.1:80"))[..15]), Err(libc::EINVAL));
        assert_eq!(read(&written(at("[::1]:80"))[..23]), Err(libc::EINVAL));
        assert_eq!(read(&written(at("[::1]:80"))[..24]), Ok(Some(at("[::1]:80"))));
        assert_eq!(read(&[1, 0, b'/']), Err(libc::EAFNOSUPPORT));
    }
}
