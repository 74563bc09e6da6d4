//! Bridges of the kernel, each with the few ports of a link at Ethernet level.

use crate::Namespace;
use crate::error::{Result, Trying};
use crate::interface;
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    InfoBridge, InfoBridgePort, InfoData, InfoKind, InfoPortData, InfoPortKind, LinkAttribute, LinkInfo,
    LinkMessage,
};

/// Destinations of link-local protocols that a port forwards (01:80:c2:00:00:00 to 0f, one bit
/// each): all but pause frames (01), which are between the two ends of a cable.
const LINK_LOCAL: u16 = 0xfffd;

/// Creates a bridge that forwards every frame between its ports, and sets it up. It runs no
/// spanning tree, and does not select the ports of a multicast group.
pub(crate) fn create(namespace: &Namespace, name: &str) -> Result<u32> {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.to_owned()));
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::Kind(InfoKind::Bridge),
        LinkInfo::Data(InfoData::Bridge(vec![InfoBridge::MulticastSnooping(false)])),
    ]));
    Netlink::open(namespace)?
        .change(RouteNetlinkMessage::NewLink(message), Existing::Refuse)
        .trying(|| format!("create the bridge {name}"))?;
    let index = interface::find(namespace, name)?.index;
    interface::change(namespace, index, &interface::Change::up())?;
    Ok(index)
}

/// Makes an interface a port of a bridge, for frames of all protocols. Indices are those in
/// `namespace`.
pub(crate) fn add_port(namespace: &Namespace, bridge: u32, port: u32) -> Result<()> {
    let what = || format!("make interface {port} a port of bridge {bridge}");
    let mut message = LinkMessage::default();
    message.header.index = port;
    message.attributes.push(LinkAttribute::Controller(bridge));
    let mut netlink = Netlink::open(namespace)?;
    netlink.change(RouteNetlinkMessage::SetLink(message), Existing::Change).trying(what)?;
    let mut message = LinkMessage::default();
    message.header.index = port;
    message.attributes.push(LinkAttribute::LinkInfo(vec![
        LinkInfo::PortKind(InfoPortKind::Bridge),
        LinkInfo::PortData(InfoPortData::BridgePort(vec![InfoBridgePort::GroupFwdMask(LINK_LOCAL)])),
    ]));
    netlink.change(RouteNetlinkMessage::NewLink(message), Existing::Change).trying(what)
}
