//! Offsets of a packet's headers, and the fields that a link needs.
//!
//! [`Headers::parse`] reads Ethernet with any number of VLAN tags (802.1Q, 802.1ad), IPv4 with
//! options, and IPv6 with hop-by-hop, routing, destination and fragment headers. Of the transport
//! header it reads only lengths, ports and a few TCP fields. It copies what it finds and allocates
//! nothing. So the packet may be changed while the headers are held; they then describe the packet
//! as it was when read.
//!
//! It is as tolerant as a link must be: an IP header must be readable. Everything after it may be
//! truncated, damaged or unknown, and is then reported as absent. The parser does not verify
//! checksums (see [`crate::checksum`]), and does not look into tunnels, authentication headers or
//! jumbograms (RFC 2675).

mod region;

pub use region::{Region, UnknownRegion};

use crate::Layer;
use etherparse::{EtherType, IpNumber};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ops::Range;

/// Protocol number of TCP in an IP header.
pub const TCP: u8 = IpNumber::TCP.0;
/// Protocol number of UDP in an IP header.
pub const UDP: u8 = IpNumber::UDP.0;
/// Protocol number of ICMP for IPv4 in an IP header.
pub const ICMP: u8 = IpNumber::ICMP.0;
/// Protocol number of ICMP for IPv6 in an IP header.
pub const ICMPV6: u8 = IpNumber::IPV6_ICMP.0;

const ETHERNET_LEN: usize = 14;
const VLAN_LEN: usize = 4;
pub(crate) const IPV4_LEN: usize = 20;
pub(crate) const IPV6_LEN: usize = 40;
const TCP_LEN: usize = 20;
const UDP_LEN: usize = 8;
const ICMP_LEN: usize = 8;

/// Offsets and contents of the headers of one packet.
///
/// Offsets count from the first byte of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Headers {
    source: IpAddr,
    destination: IpAddr,
    /// Start of the IPv4 or IPv6 header.
    network: u32,
    /// Start of the data that IP carries, after the last extension header.
    segment: u32,
    /// End of the transport header, if that is complete.
    payload: Option<u32>,
    /// End of the IP packet, or of the bytes if they end earlier.
    end: u32,
    cut: bool,
    fragment: Fragment,
    rerouted: bool,
    protocol: u8,
    ports: Option<(u16, u16)>,
    tcp: Option<Tcp>,
}

/// Fields of a TCP header (RFC 9293).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tcp {
    /// Sequence number of the first byte, or of the SYN if there is one.
    pub sequence: u32,
    /// Acknowledgment number; valid only with [`Tcp::ACK`].
    pub acknowledgment: u32,
    /// The flags, as in byte 13 of the header; see the constants.
    pub flags: u8,
}

/// Whether IP carries a whole segment or a fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fragment {
    Whole,
    First,
    Later,
}

/// A packet whose IP header cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// The bytes end within a header.
    #[error("{len} bytes end inside the {header} header: pass the whole packet")]
    Cut {
        /// Name of the header.
        header: &'static str,
        /// Number of bytes in total.
        len: usize,
    },
    /// An Ethernet frame that does not carry IP, such as ARP.
    #[error("EtherType {0:#06x} is not IP: only IPv4 (0x0800) and IPv6 (0x86dd) are supported")]
    NotIp(u16),
    /// The IP version is neither 4 nor 6, or differs from the one that the Ethernet header states.
    #[error("IP version {0}, expected 4 or 6: check that the layer (IP or Ethernet) is that of the device")]
    Version(u8),
    /// The lengths in the IPv4 header contradict each other.
    #[error("IPv4 header length {header} does not fit total length {total}: the packet is damaged")]
    Length {
        /// Header length in bytes.
        header: usize,
        /// Total length in bytes.
        total: usize,
    },
}

impl Tcp {
    /// No more data from the sender.
    pub const FIN: u8 = 0x01;
    /// Synchronize sequence numbers.
    pub const SYN: u8 = 0x02;
    /// Reset the connection.
    pub const RST: u8 = 0x04;
    /// Push.
    pub const PSH: u8 = 0x08;
    /// The acknowledgment number is valid.
    pub const ACK: u8 = 0x10;
    /// The urgent pointer is valid.
    pub const URG: u8 = 0x20;
    /// ECN echo (RFC 3168).
    pub const ECE: u8 = 0x40;
    /// Congestion window reduced (RFC 3168).
    pub const CWR: u8 = 0x80;

    /// Returns whether any of `flags` is set.
    #[must_use]
    pub const fn has(self, flags: u8) -> bool {
        self.flags & flags != 0
    }
}

impl Headers {
    /// Reads the headers at the start of `bytes`, the first of which belongs to `layer`.
    #[inline]
    pub fn parse(layer: Layer, bytes: &[u8]) -> Result<Self, Unreadable> {
        let (network, version) = network_start(layer, bytes)?;
        match version {
            4 => Self::ipv4(bytes, network),
            _ => Self::ipv6(bytes, network),
        }
    }

