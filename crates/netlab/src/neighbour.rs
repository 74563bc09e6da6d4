//! Permanent neighbour entries, so that no ARP or neighbour discovery crosses a TAP link.

use crate::Namespace;
use crate::address::family;
use crate::error::{Result, Trying};
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourMessage, NeighbourState,
};
use std::net::IpAddr;

/// Adds a permanent entry: `address` on interface `index` has the hardware address `mac`.
pub fn add(namespace: &Namespace, index: u32, address: IpAddr, mac: [u8; 6]) -> Result<()> {
    let mut message = NeighbourMessage::default();
    message.header.family = family(address);
    message.header.ifindex = index;
    message.header.state = NeighbourState::Permanent;
    let destination = match address {
        IpAddr::V4(address) => NeighbourAddress::Inet(address),
        IpAddr::V6(address) => NeighbourAddress::Inet6(address),
    };
    message.attributes.push(NeighbourAttribute::Destination(destination));
    message.attributes.push(NeighbourAttribute::LinkLayerAddress(mac.to_vec()));
    Netlink::open(namespace)?
        .change(RouteNetlinkMessage::NewNeighbour(message), Existing::Replace)
        .trying(|| format!("add the neighbour {address} on interface {index}"))
}
