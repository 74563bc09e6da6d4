//! Virtual Ethernet pairs (veth), which connect two namespaces.

use crate::Namespace;
use crate::error::{Result, Trying};
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use std::os::fd::AsRawFd;

/// One end of a pair.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Its namespace.
    pub namespace: &'a Namespace,
    /// Its name in that namespace.
    pub name: &'a str,
    /// Hardware address, fixed so that captures are reproducible.
    pub hardware_address: [u8; 6],
}

/// Creates a pair of connected Ethernet devices, both down.
///
/// When one end vanishes, for example with its namespace, the other vanishes too.
pub fn pair(first: End<'_>, second: End<'_>) -> Result<()> {
    let describe = |end: End<'_>| {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(end.name.to_owned()));
        message.attributes.push(LinkAttribute::Address(end.hardware_address.to_vec()));
        message.attributes.push(LinkAttribute::NetNsFd(end.namespace.fd().as_raw_fd()));
        message
    };
    let mut message = describe(first);
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Veth),
        LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(describe(second)))),
    ]));
    Netlink::open(first.namespace)?
        .change(RouteNetlinkMessage::NewLink(message), Existing::Refuse)
        .trying(|| format!("create the veth pair {} and {}", first.name, second.name))
}