    fn ipv4(bytes: &[u8], network: usize) -> Result<Self, Unreadable> {
        let cut = Unreadable::Cut { header: "IPv4", len: bytes.len() };
        let Some(ip) = bytes[network..].first_chunk::<IPV4_LEN>() else { return Err(cut) };
        let header = usize::from(ip[0] & 0x0f) * 4;
        let total = usize::from(u16_at(ip, 2));
        if header < IPV4_LEN || total < header {
            return Err(Unreadable::Length { header, total });
        }
        if bytes.len() < network + header {
            return Err(cut);
        }
        let fragment = match u16_at(ip, 6) & 0x3fff {
            0 => Fragment::Whole,
            0x2000 => Fragment::First,
            _ => Fragment::Later,
        };
        let mut headers = Self {
            source: Ipv4Addr::from([ip[12], ip[13], ip[14], ip[15]]).into(),
            destination: Ipv4Addr::from([ip[16], ip[17], ip[18], ip[19]]).into(),
            network: network as u32,
            segment: (network + header) as u32,
            payload: None,
            end: bytes.len().min(network + total) as u32,
            cut: bytes.len() < network + total,
            fragment,
            rerouted: false,
            protocol: ip[9],
            ports: None,
            tcp: None,
        };
        headers.read_transport(bytes);
        Ok(headers)
    }

    fn ipv6(bytes: &[u8], network: usize) -> Result<Self, Unreadable> {
        let Some(ip) = bytes[network..].first_chunk::<IPV6_LEN>() else {
            return Err(Unreadable::Cut { header: "IPv6", len: bytes.len() });
        };
        let total = IPV6_LEN + usize::from(u16_at(ip, 4));
        let mut addresses = [[0; 16]; 2];
        addresses[0].copy_from_slice(&ip[8..24]);
        addresses[1].copy_from_slice(&ip[24..40]);
        let mut headers = Self {
            source: Ipv6Addr::from(addresses[0]).into(),
            destination: Ipv6Addr::from(addresses[1]).into(),
            network: network as u32,
            segment: (network + IPV6_LEN) as u32,
            payload: None,
            end: bytes.len().min(network + total) as u32,
            cut: bytes.len() < network + total,
            fragment: Fragment::Whole,
            rerouted: false,
            protocol: ip[6],
            ports: None,
            tcp: None,
        };
        if headers.skip_extensions(bytes) {
            headers.read_transport(bytes);
        }
        Ok(headers)
    }

    /// Skips IPv6 extension headers (RFC 8200 section 4); returns false if one of them is
    /// truncated.
    fn skip_extensions(&mut self, bytes: &[u8]) -> bool {
        loop {
            let rest = &bytes[self.segment()];
            let len = match IpNumber(self.protocol) {
                IpNumber::IPV6_HEADER_HOP_BY_HOP
                | IpNumber::IPV6_ROUTE_HEADER
                | IpNumber::IPV6_DESTINATION_OPTIONS => match rest {
                    [_, units, ..] => (usize::from(*units) + 1) * 8,
                    _ => return false,
                },
                IpNumber::IPV6_FRAGMENTATION_HEADER => 8,
                _ => return true,
            };
            if rest.len() < len {
                return false;
            }
            match IpNumber(self.protocol) {
                // With segments left, the pseudo-header's destination is not yet the one in the IP
                // header (section 8.1).
                IpNumber::IPV6_ROUTE_HEADER => self.rerouted |= rest[3] != 0,
                IpNumber::IPV6_FRAGMENTATION_HEADER => {
                    let field = u16_at(rest, 2);
                    self.fragment = match (field & 0xfff8, field & 1) {
                        (0, 0) => self.fragment,
                        (0, _) => Fragment::First,
                        _ => Fragment::Later,
                    };
                }
                _ => {}
            }
            self.protocol = rest[0];
            self.segment += len as u32;
            if self.fragment == Fragment::Later {
                return true;
            }
        }
    }

    fn read_transport(&mut self, bytes: &[u8]) {
        if self.fragment == Fragment::Later {
            return;
        }
        let segment = &bytes[self.segment()];
        let ports = |header: &[u8]| Some((u16_at(header, 0), u16_at(header, 2)));
        let len = match self.protocol {
            TCP => {
                let Some(header) = segment.first_chunk::<TCP_LEN>() else { return };
                let len = usize::from(header[12] >> 4) * 4;
                if len < TCP_LEN {
                    return;
                }
                if segment.len() >= len {
                    self.ports = ports(header);
                    self.tcp = Some(Tcp {
                        sequence: u32_at(header, 4),
                        acknowledgment: u32_at(header, 8),
                        flags: header[13],
                    });
                }
                len
            }
            UDP => {
                let Some(header) = segment.first_chunk::<UDP_LEN>() else { return };
                self.ports = ports(header);
                UDP_LEN
            }
            ICMP | ICMPV6 => ICMP_LEN,
            _ => return,
        };
        if segment.len() >= len {
            self.payload = Some(self.segment + len as u32);
        }
    }

