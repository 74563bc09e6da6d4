//! Which check of a Linux receiver rejects a packet that a link has damaged.
//!
//! The checks are in the order of the kernel (6.18): the TUN device, `ip_rcv_core` and
//! `ip6_rcv_core`, then `tcp_v4_rcv`, `__udp4_lib_rcv` and `icmp_rcv` with their relatives for
//! IPv6. Each has a counter, with one exception: the kernel silently drops a TCP header that claims
//! to be longer than its segment.
//!
//! The verdict depends on the bytes of the packet alone, not on the receiver's state. So an IPv6
//! destination that is no longer the receiver's shows as a wrong transport checksum. A packet with
//! a right checksum is [`Check::Nothing`], although TCP may still reject its header fields.

use crate::Layer;
use crate::checksum::{self, ChecksumStatus};
use crate::headers::{Headers, ICMP, ICMPV6, IPV4_LEN, TCP, UDP, network_start, u16_at};
use std::fmt;

const TCP_LEN: usize = 20;
const UDP_LEN: usize = 8;

/// A check by which a receiver detects damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Check {
    /// The EtherType is not that of the packet's IP version.
    EtherType,
    /// The IP version is neither 4 nor 6.
    Version,
    /// A length in the IPv4 header is impossible.
    Ipv4Header,
    /// The checksum of the IPv4 header is wrong.
    Ipv4Checksum,
    /// The packet is shorter than its IPv4 header states.
    Ipv4Length,
    /// The packet is shorter than its IPv6 header states.
    Ipv6Length,
    /// The packet is a fragment: only the whole datagram can be judged.
    Fragment,
    /// The protocol has no checksum that this crate knows.
    Protocol,
    /// The data offset of the TCP header is below 20 bytes.
    TcpHeader,
    /// The TCP header is longer than its segment.
    TcpEnd,
    /// The TCP checksum is wrong.
    TcpChecksum,
    /// The UDP header's length is impossible.
    UdpLength,
    /// The UDP checksum is wrong.
    UdpChecksum,
    /// The checksum of ICMP or ICMPv6 is wrong.
    IcmpChecksum,
    /// No check fails: the receiver takes the packet for intact.
    Nothing,
}

impl Check {
    /// All checks, in the order in which a receiver performs them.
    pub const ALL: [Self; 15] = [
        Self::EtherType,
        Self::Version,
        Self::Ipv4Header,
        Self::Ipv4Checksum,
        Self::Ipv4Length,
        Self::Ipv6Length,
        Self::Fragment,
        Self::Protocol,
        Self::TcpHeader,
        Self::TcpEnd,
        Self::TcpChecksum,
        Self::UdpLength,
        Self::UdpChecksum,
        Self::IcmpChecksum,
        Self::Nothing,
    ];

