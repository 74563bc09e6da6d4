//! Packets for tests, built by etherparse, an oracle that is independent of this crate.

use crate::{Layer, Tcp};
use etherparse::{
    IpDscp, IpEcn, IpHeaders, IpNumber, Ipv4Header, Ipv6Extensions, Ipv6FlowLabel, Ipv6Header,
    Ipv6RawExtHeader, Ipv6RoutingExtensions, PacketBuilder, PacketBuilderStep, TcpHeader, VlanId,
};
use proptest::prelude::*;

/// All of a TCP or UDP packet except its payload.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    pub layer: Layer,
    /// Number of VLAN tags after the Ethernet header: 0 to 2.
    pub vlans: u8,
    pub ipv6: bool,
    /// Whether IPv6 has hop-by-hop, routing (no segments left) and destination headers.
    pub extensions: bool,
    /// Number of 32-bit words of IPv4 options.
    pub ip_options: u8,
    pub ecn: u8,
    pub identification: u16,
    pub udp: bool,
    pub ports: (u16, u16),
    pub sequence: u32,
    pub acknowledgment: u32,
    pub flags: u8,
    /// Number of 32-bit words of TCP options.
    pub options: u8,
}

impl Sample {
    pub fn any() -> impl Strategy<Value = Self> {
        let link = (any::<bool>(), 0u8..3);
        let ip = (any::<bool>(), any::<bool>(), 0u8..11, 0u8..4, any::<u16>());
        let transport =
            (prop::bool::weighted(0.3), any::<(u16, u16)>(), any::<[u32; 2]>(), any::<u8>(), 0u8..11);
        (link, ip, transport).prop_map(
            |(
                (ethernet, vlans),
                (ipv6, extensions, ip_options, ecn, identification),
                (udp, ports, [sequence, acknowledgment], flags, options),
            )| Self {
                layer: if ethernet { Layer::Ethernet } else { Layer::Ip },
                vlans: if ethernet { vlans } else { 0 },
                ipv6,
                extensions: ipv6 && extensions,
                ip_options: if ipv6 { 0 } else { ip_options },
                ecn,
                identification,
                udp,
                ports,
                sequence,
                acknowledgment,
                flags,
                options: if udp { 0 } else { options },
            },
        )
    }

    /// Returns plain TCP over IPv4 without options: 40 bytes of headers.
    pub fn plain() -> Self {
        Self {
            layer: Layer::Ip,
            vlans: 0,
            ipv6: false,
            extensions: false,
            ip_options: 0,
            ecn: 2,
            identification: 7,
            udp: false,
            ports: (40000, 80),
            sequence: 1000,
            acknowledgment: 2000,
            flags: Tcp::ACK,
            options: 0,
        }
    }

    pub fn network(&self) -> usize {
        match self.layer {
            Layer::Ip => 0,
            Layer::Ethernet => 14 + 4 * usize::from(self.vlans),
        }
    }

    pub fn transport(&self) -> usize {
        let extensions = if self.extensions { 24 + 16 + 8 } else { 0 };
        self.network() + if self.ipv6 { 40 } else { 20 } + 4 * usize::from(self.ip_options) + extensions
    }

    pub fn payload(&self) -> usize {
        self.transport() + if self.udp { 8 } else { 20 + 4 * usize::from(self.options) }
    }

    /// Returns the offset of the checksum from the start of the transport header.
    pub fn checksum_offset(&self) -> usize {
        if self.udp { 6 } else { 16 }
    }

    /// Builds the packet with complete checksums.
    pub fn build(&self, payload: &[u8]) -> Vec<u8> {
        let mut packet = Vec::new();
        let step = self.step();
        if self.udp {
            step.udp(self.ports.0, self.ports.1).write(&mut packet, payload).expect("fits");
        } else {
            step.tcp_header(self.tcp()).write(&mut packet, payload).expect("fits");
        }
        packet
    }