    /// Returns the start of the IPv4 or IPv6 header.
    #[must_use]
    pub fn network(&self) -> usize {
        self.network as usize
    }

    /// Returns the start of the transport header.
    ///
    /// `None` if the header is incomplete (a later fragment, truncated, damaged) or its length is
    /// unknown (protocols other than TCP, UDP and ICMP).
    #[must_use]
    pub fn transport(&self) -> Option<usize> {
        self.payload.map(|_| self.segment as usize)
    }

    /// Returns the start of the transport's payload; `None` as for [`Headers::transport`].
    #[must_use]
    pub fn payload(&self) -> Option<usize> {
        self.payload.map(|start| start as usize)
    }

    /// Returns the end of the IP packet by its own length, without padding, or the end of the bytes
    /// if that comes first.
    #[must_use]
    pub fn end(&self) -> usize {
        self.end as usize
    }

    /// Returns whether the bytes end before the IP packet does.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Returns whether the packet is IPv4; otherwise it is IPv6.
    #[must_use]
    pub fn is_ipv4(&self) -> bool {
        self.source.is_ipv4()
    }

    /// Returns the protocol that IP carries, after any extension headers: [`TCP`], [`UDP`], ...
    /// (IANA protocol numbers).
    #[must_use]
    pub fn protocol(&self) -> u8 {
        self.protocol
    }

    /// Returns whether this is a fragment other than the first, which has no transport header.
    #[must_use]
    pub fn is_later_fragment(&self) -> bool {
        self.fragment == Fragment::Later
    }

    /// Returns whether IP carries only a fragment of a segment, the first or a later one.
    #[must_use]
    pub fn is_fragment(&self) -> bool {
        self.fragment != Fragment::Whole
    }

    /// Returns the source and destination address.
    #[must_use]
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        (self.source, self.destination)
    }

    /// Returns the source and destination port of TCP or UDP.
    #[must_use]
    pub fn ports(&self) -> Option<(u16, u16)> {
        self.ports
    }

    /// Returns fields of the TCP header, if the header is complete.
    #[must_use]
    pub fn tcp(&self) -> Option<Tcp> {
        self.tcp
    }

    /// Returns whether the packet opens a TCP connection: SYN, or SYN and ACK.
    #[must_use]
    pub fn is_tcp_syn(&self) -> bool {
        self.tcp.is_some_and(|tcp| tcp.has(Tcp::SYN))
    }

    /// Returns the range of the data that IP carries: after the IP header and its extensions,
    /// without padding.
    ///
    /// The transport header in it may be unreadable.
    #[must_use]
    pub fn segment(&self) -> Range<usize> {
        self.segment as usize..self.end as usize
    }

    /// Returns whether all bytes that a transport checksum covers are present, and so is the
    /// address in its pseudo-header.
    pub(crate) fn is_summable(&self) -> bool {
        self.fragment == Fragment::Whole && !self.cut && !self.rerouted
    }

    /// Returns the same headers for a packet that ends at `end`, with these TCP fields.
    pub(crate) fn of_part(mut self, end: usize, tcp: Option<Tcp>) -> Self {
        self.end = end as u32;
        self.tcp = tcp;
        self
    }
}

/// Returns the start and the version of the IP header.
#[inline]
pub(crate) fn network_start(layer: Layer, bytes: &[u8]) -> Result<(usize, u8), Unreadable> {
    let (start, announced) = match layer {
        Layer::Ip => (0, None),
        Layer::Ethernet => {
            let (start, version) = ethernet_payload(bytes)?;
            (start, Some(version))
        }
    };
    let Some(first) = bytes.get(start) else {
        return Err(Unreadable::Cut { header: "IP", len: bytes.len() });
    };
    let version = first >> 4;
    if !matches!(version, 4 | 6) || announced.is_some_and(|announced| announced != version) {
        return Err(Unreadable::Version(version));
    }
    Ok((start, version))
}

/// Returns the start of an Ethernet frame's payload, and its IP version by the EtherType.
fn ethernet_payload(bytes: &[u8]) -> Result<(usize, u8), Unreadable> {
    let mut start = ETHERNET_LEN;
    loop {
        let Some(header) = bytes.get(..start) else {
            return Err(Unreadable::Cut { header: "Ethernet", len: bytes.len() });
        };
        match EtherType(u16_at(header, start - 2)) {
            EtherType::IPV4 => return Ok((start, 4)),
            EtherType::IPV6 => return Ok((start, 6)),
            EtherType::VLAN_TAGGED_FRAME
            | EtherType::PROVIDER_BRIDGING
            | EtherType::VLAN_DOUBLE_TAGGED_FRAME => start += VLAN_LEN,
            other => return Err(Unreadable::NotIp(other.0)),
        }
    }
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
