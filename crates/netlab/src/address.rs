//! Addresses of interfaces.

use crate::Namespace;
use crate::error::{Result, Trying};
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::net::IpAddr;

/// An address on an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    /// Index of the interface.
    pub index: u32,
    /// The address.
    pub address: IpAddr,
    /// Prefix length in bits.
    pub prefix_length: u8,
}

/// Adds `address` to an interface.
///
/// The address is usable at once, without duplicate address detection. The kernel adds no prefix
/// route: such a route would carry the default congestion control. Add routes with
/// [`route::add`](crate::route::add).
pub fn add(namespace: &Namespace, address: Address) -> Result<()> {
    let mut message = AddressMessage::default();
    message.header.family = family(address.address);
    message.header.prefix_len = address.prefix_length;
    message.header.index = address.index;
    message.attributes.push(AddressAttribute::Local(address.address));
    message.attributes.push(AddressAttribute::Address(address.address));
    message.attributes.push(AddressAttribute::Flags(AddressFlags::Nodad | AddressFlags::Noprefixroute));
    Netlink::open(namespace)?.change(RouteNetlinkMessage::NewAddress(message), Existing::Refuse).trying(
        || {
            format!(
                "add address {}/{} to interface {}",
                address.address, address.prefix_length, address.index
            )
        },
    )
}

/// Returns all addresses in `namespace`.
pub fn list(namespace: &Namespace) -> Result<Vec<Address>> {
    let answers =
        Netlink::open(namespace)?.dump(&RouteNetlinkMessage::GetAddress(AddressMessage::default()))?;
    Ok(answers.into_iter().filter_map(parse).collect())
}

fn parse(message: RouteNetlinkMessage) -> Option<Address> {
    let RouteNetlinkMessage::NewAddress(message) = message else { return None };
    // `Local` is the interface's own address; on a point-to-point interface `Address` is the
    // peer's. IPv6 has `Address` only.
    let own = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    let peer = message.attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Address(address) => Some(*address),
        _ => None,
    });
    Some(Address {
        index: message.header.index,
        address: own.or(peer)?,
        prefix_length: message.header.prefix_len,
    })
}

pub(crate) fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(attributes: Vec<AddressAttribute>) -> Option<Address> {
        let mut message = AddressMessage::default();
        message.header.index = 7;
        message.header.prefix_len = 30;
        message.attributes = attributes;
        parse(RouteNetlinkMessage::NewAddress(message))
    }

    #[test]
    fn the_own_address_is_listed_and_not_the_peers() {
        let [own, peer, six] = ["10.0.0.1", "10.0.0.2", "fd00::1"].map(|text| text.parse().expect("valid"));
        let expected = |address| Some(Address { index: 7, address, prefix_length: 30 });
        let both = vec![AddressAttribute::Address(peer), AddressAttribute::Local(own)];
        assert_eq!(listed(both), expected(own));
        assert_eq!(listed(vec![AddressAttribute::Address(six)]), expected(six));
        assert_eq!(listed(Vec::new()), None);
    }
}
