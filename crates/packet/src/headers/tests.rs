use super::*;
use crate::sample::{Sample, text};
use proptest::prelude::*;

/// Builds an IPv6 packet: extension headers as given, then `rest`.
fn ipv6(first: u8, rest: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, rest.len() as u8, first, 64];
    packet.extend([[0xfd; 16], [0xfe; 16]].concat());
    packet.extend(rest);
    packet
}

/// Builds an IPv4 packet of `len` bytes with this fragment field, protocol UDP and zeros.
fn ipv4_fragment(field: u16, len: u8) -> Vec<u8> {
    let mut packet = vec![0; usize::from(len)];
    packet[..20].copy_from_slice(&[0x45, 0, 0, len, 0, 1, 0, 0, 64, UDP, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet[6..8].copy_from_slice(&field.to_be_bytes());
    packet
}

proptest! {
    #[test]
    fn what_etherparse_built_is_read_back(sample in Sample::any(), len in 0usize..200, padding in 0usize..20) {
        let mut bytes = sample.build(&text(len));
        let end = bytes.len();
        bytes.extend(vec![0xaa; padding]);
        let headers = Headers::parse(sample.layer, &bytes).expect("good");
        prop_assert_eq!(headers.network(), sample.network());
        prop_assert_eq!(headers.transport(), Some(sample.transport()));
        prop_assert_eq!(headers.payload(), Some(sample.payload()));
        prop_assert_eq!(headers.end(), end);
        prop_assert_eq!(headers.protocol(), if sample.udp { 17 } else { 6 });
        prop_assert_eq!(headers.ports(), Some(sample.ports));
        prop_assert!(!headers.is_cut() && !headers.is_fragment() && !headers.is_later_fragment());
        prop_assert_eq!(headers.is_ipv4(), !sample.ipv6);
        let addresses: (IpAddr, IpAddr) = if sample.ipv6 {
            (Ipv6Addr::from([0xfd; 16]).into(), Ipv6Addr::from([0xfe; 16]).into())
        } else {
            (Ipv4Addr::new(10, 1, 2, 3).into(), Ipv4Addr::new(10, 4, 5, 6).into())
        };
        prop_assert_eq!(headers.addresses(), addresses);
        let tcp = Tcp { sequence: sample.sequence, acknowledgment: sample.acknowledgment, flags: sample.flags };
        prop_assert_eq!(headers.tcp(), (!sample.udp).then_some(tcp));
        prop_assert_eq!(headers.is_tcp_syn(), !sample.udp && sample.flags & Tcp::SYN != 0);

        prop_assert_eq!(headers.region(Region::Packet), Some(sample.network()..end));
        prop_assert_eq!(headers.region(Region::Segment), Some(sample.transport()..end));
        prop_assert_eq!(headers.region(Region::TransportHeader), Some(sample.transport()..sample.payload()));
        prop_assert_eq!(headers.region(Region::Payload), Some(sample.payload()..end));
    }

    #[test]
    fn a_packet_cut_anywhere_is_read_as_far_as_it_goes(sample in Sample::any(), cut in 0usize..400) {
        let bytes = sample.build(&text(200));
        let cut = cut.min(bytes.len() - 1);
        match Headers::parse(sample.layer, &bytes[..cut]) {
            Ok(headers) => {
                prop_assert!(headers.is_cut());
                prop_assert_eq!(headers.transport().is_some(), cut >= sample.payload());
                prop_assert_eq!(headers.ports().is_some(), cut >= sample.payload());
                prop_assert_eq!(headers.end(), cut);
            }
            Err(unreadable) => {
                let is_cut = matches!(unreadable, Unreadable::Cut { .. });
                prop_assert!(is_cut, "{}", unreadable);
                let ip_len = if sample.ipv6 { 40 } else { 20 + 4 * usize::from(sample.ip_options) };
                prop_assert!(cut < sample.network() + ip_len);
            }
        }
    }

    #[test]
    fn damaged_packets_have_regions_inside_them(
        sample in Sample::any(), len in 0usize..100, hits in prop::collection::vec((0usize..200, any::<u8>()), 0..10),
    ) {
        let mut bytes = sample.build(&text(len));
        for (at, value) in hits {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        for layer in [Layer::Ip, Layer::Ethernet] {
            lie_inside(layer, &bytes)?;
        }
    }

    #[test]
    fn random_bytes_have_regions_inside_them(mut bytes in prop::collection::vec(any::<u8>(), 0..200), first in prop::sample::select(vec![0x45u8, 0x60, 0x4f, 0])) {
        if let Some(byte) = bytes.first_mut() {
            *byte = first;
        }
        for layer in [Layer::Ip, Layer::Ethernet] {
            lie_inside(layer, &bytes)?;
        }
    }
}

fn lie_inside(layer: Layer, bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(headers) = Headers::parse(layer, bytes) else { return Ok(()) };
    let packet = headers.region(Region::Packet).expect("every packet has this one");
    prop_assert!(packet.start < packet.end && packet.end <= bytes.len());
    for region in Region::ALL {
        let Some(range) = headers.region(region) else { continue };
        prop_assert!(
            packet.start <= range.start && range.start <= range.end && range.end <= packet.end,
            "{region}"
        );
    }
    Ok(())
}

#[test]
fn a_later_fragment_is_payload_from_end_to_end() {
    for bytes in [ipv4_fragment(0x0001, 60), ipv4_fragment(0x2001, 60)] {
        let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
        assert!(headers.is_later_fragment() && headers.is_fragment());
        assert_eq!((headers.protocol(), headers.transport(), headers.ports()), (UDP, None, None));
        assert_eq!(headers.region(Region::Segment), Some(20..60));
        assert_eq!(headers.region(Region::Payload), Some(20..60));
        assert_eq!(headers.region(Region::TransportHeader), None);
    }
}

#[test]
fn the_first_fragment_has_a_transport_header() {
    let headers = Headers::parse(Layer::Ip, &ipv4_fragment(0x2000, 60)).expect("good");
    assert!(headers.is_fragment() && !headers.is_later_fragment());
    assert_eq!((headers.transport(), headers.payload()), (Some(20), Some(28)));
}

#[test]
fn do_not_fragment_is_no_fragment() {
    let headers = Headers::parse(Layer::Ip, &ipv4_fragment(0x4000, 60)).expect("good");
    assert!(!headers.is_fragment());
}

#[test]
fn ipv6_fragments_are_told_by_their_header() {
    let udp = [0, 1, 0, 2, 0, 8, 0, 0];
    let fragment = |field: u16| {
        let field = field.to_be_bytes();
        ipv6(44, &[&[UDP, 0, field[0], field[1], 0, 0, 0, 9], &udp[..]].concat())
    };
    // The offset is in the upper 13 bits, M is the lowest bit: an atomic fragment (RFC 6946), a
    // first one, a later one.
    for (field, is_fragment, is_later) in
        [(0, false, false), (1, true, false), (8, true, true), (9, true, true)]
    {
        let headers = Headers::parse(Layer::Ip, &fragment(field)).expect("good");
        assert_eq!((headers.is_fragment(), headers.is_later_fragment()), (is_fragment, is_later), "{field}");
        assert_eq!(headers.protocol(), UDP);
        assert_eq!(headers.ports(), (!is_later).then_some((1, 2)));
        assert_eq!(headers.region(Region::Segment), Some(48..56));
    }
}

#[test]
fn an_extension_header_that_is_cut_off_hides_the_transport() {
    for rest in [&[][..], &[TCP], &[TCP, 1, 0, 0, 0, 0, 0, 0, 1, 2]] {
        let headers = Headers::parse(Layer::Ip, &ipv6(60, rest)).expect("the IPv6 header is there");
        assert_eq!((headers.protocol(), headers.transport()), (60, None));
        assert_eq!(headers.region(Region::Segment), Some(40..40 + rest.len()));
    }
}

#[test]
fn a_transport_of_unknown_form_is_a_segment_without_parts() {
    let headers = Headers::parse(Layer::Ip, &ipv6(132, &[0; 12])).expect("good");
    assert_eq!(headers.region(Region::Segment), Some(40..52));
    assert_eq!((headers.region(Region::TransportHeader), headers.region(Region::Payload)), (None, None));
}

#[test]
fn a_tcp_header_shorter_than_itself_is_not_read() {
    let mut bytes = Sample::plain().build(&text(60));
    for (offset, is_there) in [(0x40, false), (0x50, true), (0xf0, true)] {
        bytes[20 + 12] = offset;
        let headers = Headers::parse(Layer::Ip, &bytes).expect("IP is good");
        assert_eq!(
            (headers.transport().is_some(), headers.tcp().is_some()),
            (is_there, is_there),
            "{offset:#x}"
        );
    }
}

#[test]
fn what_cannot_be_read_is_named() {
    let ethernet = |kind: [u8; 2], rest: &[u8]| [&[0; 12][..], &kind, rest].concat();
    let good = Sample::plain().build(&[]);
    let mut short_header = good.clone();
    short_header[0] = 0x44;
    let mut short_total = good.clone();
    short_total[2..4].copy_from_slice(&[0, 19]);
    let cases = [
        (Layer::Ip, vec![], Unreadable::Cut { header: "IP", len: 0 }),
        (Layer::Ip, good[..19].to_vec(), Unreadable::Cut { header: "IPv4", len: 19 }),
        (Layer::Ip, vec![0x60; 39], Unreadable::Cut { header: "IPv6", len: 39 }),
        (Layer::Ip, vec![0x50; 40], Unreadable::Version(5)),
        (Layer::Ip, short_header, Unreadable::Length { header: 16, total: 40 }),
        (Layer::Ip, short_total, Unreadable::Length { header: 20, total: 19 }),
        (Layer::Ethernet, vec![0; 13], Unreadable::Cut { header: "Ethernet", len: 13 }),
        (Layer::Ethernet, ethernet([0x08, 0x06], &[0; 28]), Unreadable::NotIp(0x0806)),
        (Layer::Ethernet, ethernet([0x81, 0], &[0, 5]), Unreadable::Cut { header: "Ethernet", len: 16 }),
        (Layer::Ethernet, ethernet([0x86, 0xdd], &good), Unreadable::Version(4)),
    ];
    for (layer, bytes, wanted) in cases {
        assert_eq!(Headers::parse(layer, &bytes), Err(wanted), "{bytes:?}");
    }
}

#[test]
fn regions_read_back_from_their_names() {
    for (region, name) in Region::ALL.into_iter().zip(["packet", "segment", "header", "payload"]) {
        assert_eq!(region.to_string(), name);
        assert_eq!(name.parse(), Ok(region));
    }
    assert_eq!("body".parse::<Region>(), Err(UnknownRegion("body".to_owned())));
}
