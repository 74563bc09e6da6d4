//! Interfaces of a namespace: state, MTU, queue length, hardware address and packet counters.

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use std::os::fd::AsRawFd;

/// An interface as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The interface index, unique in the namespace.
    pub index: u32,
    /// The name, at most 15 bytes.
    pub name: String,
    /// Largest packet in bytes, including the network header.
    pub mtu: u32,
    /// Capacity of the device queue in packets.
    pub queue_length: u32,
    /// Whether it is administratively up.
    pub up: bool,
    /// Index of the bridge or bond that it belongs to.
    pub controller: Option<u32>,
    /// Whether it is the loopback device.
    pub loopback: bool,
    /// Type of the link layer, which determines the header in front of the network header (ARPHRD,
    /// `linux/if_arp.h`): 1 is Ethernet, 65534 none.
    pub link_layer: u16,
    /// Hardware address; empty for TUN.
    pub hardware_address: Vec<u8>,
    /// Its packet counters so far.
    pub statistics: Statistics,
}

/// Packet counters of an interface, as seen by the kernel: `tx` is what the kernel sent *into* the
/// device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets that came out of the device into the kernel.
    pub rx_packets: u64,
    /// Packets that the kernel gave to the device.
    pub tx_packets: u64,
    /// Packets that came out of the device and were dropped for lack of room.
    pub rx_dropped: u64,
    /// Packets for which the device had no room; on a TUN device this means that its reader was too
    /// slow.
    pub tx_dropped: u64,
}

/// Changes to an interface; `None` leaves a value unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Up or down.
    pub up: Option<bool>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Capacity of the device queue in packets (`txqueuelen`).
    pub queue_length: Option<u32>,
    /// Hardware address.
    pub hardware_address: Option<[u8; 6]>,
}

impl Change {
    /// Returns the change that sets an interface up.
    #[must_use]
    pub fn up() -> Self {
        Self { up: Some(true), ..Self::default() }
    }
}

/// Returns all interfaces of `namespace`.
pub fn list(namespace: &Namespace) -> Result<Vec<Interface>> {
    let answers = Netlink::open(namespace)?.dump(&RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    Ok(answers.into_iter().filter_map(parse).collect())
}

/// Returns the interface called `name`.
pub fn find(namespace: &Namespace, name: &str) -> Result<Interface> {
    let mut question = LinkMessage::default();
    question.attributes.push(LinkAttribute::IfName(name.to_owned()));
    let answers = Netlink::open(namespace)?
        .get(RouteNetlinkMessage::GetLink(question))
        .trying(|| format!("find interface {name}"))?;
    answers
        .into_iter()
        .find_map(parse)
        .ok_or_else(|| Error::missing(format!("interface {name} not found"), "create it first"))
}

/// Changes the interface with index `index`.
pub fn change(namespace: &Namespace, index: u32, change: &Change) -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    if let Some(up) = change.up {
        message.header.change_mask = LinkFlags::Up;
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    }
    message.attributes.extend(change.mtu.map(LinkAttribute::Mtu));
    message.attributes.extend(change.queue_length.map(LinkAttribute::TxQueueLen));
    message.attributes.extend(change.hardware_address.map(|mac| LinkAttribute::Address(mac.to_vec())));
    Netlink::open(namespace)?
        .change(RouteNetlinkMessage::SetLink(message), Existing::Change)
        .trying(|| format!("change interface {index} ({change:?})"))
}

/// Moves the interface called `name` to namespace `to`, where it is down and has no addresses.
///
/// # Errors
/// If the kernel refuses: bridges and interfaces of Wi-Fi stay in their namespace, and `to` may
/// have an interface of this name.
pub fn set_namespace(from: &Namespace, name: &str, to: &Namespace) -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = find(from, name)?.index;
    message.attributes.push(LinkAttribute::NetNsFd(to.fd().as_raw_fd()));
    Netlink::open(from)?
        .change(RouteNetlinkMessage::SetLink(message), Existing::Change)
        .trying(|| format!("move interface {name} to another namespace"))
}

