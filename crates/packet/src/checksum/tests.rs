use super::*;
use crate::sample::{Sample, completed, naive_sum, text};
use crate::{Layer, Region};
use etherparse::PacketBuilder;
use proptest::prelude::*;

proptest! {
    #[test]
    fn the_sum_is_that_of_rfc_1071(bytes in prop::collection::vec(any::<u8>(), 0..300), from in 0usize..9) {
        // The slice starts at any alignment, which must not change the sum.
        let bytes = &bytes[from.min(bytes.len())..];
        prop_assert_eq!(sum(bytes), naive_sum(bytes));
    }

    #[test]
    fn a_changed_word_updates_the_checksum(mut words in prop::collection::vec(any::<u8>(), 20..=20), at in 0usize..5, new: u16) {
        words[0] = 0x45;
        recompute_ipv4(&mut words);
        let at = if at == 0 { 2 } else { at * 2 + 10 };
        let old = updated(u16_at(&words, 10), u16_at(&words, at), new);
        write(&mut words, at, new);
        recompute_ipv4(&mut words);
        prop_assert_eq!(old, u16_at(&words, 10));
        prop_assert!(is_ipv4_right(&words));
    }

    #[test]
    fn what_etherparse_summed_is_right_until_spoiled(sample in Sample::any(), len in 0usize..200, padding in 0usize..9) {
        let mut bytes = sample.build(&text(len));
        bytes.extend(vec![0xaa; padding]);
        let headers = Headers::parse(sample.layer, &bytes).expect("good");
        prop_assert_eq!(verify(&bytes, &headers), ChecksumStatus::Right);
        if !sample.ipv6 {
            prop_assert!(is_ipv4_right(&bytes[headers.network()..sample.transport()]));
        }
        let before = bytes.clone();
        prop_assert!(spoil(&mut bytes, &headers));
        prop_assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong);
        let field = sample.transport() + sample.checksum_offset();
        bytes[field..field + 2].copy_from_slice(&before[field..field + 2]);
        prop_assert_eq!(bytes, before, "only the checksum field may differ (TL-13)");
    }

    #[test]
    fn spoiling_never_repairs_what_was_damaged(sample in Sample::any(), hit: prop::sample::Index, bit in 0u8..8) {
        let mut bytes = sample.build(&text(40));
        let hit = sample.transport() + hit.index(bytes.len() - sample.transport());
        bytes[hit] ^= 1 << bit;
        let Ok(headers) = Headers::parse(sample.layer, &bytes) else { return Ok(()) };
        if spoil(&mut bytes, &headers) {
            prop_assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong);
        }
    }

    #[test]
    fn a_partial_checksum_is_completed(sample in Sample::any(), len in 0usize..200) {
        let mut bytes = sample.build_partial(&text(len));
        prop_assert!(complete(&mut bytes, sample.transport(), sample.checksum_offset()));
        prop_assert_eq!(bytes, sample.build(&text(len)));
    }
}

#[test]
fn the_example_of_rfc_1071_sums_up() {
    assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
}

#[test]
fn the_example_of_rfc_1624_is_not_off_by_the_wrong_zero() {
    // Section 4: HC 0xdd2f, m 0x5555, m' 0x3285 gives 0x0000, where equation 2 gives 0xffff.
    assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
}

#[test]
fn icmpv6_is_verified_and_not_spoiled() {
    let mut bytes = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .icmpv6_echo_request(3, 4)
        .write(&mut bytes, &text(33))
        .expect("fits");
    let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Right);
    assert_eq!(headers.region(Region::Payload), Some(48..81));
    assert!(!spoil(&mut bytes, &headers));
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Right);
    bytes[60] ^= 4;
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong);
}

#[test]
fn icmp_over_ipv4_has_no_pseudo_header_and_is_left_alone() {
    let mut bytes = Vec::new();
    PacketBuilder::ipv4([1; 4], [2; 4], 64)
        .icmpv4_echo_request(3, 4)
        .write(&mut bytes, &text(33))
        .expect("fits");
    let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
    let before = bytes.clone();
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Absent);
    assert!(!spoil(&mut bytes, &headers));
    assert_eq!(bytes, before);
}

/// Returns a packet whose right checksum is `wanted`, by choice of the first word of its payload.
fn with_checksum(sample: Sample, wanted: u16) -> Vec<u8> {
    (0..=u16::MAX)
        .map(|word| sample.build(&word.to_be_bytes()))
        .find(|bytes| u16_at(bytes, sample.transport() + sample.checksum_offset()) == wanted)
        .expect("every checksum comes about")
}

#[test]
fn a_segment_whose_right_checksum_is_what_spoiling_writes_is_spoiled_too() {
    // Ambiguity 9: 0 for TCP and 1 for UDP are right in one of 65 535 segments.
    for (sample, right, spoiled) in [
        (Sample::plain(), 0, 1),
        (Sample::plain(), 1, 0),
        (Sample { udp: true, ..Sample::plain() }, 1, 2),
        (Sample { udp: true, ..Sample::plain() }, 0xffff, 1),
    ] {
        let mut bytes = with_checksum(sample, right);
        let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
        assert_eq!(verify(&bytes, &headers), ChecksumStatus::Right);
        assert!(spoil(&mut bytes, &headers));
        assert_eq!(u16_at(&bytes, sample.transport() + sample.checksum_offset()), spoiled);
        assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong);
    }
}

