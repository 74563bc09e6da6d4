//! Marks instead of losses (RFC 3168), where the transport takes part.

use super::super::congestion::mark_congestion;
use super::*;

/// An IPv4 or IPv6 header with this ECN field, the checksum right.
fn header(version: u8, ecn: u8) -> Vec<u8> {
    if version == 6 {
        let mut bytes = vec![0; 40];
        (bytes[0], bytes[1]) = (0x6b, 0x80 | ecn << 4 | 0x05);
        return bytes;
    }
    let mut bytes = vec![0; 20];
    (bytes[0], bytes[1], bytes[3], bytes[8], bytes[9]) = (0x45, 0xb8 | ecn, 20, 64, 6);
    bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 192, 168, 255, 254]);
    let checksum = !sum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes
}

/// RFC 1071.
fn sum(bytes: &[u8]) -> u16 {
    let mut sum = bytes.chunks(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u32>();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[test]
fn marking_sets_both_bits_and_nothing_else() {
    for ecn in 0..4 {
        for layer in [Layer::Ip, Layer::Ethernet] {
            for version in [4, 6] {
                let front = if layer == Layer::Ethernet { 14 } else { 0 };
                let mut bytes = vec![7; front];
                bytes.extend(header(version, ecn));
                let mut frame = Frame::owned(layer, bytes.clone());
                assert_eq!(mark_congestion(&mut frame), ecn != 0);
                bytes.truncate(front);
                bytes.extend(header(version, if ecn == 0 { 0 } else { 3 }));
                assert_eq!(frame.head(), bytes, "IPv{version}, ECN {ecn}");
            }
        }
    }
}

#[test]
fn the_checksum_is_right_after_marking_whatever_it_was() {
    for id in 0..=u16::MAX {
        let mut bytes = header(4, 1);
        bytes[4..6].copy_from_slice(&id.to_be_bytes());
        bytes[10..12].fill(0);
        let checksum = !sum(&bytes);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut frame = Frame::owned(Layer::Ip, bytes);
        assert!(mark_congestion(&mut frame));
        assert_eq!(sum(frame.head()), 0xffff, "{id}");
    }
}

#[test]
fn what_is_no_ip_packet_is_not_marked() {
    for bytes in [vec![], vec![0x45], vec![0xff; 40], vec![0x45, 1], vec![0x45; 19]] {
        let mut frame = Frame::owned(Layer::Ip, bytes.clone());
        assert!(!mark_congestion(&mut frame));
        assert_eq!(frame.head(), bytes);
    }
}

/// Twice as many packets as the limiter sends, every second of a transport that takes part in ECN.
fn overloaded(queue: QueueSpec) -> Vec<Fate> {
    // 40 bytes at 3.2 Mbit/s: 100 us.
    let mut stage = made(BottleneckSpec { rate: rate(3_200_000), queue, ..BottleneckSpec::default() });
    assert!(stage.changes_bytes());
    let (mut out, mut fates) = (Outbox::default(), Vec::new());
    for number in 0..200_000 {
        let now = nanos(number * 50_000);
        advance(&mut stage, now, &mut fates);
        let mut bytes = header(4, (number % 2) as u8);
        bytes.resize(40, 0);
        stage.accept(Packet::new(number, Frame::owned(Layer::Ip, bytes), now), &mut out);
        collect(&mut out, now, &mut fates);
    }
    fates
}

#[test]
fn codel_and_red_mark_those_that_take_part_and_lose_the_others() {
    let (codel, red) = (
        CoDelSpec { ecn: true, limit: Limit::Unlimited, ..CoDelSpec::default() },
        RedSpec { ecn: true, gentle: true, ..RedSpec::between(Limit::Packets(2), Limit::Packets(100_000)) },
    );
    for (queue, why) in [(QueueSpec::CoDel(codel), Loss::CoDel), (QueueSpec::Red(red), Loss::Red)] {
        let fates = overloaded(queue);
        let marked = fates.iter().filter(|fate| fate.marked).count();
        let lost: Vec<_> = fates.iter().filter(|fate| fate.loss.is_some()).collect();
        assert!(marked > 20 && lost.len() > 20, "{marked} marked, {} lost", lost.len());
        assert!(fates.iter().all(|fate| !fate.marked || fate.number % 2 == 1));
        assert!(lost.iter().all(|fate| fate.loss == Some(why) && fate.number % 2 == 0));
    }
}
