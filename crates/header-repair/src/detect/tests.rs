use super::*;
use crate::sample::{Sample, hit};

fn read(packet: &[u8]) -> Option<Arrival> {
    Arrival::read(packet, false)
}

fn detect(packet: &[u8]) -> Detection {
    let arrival = read(packet).expect("a segment");
    let segment = &packet[arrival.segment.clone()];
    arrival.detect(&TcpHeader::read(segment).expect("20 bytes"), segment)
}

fn samples() -> [Sample; 2] {
    [Sample::default(), Sample { ipv6: true, ..Sample::default() }]
}

#[test]
fn what_etherparse_summed_is_right_and_any_single_bit_makes_it_wrong() {
    for sample in samples() {
        let packet = sample.build();
        assert_eq!(detect(&packet), Detection::Right);
        for bit in 0..(packet.len() - sample.transport()) * 8 {
            assert_eq!(detect(&hit(&packet, sample.transport(), bit)), Detection::Wrong, "bit {bit}");
        }
    }
}

#[test]
fn a_damaged_segment_is_completed_to_what_etherparse_sums() {
    for sample in samples() {
        let packet = sample.build();
        let mut damaged = hit(&packet, sample.transport(), 16 * 8 + 3);
        let arrival = read(&damaged).expect("a segment");
        arrival.complete(&mut damaged[sample.transport()..]);
        assert_eq!(damaged, packet);
    }
}

#[test]
fn a_partial_checksum_cannot_be_judged() {
    for sample in samples() {
        let mut packet = sample.build();
        let arrival = read(&packet).expect("a segment");
        let segment = &mut packet[arrival.segment.clone()];
        let header = TcpHeader::read(segment).expect("20 bytes");
        header.with(Field::Checksum, u32::from(arrival.pseudo)).write(segment);
        assert_eq!(detect(&packet), Detection::Partial);
    }
}

#[test]
fn padding_is_no_part_of_the_segment() {
    let sample = Sample { payload: vec![7], ..Sample::default() };
    let mut packet = sample.build();
    packet.resize(46, 0xaa);
    assert_eq!(read(&packet).map(|arrival| arrival.segment), Some(20..41));
    assert_eq!(detect(&packet), Detection::Right);
}

#[test]
fn an_ipv6_packet_with_more_behind_it_than_padding_has_a_damaged_length() {
    let mut packet = Sample { ipv6: true, ..Sample::default() }.build();
    packet.push(0);
    assert_eq!(read(&packet), None);
}

#[test]
fn damage_to_the_ipv4_header_is_told() {
    let packet = Sample::default().build();
    assert!(read(&packet).expect("a segment").is_ip_right);
    for at in [1, 5, 8, 11, 12, 19] {
        let mut packet = packet.clone();
        packet[at] ^= 4;
        assert!(!read(&packet).expect("a segment").is_ip_right, "byte {at}");
    }
}

#[test]
fn what_is_not_a_whole_segment_directly_behind_ip_is_not_ours() {
    let packet = Sample::default().build();
    let cases: [(&str, usize, u8); 7] = [
        ("version", 0, 0x65),
        ("options", 0, 0x46),
        ("length past the end", 2, 0x7f),
        ("more fragments", 6, 0x20),
        ("offset", 7, 1),
        ("protocol", 9, 17),
        ("shorter than its header", 0, 0x44),
    ];
    for (what, at, byte) in cases {
        let mut packet = packet.clone();
        packet[at] = byte;
        assert_eq!(read(&packet), None, "{what}");
    }
    let mut dont_fragment = packet;
    dont_fragment[6] = 0x40;
    assert!(read(&dont_fragment).is_some());
    let mut extension = Sample { ipv6: true, ..Sample::default() }.build();
    extension[6] = 0;
    assert_eq!(read(&extension), None);
}

#[test]
fn longer_than_a_jumbo_frame_is_left_alone_unless_merged() {
    for (len, is_ours) in [(LONGEST - 20, true), (LONGEST - 19, false)] {
        let packet = Sample { payload: vec![1; len], ..Sample::default() }.build();
        assert_eq!(Arrival::read(&packet, false).is_some(), is_ours);
        assert!(Arrival::read(&packet, true).is_some());
    }
}
