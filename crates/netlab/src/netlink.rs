//! Addresses, routes and interfaces, by rtnetlink.
//!
//! A [`Netlink`] belongs to the namespace it was opened in, whichever thread uses it later.

use crate::errors::{Attempt, NetlabError};
use crate::namespace::Namespace;
use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REPLACE, NLM_F_REQUEST, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteHeader, RouteMessage, RouteMetric, RouteProtocol, RouteScope,
    RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use std::io;
use std::net::IpAddr;

/// A connection to the routing tables of one namespace.
pub struct Netlink {
    socket: Socket,
}

/// A prefix: an address and how many of its bits count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// The address.
    pub address: IpAddr,
    /// Bits that count.
    pub length: u8,
}

/// A route to add.
#[derive(Debug, Clone)]
pub struct Route<'a> {
    /// Where to.
    pub to: Prefix,
    /// Over which gateway, if not directly.
    pub via: Option<IpAddr>,
    /// Out of which interface.
    pub interface: u32,
    /// Congestion control of TCP connections that take this route (RTAX_CC_ALGO).
    pub congestion_control: &'a str,
}

impl Prefix {
    /// The prefix of this address alone.
    #[must_use]
    pub const fn host(address: IpAddr) -> Self {
        Self { address, length: if address.is_ipv4() { 32 } else { 128 } }
    }

    /// All addresses of the family of `like`.
    #[must_use]
    pub fn default_route(like: IpAddr) -> Self {
        let address = match like {
            IpAddr::V4(_) => IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED),
            IpAddr::V6(_) => IpAddr::V6(std::net::Ipv6Addr::UNSPECIFIED),
        };
        Self { address, length: 0 }
    }

    /// Whether two prefixes have an address in common.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(v4) => u128::from(u32::from(v4)) << 96,
            IpAddr::V6(v6) => u128::from(v6),
        };
        let shared = self.length.min(other.length);
        let mask = if shared == 0 { 0 } else { u128::MAX << (128 - u32::from(shared)) };
        self.address.is_ipv4() == other.address.is_ipv4()
            && (bits(self.address) ^ bits(other.address)) & mask == 0
    }
}

const fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

impl Netlink {
    /// Connects to the tables of `namespace`.
    pub fn open(namespace: &Namespace) -> Result<Self, NetlabError> {
        namespace.enter(|| {
            let connect = || {
                let mut socket = Socket::new(NETLINK_ROUTE)?;
                socket.bind_auto()?;
                socket.connect(&SocketAddr::new(0, 0))?;
                Ok::<_, io::Error>(socket)
            };
            Ok(Self { socket: connect().attempt("open a netlink socket")? })
        })
    }

    /// Number of the interface called `name`.
    pub fn index(&self, name: &str) -> Result<u32, NetlabError> {
        let mut message = LinkMessage::default();
        message.attributes.push(LinkAttribute::IfName(name.to_owned()));
        let answers = self
            .request(RouteNetlinkMessage::GetLink(message), 0)
            .attempt(format!("look for the interface {name}"))?;
        for answer in answers {
            if let RouteNetlinkMessage::NewLink(link) = answer {
                return Ok(link.header.index);
            }
        }
        Err(NetlabError::new(format!("look for the interface {name}"), "the kernel did not answer"))
    }

