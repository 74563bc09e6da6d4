//! A cable between two namespaces.

use crate::Namespace;
use crate::error::{Result, Trying};
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{InfoData, InfoKind, InfoVeth, LinkAttribute, LinkInfo, LinkMessage};
use std::os::fd::AsRawFd;

/// One end of the cable.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// Where it comes to lie.
    pub namespace: &'a Namespace,
    /// Its name there.
    pub name: &'a str,
    /// Hardware address, fixed so that captures repeat.
    pub hardware_address: [u8; 6],
}

/// Makes a pair of connected Ethernet devices, both down. Either end's going (with its namespace,
/// say) takes the other along.
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
        .trying(|| format!("make the veth pair {} and {}", first.name, second.name))
}
