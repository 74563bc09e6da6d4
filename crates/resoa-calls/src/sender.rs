//! Properties of a datagram socket that determine what its program may send, stored in its
//! descriptor.
//!
//! They are options that have no meaning on AF_UNIX and are shared by all copies, as the
//! [mark](crate::descriptor::mark) is. With them an interposer finds most errors of `sendto`
//! without asking the agent.

use crate::descriptor;
use rustix::fd::AsFd;
use std::net::SocketAddr;

/// A property of a datagram socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Property {
    /// The family is AF_INET6. The agent sets this when it creates the socket.
    V6,
    /// IPV6_V6ONLY is on. The interposer sets this after `setsockopt`.
    V6Only,
    /// The socket is bound to a loopback address. The interposer sets this after `bind`.
    Loopback,
}

impl Property {
    /// Returns the option of SOL_SOCKET that stores it.
    fn option(self) -> i32 {
        match self {
            Self::V6 => libc::SO_REUSEADDR,
            Self::V6Only => libc::SO_DONTROUTE,
            Self::Loopback => libc::SO_KEEPALIVE,
        }
    }
}

/// Returns whether a descriptor has a property.
#[must_use]
pub fn has(socket: impl AsFd, property: Property) -> bool {
    descriptor::number(socket, property.option()).is_some_and(|number| number != 0)
}

/// Sets or clears a property of a descriptor.
pub fn set(socket: impl AsFd, property: Property, on: bool) {
    descriptor::set_option(socket, property.option(), &i32::from(on).to_ne_bytes());
}

/// Records a successful `bind` of a datagram socket.
pub fn bound(socket: impl AsFd, address: SocketAddr) {
    set(socket, Property::Loopback, address.ip().to_canonical().is_loopback());
}

/// Records a successful `setsockopt` of a datagram socket.
pub fn option_is_set(socket: impl AsFd, level: i32, name: i32, value: &[u8]) {
    if (level, name) == (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY) {
        set(socket, Property::V6Only, value.iter().any(|&octet| octet != 0));
    }
}

/// Returns SO_DOMAIN of a datagram socket: AF_INET or AF_INET6.
#[must_use]
pub fn domain(socket: impl AsFd) -> i32 {
    if has(socket, Property::V6) { libc::AF_INET6 } else { libc::AF_INET }
}

/// Reads the destination that a program gave to `sendto`; `None` is the socket's own.
///
/// For UDP over IPv6 AF_UNSPEC means the socket's own destination (`udpv6_sendmsg`). For UDP over
/// IPv4 it means AF_INET (`udp_sendmsg`).
///
/// # Errors
/// EINVAL if the address is too short or its port is 0. For an unsupported family EAFNOSUPPORT
/// (IPv4) or EINVAL (IPv6). ENETUNREACH for an IPv4 destination on a socket with IPV6_V6ONLY.
pub fn destination(socket: impl AsFd, octets: &[u8]) -> Result<Option<SocketAddr>, i32> {
    if !has(&socket, Property::V6) {
        return of_v4(octets).map(Some);
    }
    let family = octets.first_chunk().map(|family| i32::from(u16::from_ne_bytes(*family)));
    let to = match family.ok_or(libc::EINVAL)? {
        libc::AF_UNSPEC => return Ok(None),
        libc::AF_INET if has(&socket, Property::V6Only) => return Err(libc::ENETUNREACH),
        libc::AF_INET => return of_v4(octets).map(Some),
        libc::AF_INET6 => crate::address::read(octets)?.ok_or(libc::EINVAL)?,
        _ => return Err(libc::EINVAL),
    };
    if to.ip().to_canonical().is_ipv4() && has(socket, Property::V6Only) {
        return Err(libc::ENETUNREACH);
    }
    if to.port() == 0 { Err(libc::EINVAL) } else { Ok(Some(to)) }
}

/// Reads the address that a program gave to `connect`; `None` is AF_UNSPEC
/// (`__ip4_datagram_connect`, `__ip6_datagram_connect`).
///
/// # Errors
/// EINVAL if it is too short for the socket's IP version; EAFNOSUPPORT if the socket cannot connect
/// to this family.
pub fn peer(socket: impl AsFd, octets: &[u8]) -> Result<Option<SocketAddr>, i32> {
    let family = octets.first_chunk().map(|family| i32::from(u16::from_ne_bytes(*family)));
    let is_v6 = has(socket, Property::V6);
    let shortest = match family.ok_or(libc::EINVAL)? {
        libc::AF_UNSPEC => return Ok(None),
        libc::AF_INET => crate::address::V4,
        _ if is_v6 => crate::address::V6_OLD,
        _ => crate::address::V4,
    };
    if octets.len() < shortest {
        return Err(libc::EINVAL);
    }
    if family == Some(libc::AF_INET6) && !is_v6 {
        return Err(libc::EAFNOSUPPORT);
    }
    crate::address::read(octets)
}

