//! Interfaces of a namespace: up, MTU, queue length, hardware address, and what they counted.

use crate::Namespace;
use crate::error::{Error, Result, Trying};
use crate::netlink::{Existing, Netlink};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};

/// An interface as the kernel describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The kernel's number, unique in the namespace.
    pub index: u32,
    /// The name, at most 15 bytes.
    pub name: String,
    /// Largest packet in bytes, network header included.
    pub mtu: u32,
    /// Packets the device queue holds.
    pub queue_length: u32,
    /// Whether it is administratively up.
    pub up: bool,
    /// Whether it is the loopback.
    pub loopback: bool,
    /// Number of its link layer's type, which says what stands before the network header (ARPHRD,
    /// `linux/if_arp.h`): 1 is Ethernet, 65534 none.
    pub link_layer: u16,
    /// Hardware address; empty for TUN.
    pub hardware_address: Vec<u8>,
    /// What it counted so far.
    pub statistics: Statistics,
}

/// Packet counters of an interface, as the kernel sees the direction: `tx` is what the kernel sent
/// *into* the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Packets that came out of the device into the kernel.
    pub rx_packets: u64,
    /// Packets the kernel gave to the device.
    pub tx_packets: u64,
    /// Packets that came out of the device and had no room.
    pub rx_dropped: u64,
    /// Packets the device had no room for; on a TUN end this means that its reader was too slow.
    pub tx_dropped: u64,
}

/// What to change on an interface; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// Up or down.
    pub up: Option<bool>,
    /// MTU in bytes.
    pub mtu: Option<u32>,
    /// Packets the device queue holds (`txqueuelen`).
    pub queue_length: Option<u32>,
    /// Hardware address.
    pub hardware_address: Option<[u8; 6]>,
}

impl Change {
    /// Sets the interface up.
    #[must_use]
    pub fn up() -> Self {
        Self { up: Some(true), ..Self::default() }
    }
}

/// All interfaces of `namespace`.
pub fn list(namespace: &Namespace) -> Result<Vec<Interface>> {
    let answers = Netlink::open(namespace)?.dump(&RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    Ok(answers.into_iter().filter_map(parse).collect())
}

/// The interface called `name`.
pub fn find(namespace: &Namespace, name: &str) -> Result<Interface> {
    let mut question = LinkMessage::default();
    question.attributes.push(LinkAttribute::IfName(name.to_owned()));
    let answers = Netlink::open(namespace)?
        .get(RouteNetlinkMessage::GetLink(question))
        .trying(|| format!("find interface {name}"))?;
    answers
        .into_iter()
        .find_map(parse)
        .ok_or_else(|| Error::missing(format!("interface {name} not found"), "make it"))
}

/// Changes the interface with number `index`.
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
        .trying(|| format!("change interface {index}: {change:?}"))
}

/// Removes the interface with number `index`.
pub fn remove(namespace: &Namespace, index: u32) -> Result<()> {
    let mut message = LinkMessage::default();
    message.header.index = index;
    Netlink::open(namespace)?
        .change(RouteNetlinkMessage::DelLink(message), Existing::Change)
        .trying(|| format!("remove interface {index}"))
}

/// Sets the loopback device up, without which a namespace cannot even reach itself.
pub fn loopback_up(namespace: &Namespace) -> Result<()> {
    change(namespace, LOOPBACK, &Change::up())
}

/// The loopback device is number 1 in every namespace.
pub const LOOPBACK: u32 = 1;

fn parse(message: RouteNetlinkMessage) -> Option<Interface> {
    let RouteNetlinkMessage::NewLink(message) = message else { return None };
    let mut interface = Interface {
        index: message.header.index,
        name: String::new(),
        mtu: 0,
        queue_length: 0,
        up: message.header.flags.contains(LinkFlags::Up),
        loopback: message.header.flags.contains(LinkFlags::Loopback),
        link_layer: message.header.link_layer_type.into(),
        hardware_address: Vec::new(),
        statistics: Statistics::default(),
    };
    for attribute in message.attributes {
        match attribute {
            LinkAttribute::IfName(name) => interface.name = name,
            LinkAttribute::Mtu(mtu) => interface.mtu = mtu,
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
