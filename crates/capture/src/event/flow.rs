//! Connection to which a packet belongs.

use packet::Layer;
use packet::headers::Headers;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr};

/// Addresses, ports and position in the stream, as far as the packet's headers could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Flow {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// IP protocol number (6 TCP, 17 UDP) after all extension headers.
    pub protocol: u8,
    /// Source and destination port of TCP or UDP.
    pub ports: Option<(u16, u16)>,
    /// TCP sequence number of the first byte.
    pub tcp_sequence: Option<u32>,
    /// Number of bytes after the transport header.
    pub payload: Option<u32>,
}

impl Flow {
    /// A flow before any column was read.
    pub(crate) const UNKNOWN: Self = Self {
        source: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        destination: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        protocol: 0,
        ports: None,
        tcp_sequence: None,
        payload: None,
    };

    /// Reads the headers at the start of `bytes`; `None` if there is no valid IP header. `length`
    /// is that of the whole packet; `bytes` may be only its first part.
    #[must_use]
    pub fn of(layer: Layer, bytes: &[u8], length: u32) -> Option<Self> {
        let headers = Headers::parse(layer, bytes).ok()?;
        let (source, destination) = headers.addresses();
        // The end comes from the IP header, since Ethernet pads short packets. A packet that was
        // cut has no padding.
        let end = if headers.is_cut() { length as usize } else { headers.end() };
        Some(Self {
            source,
            destination,
            protocol: headers.protocol(),
            ports: headers.ports(),
            tcp_sequence: headers.tcp().map(|tcp| tcp.sequence),
            payload: headers.payload().map(|start| end.saturating_sub(start) as u32),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::PacketBuilder;

    fn tcp(sequence: u32) -> Flow {
        Flow {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            protocol: 6,
            ports: Some((1111, 80)),
            tcp_sequence: Some(sequence),
            payload: Some(3),
        }
    }

    #[test]
    fn a_segment_with_the_padding_of_ethernet() {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64);
        builder.tcp(1111, 80, 7, 100).write(&mut bytes, b"abc").expect("a packet");
        bytes.resize(60, 0);
        assert_eq!(Flow::of(Layer::Ethernet, &bytes, 60), Some(tcp(7)));
    }

    #[test]
    fn of_a_long_packet_the_headers_are_enough() {
        let mut bytes = Vec::new();
        let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).tcp(1111, 80, 7, 100);
        builder.write(&mut bytes, &[0; 1460]).expect("a packet");
        let expected = Flow { payload: Some(1460), ..tcp(7) };
        assert_eq!(Flow::of(Layer::Ip, &bytes[..128], 1500), Some(expected));
    }

    #[test]
    fn datagrams_over_ipv6_have_no_sequence_number() {
        let mut bytes = Vec::new();
        PacketBuilder::ipv6([1; 16], [2; 16], 64).udp(53, 54).write(&mut bytes, b"abcd").expect("a packet");
        let flow = Flow::of(Layer::Ip, &bytes, bytes.len() as u32).expect("headers");
        assert_eq!((flow.source, flow.protocol, flow.ports), ([1_u8; 16].into(), 17, Some((53, 54))));
        assert_eq!((flow.tcp_sequence, flow.payload), (None, Some(4)));
    }

    #[test]
    fn what_has_no_headers_is_nobodys() {
        assert_eq!(Flow::of(Layer::Ip, &[], 0), None);
        assert_eq!(Flow::of(Layer::Ip, &[0xff; 40], 40), None);
        assert_eq!(Flow::of(Layer::Ethernet, &[0; 60], 60), None);
    }
}