    /// Builds the packet with a partial transport checksum, which a device would complete.
    pub fn build_partial(&self, payload: &[u8]) -> Vec<u8> {
        let mut packet = self.build(payload);
        let ip = &packet[self.network()..];
        let addresses = if self.ipv6 { &ip[8..40] } else { &ip[12..20] };
        let len = (packet.len() - self.transport()) as u32;
        let protocol = [0, 0, 0, if self.udp { 17 } else { 6 }];
        let sum = naive_sum(&[addresses, &len.to_be_bytes(), &protocol].concat());
        let field = self.transport() + self.checksum_offset();
        packet[field..field + 2].copy_from_slice(&sum.to_be_bytes());
        packet
    }

    fn step(&self) -> PacketBuilderStep<IpHeaders> {
        let vlan = |id| VlanId::try_new(id).expect("12 bits");
        match (self.layer, self.vlans) {
            (Layer::Ip, _) => PacketBuilder::ip(self.ip()),
            (Layer::Ethernet, 0) => PacketBuilder::ethernet2([2; 6], [4; 6]).ip(self.ip()),
            (Layer::Ethernet, 1) => {
                PacketBuilder::ethernet2([2; 6], [4; 6]).single_vlan(vlan(5)).ip(self.ip())
            }
            (Layer::Ethernet, _) => {
                PacketBuilder::ethernet2([2; 6], [4; 6]).double_vlan(vlan(5), vlan(6)).ip(self.ip())
            }
        }
    }

    fn ip(&self) -> IpHeaders {
        if self.ipv6 {
            let header = Ipv6Header {
                traffic_class: self.ecn,
                flow_label: Ipv6FlowLabel::try_new(0xabcde).expect("20 bits"),
                hop_limit: 64,
                source: [0xfd; 16],
                destination: [0xfe; 16],
                ..Default::default()
            };
            let raw = |len: usize| {
                Ipv6RawExtHeader::new_raw(IpNumber::TCP, &[0; 30][..len]).expect("6 + 8 n bytes")
            };
            let extensions = if self.extensions {
                Ipv6Extensions {
                    hop_by_hop_options: Some(raw(22)),
                    routing: Some(Ipv6RoutingExtensions {
                        routing: raw(14),
                        final_destination_options: Some(raw(6)),
                    }),
                    ..Default::default()
                }
            } else {
                Ipv6Extensions::default()
            };
            return IpHeaders::Ipv6(header, extensions);
        }
        let mut header = Ipv4Header::new(0, 64, IpNumber::TCP, [10, 1, 2, 3], [10, 4, 5, 6]).expect("fits");
        header.dscp = IpDscp::ZERO;
        header.ecn = IpEcn::try_new(self.ecn).expect("2 bits");
        header.identification = self.identification;
        header.options = [1u8; 40][..4 * usize::from(self.ip_options)].try_into().expect("a multiple of 4");
        IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default())
    }

    fn tcp(&self) -> TcpHeader {
        let mut tcp = TcpHeader::new(self.ports.0, self.ports.1, self.sequence, 502);
        tcp.acknowledgment_number = self.acknowledgment;
        let has = |flag| self.flags & flag != 0;
        tcp.fin = has(Tcp::FIN);
        tcp.syn = has(Tcp::SYN);
        tcp.rst = has(Tcp::RST);
        tcp.psh = has(Tcp::PSH);
        tcp.ack = has(Tcp::ACK);
        tcp.urg = has(Tcp::URG);
        tcp.ece = has(Tcp::ECE);
        tcp.cwr = has(Tcp::CWR);
        tcp.set_options_raw(&[1; 40][..4 * usize::from(self.options)]).expect("fits");
        tcp
    }
}

/// Returns the one's complement sum, computed literally as in RFC 1071.
pub fn naive_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        sum += u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// Completes a partial checksum as a device does.
pub fn completed(mut packet: Vec<u8>, start: usize, offset: usize) -> Vec<u8> {
    let checksum = !naive_sum(&packet[start..]);
    let checksum = if checksum == 0 && offset == 6 { 0xffff } else { checksum };
    packet[start + offset..start + offset + 2].copy_from_slice(&checksum.to_be_bytes());
    packet
}

/// Returns `len` bytes in a pattern with a long period.
pub fn text(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 31 + n / 251) as u8).collect()
}