    /// Returns its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::EtherType => "ethertype",
            Self::Version => "ip-version",
            Self::Ipv4Header => "ipv4-header",
            Self::Ipv4Checksum => "ipv4-checksum",
            Self::Ipv4Length => "ipv4-length",
            Self::Ipv6Length => "ipv6-length",
            Self::Fragment => "fragment",
            Self::Protocol => "protocol",
            Self::TcpHeader => "tcp-header",
            Self::TcpEnd => "tcp-end",
            Self::TcpChecksum => "tcp-checksum",
            Self::UdpLength => "udp-length",
            Self::UdpChecksum => "udp-checksum",
            Self::IcmpChecksum => "icmp-checksum",
            Self::Nothing => "nothing",
        }
    }

    /// Returns the receiver's counters that increase, as `nstat` names them.
    ///
    /// `None` if no counter increases, or if it is unknown which one does.
    #[must_use]
    pub const fn counters(self) -> Option<&'static str> {
        match self {
            Self::EtherType | Self::Version => Some("the interface's rx_dropped"),
            Self::Ipv4Header => Some("IpInHdrErrors"),
            Self::Ipv4Checksum => Some("IpExtInCsumErrors and IpInHdrErrors"),
            Self::Ipv4Length => Some("IpExtInTruncatedPkts"),
            Self::Ipv6Length => Some("Ip6InTruncatedPkts"),
            Self::TcpHeader => Some("TcpInErrs"),
            Self::TcpChecksum => Some("TcpInCsumErrors and TcpInErrs"),
            Self::UdpLength => Some("UdpInErrors or Udp6InErrors"),
            Self::UdpChecksum => Some("UdpInCsumErrors or Udp6InCsumErrors"),
            Self::IcmpChecksum => Some("IcmpInCsumErrors or Icmp6InCsumErrors"),
            Self::Fragment | Self::Protocol | Self::TcpEnd | Self::Nothing => None,
        }
    }

    /// Returns the check that rejects a packet with these bytes, the first of which belongs to
    /// `layer`.
    #[must_use]
    pub fn of(layer: Layer, bytes: &[u8]) -> Self {
        let (network, version) = match network_start(layer, bytes) {
            Ok(found) => found,
            Err(_) if layer == Layer::Ip => return Self::Version,
            Err(_) => return Self::EtherType,
        };
        if version == 4
            && let Some(wrong) = wrong_ipv4(&bytes[network..])
        {
            return wrong;
        }
        match Headers::parse(layer, bytes) {
            Ok(headers) if headers.is_cut() => Self::Ipv6Length,
            Ok(headers) if headers.is_fragment() => Self::Fragment,
            Ok(headers) => transport(bytes, &headers),
            Err(_) => Self::Ipv6Length,
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::EtherType => "the EtherType",
            Self::Version => "the IP version",
            Self::Ipv4Header => "lengths in the IPv4 header",
            Self::Ipv4Checksum => "the IPv4 checksum",
            Self::Ipv4Length => "the IPv4 length",
            Self::Ipv6Length => "the IPv6 length",
            Self::Fragment => "reassembly",
            Self::Protocol => "its protocol",
            Self::TcpHeader => "a TCP header below 20 bytes",
            Self::TcpEnd => "a TCP header longer than its segment",
            Self::TcpChecksum => "the TCP checksum",
            Self::UdpLength => "the UDP length",
            Self::UdpChecksum => "the UDP checksum",
            Self::IcmpChecksum => "the ICMP checksum",
            Self::Nothing => "nothing",
        })
    }
}

/// Returns the first error that `ip_rcv_core` finds, in the order of its checks.
fn wrong_ipv4(ip: &[u8]) -> Option<Check> {
    if ip.len() < IPV4_LEN {
        return Some(Check::Ipv4Header);
    }
    let (header, total) = (usize::from(ip[0] & 0x0f) * 4, usize::from(u16_at(ip, 2)));
    if header < IPV4_LEN || header > ip.len() {
        Some(Check::Ipv4Header)
    } else if !checksum::is_ipv4_right(&ip[..header]) {
        Some(Check::Ipv4Checksum)
    } else if total > ip.len() {
        Some(Check::Ipv4Length)
    } else if total < header {
        Some(Check::Ipv4Header)
    } else {
        None
    }
}

fn transport(bytes: &[u8], headers: &Headers) -> Check {
    let segment = &bytes[headers.segment()];
    let wrong = match headers.protocol() {
        TCP => {
            if segment.len() < TCP_LEN {
                return Check::TcpEnd;
            }
            let length = usize::from(segment[12] >> 4) * 4;
            if length < TCP_LEN {
                return Check::TcpHeader;
            }
            if length > segment.len() {
                return Check::TcpEnd;
            }
            Check::TcpChecksum
        }
        UDP => {
            let length = if segment.len() < UDP_LEN { 0 } else { usize::from(u16_at(segment, 4)) };
            if length < UDP_LEN || length > segment.len() {
                return Check::UdpLength;
            }
            Check::UdpChecksum
        }
        ICMP if headers.is_ipv4() => {
            let right = checksum::sum(segment) == 0xffff;
            return if right { Check::Nothing } else { Check::IcmpChecksum };
        }
        ICMPV6 if !headers.is_ipv4() => Check::IcmpChecksum,
        _ => return Check::Protocol,
    };
    if checksum::verify(bytes, headers) == ChecksumStatus::Wrong { wrong } else { Check::Nothing }
}

#[cfg(test)]
mod tests;
