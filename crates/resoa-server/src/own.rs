//! Address that a client's sockets may have at this server (5.3.4): the client's own or the shared
//! one, and no other address of the server.

use resoa_protocol::Errno;
use resoa_protocol::message::Family;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Returns the address that a socket of this family binds to if its program names none; `None` if
/// any address of the server will do.
///
/// # Errors
/// EADDRNOTAVAIL if the client has no address that such a socket could use.
pub(crate) fn source(family: Family, source: IpAddr) -> Result<Option<IpAddr>, Errno> {
    match (family, source) {
        _ if source.is_unspecified() => Ok(None),
        (Family::V4, IpAddr::V6(_)) => Err(Errno::EADDRNOTAVAIL),
        // An IPv6 socket reaches IPv4 hosts, and those only on a host without an IPv6 address.
        (Family::V6, IpAddr::V4(address)) => Ok(Some(address.to_ipv6_mapped().into())),
        _ => Ok(Some(source)),
    }
}

/// Returns the address for a program's `bind` to `wanted`.
///
/// # Errors
/// EADDRNOTAVAIL if that is not the client's address. EAFNOSUPPORT for an IPv6 address on an IPv4
/// socket, EINVAL for the reverse.
pub(crate) fn bound(family: Family, own: IpAddr, wanted: SocketAddr) -> Result<SocketAddr, Errno> {
    let is_any = wanted.ip().is_unspecified();
    match (family, wanted) {
        (Family::V4, SocketAddr::V4(_)) | (Family::V6, SocketAddr::V6(_)) => {}
        (Family::V4, _) => return Err(Errno::EAFNOSUPPORT),
        (Family::V6, _) => return Err(Errno::EINVAL),
    }
    match source(family, own)? {
        None => Ok(wanted),
        Some(own) if is_any || own == wanted.ip() => Ok(SocketAddr::new(own, wanted.port())),
        Some(_) => Err(Errno::EADDRNOTAVAIL),
    }
}

/// Returns the address to report to the program: the unspecified one if it named none, as with any
/// stack.
pub(crate) fn told(family: Family, named: bool, local: SocketAddr) -> SocketAddr {
    match (named, family) {
        (true, _) => local,
        (false, Family::V4) => ([0, 0, 0, 0], local.port()).into(),
        (false, Family::V6) => (Ipv6Addr::UNSPECIFIED, local.port()).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    /// C09, C10: a client binds to its own address, also by the unspecified one, and to no other
    /// address of the server.
    #[test]
    fn a_client_has_its_own_address_alone() {
        let own: IpAddr = [192, 0, 2, 1].into();
        assert_eq!(bound(Family::V4, own, at("0.0.0.0:80")), Ok(at("192.0.2.1:80")));
        assert_eq!(bound(Family::V4, own, at("192.0.2.1:80")), Ok(at("192.0.2.1:80")));
        assert_eq!(bound(Family::V4, own, at("192.0.2.2:80")), Err(Errno::EADDRNOTAVAIL));
        assert_eq!(bound(Family::V4, own, at("[::1]:80")), Err(Errno::EAFNOSUPPORT));
        assert_eq!(bound(Family::V6, own, at("0.0.0.0:80")), Err(Errno::EINVAL));
        assert_eq!(bound(Family::V6, own, at("[::]:80")), Ok(at("[::ffff:192.0.2.1]:80")));
        assert_eq!(source(Family::V4, Ipv6Addr::LOCALHOST.into()), Err(Errno::EADDRNOTAVAIL));
        assert_eq!(bound(Family::V4, [0, 0, 0, 0].into(), at("192.0.2.2:80")), Ok(at("192.0.2.2:80")));
    }

    /// C38: the reported addresses are those that a local stack would report.
    #[test]
    fn any_address_stays_any() {
        assert_eq!(told(Family::V4, false, at("192.0.2.1:80")), at("0.0.0.0:80"));
        assert_eq!(told(Family::V6, false, at("[2001:db8::1]:80")), at("[::]:80"));
        assert_eq!(told(Family::V4, true, at("192.0.2.1:80")), at("192.0.2.1:80"));
    }
}
