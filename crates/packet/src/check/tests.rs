//! Damage of each kind, and every single-bit error in whole packets.

use super::*;
use crate::sample::{Sample, text};
use std::collections::BTreeMap;

fn checks(bytes: &[u8]) -> BTreeMap<Check, usize> {
    let mut found = BTreeMap::new();
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.to_vec();
        damaged[bit / 8] ^= 0x80 >> (bit % 8);
        *found.entry(Check::of(Layer::Ip, &damaged)).or_default() += 1;
    }
    found
}

#[test]
fn names_and_words_are_all_different() {
    for (place, check) in Check::ALL.into_iter().enumerate() {
        assert!(Check::ALL[..place].iter().all(|other| other.name() != check.name()));
        assert!(Check::ALL[..place].iter().all(|other| other.to_string() != check.to_string()));
        assert_eq!(check as usize, place);
    }
}

/// D5 of issue 20: an acknowledgement of 52 bytes whose data offset (8) grows is dropped without a
/// counter.
#[test]
fn every_wrong_bit_of_an_acknowledgement_has_its_check() {
    let bytes = Sample { options: 3, identification: 700, ..Sample::plain() }.build(&[]);
    assert_eq!(bytes.len(), 52);
    let expected = BTreeMap::from([
        // Version 4 becomes 5, 0 and 12. As 6, the identification (700) is read as its length.
        (Check::Version, 3),
        (Check::Ipv6Length, 1),
        // Header length 5 becomes 4 and 1. As 7 and 13, the header covers more, and the checksum is
        // wrong.
        (Check::Ipv4Header, 2),
        (Check::Ipv4Checksum, 160 - 4 - 2),
        // Data offset 8 becomes 0; or 12, 10 and 9, beyond the end.
        (Check::TcpHeader, 1),
        (Check::TcpEnd, 3),
        (Check::TcpChecksum, 256 - 4),
    ]);
    assert_eq!(checks(&bytes), expected);
    assert_eq!(Check::TcpEnd.counters(), None);
}

#[test]
fn every_wrong_bit_of_a_segment_with_data_has_its_check() {
    let bytes = Sample::plain().build(&text(100));
    let found = checks(&bytes);
    // Data offset 5 becomes 4 and 1. As 7 and 13, the header ends within the segment.
    assert_eq!((found[&Check::TcpHeader], found.get(&Check::TcpEnd)), (2, None));
    assert_eq!(found[&Check::TcpChecksum], 120 * 8 - 2);
}

#[test]
fn every_wrong_bit_of_a_datagram_has_its_check() {
    let bytes = Sample { udp: true, ..Sample::plain() }.build(&text(100));
    let found = checks(&bytes);
    // The length is 108, with 4 of 16 bits set: 12 single-bit errors make it longer than the
    // datagram, 4 make it shorter.
    assert_eq!(found[&Check::UdpLength], 12);
    assert_eq!(found[&Check::UdpChecksum], 108 * 8 - 12);
    let mut without = bytes.clone();
    without[26..28].fill(0);
    without[40] ^= 1;
    assert_eq!(Check::of(Layer::Ip, &without), Check::Nothing, "nobody sums a datagram without a checksum");
}

#[test]
fn every_wrong_bit_behind_the_version_of_ipv6_has_its_check() {
    let bytes = Sample { ipv6: true, options: 3, ..Sample::plain() }.build(&[]);
    let found = checks(&bytes);
    // Version 6 becomes 2, 7 and 14. As 4, the header length is 0.
    assert_eq!((found[&Check::Version], found[&Check::Ipv4Header]), (3, 1));
    // No checksum covers traffic class, flow label and hop limit.
    assert_eq!(found[&Check::Nothing], 8 + 20 + 8);
    // The length is 32: 15 single-bit errors make it larger. As 0, no TCP header is left; three
    // values of the data offset have the same effect.
    assert_eq!((found[&Check::Ipv6Length], found[&Check::TcpEnd]), (15, 4));
    // The next header becomes one of eight others; a checksum covers the addresses and the segment.
    assert_eq!((found[&Check::Protocol], found[&Check::TcpChecksum]), (8, 256 + 256 - 4));
}

#[test]
fn pieces_and_other_protocols_cannot_be_judged() {
    let mut fragment = Sample::plain().build(&text(100));
    fragment[6] |= 0x20;
    checksum::recompute_ipv4(&mut fragment[..20]);
    assert_eq!(Check::of(Layer::Ip, &fragment), Check::Fragment);
    let mut other = Sample::plain().build(&text(100));
    other[9] = 132;
    checksum::recompute_ipv4(&mut other[..20]);
    assert_eq!(Check::of(Layer::Ip, &other), Check::Protocol);
    let mut long = Sample::plain().build(&text(100));
    long[2..4].copy_from_slice(&500_u16.to_be_bytes());
    checksum::recompute_ipv4(&mut long[..20]);
    assert_eq!(Check::of(Layer::Ip, &long), Check::Ipv4Length);
    assert_eq!(Check::of(Layer::Ip, &[]), Check::Version);
    let mut frame = Sample { layer: Layer::Ethernet, ..Sample::plain() }.build(&text(9));
    assert_eq!(Check::of(Layer::Ethernet, &frame), Check::Nothing);
    frame[12] ^= 1;
    assert_eq!(Check::of(Layer::Ethernet, &frame), Check::EtherType);
}