/// Removes the interface with index `index`.
pub fn remove(namespace: &Namespace, index: u32) -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    Netlink::open(namespace)?
        .change(RouteNetlinkMessage::DelLink(message), Existing::Change)
        .trying(|| format!("remove interface {index}"))
}

/// Sets the loopback device up; without it a namespace cannot even reach itself.
pub fn loopback_up(namespace: &Namespace) -> Result<()> {
    change(namespace, LOOPBACK, &Change::up())
}

/// Index of the loopback device in every namespace.
pub const LOOPBACK: u32 = 1;

fn parse(message: RouteNetlinkMessage) -> Option<Interface> {
    let RouteNetlinkMessage::NewLink(message) = message else { return None };
    let mut interface = Interface {
        index: message.header.index,
        name: String::new(),
        mtu: 0,
        queue_length: 0,
        up: message.header.flags.contains(LinkFlags::Up),
        controller: None,
        loopback: message.header.flags.contains(LinkFlags::Loopback),
        link_layer: message.header.link_layer_type.into(),
        hardware_address: Vec::new(),
        statistics: Statistics::default(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => interface.name = name,
            LinkAttribute::Mtu(mtu) => interface.mtu = mtu,
            LinkAttribute::Controller(index) => interface.controller = Some(index),
            LinkAttribute::TxQueueLen(length) => interface.queue_length = length,
            LinkAttribute::Address(address) => interface.hardware_address = address,
            LinkAttribute::Stats64(stats) => {
                interface.statistics = Statistics {
                    rx_packets: stats.rx_packets,
                    tx_packets: stats.tx_packets,
                    rx_dropped: stats.rx_dropped,
                    tx_dropped: stats.tx_dropped,
                }
            }
            _ => {}
        }
    }
    Some(interface)
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::link::Stats64;

    /// Drops of the kernel in front of the emulator are `tx_dropped`.
    #[test]
    fn each_field_of_an_interface_has_its_place() {
        let mut message = LinkMessage::default();
        message.header.index = 3;
        message.header.link_layer_type = 1.into();
        message.header.flags = LinkFlags::Up;
        let mut counters = Stats64::default();
        (counters.rx_packets, counters.tx_packets) = (1, 2);
        (counters.rx_dropped, counters.tx_dropped) = (3, 4);
        (counters.rx_bytes, counters.tx_errors) = (5, 6);
        message.attributes = vec![
            LinkAttribute::IfName("air".to_owned()),
            LinkAttribute::Mtu(576),
            LinkAttribute::Controller(7),
            LinkAttribute::TxQueueLen(1000),
            LinkAttribute::Address(vec![2, 0, 0, 0, 0, 1]),
            LinkAttribute::Stats64(counters),
        ];
        let expected = Interface {
            index: 3,
            name: "air".to_owned(),
            mtu: 576,
            queue_length: 1000,
            up: true,
            controller: Some(7),
            loopback: false,
            link_layer: 1,
            hardware_address: vec![2, 0, 0, 0, 0, 1],
            statistics: Statistics { rx_packets: 1, tx_packets: 2, rx_dropped: 3, tx_dropped: 4 },
        };
        assert_eq!(parse(RouteNetlinkMessage::NewLink(message)), Some(expected));
        let mut down = LinkMessage::default();
        down.header.flags = LinkFlags::Loopback;
        let down = parse(RouteNetlinkMessage::NewLink(down)).expect("an interface");
        assert_eq!((down.up, down.loopback, down.name.as_str()), (false, true, ""));
        assert_eq!(parse(RouteNetlinkMessage::DelLink(LinkMessage::default())), None);
    }

    /// Reading needs no rights.
    #[test]
    fn the_loopback_device_is_found_by_its_name() {
        let own = Namespace::current().expect("a namespace");
        let found = find(&own, "lo").expect("it is everywhere");
        assert!(found.loopback && found.index == LOOPBACK, "{found:?}");
        assert!(list(&own).expect("interfaces").iter().any(|its| its.name == "lo"));
        let error = find(&own, "no-such-device").expect_err("none").to_string();
        assert!(error.starts_with("cannot find interface no-such-device: "), "{error}");
    }
}