    /// Packets that the kernel dropped because the queue of this interface towards us was full.
    pub fn dropped(&self, index: u32) -> Result<u64, NetlabError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        let answers = self
            .request(RouteNetlinkMessage::GetLink(message), 0)
            .attempt("read the counters of an interface")?;
        for answer in answers {
            let RouteNetlinkMessage::NewLink(link) = answer else { continue };
            for attribute in link.attributes {
                if let LinkAttribute::Stats64(stats) = attribute {
                    return Ok(stats.tx_dropped);
                }
            }
        }
        Err(NetlabError::new("read the counters of an interface", "the kernel gave none"))
    }

    /// Sets MTU and queue length of an interface and brings it up.
    pub fn bring_up(&self, index: u32, mtu: Option<u32>, queue: Option<u32>) -> Result<(), NetlabError> {
        let mut message = LinkMessage::default();
        message.header.index = index;
        message.header.flags = LinkFlags::Up;
        message.header.change_mask = LinkFlags::Up;
        message.attributes.extend(mtu.map(LinkAttribute::Mtu));
        message.attributes.extend(queue.map(LinkAttribute::TxQueueLen));
        self.request(RouteNetlinkMessage::SetLink(message), NLM_F_ACK)
            .attempt(format!("bring interface {index} up"))
            .map(drop)
    }

    /// Gives an interface an address whose only neighbour is `peer`, without any route.
    pub fn add_address(&self, index: u32, address: IpAddr, peer: IpAddr) -> Result<(), NetlabError> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.index = index;
        message.header.prefix_len = Prefix::host(address).length;
        message.attributes = vec![
            AddressAttribute::Local(address),
            AddressAttribute::Address(peer),
            AddressAttribute::Flags(AddressFlags::Noprefixroute | AddressFlags::Nodad),
        ];
        self.request(RouteNetlinkMessage::NewAddress(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL)
            .attempt(format!("give interface {index} the address {address}"))
            .map(drop)
    }

    /// Adds a route.
    pub fn add_route(&self, route: &Route<'_>) -> Result<(), NetlabError> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(route.to.address);
        message.header.destination_prefix_length = route.to.length;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = if route.via.is_some() { RouteScope::Universe } else { RouteScope::Link };
        message.header.kind = RouteType::Unicast;
        if route.to.length > 0 {
            message.attributes.push(RouteAttribute::Destination(RouteAddress::from(route.to.address)));
        }
        message.attributes.push(RouteAttribute::Oif(route.interface));
        message.attributes.extend(route.via.map(|via| RouteAttribute::Gateway(RouteAddress::from(via))));
        message
            .attributes
            .push(RouteAttribute::Metrics(vec![RouteMetric::CcAlgo(route.congestion_control.to_owned())]));
        self.request(RouteNetlinkMessage::NewRoute(message), NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE)
            .attempt(format!("add a route to {}/{}", route.to.address, route.to.length))
            .map(drop)
    }

    /// Every prefix that the namespace has an address in or a route to, default routes left out.
    pub fn prefixes(&self) -> Result<Vec<Prefix>, NetlabError> {
        let mut prefixes = Vec::new();
        let addresses = self
            .request(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)
            .attempt("list the addresses of the namespace")?;
        for answer in addresses {
            let RouteNetlinkMessage::NewAddress(message) = answer else { continue };
            for attribute in &message.attributes {
                if let AddressAttribute::Address(address) | AddressAttribute::Local(address) = attribute {
                    prefixes.push(Prefix { address: *address, length: message.header.prefix_len });
                }
            }
        }
        let routes = self
            .request(RouteNetlinkMessage::GetRoute(RouteMessage::default()), NLM_F_DUMP)
            .attempt("list the routes of the namespace")?;
        for answer in routes {
            let RouteNetlinkMessage::NewRoute(message) = answer else { continue };
            for attribute in &message.attributes {
                let address = match attribute {
                    RouteAttribute::Destination(RouteAddress::Inet(v4)) => IpAddr::V4(*v4),
                    RouteAttribute::Destination(RouteAddress::Inet6(v6)) => IpAddr::V6(*v6),
                    _ => continue,
                };
                prefixes.push(Prefix { address, length: message.header.destination_prefix_length });
            }
        }
        Ok(prefixes)
    }

    /// Sends a request and collects what the kernel answers.
    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = 1;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;

        let mut answers = Vec::new();
        loop {
            let (received, _) = self.socket.recv_from_full()?;
            let mut rest = received.as_slice();
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
                // Messages are padded to four bytes.
                let length = (answer.header.length as usize).next_multiple_of(4).min(rest.len());
                rest = &rest[length.max(1)..];
                match answer.payload {
                    NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                    NetlinkPayload::Error(_) | NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::InnerMessage(inner) => {
                        answers.push(inner);
                        // A request for one thing without an acknowledgement is answered by that one message.
                        if flags & (NLM_F_ACK | NLM_F_DUMP) == 0 {
                            return Ok(answers);
                        }
                    }
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        let (address, length) = text.split_once('/').expect("a prefix");
        Prefix { address: address.parse().expect("an address"), length: length.parse().expect("a length") }
    }

    #[test]
    fn prefixes_overlap_if_one_holds_the_other() {
        assert!(prefix("100.64.0.0/30").overlaps(&prefix("100.64.0.2/32")));
        assert!(prefix("100.64.0.0/10").overlaps(&prefix("100.64.0.4/30")));
        assert!(!prefix("100.64.0.0/30").overlaps(&prefix("100.64.0.4/30")));
        assert!(prefix("0.0.0.0/0").overlaps(&prefix("100.64.0.4/30")));
        assert!(!prefix("::/0").overlaps(&prefix("100.64.0.4/30")));
        assert!(prefix("fd00::/8").overlaps(&prefix("fd6c:6173:7468::1/128")));
    }
}
