//! The ECN field of the IP header (RFC 3168): reading it, and setting it to Congestion Experienced
//! instead of dropping the packet.

use crate::Layer;
use crate::checksum;
use crate::headers::{IPV4_LEN, network_start};

/// The ECN codepoint of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The endpoints do not use ECN: drop the packet instead of marking it.
    NotEct,
    /// ECN-capable transport (1): L4S in RFC 9331.
    Ect1,
    /// ECN-capable transport (0).
    Ect0,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// Returns whether a packet with this codepoint may be marked instead of dropped.
    #[must_use]
    pub const fn is_capable(self) -> bool {
        !matches!(self, Self::NotEct)
    }

    const fn from_bits(bits: u8) -> Self {
        match bits & 0b11 {
            0b00 => Self::NotEct,
            0b01 => Self::Ect1,
            0b10 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// Returns the ECN codepoint of a packet; [`Ecn::NotEct`] if it is not an IP packet.
#[must_use]
pub fn read(layer: Layer, bytes: &[u8]) -> Ecn {
    let Ok((start, version)) = network_start(layer, bytes) else { return Ecn::NotEct };
    let Some(second) = bytes.get(start + 1) else { return Ecn::NotEct };
    // IPv4: the low bits of the second byte. IPv6: the traffic class spans the first two bytes.
    Ecn::from_bits(if version == 4 { *second } else { second >> 4 })
}

/// Sets the ECN field to CE and keeps the IPv4 header checksum as right or wrong as it was.
///
/// Returns true if the packet now has CE. Returns false without any change if its endpoints do not
/// use ECN or it is not an IP packet.
#[must_use]
pub fn mark_ce(layer: Layer, bytes: &mut [u8]) -> bool {
    match read(layer, bytes) {
        Ecn::NotEct => return false,
        Ecn::Ce => return true,
        Ecn::Ect0 | Ecn::Ect1 => {}
    }
    let Ok((start, version)) = network_start(layer, bytes) else { return false };
    if version == 6 {
        bytes[start + 1] |= 0b11 << 4;
        return true;
    }
    let Some(header) = bytes.get_mut(start..start + IPV4_LEN) else { return false };
    let word = u16::from_be_bytes([header[0], header[1] | 0b11]);
    checksum::replace_ipv4_word(header, 0, word);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{IpDscp, IpEcn, IpFragOffset, Ipv4Header, Ipv6Header};
    use proptest::prelude::*;

    const CODEPOINTS: [(Ecn, u8); 4] = [(Ecn::NotEct, 0), (Ecn::Ect1, 1), (Ecn::Ect0, 2), (Ecn::Ce, 3)];

    fn ipv4(dscp: u8, ecn: u8, identification: u16, options: usize) -> Ipv4Header {
        let mut header =
            Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [10, 0, 0, 2]).expect("fits");
        header.dscp = IpDscp::try_new(dscp).expect("6 bits");
        header.ecn = IpEcn::try_new(ecn).expect("2 bits");
        header.identification = identification;
        header.fragment_offset = IpFragOffset::ZERO;
        header.options = [1u8; 40][..options].try_into().expect("a multiple of 4");
        header.header_checksum = header.calc_header_checksum();
        header
    }

    proptest! {
        #[test]
        fn a_marked_ipv4_header_is_the_one_built_with_ce(
            dscp in 0u8..64, point in 0usize..4, id: u16, options in 0usize..11, ethernet: bool,
        ) {
            let (ecn, bits) = CODEPOINTS[point];
            let (layer, front) = if ethernet { (Layer::Ethernet, ETHERNET_IPV4.to_vec()) } else { (Layer::Ip, vec![]) };
            let mut packet = [front.as_slice(), &ipv4(dscp, bits, id, options * 4).to_bytes()].concat();
            let before = packet.clone();
            prop_assert_eq!(read(layer, &packet), ecn);
            let marked = mark_ce(layer, &mut packet);
            prop_assert_eq!(marked, ecn.is_capable());
            if marked {
                let wanted = [front.as_slice(), &ipv4(dscp, 3, id, options * 4).to_bytes()].concat();
                prop_assert_eq!(packet, wanted);
            } else {
                prop_assert_eq!(packet, before);
            }
        }

        #[test]
        fn a_marked_ipv6_header_is_the_one_built_with_ce(dscp in 0u8..64, point in 0usize..4, flow in 0u32..1 << 20) {
            let (ecn, bits) = CODEPOINTS[point];
            let header = |bits| Ipv6Header {
                traffic_class: dscp << 2 | bits,
                flow_label: flow.try_into().expect("20 bits"),
                ..Default::default()
            }.to_bytes();
            let mut packet = header(bits).to_vec();
            prop_assert_eq!(read(Layer::Ip, &packet), ecn);
            prop_assert_eq!(mark_ce(Layer::Ip, &mut packet), ecn.is_capable());
            prop_assert_eq!(&packet[..], &header(if ecn.is_capable() { 3 } else { 0 })[..]);
        }
    }

    const ETHERNET_IPV4: [u8; 14] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00];

    #[test]
    fn what_is_no_ip_packet_cannot_be_marked() {
        let arp = [&ETHERNET_IPV4[..12], &[0x08, 0x06], &[0xff; 28]].concat();
        for (layer, bytes) in [
            (Layer::Ip, vec![]),
            (Layer::Ip, vec![0x45, 3]),
            (Layer::Ip, vec![0xff; 40]),
            (Layer::Ethernet, arp),
        ] {
            let mut changed = bytes.clone();
            let marked = mark_ce(layer, &mut changed);
            assert_eq!(marked, read(layer, &bytes) == Ecn::Ce, "{bytes:?}");
            assert_eq!(changed, bytes);
        }
    }
}