#[test]
fn the_complement_of_zero_is_the_same_checksum() {
    // This is why the remedy of ambiguity 9 is not used.
    let mut bytes = with_checksum(Sample::plain(), 0);
    bytes[36..38].copy_from_slice(&[0xff, 0xff]);
    let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Right);
}

#[test]
fn a_datagram_without_checksum_is_judged_by_its_ip_version() {
    for (ipv6, verdict) in [(false, ChecksumStatus::Absent), (true, ChecksumStatus::Wrong)] {
        let sample = Sample { udp: true, ipv6, ..Sample::plain() };
        let mut bytes = sample.build(&text(9));
        let field = sample.transport() + 6;
        bytes[field..field + 2].fill(0);
        let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
        assert_eq!(verify(&bytes, &headers), verdict);
        assert!(spoil(&mut bytes, &headers));
        assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong);
    }
}

#[test]
fn a_udp_length_that_cannot_be_is_wrong() {
    let sample = Sample { udp: true, ..Sample::plain() };
    for len in [0u16, 7, 18] {
        let mut bytes = sample.build(&text(9));
        bytes[24..26].copy_from_slice(&len.to_be_bytes());
        let headers = Headers::parse(Layer::Ip, &bytes).expect("IP is good");
        assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong, "{len}");
        assert!(spoil(&mut bytes, &headers));
        assert_eq!(verify(&bytes, &headers), ChecksumStatus::Wrong, "{len}");
    }
}

#[test]
fn a_udp_datagram_shorter_than_its_packet_is_summed_by_its_own_length() {
    let sample = Sample { udp: true, ..Sample::plain() };
    let mut bytes = sample.build(&text(9));
    bytes.extend([1, 2, 3]);
    let total = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    recompute_ipv4(&mut bytes[..20]);
    let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Right);
}

#[test]
fn where_not_everything_is_here_the_checksum_is_taken_for_right() {
    let sample = Sample::plain();
    let whole = sample.build(&text(64));
    let mut first_fragment = whole.clone();
    first_fragment[6] |= 0x20;
    for mut bytes in [first_fragment, whole[..80].to_vec()] {
        let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
        assert_eq!(verify(&bytes, &headers), ChecksumStatus::Absent);
        assert!(spoil(&mut bytes, &headers));
        assert_eq!(bytes[36..38], [0, 0]);
        // Again: now 0 is assumed to be right.
        assert!(spoil(&mut bytes, &headers));
        assert_eq!(bytes[36..38], [0, 1]);
    }
}

#[test]
fn a_packet_with_routing_ahead_of_it_is_not_judged() {
    let sample = Sample { ipv6: true, extensions: true, ..Sample::plain() };
    let mut bytes = sample.build(&text(9));
    // Hop-by-hop has 24 bytes; byte 3 of the following routing header is the number of segments
    // left.
    bytes[40 + 24 + 3] = 1;
    let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
    assert_eq!(headers.transport(), Some(sample.transport()));
    assert_eq!(verify(&bytes, &headers), ChecksumStatus::Absent);
}

#[test]
fn a_checksum_field_outside_is_not_completed() {
    let mut bytes = [7; 40];
    for (start, offset) in [(20, 19), (40, 0), (0, 39), (usize::MAX, 1)] {
        assert!(!complete(&mut bytes, start, offset));
    }
    assert_eq!(bytes, [7; 40]);
    assert!(complete(&mut bytes, 20, 18));
    assert_eq!(bytes.to_vec(), completed(vec![7; 40], 20, 18));
}

#[test]
fn a_first_fragment_of_a_datagram_gets_another_checksum_if_it_had_one() {
    let sample = Sample { udp: true, ..Sample::plain() };
    for (before, after) in [(0, None), (1, Some(2)), (2, Some(1)), (0xffff, Some(1))] {
        let mut bytes = sample.build(&text(64));
        bytes[6] |= 0x20;
        write(&mut bytes, 26, before);
        let headers = Headers::parse(Layer::Ip, &bytes).expect("good");
        assert_eq!(spoil(&mut bytes, &headers), after.is_some(), "{before:#x}");
        assert_eq!(u16_at(&bytes, 26), after.unwrap_or(before));
    }
}

#[test]
fn only_a_completed_udp_checksum_is_never_zero() {
    for (sample, field) in [(Sample { udp: true, ..Sample::plain() }, 0xffff), (Sample::plain(), 0)] {
        let word = (0..=u16::MAX).find(|word| {
            let bytes = sample.build(&word.to_be_bytes());
            u16_at(&bytes, sample.transport() + sample.checksum_offset()) == field
        });
        let mut bytes = sample.build_partial(&word.expect("every checksum comes about").to_be_bytes());
        assert!(complete(&mut bytes, sample.transport(), sample.checksum_offset()));
        assert_eq!(u16_at(&bytes, sample.transport() + sample.checksum_offset()), field);
    }
}