fn of_v4(octets: &[u8]) -> Result<SocketAddr, i32> {
    let mut v4 = *octets.first_chunk::<{ crate::address::V4 }>().ok_or(libc::EINVAL)?;
    let family = [v4[0], v4[1]];
    if ![libc::AF_INET, libc::AF_UNSPEC].contains(&i32::from(u16::from_ne_bytes(family))) {
        return Err(libc::EAFNOSUPPORT);
    }
    v4[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    let address = crate::address::read(&v4)?.ok_or(libc::EINVAL)?;
    if address.port() == 0 { Err(libc::EINVAL) } else { Ok(address) }
}

/// Returns whether the server may refuse a datagram to `to` because of its source: a datagram from
/// a loopback address cannot leave the host (EINVAL).
///
/// Only the server knows which addresses are its own, so it must be asked after the datagram
/// ([`ASKED`](crate::datagram::ASKED)).
#[must_use]
pub fn may_have_wrong_source(socket: impl AsFd, to: Option<SocketAddr>) -> bool {
    to.is_some_and(|to| !to.ip().to_canonical().is_loopback()) && has(socket, Property::Loopback)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::written;
    use rustix::fd::OwnedFd;
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

    fn socket(properties: &[Property]) -> (OwnedFd, OwnedFd) {
        let flags = SocketFlags::CLOEXEC;
        let (one, other) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).expect("descriptors");
        for property in properties {
            set(&one, *property, true);
        }
        (one, other)
    }

    fn at(address: &str) -> SocketAddr {
        address.parse().expect("an address")
    }

    const V4: &str = "192.0.2.1:53";
    const V6: &str = "[2001:db8::1]:53";
    const MAPPED: &str = "[::ffff:192.0.2.1]:53";

    /// C91: valid destinations for UDP of each IP version (`udp_sendmsg`, `udpv6_sendmsg`).
    #[test]
    fn destinations() {
        let (v4, _v4) = socket(&[]);
        let (v6, _v6) = socket(&[Property::V6]);
        let (only, _only) = socket(&[Property::V6, Property::V6Only]);
        let ok = |to: &str| Ok(Some(at(to)));
        for (to, of_v4, of_v6, of_only) in [
            (V4, ok(V4), ok(V4), Err(libc::ENETUNREACH)),
            (V6, Err(libc::EAFNOSUPPORT), ok(V6), ok(V6)),
            (MAPPED, Err(libc::EAFNOSUPPORT), ok(MAPPED), Err(libc::ENETUNREACH)),
            ("192.0.2.1:0", Err(libc::EINVAL), Err(libc::EINVAL), Err(libc::ENETUNREACH)),
            ("[2001:db8::1]:0", Err(libc::EAFNOSUPPORT), Err(libc::EINVAL), Err(libc::EINVAL)),
        ] {
            let octets = written(at(to));
            let found = [&v4, &v6, &only].map(|socket| destination(socket, &octets));
            assert_eq!(found, [of_v4, of_v6, of_only], "{to}");
        }
        let mut none = written(at(V4)).to_vec();
        none[..2].fill(0);
        assert_eq!(destination(&v4, &none), ok(V4));
        assert_eq!(destination(&v6, &none), Ok(None));
        for octets in [&none[..1], &[]] {
            assert_eq!(destination(&v4, octets), Err(libc::EINVAL));
            assert_eq!(destination(&v6, octets), Err(libc::EINVAL));
        }
        none[0] = libc::AF_UNIX as u8;
        assert_eq!(destination(&v4, &none), Err(libc::EAFNOSUPPORT));
        assert_eq!(destination(&v6, &none), Err(libc::EINVAL));
        assert_eq!(destination(&v6, &written(at(V6))[..23]), Err(libc::EINVAL));
    }

    /// C91: valid peers for UDP of each IP version.
    #[test]
    fn peers() {
        let (v4, _v4) = socket(&[]);
        let (v6, _v6) = socket(&[Property::V6]);
        let unix = [&(libc::AF_UNIX as u16).to_ne_bytes()[..], &[0; 26]].concat();
        for (octets, of_v4, of_v6) in [
            (&written(at(V4))[..], Ok(Some(at(V4))), Ok(Some(at(V4)))),
            (&written(at(V4))[..15], Err(libc::EINVAL), Err(libc::EINVAL)),
            (&written(at(V6)), Err(libc::EAFNOSUPPORT), Ok(Some(at(V6)))),
            (&written(at(V6))[..23], Err(libc::EAFNOSUPPORT), Err(libc::EINVAL)),
            (&written(at(V6))[..15], Err(libc::EINVAL), Err(libc::EINVAL)),
            (&unix, Err(libc::EAFNOSUPPORT), Err(libc::EAFNOSUPPORT)),
            (&unix[..16], Err(libc::EAFNOSUPPORT), Err(libc::EINVAL)),
            (&unix[..2], Err(libc::EINVAL), Err(libc::EINVAL)),
            (&[0, 0], Ok(None), Ok(None)),
            (&[0], Err(libc::EINVAL), Err(libc::EINVAL)),
        ] {
            assert_eq!((peer(&v4, octets), peer(&v6, octets)), (of_v4, of_v6), "{octets:?}");
        }
    }

    /// All copies of a descriptor share its properties.
    #[test]
    fn properties_stay_with_the_descriptor() {
        let (one, _other) = socket(&[Property::V6]);
        let copy = one.try_clone().expect("descriptors");
        assert_eq!((domain(&copy), has(&copy, Property::V6Only)), (libc::AF_INET6, false));
        option_is_set(&one, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &1_i32.to_ne_bytes());
        assert!(has(&copy, Property::V6Only));
        option_is_set(&one, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, &0_i32.to_ne_bytes());
        assert!(!has(&copy, Property::V6Only));
        for (address, far, near) in [("[::1]:9", true, false), ("[::]:9", false, false)] {
            bound(&one, at(address));
            assert_eq!(may_have_wrong_source(&copy, Some(at(V6))), far, "{address}");
            assert_eq!(may_have_wrong_source(&copy, Some(at("127.0.0.1:9"))), near, "{address}");
            assert!(!may_have_wrong_source(&copy, None));
        }
    }
}
